#include "shared/store/scan.hpp"

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

}  // namespace brood
