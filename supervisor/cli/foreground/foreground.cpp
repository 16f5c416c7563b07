#include "supervisor/cli/foreground/foreground.hpp"

#include <fmt/format.h>
#include <poll.h>

#include <charconv>
#include <cstdio>

#include "shared/api/push/shown_pushes.hpp"
#include "shared/base/log.hpp"
#include "shared/base/log_line.hpp"
#include "shared/base/paths.hpp"
#include "shared/base/units.hpp"
#include "shared/config/password_files.hpp"
#include "shared/config/reading/load_config.hpp"
#include "shared/job/payload.hpp"
#include "supervisor/cli/arguments/command_line.hpp"
#include "supervisor/cli/terminal/terminal.hpp"
#include "worker/foreground/foreground_job.hpp"

namespace brood {
namespace {

using std::chrono::milliseconds;

milliseconds read_timeout(const std::string& text) {
  const auto timeout = parse_duration(text);
  if (timeout) return *timeout;
  throw UsageError(fmt::format("--timeout must be a duration such as \"30s\", or 0 for none, not \"{}\"",
                               log::printable(text.substr(0, 80))));
}

std::uint64_t read_size(const std::string& text) {
  const auto size = parse_size(text);
  if (size) return *size;
  throw UsageError(
      fmt::format("--memory-limit must be a size such as \"512M\", not \"{}\"", log::printable(text.substr(0, 80))));
}

int read_attempt(const std::string& text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc{} && end == text.data() + text.size() && number >= 1 && number <= 1'000'000) return number;
  throw UsageError(fmt::format("--attempt must be the number of an attempt, 1 for the first, not \"{}\"",
                               log::printable(text.substr(0, 80))));
}

Payload read_payload(const std::string& text, const std::optional<int>& attempt) {
  try {
    const Payload job = Payload::parse(text);
    if (!attempt) return job;
    // retry_count is 0 after the first failure.
    return job.with({{"retry_count", *attempt > 1 ? std::optional(std::to_string(*attempt - 2)) : std::nullopt}});
  } catch (const BadPayload& bad) {
    throw UsageError(std::string("the payload is not a job: ") + log::printable(bad.what()));
  }
}

void require_class(const JobRegistry& registry, const std::string& name) {
  if (registry.knows(name)) return;
  if (registry.class_names().empty())
    throw UsageError("no job class is loaded: name a library with -r, or a configuration with -C");
  throw UsageError(registry.describe_unknown(log::printable(name.substr(0, 80))));
}

// Jobs in a sandbox may read untrusted input.  Here they would run with all rights of the user at this terminal.
void refuse_without_sandbox(const Config& config, const std::string& name) {
  const auto known = config.classes.find(name);
  if (known == config.classes.end() || !known->second.sandbox) return;
  throw UsageError(
      fmt::format("the class {} has a sandbox in the configuration, and its job would run here without it: "
                  "--without-sandbox allows that",
                  log::printable(name)));
}

void write_waiting_lines() {
  while (log::waiting_descriptor() >= 0) {
    pollfd log{log::waiting_descriptor(), POLLOUT, 0};
    if (poll(&log, 1, -1) <= 0 || (log.revents & POLLOUT) == 0) return;
    log::flush();
  }
}

std::string seconds(std::chrono::microseconds time) {
  return fmt::format("{:.3f}s", std::chrono::duration<double>(time).count());
}

int tell(const Foreground& command, const Payload& job, const ForegroundJob::Run& run) {
  const Style style(log::standard_error_takes_colour());
  const JobUsage& usage = run.usage;
  const std::string cost = fmt::format("after {}   CPU {}   peak memory {} MB", seconds(usage.wall), seconds(usage.cpu),
                                       usage.peak_rss_kb / 1024);
  const std::string whose = fmt::format("brood {}: {}", command.command, log::printable(job.display_class()));
  switch (run.performed.kind) {
    case Performed::Kind::succeeded:
      fmt::print(stderr, "{} {}   {}\n", whose, style.green("succeeded"), cost);
      return exit_status::ok;
    case Performed::Kind::interrupted:
      fmt::print(stderr, "{} {}   {}\n", whose, style.yellow("was interrupted"), cost);
      return exit_status::try_again;
    case Performed::Kind::failed:
    case Performed::Kind::over_limit:
      break;
  }
  const Failure& failure = run.performed.failure;
  fmt::print(stderr, "{} {}   {}\n", whose, style.red("failed"), cost);
  fmt::print(stderr, "  {}: {}\n", style.red(log::printable(failure.error_class)), log::printable(failure.message));
  for (const std::string& line : failure.backtrace) fmt::print(stderr, "    {}\n", log::printable(line));
  return exit_status::internal;
}

}  // namespace

const char* const foreground_footer =
    R"(The job uses this terminal, and is not settled: no retry, no statistics, no death handlers.  Jobs that
it enqueues are shown on standard error, and pushed only with --push.  Ctrl-C makes its
stopping() true; a second one ends it.

Exit status: 0 the job succeeded; 70 it failed, timed out or called exit(); 75 it was interrupted; 64 usage, or
no such class; 78 configuration, or a library that cannot be used.  A crash ends it by its signal (139: SIGSEGV).)";

void Foreground::add_options(CommandLine& line) {
  line.option("-r,--require", require, "LIB", "Job library to load, repeatable");
  line.option("--attempt", attempt, "N", "Number of the attempt, 1 for the first");
  line.option("--timeout", timeout, "DURATION", "Timeout, in place of the job's own; 0 for none");
  line.option("--memory-limit", memory_limit, "SIZE", "Limit its memory (default: no limit)");
  line.flag("--push", push, "Push the jobs that it enqueues (default: only show them)");
  line.flag("--without-sandbox", without_sandbox, "Run a job whose class has a sandbox, without it");
  line.flag("-v,--verbose", verbose, "Log at level debug");
  debugger.add_options(line);
}

Config Foreground::configuration(const std::string& config, const std::string& redis_url) const {
  ConfigOverrides overrides;
  overrides.require = require;
  overrides.verbose = verbose;
  if (!redis_url.empty()) overrides.redis_url = redis_url;
  return load_config(config_path_or_default(config), overrides);
}

void Foreground::enter_debugger(const std::vector<std::string>& args) const {
  if (debugger.wanted()) debugger.execute(command, args, timeout.has_value());
}

int Foreground::perform(const Config& given, const std::string& payload, const std::string& queue) const {
  const Payload job = read_payload(payload, attempt ? std::optional(read_attempt(*attempt)) : std::nullopt);
  if (!without_sandbox) refuse_without_sandbox(given, job.code_class());
  ForegroundJob::Limits limits;
  if (timeout) limits.timeout = read_timeout(*timeout);
  if (memory_limit) limits.memory_bytes = read_size(*memory_limit);

  log::Options to_the_terminal = given.log;
  to_the_terminal.file = {};
  to_the_terminal.colour = log::standard_error_takes_colour();
  log::open(to_the_terminal);
  if (!push) setenv(pushes_variable, shows_pushes, 1);
  PasswordFiles password_files(given.redis, runtime_directory());
  Config config = given;
  password_files.name_in(config.redis);
  try {
    ForegroundJob foreground(config);
    require_class(foreground.registry(), job.code_class());
    const ForegroundJob::Run run = foreground.perform(job, queue, limits);
    write_waiting_lines();
    return tell(*this, job, run);
  } catch (const LibraryError& error) {
    throw ConfigError(error.what());
  }
}

int Foreground::tell_of_crash(int record) { return brood::tell_of_crash(record); }

}  // namespace brood
