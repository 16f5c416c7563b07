#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tests/support/redis_server.hpp"
#include "tests/support/temporary_directory.hpp"

namespace brood {

// Several redis-servers as the shards of one configuration, named a, b, c and so on.
class ShardServers {
 public:
  explicit ShardServers(std::size_t count, RedisServer::Options options = {}) {
    std::string text = "[redis]\n";
    for (std::size_t i = 0; i < count; ++i) {
      servers_.push_back(std::make_unique<RedisServer>(options));
      text += "[[redis.shard]]\nname = \"" + name(i) + "\"\nurl = \"" + servers_.back()->url() + "\"\n";
    }
    directory_.write("brood.toml", text);
  }

  RedisServer& operator[](std::size_t i) { return *servers_[i]; }
  std::size_t size() const { return servers_.size(); }
  static std::string name(std::size_t i) { return std::string(1, static_cast<char>('a' + i)); }

  std::vector<RedisAddress> addresses() const {
    std::vector<RedisAddress> all;
    for (std::size_t i = 0; i < servers_.size(); ++i) {
      all.push_back(servers_[i]->address());
      all.back().shard = name(i);
    }
    return all;
  }

  std::string config() const { return directory_ / "brood.toml"; }

  std::size_t size_of(const std::string& key) {
    std::size_t sum = 0;
    for (const auto& server : servers_) sum += server->size_of(key);
    return sum;
  }

 private:
  std::vector<std::unique_ptr<RedisServer>> servers_;
  TemporaryDirectory directory_;
};

}  // namespace brood
