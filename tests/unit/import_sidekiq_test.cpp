#include <boost/test/unit_test.hpp>

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "shared/config/config_file.hpp"
#include "shared/config/reading/load_config.hpp"
#include "shared/periodic/zone.hpp"
#include "supervisor/cli/import/import_sidekiq.hpp"
#include "supervisor/cli/import/schedule_rules.hpp"
#include "supervisor/cli/import/sidekiq_yaml.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

const std::map<std::string, std::string> variables = {
    {"THREADS", "7"}, {"BROKER", "redis://:hunter2@cache:6379/1"}, {"API_TOKEN", "hunter2"}, {"QUEUE", "mail"}};

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
  BOOST_TEST(queues_in(config_of(":queues:\n  critical: 3\n  default: 1\n")) == "critical,3 default,1");
  BOOST_TEST(queues_in(config_of("capsules: {one: {concurrency: 1, queues: {a: 2, b: 1}}}"), 1) == "a,2 b,1");
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
  BOOST_TEST(notes.find("sidekiq.yml:3 ERB: the value of `BROKER` may be a secret") != std::string::npos);
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
  BOOST_TEST(notes.find("sidekiq.yml:11 periodic.once: it has no cron, every or interval") != std::string::npos);
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

BOOST_AUTO_TEST_CASE(a_value_that_came_from_the_environment_is_marked) {
  const Imported imported =
      import("concurrency: <%= ENV['THREADS'] %>\nqueues:\n  - <%= ENV['QUEUE'] %>\n  - b\ntimeout: 8\n");
  BOOST_TEST(imported.toml.find("# sidekiq.yml:1, from this machine's environment: THREADS\n") != std::string::npos);
  BOOST_TEST(imported.toml.find("# sidekiq.yml:2, from this machine's environment: QUEUE\n") != std::string::npos);
  BOOST_TEST(imported.toml.find("# sidekiq.yml:5\n") != std::string::npos, imported.toml);
  const Imported rules = import("", "a:\n  cron: '0 3 * * *'\n  class: A\n  queue: <%= ENV['QUEUE'] %>\n");
  BOOST_TEST(rules.toml.find("# with values of this machine's environment: QUEUE\n") != std::string::npos, rules.toml);
}

BOOST_AUTO_TEST_CASE(a_value_that_may_be_a_secret_is_written_nowhere) {
  const std::string text = R"(
tag: <%= ENV['API_TOKEN'] %>
labels: [a, "x-<%= ENV['BROKER'] %>"]
queues: [low, <%= ENV['API_TOKEN'] %>]
limits:
  low: <%= ENV['API_TOKEN'] %>
  <%= ENV['API_TOKEN'] %>: 3
capsules: {one: {concurrency: <%= ENV['API_TOKEN'] %>, queues: [<%= ENV['BROKER'] %>]}}
dynamic: {exclude: [<%= ENV['API_TOKEN'] %>]}
:scheduler:
  :schedule:
    report: {cron: '0 3 * * *', class: Report, args: [1, {token: <%= ENV.fetch('API_TOKEN') %>}]}
    mail: {cron: '<%= ENV["BROKER"] %>', class: Mail}
    good: {cron: '0 3 * * *', class: Good, args: <%= ENV.fetch('DB_PASSWORD', 'hunter2') %>}
)";
  const Imported imported = import(text);
  const std::string all = imported.toml + notes_of(imported);
  BOOST_TEST(all.find("hunter2") == std::string::npos, all);
  BOOST_TEST(all.find("\xEE\x80\x80") == std::string::npos);
  BOOST_TEST(imported.toml.find("[periodic") == std::string::npos, imported.toml);
  BOOST_TEST(imported.toml.find("queues = [\"low\", \"*\"]") != std::string::npos, imported.toml);
  const std::string notes = notes_of(imported);
  for (const char* note : {"sidekiq.yml:2 tag: left out: its value may be a secret of the environment; set it",
                           "sidekiq.yml:2 ERB: the value of `API_TOKEN` may be a secret, so it is not written",
                           "sidekiq.yml:3 labels: left out", "sidekiq.yml:4 queues: left out",
                           "sidekiq.yml:6 limits.low: left out", "sidekiq.yml:8 capsules.one.concurrency: left out",
                           "sidekiq.yml:9 dynamic.exclude: left out", "sidekiq.yml:12 periodic.report: left out",
                           "sidekiq.yml:13 periodic.mail: left out", "sidekiq.yml:14 periodic.good: left out"})
    BOOST_TEST(notes.find(note) != std::string::npos, note << " is not in\n" << notes);
}

