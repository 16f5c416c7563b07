// Changes every setting by a rolling restart.  The table in brood.toml(5) describes the results.
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "shared/config/reading/config_keys.hpp"
#include "tests/support/brood_process.hpp"
#include "tests/support/eventually.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

// By its name in the manual.
std::map<std::string, std::string> table_of_manual() {
  std::ifstream manual(BROOD_SOURCE_DIR "/packaging/man/brood.toml.5");
  std::map<std::string, std::string> table;
  bool is_there = false;
  for (std::string line; std::getline(manual, line);) {
    if (line.starts_with(".Sh ")) is_there = line == ".Sh WHAT A ROLLING RESTART TAKES";
    std::istringstream words(line);
    std::string item, macro, name, ta, effect;
    if (is_there && words >> item >> macro >> name >> ta >> effect && item == ".It" && ta == "Ta") table[name] = effect;
  }
  return table;
}

bool is_section(const std::string& kind) {
  try {
    keys_of_section(kind);
    return true;
  } catch (const std::out_of_range&) {
    return false;
  }
}

void add_settings(const std::string& kind, const std::string& shown, std::set<std::string>& all) {
  for (const std::string& key : keys_of_section(kind)) {
    const std::string below = kind.empty() ? key : kind + "." + key, name = shown.empty() ? key : shown + "." + key;
    if (key == "*" && kind == "tenants.*")
      all.insert("tenants.BASE.TENANT");
    else if (key == "*")
      add_settings(below, shown + ".NAME", all);
    else if (is_section(below))
      add_settings(below, name, all);
    else if (is_section(below + ".*"))
      add_settings(below + ".*", name + ".NAME", all);
    else
      all.insert(name);
  }
}

std::set<std::string> all_settings() {
  std::set<std::string> all;
  add_settings("", "", all);
  return all;
}

// The new value of each setting; all accepted ones are changed at once.  DIR is a directory, REDIS the server.
const std::map<std::string, std::string> changed = {
    {"concurrency", "2"},
    {"queues", "['other', 'default']"},
    {"require", "['LIBRARY']"},
    {"shutdown_timeout", "'7s'"},
    {"environment", "'staging'"},
    {"tag", "'changed'"},
    {"poll_interval", "'3s'"},
    {"max_retries", "3"},
    {"boot_timeout", "'2m'"},
    {"max_unavailable", "2"},
    {"metrics", "false"},
    {"max_iteration_runtime", "'1h'"},
    {"labels", "['changed']"},
    {"dead_max_jobs", "100"},
    {"dead_timeout", "'3d'"},
    {"redis.url", "'redis://127.0.0.1:1'"},
    {"redis.user", "'another'"},
    {"redis.password_file", "'DIR/password'"},
    {"redis.appendfsync", "'no'"},
    {"redis.share_with_jobs", "false"},
    {"redis.give_up_after", "'9s'"},
    {"redis.sentinel.user", "'watcher'"},
    {"redis.sentinel.password_file", "'DIR/password'"},
    {"redis.wait_timeout", "'2s'"},
    {"redis.tls.server_name", "'redis.example'"},
    {"redis.tls.min_version", "'1.3'"},
    {"redis.tls.verify", "'none'"},
    {"scheduler.queues", "'all'"},
    {"restart.canary", "false"},
    {"restart.canary_watch", "'1s'"},
    {"pressure.memory", "20"},
    {"pressure.proc", "'/proc'"},
    {"pressure.cgroup", "'/sys/fs/cgroup'"},
    {"crashes.quarantine_after", "3"},
    {"crashes.within", "'5m'"},
    {"expired", "'dead'"},
    {"encryption.keys", "{ 1 = 'DIR/key' }"},
    {"encryption.active", "1"},
    {"encryption.core_files", "true"},
    {"encryption.require", "true"},
    {"periodic.sidekiq_cron", "true"},
    {"periodic.NAME.cron", "'1 2 3 4 *'"},
    {"periodic.NAME.class", "'Nothing'"},
    {"periodic.NAME.args", "[1]"},
    {"periodic.NAME.queue", "'other'"},
    {"periodic.NAME.tz", "'UTC'"},
    {"periodic.NAME.retry", "false"},
    {"periodic.NAME.catch_up", "'none'"},
    {"periodic.NAME.within", "'1h'"},
    {"periodic.NAME.overlap", "'skip'"},
    {"periodic.NAME.jitter", "'1s'"},
    {"periodic.NAME.enabled_on", "['changed']"},
    {"periodic.NAME.paused", "true"},
    {"limits.NAME.queues", "['other']"},
    {"limits.NAME.concurrent", "3"},
    {"log.level", "'debug'"},
    {"log.format", "'json'"},
    {"log.file", "'DIR/log'"},
    {"log.log_jobs", "true"},
    {"compatibility.sidekiq", "'7'"},
    {"compatibility.timestamps", "'seconds'"},
    {"compatibility.sidekiq_unique_jobs", "true"},
    {"commands.NAME.run", "['/bin/true']"},
    {"commands.NAME.timeout", "'1m'"},
    {"commands.NAME.env", "{ A = 'b' }"},
    {"commands.NAME.directory", "'DIR'"},
    {"on_error.run", "['/bin/true']"},
    {"on_error.timeout", "'2s'"},
    {"on_error.env", "{ A = 'b' }"},
    {"on_error.directory", "'DIR'"},
    {"on_error.sentry_dsn", "'http://key@127.0.0.1:9/1'"},
    {"on_error.honeybadger_api_key", "'key'"},
    {"on_error.honeybadger_endpoint", "'http://127.0.0.1:9'"},
    {"on_error.webhook", "'http://127.0.0.1:9/errors'"},
    {"on_error.webhook_secret", "'changed'"},
    {"on_error.when", "'death'"},
    {"on_error.release", "'changed'"},
    {"on_error.arguments", "true"},
    {"on_error.backtrace", "true"},
    {"on_error.storm_after", "3"},
    {"on_error.queue", "100"},
    {"on_error.at_once", "1"},
    {"classes.NAME.isolation", "'process'"},
    {"classes.NAME.threads", "'allow'"},
    {"classes.NAME.expired", "'dead'"},
    {"classes.NAME.show_args", "false"},
    {"classes.NAME.sandbox.network", "false"},
    {"classes.NAME.sandbox.write", "['DIR']"},
    {"classes.NAME.sandbox.read", "['DIR']"},
    {"classes.NAME.sandbox.memory", "'256M'"},
    {"classes.NAME.sandbox.cpu", "0.5"},
    {"classes.NAME.sandbox.processes", "20"},
    {"classes.NAME.sandbox.strict", "false"},
    {"capsules.NAME.concurrency", "1"},
    {"capsules.NAME.queues", "['slow']"},
    {"web.listen", "'unix:DIR/page'"},
    {"web.mode", "'0600'"},
    {"web.read_only", "true"},
    {"web.hosts", "['brood.example']"},
    {"web.metrics", "'host'"},
    {"web.show_args", "false"},
    {"web.base_path", "'/jobs'"},
    {"web.api_rate", "100"},
    {"statsd.address", "'127.0.0.1:9'"},
    {"statsd.format", "'statsd'"},
    {"statsd.prefix", "'changed.'"},
    {"otlp.endpoint", "'http://127.0.0.1:9'"},
    {"otlp.service_name", "'changed'"},
    {"otlp.resource", "['a=b']"},
    {"otlp.sample", "0.5"},
};

