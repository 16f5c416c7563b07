#include "worker/guard/standard_output.hpp"

#include <fcntl.h>
#include <stdio_ext.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <ext/stdio_sync_filebuf.h>
#include <iostream>
#include <string_view>
#include <utility>

#include "shared/base/check.hpp"
#include "shared/base/log.hpp"
#include "shared/scoreboard/job_end_mark.hpp"

namespace brood {
namespace {

// Flushes the stream.  A job may have given it a buffer of its own, which may not exist any more and is not flushed.
void flush_stream(std::ostream& stream, std::streambuf* own_buffer) {
  if (stream.rdbuf() != own_buffer) stream.rdbuf(own_buffer);
  stream.exceptions(std::ios::goodbit);
  stream.clear();
  stream.flush();
  stream.clear();
}

void write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written < 0 && errno != EINTR) return;  // the supervisor is gone
    if (written > 0) text.remove_prefix(static_cast<std::size_t>(written));
  }
}

}  // namespace

StandardOutput::StandardOutput(int pipe, std::string token)
    : pipe_(pipe), token_(std::move(token)), cout_(std::cout.rdbuf()), clog_(std::clog.rdbuf()) {
  using Passing = __gnu_cxx::stdio_sync_filebuf<char>;
  keep_nothing_ = dynamic_cast<Passing*>(cout_) != nullptr && dynamic_cast<Passing*>(clog_) != nullptr;
  if (!pipe_) return;
  struct stat status {};
  check("fstat of the output pipe", fstat(pipe, &status));
  device_ = status.st_dev;
  inode_ = status.st_ino;
  __fpurge(stdout);  // the supervisor itself writes what was in its buffer at the fork
  check("dup2", dup2(pipe, STDOUT_FILENO));
  check("dup2", dup2(pipe, STDERR_FILENO));
  std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);  // a pipe is block-buffered otherwise
}

// Returns true only if the streams are as this class set them up; otherwise it is not known whether they are empty.
bool StandardOutput::is_empty() const {
  const auto untouched = [](const std::ostream& stream, const std::streambuf* own_buffer) {
    return stream.rdbuf() == own_buffer && stream.good() && stream.exceptions() == std::ios::goodbit;
  };
  return keep_nothing_ && untouched(std::cout, cout_) && untouched(std::clog, clog_) && __fpending(stdout) == 0 &&
         __fpending(stderr) == 0;
}

void StandardOutput::flush() {
  if (device_ == 0 || is_empty()) return;
  flush_stream(std::cout, cout_);
  flush_stream(std::clog, clog_);
  std::fflush(stdout);
}

void StandardOutput::end_job(SlotRecord& record) {
  if (device_ == 0) return;
  mend();
  int unread = 0;
  ioctl(STDOUT_FILENO, FIONREAD, &unread);
  if (!seen_.was_read(record) && unread <= 0) return;
  const SlotSnapshot job = snapshot(record);
  write_all(STDOUT_FILENO, job_end_mark(token_, job.jid, job.job_class));
}

bool StandardOutput::is_the_pipe(int fd) const {
  struct stat status {};
  return fd >= 0 && fstat(fd, &status) == 0 && status.st_dev == device_ && status.st_ino == inode_;
}

void StandardOutput::mend() {
  const bool out = is_the_pipe(STDOUT_FILENO), error = is_the_pipe(STDERR_FILENO);
  if (!out || !error) {
    // The job may have closed our descriptor: then use another descriptor of the pipe that is still open.
    if (!is_the_pipe(pipe_.get())) {
      pipe_.release();
      const int left = out ? STDOUT_FILENO : error ? STDERR_FILENO : -1;
      if (left >= 0) pipe_.reset(fcntl(left, F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
    }
    const UniqueFd nowhere(pipe_ ? -1 : ::open("/dev/null", O_WRONLY | O_CLOEXEC));
    if (!pipe_) log::warn("job_output_lost", {{"reason", "a job closed every descriptor of its worker's output"}});
    const int source = pipe_ ? pipe_.get() : nowhere.get();
    if (!out) dup2(source, STDOUT_FILENO);
    if (!error) dup2(source, STDERR_FILENO);
  }
  // O_NONBLOCK is a flag of the open file, so it would stay for later jobs, which would then lose output.
  const int flags = fcntl(STDOUT_FILENO, F_GETFL);
  if (flags >= 0 && (flags & O_NONBLOCK) != 0) fcntl(STDOUT_FILENO, F_SETFL, flags & ~O_NONBLOCK);
}

}  // namespace brood