BOOST_AUTO_TEST_CASE(a_secret_is_known_by_the_name_of_its_variable_or_by_its_look) {
  for (const auto& [name, value] :
       {std::pair("REDIS_URL", "x"), std::pair("API_KEY", "5"), std::pair("DbPassword", ""), std::pair("DBPW", "x"),
        std::pair("PW_OF_DB", "x"), std::pair("X", "correct horse battery"), std::pair("X", "1234 5678"),
        std::pair("X", "correct-horse-battery-staple"), std::pair("X", "redis://cache"), std::pair("X", "a@b"),
        std::pair("X", "a=b"), std::pair("X", "9f86d081884c7d659a2feaa0c55ad015")})
    BOOST_TEST(may_be_secret(name, value), name << "=" << value);
  for (const auto& [name, value] :
       {std::pair("THREADS", "25"), std::pair("QUEUE", "mail_high"), std::pair("HOST", "worker-17.example.org"),
        std::pair("CRON", "*/5 3 * * 1"), std::pair("HTTPWORKERS", "4"), std::pair("ZONE", "Europe/Berlin"),
        std::pair("FLAG", "true")})
    BOOST_TEST(!may_be_secret(name, value), name << "=" << value);
}

BOOST_AUTO_TEST_CASE(limits_of_sidekiq_throttled_become_caps_of_classes) {
  const std::string ruby = R"(
# sidekiq_throttle(concurrency: { limit: 1 })
module Reports
  class Failed < StandardError; end

  class Nightly
    include Sidekiq::Job
    include Sidekiq::Throttled::Job
    sidekiq_throttle(
      # Ten at a time, "in all".
      concurrency: { limit: 1_0, ttl: 1.hour.to_i },  # not more
      threshold: { limit: 100, period: 1.hour },
      requeue: { to: :low, with: :schedule }
    )
  end

  class Other
    sidekiq_throttle :concurrency => [{ :limit => 4 }, { :limit => 3 }, { :limit => 2, :key_suffix => ->(id) { id } }],
                     :observer => ->(s, *a) { puts "#{s}, #{a}" }
    def perform; end
  end
end

class ::Fetch
  sidekiq_throttle_as :api
end
class Comments
  sidekiq_throttle_as(:api)
  sidekiq_throttle_asx :api
end
class Lambda
  sidekiq_throttle concurrency: { limit: -> { Setting.most } }, threshold: { limit: 5, period: 1.week }
  sidekiq_throttle_as "none"
end
=begin
class Hidden
  sidekiq_throttle concurrency: { limit: 5 }
end
=end
Sidekiq::Throttled::Registry.add(:api, concurrency: { limit: 7 })
Sidekiq::Throttled::Registry.add(:unused, { concurrency: { limit: 7 } })
__END__
Sidekiq::Throttled::Registry.add(:end, concurrency: { limit: 7 })
)";
  ImportRequest request{.config = {"sidekiq.yml", "limits: {api: 2}"}, .ruby = {{"jobs.rb", ruby}}};
  request.variable = variable;
  const Imported imported = import_sidekiq(request);
  const Config config = config_of(imported);
  BOOST_TEST_REQUIRE(config.capsules[0].caps.size() == 4U, imported.toml);
  const auto cap = [&](const std::string& name) {
    for (const CapSettings& one : config.capsules[0].caps) {
      if (one.name == name) return one;
    }
    return CapSettings{};
  };
  BOOST_TEST(cap("Reports::Nightly").most == 10);
  BOOST_TEST((cap("Reports::Nightly").classes == std::vector<std::string>{"Reports::Nightly"}));
  BOOST_TEST(cap("Reports::Other").most == 3);
  BOOST_TEST(cap("class-api").most == 7);
  BOOST_TEST((cap("class-api").classes == std::vector<std::string>{"Fetch", "Comments"}));
  const std::string notes = notes_of(imported);
  for (
      const char* note :
      {"jobs.rb:9 Reports::Nightly concurrency ttl: is not needed",
       "jobs.rb:9 Reports::Nightly threshold: is no setting: use brood::Limiter::window(\"Reports--Nightly\", 100, 1h)",
       "jobs.rb:9 Reports::Nightly requeue: has no counterpart",
       "jobs.rb:18 Reports::Other concurrency: left out: key_suffix", "jobs.rb:18 Reports::Other observer: has no",
       "jobs.rb:32 Lambda concurrency: left out: its limit is no plain number",
       "jobs.rb:32 Lambda threshold: is no setting: use a brood::Limiter::window in the job; its values cannot be read",
       "jobs.rb:33 Lambda: left out: no Registry.add of none is in the files", "jobs.rb:41 unused: left out"})
    BOOST_TEST(notes.find(note) != std::string::npos, note << " is not in\n" << notes);
  BOOST_TEST(notes.find("Hidden") == std::string::npos);
  BOOST_TEST(notes.find("end:") == std::string::npos);
}

