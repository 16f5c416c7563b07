#include <boost/test/unit_test.hpp>

#include <map>
#include <optional>
#include <string>

#include "shared/config/config_file.hpp"
#include "shared/config/reading/load_config.hpp"
#include "supervisor/cli/import/import_sidekiq.hpp"
#include "supervisor/cli/import/schedule_rules.hpp"
#include "supervisor/cli/import/sidekiq_yaml.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

const std::map<std::string, std::string> variables = {{"THREADS", "7"}, {"BROKER", "redis://:hunter2@cache:6379/1"}};

std::optional<std::string> variable(const std::string& name) {
  const auto known = variables.find(name);
  if (known == variables.end()) return std::nullopt;
  return known->second;
}

Imported import(const std::string& text, const std::optional<std::string>& schedule = std::nullopt,
                const std::string& environment = "production") {
  ImportRequest request{.config = {"sidekiq.yml", text}, .environment = environment, .variable = variable};
  if (schedule) request.schedule = SidekiqFile{"schedule.yml", *schedule};
  return import_sidekiq(request);
}

// What brood reads from the result.
Config config_of(const Imported& imported) { return load_config("brood.toml", ConfigFile{imported.toml, 0600}, {}); }
Config config_of(const std::string& text) { return config_of(import(text)); }

std::string notes_of(const Imported& imported) {
  std::string all;
  for (const ImportNote& note : imported.notes) all += note.place + " " + note.name + ": " + note.text + "\n";
  return all;
}

std::string queues_in(const Config& config, std::size_t capsule = 0) {
  const QueueOrder& queues = config.capsules.at(capsule).queues;
  std::string all;
  for (const std::string& name : queues.names()) {
    all += (all.empty() ? "" : " ") + name;
    if (queues.mode() != QueueOrder::Mode::strict) all += "," + std::to_string(queues.weights().at(name));
  }
  return all;
}

