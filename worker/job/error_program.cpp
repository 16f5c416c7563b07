#include "worker/job/error_program.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <iterator>
#include <optional>
#include <system_error>

#include "shared/base/clock.hpp"
#include "shared/base/log.hpp"
#include "shared/base/signal_names.hpp"
#include "shared/config/executable.hpp"
#include "shared/json/json_writer.hpp"
#include "worker/guard/output_tail.hpp"
#include "worker/job/program.hpp"

namespace brood {
namespace {

using namespace std::chrono_literals;

constexpr auto look_without_pidfd = 10ms;  // also while it dies
constexpr std::chrono::milliseconds longest_silence = 1s;

// nullopt: it was killed when its time was over.
std::optional<ProgramEnd> wait_for_end(Program& program, OutputTail& printed, std::chrono::milliseconds longest,
                                       const std::function<void()>& still_waits) {
  const SteadyTime deadline = steady_now() + longest;
  bool closed = false, killed = false;
  const auto read_some = [&] {
    char bytes[4096];
    const ssize_t got = ::read(program.errors(), bytes, sizeof bytes);
    if (got > 0) printed.add({bytes, static_cast<std::size_t>(got)});
    if (got == 0) closed = true;
    return got > 0;
  };
  if (still_waits) still_waits();
  for (;;) {
    pollfd fds[] = {{program.process(), POLLIN, 0}, {closed ? -1 : program.errors(), POLLIN, 0}};
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - steady_now());
    const bool looks = killed || program.process() < 0;
    const auto wait = looks ? std::chrono::milliseconds(look_without_pidfd) : std::clamp(left, 0ms, longest_silence);
    poll(fds, std::size(fds), static_cast<int>(wait.count()));
    if (still_waits) still_waits();
    if (fds[1].revents != 0) read_some();
    if (const auto end = program.end()) {
      for (int pieces = 0; pieces < 16 && !closed && read_some(); ++pieces) {
      }
      return killed ? std::nullopt : end;
    }
    if (!killed && steady_now() >= deadline) {
      killed = true;
      program.signal(SIGKILL);
    }
  }
}

void warn(const CommandSettings& program, const Payload& job, const std::string& reason) {
  log::warn("error_program_failed", {{"program", program.run.at(0)}, {"jid", job.jid()}, {"reason", reason}});
}

}  // namespace

std::string error_report(const Payload& job, std::string_view queue, const Failure& failure) {
  JsonWriter report;
  report.text("class", job.display_class())
      .text("jid", job.jid())
      .text("queue", queue)
      .text("error_class", failure.error_class)
      .text("error_message", failure.message)
      .texts("backtrace", failure.backtrace)
      .number("retry_count", failure_count(job));
  if (!failure.crash_json.empty()) report.json("crash", failure.crash_json);
  return report.json("job", job.text()).object() + "\n";
}

void tell_error_program(const CommandSettings& program, const Payload& job, std::string_view queue,
                        const Failure& failure, const std::function<void()>& still_waits) {
  const std::string report = error_report(job, queue, failure);
  ProgramStart start;
  start.words = program.run;
  start.path = executable_path(program.run.at(0));
  start.file = program_path(program);
  start.environment = program.env;
  start.environment["BROOD_JID"] = job.jid();
  start.environment["BROOD_CLASS"] = job.code_class();
  start.environment["BROOD_QUEUE"] = queue;
  start.directory = directory_path(program);
  start.input = report;
  try {
    Program running(start);
    OutputTail printed;
    const auto end = wait_for_end(running, printed, program.timeout, still_waits);
    const std::vector<std::string> lines = printed.lines();
    const std::string last = lines.empty() ? "" : ": " + lines.back();
    if (!end) {
      warn(program, job, fmt::format("it ran longer than its timeout of {}ms", program.timeout.count()) + last);
    } else if (!end->exited) {
      warn(program, job, signal_name(end->value) + last);
    } else if (end->value != 0) {
      warn(program, job, fmt::format("exit status {}", end->value) + last);
    }
  } catch (const std::system_error& error) {
    warn(program, job, error.what());
  }
}

}  // namespace brood
