#include "tests/walk/site.hpp"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <utility>

#include "tests/support/all_entries.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/faults.hpp"
#include "tests/support/file_text.hpp"

namespace brood::walk {

using namespace std::chrono_literals;

namespace {

const std::string libraries = BROOD_BINARY_DIR "/tests/job_libraries/";

std::string title_of(pid_t pid) {
  std::string title = text_of_file("/proc/" + std::to_string(pid) + "/cmdline");
  std::replace(title.begin(), title.end(), '\0', ' ');
  return title;
}

void add_helpers(pid_t parent, std::vector<Helper>& found) {
  for (const pid_t child : children_of(parent)) {
    found.push_back({child, title_of(child)});
    add_helpers(child, found);
  }
}

bool is_negative(const std::string& text) {
  return text.size() > 1 && text[0] == '-' && text.find_first_not_of("0123456789", 1) == std::string::npos;
}

}  // namespace

Fleet::Fleet(const TemporaryDirectory& directory, std::string name, std::string redis_config, bool preloads,
             std::string planted)
    : directory_(directory),
      name_(std::move(name)),
      redis_config_(std::move(redis_config)),
      preloads_(preloads),
      planted_(std::move(planted)) {}

void Fleet::write_config(const DrawnConfig& config) {
  const std::string text = config.text + redis_config_ + "[log]\nlog_jobs = true\n";
  if (process_) process_->configure(text);
  const std::string path = *home_ / "brood.toml";
  std::filesystem::rename(home_->write("brood.toml.next", text), path);
  config_ = config;
}

void Fleet::note_caps(const DrawnConfig& config) {
  queue_caps_.push_back({now_ns(), INT64_MAX, config.queue_cap});
  class_caps_.push_back({now_ns(), INT64_MAX, config.class_cap});
}

// Ends all caps but the last `but` at that time; those that ended earlier stay as they are.
void Fleet::close_caps(std::size_t but, std::int64_t at) {
  for (auto* const caps : {&queue_caps_, &class_caps_}) {
    for (std::size_t i = 0; i + but < caps->size(); ++i) (*caps)[i].until = std::min((*caps)[i].until, at);
  }
}

void Fleet::start(const DrawnConfig& config) {
  close_caps(0, now_ns() + 10 * second_ns);  // workers of a supervisor that was killed may still run
  note_caps(config);
  if (process_) {
    write_config(config);
    process_->start();
  } else {
    config_ = config;
    BroodOptions options{.says_workers = false,
                         .libraries = {directory_ / "libwalk.so"},
                         .config = config.text + redis_config_ + "[log]\nlog_jobs = true\n",
                         .environment = {{"WALK_LEDGER", directory_ / "ledger"}},
                         .home = home_};
    if (preloads_) options.environment["WALK_PRELOADS"] = "1";
    if (!planted_.empty()) options.environment["BROOD_PLANTED_BUG"] = planted_;
    process_.emplace(std::move(options));
  }
  state_ = State::running;
  restart_is_open_ = false;
  eventually([&] { return !process_->workers().empty(); }, 5s);
}

void Fleet::hup(const DrawnConfig& config) {
  follow_restarts();
  // A restart that is asked for during another begins after it; several such requests are one restart.
  ends_awaited_ = times_logged(*process_, "restart_ended") + (restart_is_open_ ? 2 : 1);
  restart_is_open_ = true;
  note_caps(config);
  write_config(config);
  process_->signal(SIGHUP);
}

void Fleet::follow_restarts() {
  if (state_ != State::running || !restart_is_open_ || times_logged(*process_, "restart_ended") < ends_awaited_) return;
  restart_is_open_ = false;
  // A restart that was rolled back leaves the configuration before it in force: then both count from here on.
  const std::string log = process_->log();
  const std::size_t ended = log.rfind("event=restart_ended");
  if (log.substr(ended, log.find('\n', ended) - ended).find("outcome=done") != std::string::npos)
    close_caps(1, now_ns() + 2 * second_ns);
}

void Fleet::take_over() { process_->signal(SIGUSR2); }

void Fleet::quiet() {
  process_->quiet();
  state_ = State::quiet;
}

bool Fleet::resume() {
  state_ = State::running;
  return eventually([&] { return run_brood({"resume"}, process_->environment()).status == 0; }, 2s);
}

std::optional<int> Fleet::stop() {
  process_->term();
  state_ = State::ended;
  return process_->wait_exit();
}

void Fleet::kill9() {
  process_->kill9();
  state_ = State::ended;
}

void Fleet::kill9_with_workers() {
  kill_with_workers(*process_);
  state_ = State::ended;
}

std::vector<Helper> Fleet::helpers() const {
  std::vector<Helper> found;
  if (process_ && state_ != State::ended) add_helpers(process_->pid(), found);
  return found;
}

Site::Site(int shard_count, bool has_two_fleets, bool preloads, bool clients_keep, const std::string& planted) {
  std::string redis = "[redis]\n";
  for (int i = 0; i < shard_count; ++i) {
    shards.emplace_back();
    const std::string url = shards.back().proxy.url();
    shards.back().client.emplace(url);
    if (clients_keep) shards.back().client->buffer();
    redis += shard_count == 1 ? fmt::format("url = \"{}\"\n", url)
                              : fmt::format("[[redis.shard]]\nname = \"s{}\"\nurl = \"{}\"\n", i, url);
  }
  use_library(false);
  fleets.emplace_back(directory, "A", redis, preloads, planted);
  if (has_two_fleets) fleets.emplace_back(directory, "B", redis, preloads, planted);
}

void Site::use_library(bool bad) const {
  std::filesystem::copy_file(libraries + (bad ? "libwalk_jobs_bad.so" : "libwalk_jobs.so"), directory / "next.so",
                             std::filesystem::copy_options::overwrite_existing);
  std::filesystem::rename(directory / "next.so", directory / "libwalk.so");
}

std::vector<Whereabouts> Site::whereabouts() {
  std::vector<Whereabouts> found;
  for (std::size_t i = 0; i < shards.size(); ++i) {
    Connection connection(shards[i].server.address());
    for (Entry& entry : all_entries(connection)) {
      const std::string& key = entry.key;
      if (key.starts_with("queue:") || key.starts_with("brood:inflight:") || key == "schedule" || key == "retry" ||
          key == "dead" || key == "brood:quarantined")
        found.push_back({static_cast<int>(i), key, std::move(entry.payload)});
    }
  }
  return found;
}

std::size_t Site::jobs_left() {
  const std::vector<Whereabouts> all = whereabouts();
  return static_cast<std::size_t>(
      std::count_if(all.begin(), all.end(), [](const Whereabouts& place) { return place.key != "dead"; }));
}

void Site::make_due(const std::string& set) {
  for (Shard& shard : shards)
    shard.server.command({"EVAL", R"(
      local now = redis.call("TIME")[1]
      for _, member in ipairs(redis.call("ZRANGE", KEYS[1], 0, -1)) do
        if tonumber(redis.call("ZSCORE", KEYS[1], member)) > tonumber(now) then redis.call("ZADD", KEYS[1], "XX", now, member) end
      end)",
                          "1", set});
}

