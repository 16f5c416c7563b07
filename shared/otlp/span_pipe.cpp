#include "shared/otlp/span_pipe.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <utility>

#include "shared/base/check.hpp"
#include "shared/otlp/run_span.hpp"
#include "shared/scoreboard/scoreboard.hpp"

namespace brood {
namespace {

static_assert(longest_record <= PIPE_BUF);

constexpr int wanted_bytes = 1 << 20;  // allowed to each user, unless the administrator allows less

}  // namespace

std::string span_pipe_path(const std::string& runtime_directory, const std::string& identity) {
  std::string path = scoreboard_path(runtime_directory, identity);
  return path.replace(path.rfind('.'), path.npos, ".spans");
}

void make_span_pipe(const std::string& path) {
  if (mkfifo(path.c_str(), 0600) != 0 && errno != EEXIST) check("mkfifo", -1);
}

UniqueFd open_span_pipe(const std::string& path) {
  UniqueFd fd(open(path.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW));
  struct stat what {};
  if (fd && (fstat(fd.get(), &what) != 0 || !S_ISFIFO(what.st_mode))) {
    fd.reset();
    errno = EEXIST;
  }
  if (fd) fcntl(fd.get(), F_SETPIPE_SZ, wanted_bytes);
  return fd;
}

SpanPipe::SpanPipe(std::string path, std::atomic<std::uint64_t>* lost) : path_(std::move(path)), lost_(lost) {}

void SpanPipe::write(std::string_view records, std::uint64_t spans) {
  const bool written = is_open() && write_whole(records);
  if (!written && lost_ != nullptr) lost_->fetch_add(spans, std::memory_order_relaxed);
}

// A job may have closed the descriptor, and opened something else that has its number now.
bool SpanPipe::is_open() {
  struct stat what {};
  if (fd_) {
    if (fstat(fd_.get(), &what) == 0 && what.st_dev == device_ && what.st_ino == inode_) return true;
    fd_.release();  // it was closed, or belongs to another
  }
  fd_ = open_span_pipe(path_);
  if (!fd_ || fstat(fd_.get(), &what) != 0) return false;
  device_ = what.st_dev;
  inode_ = what.st_ino;
  return true;
}

bool SpanPipe::write_whole(std::string_view records) {
  return ::write(fd_.get(), records.data(), records.size()) == static_cast<ssize_t>(records.size());
}

}  // namespace brood
