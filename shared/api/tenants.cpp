#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include <brood/api.hpp>

#include "shared/config/queue_order.hpp"
#include "shared/config/tenants.hpp"

namespace brood {

std::vector<QueueSummary> Api::queue_summaries_by_base() {
  std::map<std::string, QueueSummary> all;
  for (QueueSummary& queue : queue_summaries()) {
    const auto tenant = tenant_in(queue.name);
    if (tenant) queue.name = all_tenants_of(tenant->base);
    const auto [known, is_new] = all.try_emplace(queue.name, queue);
    if (is_new) continue;
    QueueSummary& sum = known->second;
    sum.size += queue.size;
    sum.latency = std::max(sum.latency, queue.latency);
    sum.is_list = sum.is_list && queue.is_list;
  }
  std::vector<QueueSummary> summaries;
  for (auto& [name, summary] : all) {
    if (is_tenants(name)) summary.paused = queue(name).paused();
    summaries.push_back(std::move(summary));
  }
  return summaries;
}

std::vector<QueueSummary> Api::tenants(std::string_view of) {
  const std::string pattern = is_tenants(of) ? std::string(of) : all_tenants_of(of);
  std::vector<QueueSummary> all = queue_summaries();
  std::erase_if(all,
                [&](const QueueSummary& queue) { return !tenant_in(queue.name) || !matches(pattern, queue.name); });
  std::sort(all.begin(), all.end(), [](const QueueSummary& a, const QueueSummary& b) {
    return std::tie(b.size, a.name) < std::tie(a.size, b.name);
  });
  return all;
}

}  // namespace brood