std::vector<std::string> Site::leftovers() {
  std::vector<std::string> left;
  for (std::size_t i = 0; i < shards.size(); ++i) {
    RedisServer& server = shards[i].server;
    const auto note = [&](const std::string& what) { left.push_back(fmt::format("shard {}: {}", i, what)); };
    for (const std::string& key : server.keys("*")) {
      const std::string kind(server.command({"TYPE", key}).view().text());
      if (key.starts_with("brood:unique:") || key.starts_with("brood:running:"))
        note("a lock is left: " + key + " of " + server.get(key).value_or(""));
      if (key.starts_with("brood:inflight:") && kind != "string") note("in flight is left: " + key);
      if (key == "brood:processes" || key == "brood:paused_classes" || key == "brood:quarantined")
        note("is left: " + key);
      if (key.starts_with("brood:cap:") && kind == "set") {
        for (const std::string& list : server.smembers(key)) {
          if (server.command({"TYPE", list}).view().text() == "list") note("a place of a cap is held: " + list);
        }
      }
      if (key.starts_with("it-") && server.integer({"TTL", key}) < 0) note("has no end: " + key);
      if (kind == "string" && is_negative(server.get(key).value_or(""))) note("is negative: " + key);
      if (kind == "hash") {
        for (const auto& [field, value] : server.hgetall(key)) {
          if (is_negative(value)) note("is negative: " + key + " " + field + " " + value);
        }
      }
    }
  }
  return left;
}

}  // namespace brood::walk