std::string error_of(const std::string& text) {
  try {
    import(text);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

BOOST_AUTO_TEST_CASE(settings_with_a_counterpart_are_read_by_brood) {
  const Config config = config_of(R"(
:concurrency: 5
:timeout: 30
:max_retries: 10
:tag: images
:labels: [blue, "green"]
:average_scheduled_poll_interval: 2
:dead_max_jobs: 500
:dead_timeout_in_seconds: 86400
max_iteration_runtime: 20
)");
  BOOST_TEST(config.capsules[0].concurrency == 5);
  BOOST_TEST((config.shutdown_timeout == 30s));
  BOOST_TEST(config.max_retries == 10);
  BOOST_TEST(config.tag == "images");
  BOOST_TEST(config.labels.size() == 2U);
  BOOST_TEST((config.poll_interval == 2s));
}

BOOST_AUTO_TEST_CASE(queues_keep_their_order_and_their_weights) {
  BOOST_TEST(queues_in(config_of(":queues: [critical, default]")) == "critical default");
  BOOST_TEST(queues_in(config_of(":queues: [[critical, 3], default, 'low,2', :mail]")) ==
             "critical,3 default,1 low,2 mail,1");
  BOOST_TEST(queues_in(config_of("strict: true\nqueues: [[critical, 3], default]")) == "critical default");
  BOOST_TEST(queues_in(config_of("queues: [[a, 2], b, [a, 3]]")) == "a,5 b,1");
  BOOST_TEST(notes_of(import("queues: ['a b', c]")).find("\"a b\" is no name of a queue") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(queues_of_limit_fetch_become_a_pattern_exclusions_and_caps) {
  const Config config = config_of("queues: [a]\ndynamic: {exclude: [b]}\nlimits: {a: 3}");
  BOOST_TEST(config.capsules[0].queues.has_patterns());
  BOOST_TEST(config.capsules[0].caps.size() == 1U);
  BOOST_TEST(config.capsules[0].caps.at(0).most == 3);
}

BOOST_AUTO_TEST_CASE(a_capsule_stays_a_capsule) {
  const Config config = config_of(":capsules:\n  :one:\n    :concurrency: 1\n    :queues: [serial]\n");
  BOOST_TEST_REQUIRE(config.capsules.size() == 2U);
  BOOST_TEST(config.capsules[1].name == "one");
  BOOST_TEST(config.capsules[1].concurrency == 1);
  BOOST_TEST(queues_in(config, 1) == "serial");
}

BOOST_AUTO_TEST_CASE(the_section_of_the_environment_overwrites_the_rest) {
  const std::string text = "concurrency: 2\nproduction:\n  concurrency: 9\nstaging:\n  concurrency: 4\n";
  BOOST_TEST(config_of(text).capsules[0].concurrency == 9);
  BOOST_TEST(config_of(import(text, std::nullopt, "staging")).capsules[0].concurrency == 4);
  BOOST_TEST(config_of(import(text, std::nullopt, "test")).capsules[0].concurrency == 2);
  BOOST_TEST(notes_of(import(text)).find("staging: left out") != std::string::npos);
  const std::string merged = "base: &base\n  concurrency: 3\n  timeout: 9\nproduction:\n  <<: *base\n  timeout: 7\n";
  BOOST_TEST(config_of(merged).capsules[0].concurrency == 3);
  BOOST_TEST((config_of(merged).shutdown_timeout == 7s));
}

BOOST_AUTO_TEST_CASE(variables_of_the_environment_are_evaluated_and_no_other_erb) {
  BOOST_TEST(config_of("concurrency: <%= ENV['THREADS'] %>").capsules[0].concurrency == 7);
  BOOST_TEST(config_of("concurrency: <%= ENV.fetch(\"THREADS\") { 5 } %>").capsules[0].concurrency == 7);
  BOOST_TEST(config_of("concurrency: <%= ENV.fetch(\"NONE\") { 5 } %>").capsules[0].concurrency == 5);
  BOOST_TEST(config_of("concurrency: <%= ENV.fetch('NONE', 6).to_i %>").capsules[0].concurrency == 6);
  BOOST_TEST(config_of("concurrency: <%= (ENV['NONE'] || 8).to_i %>").capsules[0].concurrency == 8);
  BOOST_TEST(config_of("concurrency: <%= Integer(ENV.fetch('NONE', 4)) %>").capsules[0].concurrency == 4);
  const Imported other = import("a: 1\nconcurrency: <%= Etc.nprocessors %>");
  BOOST_TEST(notes_of(other).find("sidekiq.yml:2 ERB: `Etc.nprocessors` cannot be evaluated") != std::string::npos);
  BOOST_TEST(other.toml.find("\nconcurrency") == std::string::npos);
  BOOST_TEST(notes_of(import("<%# a comment\n of two lines %>\nfoo: 1")) == "sidekiq.yml:3 foo: has no counterpart\n");
}

BOOST_AUTO_TEST_CASE(no_value_of_the_environment_is_shown) {
  const Imported imported =
      import("concurrency: 2\nredis:\n  url: <%= ENV['BROKER'] %>\ntimeout: <%= ENV.fetch('NONE', 6) %>\n");
  const std::string notes = notes_of(imported);
  BOOST_TEST(imported.toml.find("hunter2") == std::string::npos, imported.toml);
  BOOST_TEST(notes.find("hunter2") == std::string::npos, notes);
  BOOST_TEST(notes.find("sidekiq.yml:3 ERB: `ENV['BROKER']` is taken from the environment here") != std::string::npos);
  BOOST_TEST(notes.find("sidekiq.yml:4 ERB: `ENV.fetch('NONE', 6)` is 6 here") != std::string::npos, notes);
}

BOOST_AUTO_TEST_CASE(of_two_rules_with_one_name_the_first_is_kept) {
  const Imported imported = import("schedule:\n  report:\n    cron: '0 3 * * *'\n    class: First\n",
                                   "report:\n  cron: '0 4 * * *'\n  class: Second\nother:\n  cron: '0 5 * * *'\n"
                                   "  class: Other\n");
  const Config config = config_of(imported);
  BOOST_TEST(config.periodic.size() == 2u);
  BOOST_TEST(config.periodic.at("report").job_class == "First");
  BOOST_TEST(notes_of(imported).find("schedule.yml:1 periodic.report: left out: another rule has this name") !=
             std::string::npos);
}

BOOST_AUTO_TEST_CASE(each_setting_without_a_counterpart_is_named_with_its_line) {
  const std::string notes = notes_of(import("pidfile: x\nfoo: 1\nconcurrency: many\nredis: {url: x}\n"));
  BOOST_TEST(notes.find("sidekiq.yml:1 pidfile: has no counterpart: systemd") != std::string::npos);
  BOOST_TEST(notes.find("sidekiq.yml:2 foo: has no counterpart\n") != std::string::npos);
  BOOST_TEST(notes.find("sidekiq.yml:3 concurrency: is no number\n") != std::string::npos);
  BOOST_TEST(notes.find("sidekiq.yml:4 redis: has no counterpart: write the address") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(rules_of_both_gems_become_periodic_jobs) {
  const Imported imported = import(R"(
:scheduler:
  :schedule:
    report:
      cron: '0 3 * * 1 Europe/Berlin'
      class: Reports::Nightly
      queue: low
      args: [1, "x", {a: true}]
    often: {every: '15m', class: Often}
    words: {cron: every day at five, class: W}
    once: {in: 5m, class: W}
)",
                                   "clean:\n  cron: '*/5 * * * *'\n  class: Clean\n  args: {days: 3}\n");
  const Config config = config_of(imported);
  BOOST_TEST_REQUIRE(config.periodic.size() == 3U);
  const PeriodicSettings& report = config.periodic.at("report");
  BOOST_TEST(report.cron == "0 3 * * 1");
  BOOST_TEST(report.zone == "Europe/Berlin");
  BOOST_TEST(report.job_class == "Reports::Nightly");
  BOOST_TEST(report.queue == "low");
  BOOST_TEST(report.args == R"([1,"x",{"a":true}])");
  BOOST_TEST(config.periodic.at("often").cron == "*/15 * * * *");
  BOOST_TEST(config.periodic.at("clean").args == R"([{"days":3}])");
  const std::string notes = notes_of(imported);
  BOOST_TEST(notes.find("sidekiq.yml:10 periodic.words: cron \"every day at five\" is no rule of cron(8)") !=
             std::string::npos);
  BOOST_TEST(notes.find("sidekiq.yml:11 periodic.once: it has neither cron nor every") != std::string::npos);
  BOOST_TEST(notes_of(import("", "- {name: a, cron: '0 0 */2 * 1', class: A}")).find("means other days in cron(8)") !=
             std::string::npos);
}

BOOST_AUTO_TEST_CASE(intervals_become_rules_where_they_divide_a_minute_an_hour_or_a_day) {
  BOOST_TEST(cron_for_interval("30s").value() == "*/30 * * * * *");
  BOOST_TEST(cron_for_interval("1m").value() == "* * * * *");
  BOOST_TEST(cron_for_interval("60").value() == "* * * * *");
  BOOST_TEST(cron_for_interval("20m").value() == "*/20 * * * *");
  BOOST_TEST(cron_for_interval("1h").value() == "0 * * * *");
  BOOST_TEST(cron_for_interval("6h").value() == "0 */6 * * *");
  BOOST_TEST(cron_for_interval("1d").value() == "0 0 * * *");
  BOOST_TEST(cron_for_interval("1w").value() == "0 0 * * 0");
  for (const char* text : {"", "0s", "7m", "1h30m", "5h", "3d", "x", "m", "99999999999999999999d", "1.5h"})
    BOOST_TEST(!cron_for_interval(text), text);
}

BOOST_AUTO_TEST_CASE(a_file_that_is_no_map_of_settings_is_refused_with_its_line) {
  BOOST_TEST(error_of("a: [b").find("is no YAML") != std::string::npos);
  BOOST_TEST(error_of("- a\n").find("is no map of settings") != std::string::npos);
  BOOST_TEST(error_of("a: &a [*a]\n").find("nested too deeply") != std::string::npos);
  std::string bomb = "a0: &a0 [1, 1]\n";
  for (int i = 1; i < 30; ++i) {
    const std::string before = "*a" + std::to_string(i - 1), list = before + "," + before;
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + list + "]\n";
  }
  BOOST_TEST(error_of(bomb).find("too many values") != std::string::npos);
  BOOST_TEST(error_of("").empty());
}

BOOST_AUTO_TEST_CASE(text_of_a_file_cannot_leave_its_comment_or_its_string) {
  const std::string twisted = R"("x\nconcurrency = 99": 1)"
                              "\n"
                              R"(labels: ["a\"]\nconcurrency = 98"])"
                              "\n";
  const Imported imported = import(twisted);
  BOOST_TEST(imported.toml.find("\nconcurrency") == std::string::npos, imported.toml);
}
