#include "supervisor/cli/run_options.hpp"

#include <fmt/format.h>

#include <charconv>
#include <string_view>

#include "shared/base/log_line.hpp"
#include "shared/config/queue_order.hpp"
#include "shared/config/reading/load_config.hpp"
#include "supervisor/cli/arguments/command_line.hpp"
#include "supervisor/upgrade/way_back.hpp"

namespace brood {
namespace {

constexpr const char* examples = R"(Examples:
  brood run -r ./libjobs.so -q critical -q default -c 8
  brood run -r ./libjobs.so -q critical,5 -q default,1     queues by weight
  brood run -C /etc/brood/brood.toml --check               try a configuration

Without --redis and configuration brood uses REDIS_URL, else it starts a private Redis.
TERM and INT stop, TSTP quiets, TTIN logs the stack of every worker.)";

int whole_number(const std::string& flag, std::string_view text) {
  int n = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (error != std::errc{} || end != text.data() + text.size()) {
    throw UsageError(fmt::format("{} must be a whole number, not \"{}\"", flag, log::printable(text.substr(0, 80))));
  }
  return n;
}

}  // namespace

RunOptions parse_run_options(const std::vector<std::string>& args) {
  RunOptions options;
  ConfigOverrides& overrides = options.overrides;
  std::string config, concurrency;

  CommandLine line("Runs the supervisor and its workers until a signal stops them.", "brood run");
  line.option("-C,--config", config, "FILE", "Configuration file (default: /etc/brood/brood.toml, if there is one)");
  line.option("-c,--concurrency", concurrency, "N", "Workers; each performs one job at a time (default: the CPUs)");
  line.option("-q,--queue", overrides.queues, "NAME[,WEIGHT]",
              "Queue to fetch from, pattern such as mail*, or !QUEUE to leave out; repeatable; in this order, or by "
              "weight (default: default)");
  line.option("-r,--require", overrides.require, "LIB", "Job library to load, repeatable");
  line.option("-t,--timeout", overrides.shutdown_timeout, "SECONDS",
              "How long a stop waits for running jobs (default: 25)");
  line.option("-e,--environment", overrides.environment, "NAME", "Environment, only shown");
  line.option("-g,--tag", overrides.tag, "TAG", "Tag shown on Sidekiq's Busy page");
  line.option("--redis", overrides.redis_url, "URL",
              "redis://, rediss://, unix://, sentinel:// or cluster:// address, or \"embedded\"");
  line.option("--log-format", overrides.log_format, "FORMAT", "text or json (default: text)");
  line.flag("-v,--verbose", overrides.verbose, "Log at level debug");
  line.flag("--check", options.check, "Check the configuration and the job libraries, and exit");
  line.flag("--startup", options.startup, "With --check: run the libraries' startup handlers too");
  line.option("--instance", options.instance, "NAME", "Name of this supervisor, if several of one user run");
  // For programs that hand over, not for people.
  line.hidden(std::string(way_back::adopt), options.adopt);
  line.hidden(std::string(way_back::former), options.former);
  line.hidden(std::string(way_back::failed), options.failed);
  line.footer(examples);

  refuse_arguments(line.parse(args));
  if (options.startup && !options.check) throw UsageError("--startup needs --check");
  constexpr std::size_t longest_instance = 63;
  if (!options.instance.empty() && (!is_safe_name(options.instance) || options.instance.size() > longest_instance))
    throw UsageError("--instance takes up to 63 letters, digits and _ . : @ / -");
  options.config_path = config_path_or_default(config);
  if (!concurrency.empty()) overrides.concurrency = whole_number("--concurrency", concurrency);
  return options;
}

}  // namespace brood
