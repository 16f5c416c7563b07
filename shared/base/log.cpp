#include "shared/base/log.hpp"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <spdlog/logger.h>
#include <spdlog/sinks/sink.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>

#include "shared/base/check.hpp"
#include "shared/base/clock.hpp"
#include "shared/base/log_line.hpp"
#include "shared/base/unique_fd.hpp"

namespace brood::log {
namespace {

constexpr std::size_t ring_bytes = 256 * 1024;

// An open destination, which is written to without waiting.  O_NONBLOCK is never set on standard error, which jobs and
// our parent share: the flag belongs to the open file, not to the descriptor.
class Destination {
 public:
  static Destination open(const std::string& file) {
    // O_NONBLOCK: opening a FIFO without a reader must not wait.
    if (!file.empty())
      return Destination(
          check(file.c_str(),
                ::open(file.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0640)),
          Way::nonblocking);
    struct stat status {};
    check("fstat of standard error", fstat(STDERR_FILENO, &status));
    if (S_ISFIFO(status.st_mode) || S_ISCHR(status.st_mode)) {
      // A pipe or a terminal opened anew has flags of its own.  (A file opened anew would have its own offset.)
      const int own = ::open("/proc/self/fd/2", O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
      if (own >= 0) return Destination(own, Way::nonblocking);
    }
    const Way way = S_ISSOCK(status.st_mode) ? Way::socket : S_ISREG(status.st_mode) ? Way::file : Way::polled;
    return Destination(check("fcntl of standard error", fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3)), way);
  }

  static Destination of(int descriptor) {
    return descriptor < 0 ? open("") : Destination(descriptor, Way::nonblocking);
  }

  // Returns false if a job has closed our descriptor, or its number is now another file's.
  bool still_open() const {
    struct stat status {};
    return fd_ && fstat(fd_.get(), &status) == 0 && status.st_dev == device_ && status.st_ino == inode_;
  }

  // As write(2), but EAGAIN instead of waiting.
  ssize_t write(const char* text, std::size_t size) {
    if (way_ == Way::socket) return send(fd_.get(), text, size, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (way_ == Way::polled) {
      pollfd ready{fd_.get(), POLLOUT, 0};
      if (poll(&ready, 1, 0) == 0) return errno = EAGAIN, -1;
      // A pipe that is ready takes PIPE_BUF bytes at once, unless another writer fills it this very moment.
      size = std::min<std::size_t>(size, PIPE_BUF);
    }
    return ::write(fd_.get(), text, size);
  }

  // Returns false if the file was moved away or removed: its name leads to another file, or to none.
  bool is_called(const std::string& file) const {
    struct stat status {};
    // Such names mean different files in different processes: /dev/stdout of a worker is not its supervisor's.
    if (!is_regular_ || file.starts_with("/dev/") || file.starts_with("/proc/")) return true;
    return stat(file.c_str(), &status) == 0 && status.st_dev == device_ && status.st_ino == inode_;
  }

  int fd() const { return fd_.get(); }

  // Gives up the number without closing it: the number belongs to another file now.
  void abandon() { fd_.release(); }

 private:
  enum class Way { nonblocking, socket, file, polled };

  Destination(int fd, Way way) : fd_(fd), way_(way) {
    struct stat status {};
    check("fstat of the log", fstat(fd, &status));
    device_ = status.st_dev;
    inode_ = status.st_ino;
    is_regular_ = S_ISREG(status.st_mode);
  }

  UniqueFd fd_;
  Way way_;
  dev_t device_ = 0;
  ino_t inode_ = 0;
  bool is_regular_ = false;
};

// The sink that spdlog writes to.  It keeps lines that the destination does not take at once.
class RingSink : public spdlog::sinks::sink {
 public:
  void open(const Options& options) {
    const Options wanted = with_whole_path(options);
    destination_ = std::make_unique<Destination>(Destination::open(wanted.file));
    options_ = wanted;
  }

  void inherit(const Options& options, int descriptor) {
    destination_ = std::make_unique<Destination>(Destination::of(descriptor));
    options_ = with_whole_path(options);
  }

  void reopen() {
    if (!options_.file.empty()) destination_ = std::make_unique<Destination>(Destination::open(options_.file));
  }

  const Options& options() const { return options_; }
  std::uint64_t dropped() const { return dropped_; }
  const std::string& trouble() const { return trouble_; }
  int descriptor() const { return destination_ ? destination_->fd() : -1; }
  int waiting_descriptor() const { return waiting_.empty() ? -1 : descriptor(); }
  bool behind() const { return waiting_bytes_ > ring_bytes / 2; }

  void log(const spdlog::details::log_msg& message) override {
    keep(std::string(message.payload.data(), message.payload.size()));
    flush();
  }