BOOST_AUTO_TEST_CASE(ruby_code_that_is_cut_off_or_no_ruby_is_read_to_its_end) {
  for (const std::string text :
       {"sidekiq_throttle", "class A\n sidekiq_throttle(", "class A\n sidekiq_throttle({{{[",
        "class A\n sidekiq_throttle concurrency: { limit: \"", "class A\n sidekiq_throttle )))",
        "class A\n sidekiq_throttle :", "class A\n sidekiq_throttle concurrency:", "class A\n sidekiq_throttle_as",
        "class\nmodule \nThrottled::Registry.add(", "class A\n sidekiq_throttle 'a\\",
        "class A\n sidekiq_throttle ,,, => ,"}) {
    ImportRequest request{.config = {"sidekiq.yml", ""}, .ruby = {{"jobs.rb", text}}};
    BOOST_TEST(config_of(import_sidekiq(request)).capsules[0].caps.empty(), text);
  }
}

BOOST_AUTO_TEST_CASE(rules_that_ruby_does_not_run_are_left_out) {
  const std::string rules = ":schedule:\n  a: {cron: '0 3 * * *', class: A}\n";
  for (const std::string& text :
       {":enabled: false\n" + rules, rules + "production: {enabled: false}\n",
        std::string(":scheduler:\n  :schedule:\n    a: {cron: '0 3 * * *', class: A}\n  :enabled: false\n")}) {
    const Imported imported = import(text, "b: {cron: '0 4 * * *', class: B}");
    const Config config = config_of(imported);
    BOOST_TEST(config.periodic.size() == 1U, imported.toml);
    BOOST_TEST(config.periodic.contains("b"));
    BOOST_TEST(notes_of(imported).find("schedule: left out: `enabled: false` switches the rules off") !=
               std::string::npos);
  }
  for (const std::string enabled : {":enabled: true\n", ":scheduler: {enabled: true}\n"})
    BOOST_TEST(config_of(enabled + rules).periodic.contains("a"));
  const Imported unknown = import(":enabled: <%= Rails.env.production? %>\n" + rules);
  BOOST_TEST(notes_of(unknown).find("sidekiq.yml:1 enabled: is neither true nor false here") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_rule_counts_in_its_environments) {
  const std::string rules = R"(
schedule:
  a: {cron: '0 3 * * *', class: A, rails_env: development}
  b: {cron: '0 3 * * *', class: B, rails_env: 'staging, production'}
  c: {cron: '0 3 * * *', class: C, rails_env: }
)";
  const Imported imported = import(rules);
  const Config config = config_of(imported);
  BOOST_TEST(config.periodic.size() == 2U, imported.toml);
  BOOST_TEST(!config.periodic.contains("a"));
  const std::string notes = notes_of(imported);
  BOOST_TEST(notes.find("sidekiq.yml:3 periodic.a: left out: it is for the environment development; see") !=
             std::string::npos);
  BOOST_TEST(notes.find("rails_env") == std::string::npos, notes);
  BOOST_TEST(config_of(import(rules, std::nullopt, "development")).periodic.contains("a"));
}

