#include "supervisor/cli/jobs/job_lines.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iostream>
#include <stdexcept>
#include <utility>

#include "shared/api/push/member_names.hpp"
#include "shared/api/push/push_writer.hpp"

namespace brood {

using namespace std::chrono_literals;

JobLines::JobLines(std::string path, LineOptions options)
    : path_(std::move(path)), options_(std::move(options)), lines_(path_ == "-" ? std::cin : file_) {
  if (path_ == "-") return;
  file_.open(path_);
  if (file_.is_open()) file_.peek();  // a directory can be opened; only reading it fails
  if (!file_.is_open() || file_.bad()) throw std::invalid_argument(path_ + ": " + std::strerror(errno));
  file_.clear();
}

std::size_t JobLines::total_bytes() const {
  struct stat status {};
  const bool known = path_ != "-" && stat(path_.c_str(), &status) == 0 && S_ISREG(status.st_mode);
  return known ? static_cast<std::size_t>(status.st_size) : 0;
}

std::string JobLines::place() const { return fmt::format("{}:{}", path_, number_); }

std::optional<Push> JobLines::next() {
  while (std::getline(lines_, line_)) {
    ++number_;
    bytes_ += line_.size() + 1;
    if (line_.find_first_not_of(" \t\r") == std::string::npos) continue;
    Push push = Push::parse(line_);
    push.shard_by = options_.shard_by;
    if (!options_.unchecked) check_member_names(push);
    if (options_.spread && push.at) throw std::invalid_argument("a job with a time of its own cannot be spread");
    spell_as_ruby(push);
    if (options_.classes != nullptr) options_.classes->go_by(push, SaidByPush::of(line_));
    prepare_push(push, wall_now());  // the client checks a whole slice at once, and could not say which line is wrong
    return push;
  }
  if (lines_.bad()) throw std::runtime_error(fmt::format("{}: {}", path_, std::strerror(errno)));
  return std::nullopt;
}

PushProgress::PushProgress(const JobLines& lines)
    : lines_(lines), total_bytes_(lines.total_bytes()), shown_(isatty(STDERR_FILENO) == 1) {}

PushProgress::~PushProgress() {
  if (drawn_) fmt::print(stderr, "\r\x1b[K");
}

void PushProgress::show(std::size_t jobs) {
  if (!shown_ || steady_now() - last_ < 100ms) return;
  last_ = steady_now();
  drawn_ = true;
  const std::string percent =
      total_bytes_ > 0 ? fmt::format(" ({}%)", std::min<std::size_t>(100, lines_.bytes_read() * 100 / total_bytes_))
                       : "";
  fmt::print(stderr, "\r\x1b[K{} {} pushed{}", jobs, jobs == 1 ? "job" : "jobs", percent);
}

}  // namespace brood
