#include "supervisor/cli/lists/lock_list.hpp"

#include <utility>

#include "shared/json/json_writer.hpp"

namespace brood {

std::vector<UniqueLock> list_locks_with_jobs(ShardConnections& shards, std::size_t most) {
  std::vector<UniqueLock> all;
  shards.each([&](ShardConnections::Shard& shard) {
    std::vector<UniqueLock> here = all_locks(shard.redis, most);
    if (!here.empty()) find_jobs_of(shard.redis, here);
    for (UniqueLock& lock : here) all.push_back(std::move(lock));
  });
  return all;
}

std::string lock_json(const UniqueLock& lock) {
  JsonWriter json;
  json.text("key", lock.key)
      .text("jid", lock.jid)
      .text("class", lock.job_class)
      .text("queue", lock.queue)
      .text("until", lock.until)
      .truth("has_job", lock.has_job);
  if (lock.expires_in_ms)
    json.decimal("expires_in", static_cast<double>(*lock.expires_in_ms) / 1000);
  else
    json.null("expires_in");
  return json.object();
}

}  // namespace brood
