#include "shared/config/reading/redis_section.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "shared/config/config.hpp"
#include "shared/config/reading/tls_section.hpp"

namespace brood {
namespace {

using namespace setting;
using namespace std::chrono_literals;

constexpr std::chrono::milliseconds longest_patience = 365 * 24h;

constexpr std::size_t most_shards = 64;
constexpr int most_shards_of_a_cluster = 256;
constexpr const char* nowhere_to_push = "all shards are drained, and none is left for new jobs";

ShardSettings read_shard(const Place& at, const ConfigSection& section) {
  ShardSettings shard;
  section.text("name", [&](const Place& name_at, const std::string& name) { shard.name = check_name(name_at, name); });
  section.text("url", [&](const Place& url_at, const std::string& url) {
    shard.url = check_redis_url(url_at, url);
    if (url == "embedded") url_at.refuse("an embedded Redis is the only one: each shard is a Redis of its own");
  });
  section.text("user", [&](const Place& user_at, const std::string& user) { shard.user = check_text(user_at, user); });
  section.text("password_file", [&](const Place& file_at, const std::string& path) {
    shard.password_file = read_path_or_credential(file_at, path);
  });
  section.boolean("drain", shard.drain);
  if (shard.url.empty()) at.refuse("needs url = \"redis://...\"");
  return shard;
}

void read_shards(const ConfigSection& section, std::vector<ShardSettings>& shards) {
  section.repeated_sections("shard", [&](const Place& at, const ConfigSection& one) {
    if (shards.size() == most_shards) at.refuse(fmt::format("there can be {} shards at most", most_shards));
    ShardSettings shard = read_shard(at, one);
    if (shard.name.empty()) shard.name = std::to_string(shards.size());
    for (const ShardSettings& other : shards) {
      if (other.name == shard.name) at.refuse(fmt::format("two shards have the name \"{}\"", shard.name));
      if (other.url == shard.url)
        at.refuse(fmt::format("shard {} has the same url as shard {}", shard.name, other.name));
    }
    shards.push_back(std::move(shard));
  });
  if (!shards.empty() && std::all_of(shards.begin(), shards.end(), [](const auto& shard) { return shard.drain; }))
    section.where_is("shard").refuse(nowhere_to_push);
}

// Reads the shards of a cluster that are drained.
void read_drain(const ConfigSection& section, RedisSettings& redis) {
  section.counts("drain", 0, redis.shards - 1, [&](const Place& at, std::int64_t number) {
    const int shard = static_cast<int>(number);
    if (std::find(redis.drain.begin(), redis.drain.end(), shard) != redis.drain.end())
      at.refuse(fmt::format("names the shard {} twice", shard));
    redis.drain.push_back(shard);
  });
  if (!section.has("drain")) return;
  if (!redis.url.starts_with("cluster://"))
    section.where_is("drain").refuse(
        "is for url = \"cluster://...\" alone; of several Redis servers a [[redis.shard]] has drain = true");
  if (redis.drain.size() == static_cast<std::size_t>(redis.shards)) section.where_is("drain").refuse(nowhere_to_push);
}

void read_share_with_jobs(const ConfigSection& section, RedisSettings& redis) {
  section.truth_or_text(
      "share_with_jobs", [&](bool shares) { redis.share_with_jobs = shares; },
      [&](const Place& at, const std::string& word) {
        if (word != "password") at.refuse("must be true, false or \"password\", not \"" + word + "\"");
        redis.share_password_in_url = true;
      });
}

}  // namespace

void read_redis(const ConfigSection& section, RedisSettings& redis) {
  section.text("url", [&](const Place& at, const std::string& url) { redis.url = check_redis_url(at, url); });
  section.text("user", [&](const Place& at, const std::string& user) { redis.user = check_text(at, user); });
  section.text("password_file", [&](const Place& at, const std::string& path) {
    redis.password_file = read_path_or_credential(at, path);
  });
  section.text("appendfsync",
               [&](const Place& at, const std::string& word) { redis.appendfsync = read_appendfsync(at, word); });
  section.section("sentinel", [&](const ConfigSection& sentinel) {
    sentinel.text("user",
                  [&](const Place& at, const std::string& user) { redis.sentinel.user = check_text(at, user); });
    sentinel.text("password_file", [&](const Place& at, const std::string& path) {
      redis.sentinel.password_file = read_path_or_credential(at, path);
    });
  });
  section.count("wait", redis.wait, 0, 100);
  section.duration("wait_timeout", redis.wait_timeout, 1ms, 60'000ms);
  read_share_with_jobs(section, redis);
  section.section("tls", [&](const ConfigSection& tls) { read_tls(tls, redis.tls.emplace()); });
  section.duration("give_up_after", redis.give_up_after, 0ms, longest_patience);
  read_shards(section, redis.shard_list);
  if (!redis.shard_list.empty() && section.has("url"))
    section.where_is("url").refuse("beside [[redis.shard]] there is no other Redis: make it a shard too");
  section.count("shards", redis.shards, 1, most_shards_of_a_cluster);
  if (section.has("shards") && !redis.url.starts_with("cluster://"))
    section.where_is("shards").refuse(
        "is for url = \"cluster://...\" alone; several Redis servers are a [[redis.shard]] each");
  read_drain(section, redis);
}

}  // namespace brood
