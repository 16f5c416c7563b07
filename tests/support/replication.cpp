#include "tests/support/replication.hpp"

#include <cstdlib>
#include <string>

namespace brood {

Replication Replication::read(std::string_view info) {
  const auto says = [&](std::string_view words) { return info.find(words) != info.npos; };
  Replication read;
  read.is_master = says("role:master");
  read.has_data_of_master = says("master_link_status:up");
  constexpr std::string_view port = "master_port:", online = "state=online";
  if (const std::size_t at = info.find(port); at != info.npos)
    read.master_port =
        static_cast<std::uint16_t>(std::strtoul(std::string(info.substr(at + port.size(), 5)).c_str(), nullptr, 10));
  for (std::size_t at = 0; (at = info.find(online, at)) != info.npos; at += online.size()) ++read.replicas_in_step;
  return read;
}

Replication Replication::of(RedisServer& server) {
  const Reply info = server.command({"INFO", "replication"});
  return read(info.view().text());
}

void follow(RedisServer& replica, RedisServer& master) {
  const RedisAddress address = master.address();
  replica.command({"REPLICAOF", address.host, std::to_string(address.port)});
}

bool is_in_step(RedisServer& replica, const RedisServer& master) {
  const Replication now = Replication::of(replica);
  return now.master_port == master.port() && now.has_data_of_master;
}

}  // namespace brood
