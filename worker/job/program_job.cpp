#include "worker/job/program_job.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstring>
#include <optional>
#include <string>
#include <system_error>

#include "shared/base/clock.hpp"
#include "shared/base/signal_names.hpp"
#include "shared/config/executable.hpp"
#include "shared/job/page_text.hpp"
#include "worker/guard/output_tail.hpp"
#include "worker/job/encrypted_job.hpp"
#include "worker/job/program.hpp"
#include "worker/job/program_arguments.hpp"

namespace brood {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

constexpr auto longest_wait = 60'000ms;
constexpr auto wait_without_pidfd = 10ms;
// How long a program may take to end after SIGKILL.  After that the supervisor ends this worker.
constexpr auto time_to_die = 5'000ms;

// The payload for the program's standard input, which no other process reads: with its arguments in clear.
Secret whole_payload_in_clear(const Payload& job) {
  const std::string_view stored = job.args();
  const auto begin = static_cast<std::size_t>(stored.data() - job.text().data());
  std::string text;
  text.reserve(job.text().size() + job.args_in_clear().size());
  text.append(job.text(), 0, begin).append(job.args_in_clear()).append(job.text(), begin + stored.size());
  Secret whole(text);
  wipe(text);
  return whole;
}

// The arguments for the command line, which every user who may list processes can see: an encrypted argument is
// "[encrypted data]".
std::string args_to_show(const Payload& job, const Payload& fetched) {
  if (fetched.is_open() && !job.is_open()) return masked_args(job.args());  // middleware has put them there in clear
  return is_encrypted(job) ? shown_args(job.text()) : plain_arguments(job);
}

ProgramStart start_of(const CommandSettings& command, const Payload& job, const Payload& fetched,
                      std::string_view queue, std::string_view input) {
  ProgramStart start;
  start.words = program_words(command.run, args_to_show(job, fetched));
  start.path = executable_path(command.run.at(0));
  start.file = program_path(command);
  start.environment = command.env;
  start.environment["BROOD_JID"] = job.jid();
  start.environment["BROOD_CLASS"] = job.code_class();
  start.environment["BROOD_QUEUE"] = queue;
  // retry_count is 0 after the first failure.
  const auto retry_count = job.integer("retry_count");
  start.environment["BROOD_ATTEMPT"] =
      std::to_string(retry_count ? std::clamp<std::int64_t>(*retry_count, 0, 1'000'000'000) + 2 : 1);
  start.directory = directory_path(command);
  start.input = input;
  return start;
}

// Watches a program from its start to its end.
class Watch {
 public:
  Watch(const ProgramStart& start, const JobHost& host, milliseconds grace)
      : host_(host),
        grace_(grace),
        time_given_(host.timeout || !host.time_left ? host.timeout : host.time_left()),
        program_(start) {}

  ProgramEnd wait_for_end() {
    for (;;) {
      pollfd fds[] = {{program_.process(), POLLIN, 0},
                      {waiting_.empty() && !closed_ ? program_.errors() : -1, POLLIN, 0},
                      {waiting_.empty() ? -1 : STDERR_FILENO, POLLOUT, 0}};
      const int ready = poll(fds, std::size(fds), static_cast<int>(next_look().count()));
      if (ready > 0 && fds[1].revents != 0) read_some();
      if (ready > 0 && fds[2].revents != 0) pass_on();
      if (program_.process() < 0 || (ready > 0 && fds[0].revents != 0)) {
        if (const auto end = program_.end()) {
          take_the_rest();
          return *end;
        }
      }
      look_at_deadline();
    }
  }

  // Whether the program was asked to end because its time was over.
  bool timed_out() const { return kill_at_.has_value(); }
  milliseconds time_given() const { return time_given_.value_or(0ms); }
  std::vector<std::string> last_lines() const { return tail_.lines(); }

 private:
  milliseconds next_look() const {
    milliseconds longest = program_.process() < 0 ? wait_without_pidfd : longest_wait;
    if (killed_) return longest;
    const auto left = kill_at_ ? std::chrono::ceil<milliseconds>(*kill_at_ - steady_now())
                               : (host_.time_left ? host_.time_left() : std::nullopt);
    return left ? std::clamp(*left, 0ms, longest) : longest;
  }

  void look_at_deadline() {
    if (!kill_at_) {
      const auto left = host_.time_left ? host_.time_left() : std::nullopt;
      if (!left || *left > 0ms) return;
      kill_at_ = steady_now() + grace_;
      if (host_.set_time_left) host_.set_time_left(grace_ + time_to_die);
      program_.signal(SIGTERM);
    } else if (!killed_ && steady_now() >= *kill_at_) {
      killed_ = true;
      program_.signal(SIGKILL);
    }
  }

  // Reads no more than our own pipe takes at once, so that passing it on does not block us.
  bool read_some() {
    char bytes[PIPE_BUF];
    const ssize_t got = ::read(program_.errors(), bytes, sizeof bytes);
    if (got > 0) {
      waiting_.assign(bytes, static_cast<std::size_t>(got));
      tail_.add(waiting_);
      return true;
    }
    if (got == 0 || (errno != EAGAIN && errno != EINTR)) closed_ = true;
    return false;
  }

  void pass_on() {
    const ssize_t written = ::write(STDERR_FILENO, waiting_.data(), waiting_.size());
    if (written >= 0)
      waiting_.erase(0, static_cast<std::size_t>(written));
    else if (errno != EAGAIN && errno != EINTR)
      waiting_.clear();  // the supervisor is gone
  }

  // Reads the bytes that are in the pipe when the program has ended, and no more: other processes may hold the pipe,
  // and print for ever.
  void take_the_rest() {
    std::size_t left = 1 << 20;  // the largest pipe that a program may ask for
    do {
      while (!waiting_.empty()) {
        pollfd ours{STDERR_FILENO, POLLOUT, 0};
        poll(&ours, 1, -1);
        pass_on();
      }
      left -= std::min<std::size_t>(left, PIPE_BUF);
    } while (left > 0 && !closed_ && read_some());
    waiting_.clear();
  }

  const JobHost& host_;
  const milliseconds grace_;
  const std::optional<milliseconds> time_given_;
  Program program_;
  OutputTail tail_;
  std::string waiting_;  // read, and not passed on yet
  bool closed_ = false;  // its writers have closed it
  std::optional<SteadyTime> kill_at_;
  bool killed_ = false;
};

Performed failed_program(std::string error_class, std::string message, std::vector<std::string> lines = {}) {
  Performed performed;
  performed.kind = Performed::Kind::failed;
  performed.failure.error_class = std::move(error_class);
  performed.failure.message = std::move(message);
  performed.failure.backtrace = std::move(lines);
  performed.failure.always_backtrace = !performed.failure.backtrace.empty();
  return performed;
}

std::string describe(const ProgramEnd& end) {
  return end.exited ? fmt::format("exit status {}", end.value) : signal_name(end.value);
}

Performed judge(const ProgramEnd& end, const Watch& watch, const std::string& path) {
  if (!watch.timed_out() && end.exited && end.value == 0) return {};
  std::vector<std::string> lines = watch.last_lines();
  const std::string last = lines.empty() ? "" : ": " + lines.back();
  // Even with exit status 0 this is a timeout: most programs exit so after TERM, whether they are done or not.
  if (watch.timed_out())
    return failed_program(
        "JobTimeout",
        fmt::format("ran longer than its timeout of {:.1f}s, {} ended with {}{}",
                    std::chrono::duration<double>(watch.time_given()).count(), path, describe(end), last),
        std::move(lines));
  if (end.exited) return failed_program("CommandFailed", describe(end) + last, std::move(lines));
  return failed_program(signal_name(end.value), signal_name(end.value) + " in " + path + last, std::move(lines));
}

// The name of Ruby's exception for an error of a system call.
std::string class_of(const std::error_code& code) {
  const char* const name = strerrorname_np(code.value());
  return name == nullptr ? "SystemCallError" : std::string("Errno::") + name;
}

}  // namespace

ProgramRun perform_program(const CommandSettings& command, const Payload& job, const Payload& fetched,
                           std::string_view queue, const JobHost& host, milliseconds grace) {
  try {
    Secret in_clear;  // for as long as the program may read it
    if (job.is_open()) in_clear = whole_payload_in_clear(job);
    ProgramStart start = start_of(command, job, fetched, queue, job.is_open() ? in_clear.view() : job.text());
    if (!host.traceparent.empty()) start.environment["TRACEPARENT"] = host.traceparent;
    if (!host.tracestate.empty()) start.environment["TRACESTATE"] = host.tracestate;
    Watch watch(start, host, grace);
    const ProgramEnd end = watch.wait_for_end();
    const bool was_killed = !end.exited && end.value == SIGKILL && !watch.timed_out();
    return {judge(end, watch, start.path), end.peak_kb, was_killed};
  } catch (const BadArgument& bad) {
    return {failed_program("ArgumentError", job.display_class() + ": " + bad.what())};
  } catch (const std::system_error& error) {
    return {failed_program(class_of(error.code()), error.what())};
  }
}

}  // namespace brood
