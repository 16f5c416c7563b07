#include "supervisor/process/child_check.hpp"

#include <fcntl.h>
#include <sysexits.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <utility>

#include "shared/base/check.hpp"
#include "shared/base/clock.hpp"

namespace brood {
namespace {

constexpr std::chrono::minutes longest_check{5};
constexpr std::size_t longest_answer = 4'096;  // fits the pipe, so that the child never waits for us

}  // namespace

void ChildCheck::begin(Settings settings, const std::function<int(int)>& body, Done done) {
  int ends[2];
  check("pipe2", pipe2(ends, O_CLOEXEC | O_NONBLOCK));
  answer_.reset(ends[0]);
  const UniqueFd to(ends[1]);
  settings.keep.push_back(to.get());
  child_ = children_.spawn(
      {.title = settings.title, .keep = settings.keep, .parent_death_signal = SIGKILL},
      Children::Deadline{steady_now() + longest_check}, [&] { return body(to.get()); },
      [this](const Children::End& end) { ended(end); });
  what_ = std::move(settings.what);
  done_ = std::move(done);
}

void ChildCheck::abandon() {
  child_.kill();
  child_ = {};
  done_ = nullptr;
  answer_.reset();
}

void ChildCheck::ended(const Children::End& end) {
  char buffer[longest_answer];
  const ssize_t got = read(answer_.get(), buffer, sizeof buffer);
  answer_.reset();
  const auto done = std::exchange(done_, nullptr);
  if (end.status.exited && end.status.value == EX_OK)
    done("");
  else if (got > 0)
    done(std::string(buffer, static_cast<std::size_t>(got)));
  else
    done(end.overdue ? what_ + " took too long"
                     : what_ + " ended the process that tried: it " + (end.status.exited ? "" : "was ") +
                           end.status.describe());
}

}  // namespace brood