  void flush() override {
    if (waiting_.empty() || !ensure_destination()) return;
    while (!waiting_.empty()) {
      const std::string& line = waiting_.front();
      const ssize_t written = destination_->write(line.data() + written_of_first_, line.size() - written_of_first_);
      if (written < 0 && errno == EINTR) continue;
      if (written < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
      if (written < 0) {  // the reader is gone, the disk is full: nothing to wait for
        note_trouble(errno);
        return drop_waiting();
      }
      trouble_.clear();
      written_of_first_ += static_cast<std::size_t>(written);
      if (written_of_first_ < line.size()) continue;
      forget_first();
      if (waiting_.empty() && dropped_ > reported_) keep(report());
    }
  }

  void forget_waiting() {
    while (!waiting_.empty()) forget_first();
    dropped_ = reported_ = 0;
  }

  // Lines come formatted.
  void set_pattern(const std::string&) override {}
  void set_formatter(std::unique_ptr<spdlog::formatter>) override {}

 private:
  // Makes the path absolute: it is opened again later, when a job may have changed the working directory.
  static Options with_whole_path(Options options) {
    std::error_code refused;
    const std::filesystem::path whole = std::filesystem::absolute(options.file, refused);
    if (!options.file.empty() && !refused) options.file = whole;
    return options;
  }

  // Opens the file anew under its name if log rotation has moved it away; each process does so for itself.  If that
  // fails, the old file stays in use, and gets a line about it.
  void follow_rotation() {
    if (options_.file.empty() || written_of_first_ > 0 || destination_->is_called(options_.file)) return;
    try {
      reopen();
      said_not_reopened_ = false;
    } catch (const std::system_error& error) {
      if (std::exchange(said_not_reopened_, true)) return;
      keep(format_line(options_, Level::warn, wall_now(), getpid(), "log_not_reopened", {{"reason", error.what()}}));
    }
  }

  void keep(std::string line) {
    if (std::exchange(line_is_torn_, false)) line.insert(0, 1, '\n');
    if (waiting_bytes_ + line.size() > ring_bytes) {
      ++dropped_;
      return;
    }
    waiting_bytes_ += line.size();
    waiting_.push_back(std::move(line));
  }

  std::string report() {
    const std::uint64_t lines = dropped_ - std::exchange(reported_, dropped_);
    return format_line(options_, Level::warn, wall_now(), getpid(), "log_lines_dropped", {{"lines", lines}});
  }

  // Writes the reason to standard error too, once a minute, if the log is a file: systemd or a person reads it there.
  void note_trouble(int error) {
    trouble_ = std::strerror(error);
    if (options_.file.empty()) return;
    if (lines_of_trouble_.note(steady_now()) == 0) return;
    try {
      Options on_standard_error = options_;
      on_standard_error.file.clear();
      on_standard_error.journald = standard_error_is_the_journal();
      const std::string line = format_line(on_standard_error, Level::error, wall_now(), getpid(), "log_not_written",
                                           {{"file", options_.file}, {"reason", trouble_}});
      Destination::open("").write(line.data(), line.size());
    } catch (const std::system_error&) {  // there is no standard error
    }
  }

  void forget_first() {
    waiting_bytes_ -= waiting_.front().size();
    waiting_.pop_front();
    written_of_first_ = 0;
  }

  void drop_waiting() {
    dropped_ += waiting_.size();
    line_is_torn_ = written_of_first_ > 0;
    while (!waiting_.empty()) forget_first();
  }

  bool ensure_destination() {
    if (destination_ && destination_->still_open()) return follow_rotation(), true;
    if (destination_) destination_->abandon();
    destination_.reset();
    try {
      destination_ = std::make_unique<Destination>(Destination::open(options_.file));
    } catch (const std::system_error& error) {
      note_trouble(error.code().value());
      drop_waiting();
    }
    return destination_ != nullptr;
  }

  Options options_;
  std::unique_ptr<Destination> destination_;
  std::deque<std::string> waiting_;
  std::size_t waiting_bytes_ = 0;
  std::size_t written_of_first_ = 0;
  bool said_not_reopened_ = false;
  bool line_is_torn_ = false;  // the last line was dropped half-written: the next begins on a line of its own
  std::uint64_t dropped_ = 0, reported_ = 0;
  std::string trouble_;
  OnceAMinute lines_of_trouble_;
};

spdlog::level::level_enum spdlog_level(Level level) {
  switch (level) {
    case Level::debug:
      return spdlog::level::debug;
    case Level::info:
      return spdlog::level::info;
    case Level::warn:
      return spdlog::level::warn;
    case Level::error:
      return spdlog::level::err;
  }
  return spdlog::level::info;
}

struct Log {
  std::shared_ptr<RingSink> sink = std::make_shared<RingSink>();
  spdlog::logger logger{"brood", sink};
};

// Never destroyed: functions that run at exit may still log.
Log& the_log() {
  static Log* const log = new Log;
  return *log;
}

}  // namespace

void open(const Options& options) {
  the_log().sink->open(options);
  set_level(options.level);
}

void inherit(const Options& options, int descriptor) {
  the_log().sink->inherit(options, descriptor);
  set_level(options.level);
}

void reopen() { the_log().sink->reopen(); }

bool standard_error_is_the_journal() {
  const char* const stream = std::getenv("JOURNAL_STREAM");
  struct stat status {};
  return stream && fstat(STDERR_FILENO, &status) == 0 && fmt::format("{}:{}", status.st_dev, status.st_ino) == stream;
}

bool standard_error_takes_colour() {
  const char* const no_colour = std::getenv("NO_COLOR");
  const char* const terminal = std::getenv("TERM");
  if (no_colour && *no_colour) return false;
  return isatty(STDERR_FILENO) && !(terminal && std::string_view(terminal) == "dumb");
}

void set_level(Level level) { the_log().logger.set_level(spdlog_level(level)); }

bool enabled(Level level) { return the_log().logger.should_log(spdlog_level(level)); }

void write(Level level, std::string_view event, std::initializer_list<Fact> facts) {
  if (!enabled(level)) return;
  Log& log = the_log();
  log.logger.log(spdlog_level(level),
                 format_line(log.sink->options(), level, wall_now(), getpid(), event, facts, standing_facts()));
}

int descriptor() { return the_log().sink->descriptor(); }

int waiting_descriptor() { return the_log().sink->waiting_descriptor(); }

void flush() { the_log().sink->flush(); }

bool behind() { return the_log().sink->behind(); }

std::uint64_t dropped() { return the_log().sink->dropped(); }

std::string trouble() { return the_log().sink->trouble(); }

void forget_waiting() { the_log().sink->forget_waiting(); }

}  // namespace brood::log
