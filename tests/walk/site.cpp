#include "tests/walk/site.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>

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

// Fills it to its limit, and a megabyte beyond what ending jobs can free.
void Shard::fill() {
  server.command({"CONFIG", "SET", "maxmemory-policy", "noeviction"});
  server.command({"SET", "filling", std::string(2 << 20, 'x')});
  server.command({"CONFIG", "SET", "maxmemory", "1mb"});
  is_full = true;
}

void Shard::make_room() {
  server.command({"CONFIG", "SET", "maxmemory", "0"});
  server.command({"DEL", "filling"});
  is_full = false;
}

Fleet::Fleet(const TemporaryDirectory& directory, std::string name, bool preloads, std::string planted)
    : directory_(directory), name_(std::move(name)), preloads_(preloads), planted_(std::move(planted)) {}

void Fleet::write_config(const DrawnConfig& config) {
  const std::string text = config.text + config.site + "[log]\nlog_jobs = true\n";
  if (process_) process_->configure(text);
  const std::string path = *home_ / "brood.toml";
  std::filesystem::rename(home_->write("brood.toml.next", text), path);
  config_ = config;
}

void Fleet::note_caps(const DrawnConfig& config) {
  queue_caps_.push_back({now_ns(), INT64_MAX, config.queue_cap});
  class_caps_.push_back({now_ns(), INT64_MAX, config.class_cap});
  tenant_caps_.push_back({now_ns(), INT64_MAX, config.tenant_cap});
}

// Ends all caps but the last `but` at that time; those that ended earlier stay as they are.
void Fleet::close_caps(std::size_t but, std::int64_t at) {
  for (auto* const caps : {&queue_caps_, &class_caps_, &tenant_caps_}) {
    for (std::size_t i = 0; i + but < caps->size(); ++i) (*caps)[i].until = std::min((*caps)[i].until, at);
  }
}

void Fleet::start(const DrawnConfig& config) {
  close_caps(0, now_ns() + 10 * second_ns);  // workers of a killed supervisor may still run
  note_caps(config);
  if (process_) {
    write_config(config);
    process_->start();
  } else {
    config_ = config;
    BroodOptions options{.sets_workers = false,
                         .libraries = {directory_ / "libwalk.so"},
                         .config = config.text + config.site + "[log]\nlog_jobs = true\n",
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
  // A restart that is requested during another begins after it.  Several such requests become one restart.
  ends_awaited_ = times_logged(*process_, "restart_ended") + (restart_is_open_ ? 2 : 1);
  restart_is_open_ = true;
  note_caps(config);
  write_config(config);
  process_->signal(SIGHUP);
}

void Fleet::follow_restarts() {
  if (state_ != State::running || !restart_is_open_ || times_logged(*process_, "restart_ended") < ends_awaited_) return;
  restart_is_open_ = false;
  // After a rollback the previous configuration is in force, so both count from here on.
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

Site::Site(const SiteShape& its_shape, const std::string& planted) : shape(its_shape) {
  for (const int key : {1, 2}) {
    const std::string path = directory.write(fmt::format("key{}", key), std::string(32, static_cast<char>('a' + key)));
    chmod(path.c_str(), 0400);
  }
  setenv("BROOD_ENCRYPTION_KEYS", fmt::format("1={},2={}", directory / "key1", directory / "key2").c_str(), 1);
  for (int i = 0; i < shape.all_shards(); ++i) {
    shards.emplace_back();
    shards.back().client.emplace(shards.back().proxy.url());
    if (shape.clients_keep) shards.back().client->buffer();
  }
  use_library(false);
  fleets.emplace_back(directory, "A", shape.preloads, planted);
  if (shape.has_two_fleets) fleets.emplace_back(directory, "B", shape.preloads, planted);
}

std::string Site::config(Spare spare, int active_key) const {
  std::string text = fmt::format("[encryption]\nactive = {}\n[encryption.keys]\n1 = \"{}\"\n2 = \"{}\"\n[redis]\n",
                                 active_key, directory / "key1", directory / "key2");
  if (shape.all_shards() == 1) return text + fmt::format("url = \"{}\"\n", shards[0].proxy.url());
  const int count = spare == Spare::absent ? shape.shards : shape.all_shards();
  for (int i = 0; i < count; ++i) {
    text += fmt::format("[[redis.shard]]\nname = \"s{}\"\nurl = \"{}\"\n", i,
                        shards[static_cast<std::size_t>(i)].proxy.url());
    if (i >= shape.shards && spare == Spare::drained) text += "drain = true\n";
  }
  return text;
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
          key == "dead" || key == "brood:quarantined" || key.starts_with("brood:sequence:"))
        found.push_back({static_cast<int>(i), key, std::move(entry.payload)});
    }
  }
  return found;
}

std::vector<FoundBatch> Site::batches() {
  std::vector<FoundBatch> found;
  const std::string begin = "brood:batch:";
  for (std::size_t i = 0; i < shards.size(); ++i) {
    RedisServer& server = shards[i].server;
    for (const std::string& key : server.keys(begin + "*")) {
      const std::string bid = key.substr(begin.size());
      if (bid.find(':') != bid.npos) continue;
      const std::vector<Command> ask = ask_batch(bid);
      const Reply hash = server.command(ask[0]), children = server.command(ask[1]);
      std::optional<BatchRecord> record = read_batch(bid, hash.view(), children.view());
      if (record) found.push_back({static_cast<int>(i), *std::move(record), server.get(key + ":states").value_or("")});
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
      if (key == "brood:sequences" || key == "brood:processes" || key == "brood:paused_classes" ||
          key == "brood:quarantined")
        note("is left: " + key);
      if (key.starts_with("brood:cap:") && kind == "set") {
        for (const std::string& list : server.smembers(key)) {
          if (server.command({"TYPE", list}).view().text() == "list") note("a place of a cap is held: " + list);
        }
      }
      if (key.starts_with("brood:batch:") && key.ends_with(":opening")) note("is left: " + key);
      if ((key.starts_with("it-") || key.starts_with("brood:batch:")) && server.integer({"TTL", key}) < 0)
        note("has no end: " + key);
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

std::vector<std::string> Site::secrets_in_clear() const {
  std::vector<std::string> found;
  for (const Shard& shard : shards) {
    for (const auto& file : std::filesystem::recursive_directory_iterator(shard.server.directory())) {
      if (file.is_regular_file() && text_of_file(file.path()).find(secret_mark) != std::string::npos)
        found.push_back("an encrypted argument is in clear in " + file.path().filename().string());
    }
  }
  for (const Fleet& fleet : fleets) {
    if (fleet.log().find(secret_mark) != std::string::npos)
      found.push_back("an encrypted argument is in clear in the log of fleet " + fleet.name());
  }
  return found;
}

}  // namespace brood::walk