// Settings of workers, in [worker] and for a capsule.
const std::map<std::string, std::string> changed_of_workers = {
    {"max_jobs", "1000"},      {"max_rss", "'2G'"},  {"memory_limit", "'3G'"}, {"job_timeout", "'9m'"},
    {"timeout_grace", "'3s'"}, {"max_crashes", "5"}, {"max_batch", "4"},       {"seccomp", "false"},
    {"threads", "'allow'"},    {"preload", "false"}};

// Tested in other files, which have what these need: several shards, a cluster, certificates, accounts, caps of
// classes.
const std::set<std::string> tried_elsewhere = {"redis.shard.name",
                                               "redis.shard.url",
                                               "redis.shard.user",
                                               "redis.shard.password_file",
                                               "redis.shard.drain",
                                               "redis.shards",
                                               "redis.drain",
                                               "redis.wait",
                                               "redis.tls.ca",
                                               "redis.tls.cert",
                                               "redis.tls.key",
                                               "web.users",
                                               "tenants.BASE.TENANT",
                                               "limits.NAME.per",
                                               "limits.NAME.classes",
                                               "otlp.headers_file",
                                               "otlp.propagation",
                                               "otlp.tls.ca",
                                               "otlp.tls.cert",
                                               "otlp.tls.key",
                                               "otlp.tls.server_name",
                                               "statsd.tags",
                                               "web.user_header",
                                               "web.proxy_user",
                                               "otlp.tls.min_version",
                                               "otlp.tls.verify",
                                               "on_error.sentry_dsn_file",
                                               "on_error.honeybadger_api_key_file",
                                               "on_error.webhook_file",
                                               "on_error.webhook_secret_file",
                                               "on_error.tls.ca",
                                               "on_error.tls.cert",
                                               "on_error.tls.key",
                                               "on_error.tls.server_name",
                                               "on_error.tls.min_version",
                                               "on_error.tls.verify"};

std::map<std::string, std::string> all_changes() {
  std::map<std::string, std::string> all = changed;
  for (const auto& [key, value] : changed_of_workers) {
    all["worker." + key] = value;
    all["capsules.NAME." + key] = value;
  }
  return all;
}

