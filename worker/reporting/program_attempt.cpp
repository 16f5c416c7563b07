#include "worker/reporting/program_attempt.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "shared/base/signal_names.hpp"
#include "shared/config/executable.hpp"

namespace brood {
namespace {

using namespace std::chrono_literals;

constexpr auto look_without_pidfd = 10ms;  // also after SIGKILL, until the program has ended

ProgramStart start_of(const CommandSettings& settings, const ErrorReport& report, const std::string& input) {
  ProgramStart start;
  start.words = settings.run;
  start.path = executable_path(settings.run.at(0));
  start.file = program_path(settings);
  start.environment = settings.env;
  start.environment["BROOD_JID"] = report.jid;
  start.environment["BROOD_CLASS"] = report.job_class;
  start.environment["BROOD_QUEUE"] = report.queue;
  start.directory = directory_path(settings);
  start.input = input;
  return start;
}

}  // namespace

ProgramAttempt::ProgramAttempt(const CommandSettings& settings, const ErrorReport& report, SteadyTime now)
    : input_(report_json(report) + "\n"),
      timeout_(settings.timeout),
      deadline_(now + settings.timeout),
      program_(start_of(settings, report, input_)) {}

void ProgramAttempt::watch(std::vector<pollfd>& fds) const {
  if (program_.process() >= 0) fds.push_back({program_.process(), POLLIN, 0});
  if (!closed_) fds.push_back({program_.errors(), POLLIN, 0});
}

SteadyTime ProgramAttempt::next_look(SteadyTime now) const {
  return killed_ || program_.process() < 0 ? now + look_without_pidfd : deadline_;
}

bool ProgramAttempt::read_some() {
  char bytes[4096];
  const ssize_t got = ::read(program_.errors(), bytes, sizeof bytes);
  if (got > 0) printed_.add({bytes, static_cast<std::size_t>(got)});
  if (got == 0) closed_ = true;
  return got > 0;
}

std::optional<ErrorVerdict> ProgramAttempt::go_on(SteadyTime now) {
  if (!closed_) read_some();
  const std::optional<ProgramEnd> end = program_.end();
  if (!end) {
    if (now >= deadline_ && !killed_) {
      killed_ = true;
      program_.signal(SIGKILL);
    }
    return std::nullopt;
  }
  for (int pieces = 0; pieces < 16 && !closed_ && read_some(); ++pieces) {
  }
  ErrorVerdict verdict;
  verdict.has_answered = true;
  if (!killed_ && end->exited && end->value == 0) {
    verdict.kind = ErrorVerdict::Kind::taken;
    return verdict;
  }
  verdict.kind = ErrorVerdict::Kind::refused;
  if (killed_)
    verdict.reason = fmt::format("it ran longer than its timeout of {}ms", timeout_.count());
  else if (!end->exited)
    verdict.reason = signal_name(end->value);
  else
    verdict.reason = fmt::format("exit status {}", end->value);
  if (const std::vector<std::string> lines = printed_.lines(); !lines.empty()) verdict.reason += ": " + lines.back();
  return verdict;
}

}  // namespace brood
