#include "shared/store/scan.hpp"

#include <string>

#include "shared/store/keys.hpp"

namespace brood {

void for_each_key(Channel& redis, const RedisKey& pattern, std::string_view type,
                  const std::function<void(const std::string& name)>& visit) {
  for_each_key_while(redis, pattern, type, [&](const std::string& name) {
    visit(name);
    return true;
  });
}

void for_each_key_while(Channel& redis, const RedisKey& pattern, std::string_view type,
                        const std::function<bool(const std::string& name)>& visit) {
  std::string position(scan_begins);
  do {
    Command scan{"SCAN", position, "MATCH", pattern, "COUNT", "1000"};
    if (!type.empty()) scan.add("TYPE").add(type);
    const Reply reply = redis.call(scan);
    ScanPage page = read_scan(reply.view());
    position = std::move(page.next);
    for (std::size_t i = 0; i < page.found.size(); ++i) {
      const auto name = redis.keyspace().without_prefix(page.found[i].text());
      if (name && !visit(std::string(*name))) return;
    }
  } while (position != scan_begins);
}

std::vector<std::string> read_name_list(ReplyView reply) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < reply.size(); ++i) names.emplace_back(reply[i].text());
  return names;
}

std::optional<std::vector<std::string>> read_name_list_if_told(ReplyView reply) {
  if (!reply.is_array()) return std::nullopt;
  return read_name_list(reply);
}

NamePages NamePages::of_queues() { return NamePages(keys::queues); }
NamePages NamePages::of_processes() { return NamePages(keys::processes); }

Command NamePages::ask(std::string_view position, std::size_t count) const {
  return {"SSCAN", key_, position, "COUNT", std::to_string(count)};
}
Command NamePages::ask_kind() const { return {"TYPE", key_}; }

bool read_is_set(ReplyView kind) { return kind.text() == "set"; }

}  // namespace brood