struct Changing {
  RedisServer redis;
  TemporaryDirectory directory;
  const std::string config = directory / "brood.toml";
  BroodProcess brood;

  Changing() : brood({.workers = 1, .sets_workers = false, .arguments = {"-C", written(toml_of({}))}}) {
    BOOST_REQUIRE_MESSAGE(brood.wait_ready(), brood.log_tail());
    directory.write("password", "secret\n");
    directory.write("key", std::string(32, 'k'));
    std::filesystem::permissions(directory / "key", std::filesystem::perms::owner_read);
  }
  const std::string& written(const std::string& toml) const {
    std::ofstream(config) << toml;
    return config;
  }
  std::string with_places(std::string text) const {
    const std::map<std::string, std::string> places = {{"DIR", directory.path()},
                                                       {"LIBRARY", BROOD_BINARY_DIR "/worker/examples/libexamples.so"}};
    for (const auto& [word, place] : places) {
      for (std::size_t at = 0; (at = text.find(word, at)) != text.npos; at += place.size())
        text.replace(at, word.size(), place);
    }
    return text;
  }
  // "periodic.NAME.cron" becomes the key cron of [periodic.NAME].
  std::string toml_of(std::map<std::string, std::string> settings) const {
    settings.insert({{"concurrency", "1"}, {"redis.url", "'" + redis.url() + "'"}});
    std::map<std::string, std::string> sections;
    for (const auto& [name, value] : settings) {
      const std::size_t dot = name.rfind('.');
      sections[dot == name.npos ? "" : name.substr(0, dot)] +=
          name.substr(dot == name.npos ? 0 : dot + 1) + " = " + with_places(value) + "\n";
    }
    std::string text = sections[""];
    for (const auto& [section, lines] : sections) {
      if (!section.empty()) text += "[" + section + "]\n" + lines;
    }
    return text;
  }
  CommandResult restart_with(const std::string& toml) const {
    written(toml);
    return run_brood({"restart"}, brood.environment());
  }
};

}  // namespace

BOOST_AUTO_TEST_CASE(each_setting_is_in_the_table_and_no_other) {
  std::set<std::string> listed;
  for (const auto& [name, effect] : table_of_manual()) {
    listed.insert(name);
    BOOST_TEST((effect == "taken" || effect == "refused" || effect == "start"), name << ": " << effect);
  }
  BOOST_TEST(listed == all_settings(), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(each_setting_is_tried) {
  const auto changes = all_changes();
  for (const std::string& name : all_settings())
    BOOST_TEST(changes.contains(name) != tried_elsewhere.contains(name), name << " is not tried, or twice");
}

BOOST_AUTO_TEST_CASE(accepted_settings_take_effect) {
  const Changing site;
  std::map<std::string, std::string> taken;
  const auto changes = all_changes();
  for (const auto& [name, effect] : table_of_manual()) {
    if (effect != "refused" && changes.contains(name)) taken[name] = changes.at(name);
  }
  const std::string toml = site.toml_of(taken);
  const CommandResult result = site.restart_with(toml);
  BOOST_TEST(result.status == 0, result.output << result.errors << toml << site.brood.log_tail());
  BOOST_TEST(std::filesystem::exists(site.directory / "log"));
  BOOST_TEST(eventually([&] {
    return run_brood({"status", "--json", "--redis", site.redis.url()}, site.brood.environment())
               .output.find("\"tag\":\"changed\"") != std::string::npos;
  }));
}

BOOST_AUTO_TEST_CASE(refused_settings_are_refused_with_a_sentence) {
  const Changing site;
  const auto changes = all_changes();
  for (const auto& [name, effect] : table_of_manual()) {
    if (effect != "refused" || !changes.contains(name)) continue;
    const CommandResult result = site.restart_with(site.toml_of({{name, changes.at(name)}}));
    BOOST_TEST(result.status != 0, name);
    BOOST_TEST((result.output + result.errors).find("stop it and start it again") != std::string::npos,
               name << ": " << result.output << result.errors);
  }
  BOOST_TEST(site.brood.wait_ready());
}

BOOST_AUTO_TEST_CASE(a_file_that_would_end_its_reader_changes_nothing) {
  const Changing site;
  std::string key = "a";
  for (int i = 0; i < 40'000; ++i) key += ".a";
  const CommandResult refused = site.restart_with(key + " = 1\n");
  BOOST_TEST(refused.status == 78, refused.output << refused.errors << site.brood.log_tail());
  BOOST_TEST(refused.errors.find("1: a key has more than 16 parts") != std::string::npos, refused.errors);
  BOOST_TEST(run_brood({"run", "--check", "-C", site.config}, site.brood.environment()).status == 78);
  BOOST_TEST(site.brood.wait_ready());
  BOOST_TEST(site.restart_with(site.toml_of({})).status == 0, site.brood.log_tail());
}
