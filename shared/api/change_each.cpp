#include "shared/api/change_each.hpp"

namespace brood {

BulkResult change_each(const detail::ApiShards& shards, const Progress& progress,
                       const std::function<std::size_t(detail::ApiState&)>& size,
                       const std::function<BulkResult(detail::ApiState&, const Progress&)>& change) {
  if (!shards.several()) return change(shards.only(), progress);
  const std::size_t total = progress ? shards.sum(size) : 0;
  BulkResult all;
  shards.each([&](detail::ApiState& shard) {
    if (all.stopped) return;
    Progress of_all;
    if (progress) of_all = [&](std::size_t done, std::size_t) { return progress(all.looked_at + done, total); };
    const BulkResult here = change(shard, of_all);
    all.looked_at += here.looked_at;
    all.wanted += here.wanted;
    all.done += here.done;
    all.gone += here.gone;
    all.stuck += here.stuck;
    all.stopped = here.stopped;
  });
  return all;
}

}  // namespace brood
