#include "tests/support/redis_clients.hpp"

#include <map>
#include <sstream>

namespace brood {

std::vector<RedisClient> RedisClient::read(std::string_view list) {
  std::vector<RedisClient> clients;
  std::istringstream lines{std::string(list)};
  for (std::string line; std::getline(lines, line);) {
    std::map<std::string, std::string> fields;
    std::istringstream words(line);
    for (std::string word; words >> word;) {
      const std::size_t equals = word.find('=');
      if (equals != std::string::npos) fields[word.substr(0, equals)] = word.substr(equals + 1);
    }
    if (!fields.contains("id")) continue;
    clients.push_back({.id = fields["id"],
                       .name = fields["name"],
                       .last_command = fields["cmd"],
                       .is_blocked = fields["flags"].find('b') != std::string::npos,
                       .idle = std::chrono::seconds(std::stol("0" + fields["idle"]))});
  }
  return clients;
}

std::vector<RedisClient> RedisClient::of(RedisServer& server, std::string_view name) {
  const Reply reply = server.command({"CLIENT", "LIST"});
  std::vector<RedisClient> clients = read(reply.view().text());
  std::erase_if(clients, [&](const RedisClient& client) { return !client.name.starts_with(name); });
  return clients;
}

}  // namespace brood
