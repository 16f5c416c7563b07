#include "supervisor/cli/run_options.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <string_view>

#include "shared/log_line.hpp"
#include "shared/queue_order.hpp"
#include "supervisor/cli/command_line.hpp"
#include "supervisor/way_back.hpp"

namespace brood {
namespace {

constexpr const char* examples = R"(Examples:
  brood run -r ./libjobs.so -q critical -q default -c 8
  brood run -r ./libjobs.so -q critical,5 -q default,1     queues by weight
  brood run -C /etc/brood/brood.toml --check               try a configuration

Without --redis and configuration, Redis is where REDIS_URL says, else brood starts one of its own.
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

  CLI::App app("Runs the supervisor and its workers until told to stop.", "brood run");
  app.add_option("-C,--config", config, "Configuration file (default: /etc/brood/brood.toml, if there is one)")
      ->type_name("FILE");
  app.add_option("-c,--concurrency", concurrency, "Workers; each performs one job at a time (default: the CPUs)")
      ->type_name("N");
  app.add_option("-q,--queue", overrides.queues,
                 "Queue to fetch from, repeatable; in this order, or by weight (default: default)")
      ->type_name("NAME[,WEIGHT]")
      ->allow_extra_args(false);
  app.add_option("-r,--require", overrides.require, "Job library to load, repeatable")
      ->type_name("LIB")
      ->allow_extra_args(false);
  app.add_option("-t,--timeout", overrides.shutdown_timeout, "How long a stop waits for running jobs (default: 25)")
      ->type_name("SECONDS");
  app.add_option("-e,--environment", overrides.environment, "Environment, shown and nothing more")->type_name("NAME");
  app.add_option("-g,--tag", overrides.tag, "Tag shown on Sidekiq's Busy page")->type_name("TAG");
  app.add_option("--redis", overrides.redis_url, "redis:// or unix:// address, or \"embedded\"")->type_name("URL");
  app.add_option("--log-format", overrides.log_format, "text or json (default: text)")->type_name("FORMAT");
  app.add_flag("-v,--verbose", overrides.verbose, "Log at level debug");
  app.add_flag("--check", options.check, "Check the configuration and the job libraries, and exit");
  app.add_flag("--startup", options.startup, "With --check: run the libraries' startup handlers too");
  app.add_option("--instance", options.instance, "Name of this supervisor, where several of one user run")
      ->type_name("NAME");
  // From one program to the next, not for people.
  app.add_option(std::string(way_back::adopt), options.adopt)->group("");
  app.add_option(std::string(way_back::former), options.former)->group("");
  app.add_option(std::string(way_back::failed), options.failed)->group("");
  app.footer(examples);

  refuse_arguments(parse_arguments(app, args));
  if (options.startup && !options.check) throw UsageError("--startup needs --check");
  constexpr std::size_t longest_instance = 63;
  if (!options.instance.empty() && (!is_safe_name(options.instance) || options.instance.size() > longest_instance))
    throw UsageError("--instance takes up to 63 letters, digits and _ . : @ / -");
  options.config_path = config_path_or_default(config);
  if (!concurrency.empty()) overrides.concurrency = whole_number("--concurrency", concurrency);
  return options;
}

}  // namespace brood