BOOST_AUTO_TEST_CASE(a_rule_of_sidekiq_scheduler_may_have_its_class_as_its_name) {
  const Imported imported = import(R"(
schedule:
  CancelAbandonedOrders: {cron: "*/5 * * * *"}
  Reports::Nightly: {every: 1h}
  nothing: {cron: "*/5 * * * *"}
)");
  const Config config = config_of(imported);
  BOOST_TEST_REQUIRE(config.periodic.size() == 2U, imported.toml);
  BOOST_TEST(config.periodic.at("CancelAbandonedOrders").job_class == "CancelAbandonedOrders");
  BOOST_TEST(config.periodic.at("Reports::Nightly").job_class == "Reports::Nightly");
  BOOST_TEST(notes_of(imported).find("sidekiq.yml:5 periodic.nothing: it names no class") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(an_interval_recurs) {
  const Imported imported = import("schedule:\n  i: {interval: 15m, class: I}\n  j: {interval: ['1h'], class: J}\n");
  const Config config = config_of(imported);
  BOOST_TEST_REQUIRE(config.periodic.size() == 2U, imported.toml);
  BOOST_TEST(config.periodic.at("i").cron == "*/15 * * * *");
  BOOST_TEST(config.periodic.at("j").cron == "0 * * * *");
  const std::string notes = notes_of(imported);
  BOOST_TEST(notes.find("periodic.i: interval 15m counts from the full minute") != std::string::npos, notes);
  BOOST_TEST(notes.find("brood enqueue") == std::string::npos, notes);
  BOOST_TEST(notes.find("has no counterpart") == std::string::npos, notes);
}

BOOST_AUTO_TEST_CASE(a_map_is_an_environment_by_its_name_or_by_its_settings) {
  const std::string notes = notes_of(import(R"(
default_job_options: {retry: 3, queue: low}
cron: {a: {cron: '* * * * *', class: A}}
concurrency: {a: 1}
mine: {a: 1}
staging: {a: 1}
uat: {queues: [a]}
)"));
  for (const char* note : {"sidekiq.yml:2 default_job_options: has no counterpart: give each class",
                           "sidekiq.yml:3 cron: has no counterpart:", "sidekiq.yml:4 concurrency: is no number",
                           "sidekiq.yml:5 mine: has no counterpart\n",
                           "sidekiq.yml:6 staging: left out: this is for the environment staging; see --environment",
                           "sidekiq.yml:7 uat: left out: this is for the environment uat; see --environment"})
    BOOST_TEST(notes.find(note) != std::string::npos, note << " is not in\n" << notes);
  BOOST_TEST(config_of(import("qa: {concurrency: 4}", std::nullopt, "qa")).capsules[0].concurrency == 4);
}

BOOST_AUTO_TEST_CASE(an_offset_becomes_the_name_of_a_zone) {
  const Imported imported = import(R"(
schedule:
  east: {cron: "0 9 * * * +09:00", class: A}
  west: {cron: "0 9 * * * -03:00", class: A}
  none: {cron: "0 9 * * * +00:00", class: A}
  half: {cron: "0 9 * * * +05:30", class: A}
)");
  const Config config = config_of(imported);
  BOOST_TEST_REQUIRE(config.periodic.size() == 3U, imported.toml);
  BOOST_TEST(config.periodic.at("east").zone == "Etc/GMT-9");
  BOOST_TEST(config.periodic.at("west").zone == "Etc/GMT+3");
  BOOST_TEST(config.periodic.at("none").zone == "UTC");
  BOOST_TEST_REQUIRE(Zone::find("Etc/GMT-9").has_value());
  BOOST_TEST((Zone::find("Etc/GMT-9")->around(std::chrono::sys_seconds(1'700'000'000s)).ahead == 9h));
  BOOST_TEST(
      notes_of(imported).find("sidekiq.yml:6 periodic.half: left out: cron \"0 9 * * * +05:30\" has an offset") !=
      std::string::npos);
}

BOOST_AUTO_TEST_CASE(numbers_are_read_as_ruby_reads_them) {
  const Imported imported = import(
      "dead_timeout_in_seconds: 15_552_000\naverage_scheduled_poll_interval: 0.5\nconcurrency: 1_0\n"
      "schedule: {a: {cron: '0 3 * * *', class: A, args: [1_000, '1_000', 1__0, 2.5, _1]}}\n");
  const Config config = config_of(imported);
  BOOST_TEST((config.poll_interval == 500ms));
  BOOST_TEST((config.dead_timeout == std::chrono::seconds(15'552'000)));
  BOOST_TEST(config.capsules[0].concurrency == 10);
  BOOST_TEST(config.periodic.at("a").args == R"([1000,"1_000","1__0",2.5,"_1"])");
  BOOST_TEST(notes_of(import("timeout: -1")).find("timeout: is no number of seconds") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(limits_within_a_line_become_caps_or_remarks) {
  const std::string ruby = R"(
module Jobs
  class OneLine; sidekiq_throttle concurrency: { limit: 6 }; end
  class Next; include Sidekiq::Job; sidekiq_throttle(concurrency: { limit: 5 }) end # sidekiq_throttle
end
module A; class B; sidekiq_throttle concurrency: { limit: 4 }; end; end
K = Class.new { include Sidekiq::Job; sidekiq_throttle concurrency: { limit: 3 } }
L = Class.new(Base) do
  sidekiq_throttle concurrency: { limit: 2 }
end
Jobs::M = Class.new do sidekiq_throttle(concurrency: { limit: 1 }) end
class C; def perform; end; sidekiq_throttle concurrency: { limit: 1 }; end
module Concern
  def self.included(base) base.sidekiq_throttle concurrency: { limit: 1 } end
  def self.sidekiq_throttle(x) = nil
end
class D
  klass.sidekiq_throttle concurrency: { limit: 1 }
end
after_initialize { Sidekiq::Throttled::Registry.add(:api, concurrency: { limit: 7 }) }
class E; sidekiq_throttle_as :api; end
)";
  const Imported imported =
      import_sidekiq({.config = {"sidekiq.yml", ""}, .ruby = {{"jobs.rb", ruby}}, .variable = variable});
  const Config config = config_of(imported);
  std::map<std::string, std::int64_t> caps;
  for (const CapSettings& cap : config.capsules[0].caps) caps[cap.classes.at(0)] = cap.most;
  const std::map<std::string, std::int64_t> expected = {
      {"Jobs::OneLine", 6}, {"Jobs::Next", 5}, {"A::B", 4}, {"K", 3}, {"L", 2}, {"Jobs::M", 1}, {"E", 7}};
  BOOST_TEST((caps == expected), imported.toml);
  const std::string notes = notes_of(imported);
  for (const char* note : {"jobs.rb:12 sidekiq_throttle: left out: write it on a line of its own",
                           "jobs.rb:14 sidekiq_throttle: cannot be read without Ruby",
                           "jobs.rb:18 sidekiq_throttle: cannot be read without Ruby"})
    BOOST_TEST(notes.find(note) != std::string::npos, note << " is not in\n" << notes);
  BOOST_TEST(notes.find("jobs.rb:15") == std::string::npos, notes);
}

BOOST_AUTO_TEST_CASE(a_number_where_a_map_belongs_is_a_remark) {
  const Imported imported = import("capsules: {bad: 5}\nlimits: 5\nscheduler: 5\nschedule: x\n");
  BOOST_TEST(imported.toml.find("\n[") == std::string::npos, imported.toml);
  const std::string notes = notes_of(imported);
  for (const char* note :
       {"sidekiq.yml:1 capsules.bad: left out: is no map of settings",
        "sidekiq.yml:2 limits: left out: is no map of settings", "sidekiq.yml:3 scheduler: left out: is no map",
        "sidekiq.yml:4 schedule: left out: is no map"})
    BOOST_TEST(notes.find(note) != std::string::npos, note << " is not in\n" << notes);
  BOOST_TEST(notes_of(import("capsules: 5")).find("capsules: left out: is no map") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(the_hint_for_standard_input_names_a_file) {
  const ImportRequest request{.config = {std::string(standard_input), "timeout: <%= 1 + 1 %>"}, .variable = variable};
  BOOST_TEST(notes_of(import_sidekiq(request)).find("pipe the output of `erb FILE`") != std::string::npos);
}
