#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <exception>
#include <optional>
#include <string>
#include <vector>

#include "shared/base/identity.hpp"
#include "shared/base/log_line.hpp"
#include "shared/config/password_files.hpp"
#include "shared/config/reading/load_config.hpp"
#include "shared/errors/error_services.hpp"
#include "shared/job/random_bytes.hpp"
#include "shared/json/json_writer.hpp"
#include "shared/redis/tls_certificates.hpp"
#include "supervisor/cli/arguments/command_line.hpp"
#include "supervisor/cli/arguments/verb.hpp"
#include "supervisor/cli/commands.hpp"
#include "supervisor/cli/terminal/terminal.hpp"
#include "supervisor/version.hpp"
#include "worker/reporting/run_reporter.hpp"

namespace brood {
namespace {

constexpr const char* errors_footer = R"(Examples:
  brood errors test -C /etc/brood/brood.toml

It sends one report to the program and to each service of [on_error], and prints their answers.  Exit status 69: one of
them did not take it.)";

struct ErrorsOrder {
  std::string config;
  bool json = false;
};

struct TestAnswer {
  std::string service;
  bool is_taken = false;
  std::string reason = {};  // if it was not delivered
};

ErrorReport test_report(const Config& config) {
  const Identity here = Identity::of_this_process();
  RandomBytes random;
  ErrorReport report;
  report.id = (random.jid() + random.jid()).substr(0, 32);
  report.at = epoch_seconds(wall_now());
  report.job_class = "BroodErrorsTest";
  report.jid = random.jid();
  report.queue = "default";
  report.error_class = "brood::TestReport";
  report.message = "`brood errors test` on " + here.hostname + ": no job has failed";
  report.becomes = ErrorReport::Becomes::discarded;
  if (config.on_error)
    report.job = JsonWriter().text("class", report.job_class).json("args", "[]").text("jid", report.jid).object();
  report.host = here.hostname;
  report.identity = here.name;
  report.environment = config.environment;
  report.release = config.errors.release;
  return report;
}

ErrorVerdict wait_for(ReportAttempt& attempt) {
  for (;;) {
    if (const auto verdict = attempt.go_on(steady_now())) return *verdict;
    std::vector<pollfd> fds;
    attempt.watch(fds);
    const SteadyTime now = steady_now();
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(attempt.next_look(now) - now);
    poll(fds.data(), fds.size(), static_cast<int>(std::max<std::int64_t>(left.count(), 0)));
  }
}

TestAnswer try_sink(ErrorSink sink, const Config& config, const ErrorServices& services, const ErrorReport& report) {
  TestAnswer answer{std::string(error_sink_names[static_cast<std::size_t>(sink)])};
  try {
    std::optional<TlsCertificates> certificates;
    if (uses_tls(config, services, sink)) certificates.emplace(with_paths(config.errors.tls.value_or(TlsSettings{})));
    const auto attempt =
        begin_report(sink, config, services, certificates ? &*certificates : nullptr, version, report, steady_now());
    const ErrorVerdict verdict = wait_for(*attempt);
    answer.is_taken = verdict.kind == ErrorVerdict::Kind::taken;
    answer.reason = verdict.reason;
  } catch (const std::exception& error) {
    answer.reason = error.what();
  }
  return answer;
}

int test_errors(const ErrorsOrder& order) {
  const Config config = load_config(config_path_or_default(order.config), {});
  const std::vector<ErrorSink> sinks = sinks_of(config);
  if (sinks.empty())
    throw ConfigError("the configuration names no error service and no program: see [on_error] in brood.toml(5)");
  const ErrorServices services = read_error_services(config.errors);
  const ErrorReport report = test_report(config);
  std::vector<TestAnswer> answers;
  for (const ErrorSink sink : sinks) {
    answers.push_back(try_sink(sink, config, services, report));
    if (order.json) continue;
    const TestAnswer& answer = answers.back();
    print(
        fmt::format("{}: {}\n", answer.service,
                    answer.is_taken ? "took the report" : "did not take the report: " + log::printable(answer.reason)));
  }
  if (order.json)
    print_json(JsonWriter()
                   .text("id", report.id)
                   .each("services", answers,
                         [](const TestAnswer& answer) {
                           return JsonWriter()
                               .text("name", answer.service)
                               .truth("taken", answer.is_taken)
                               .text_or_null("reason", answer.reason)
                               .object();
                         })
                   .object() +
               "\n");
  const bool all =
      std::all_of(answers.begin(), answers.end(), [](const TestAnswer& answer) { return answer.is_taken; });
  return all ? exit_status::ok : exit_status::unavailable;
}

}  // namespace

int errors_command(const std::vector<std::string>& args) {
  static const std::vector<VerbFor<ErrorsOrder>> verbs = {
      {{"test", "", "send a test report to each error service", {}}, test_errors}};
  ErrorsOrder order;
  CommandLine line("Reports of failures: brood errors test [OPTIONS]", "brood errors");
  line.option("-C,--config", order.config, "FILE", "Configuration (default: /etc/brood/brood.toml, if it is there)");
  line.flag("--json", order.json, "Answer in JSON, for programs");
  const std::vector<Verb> says = only_verbs(verbs);
  line.footer(help_on("errors", says) + "\n" + errors_footer);
  std::vector<std::string> words = line.parse(args);
  if (words.empty()) throw UsageError("say what to do: brood errors test");
  const std::size_t verb = take_verb(line, says, words);
  refuse_arguments(words);
  return verbs[verb].obey(order);
}

}  // namespace brood
