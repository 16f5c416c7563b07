#include "supervisor/cli/lists/tenant_list.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "shared/config/queue_order.hpp"
#include "shared/config/tenants.hpp"

namespace brood {

std::vector<QueueSummary> queues_with_tenants_together(Api& api) {
  std::map<std::string, QueueSummary> all;
  for (const QueueSummary& queue : api.queue_summaries()) {
    const auto tenant = tenant_in(queue.name);
    const std::string name = tenant ? all_tenants_of(tenant->base) : queue.name;
    const auto [known, is_new] = all.try_emplace(name, queue);
    known->second.name = name;
    if (is_new) continue;
    QueueSummary& sum = known->second;
    sum.size += queue.size;
    sum.latency = std::max(sum.latency, queue.latency);
  }
  std::vector<QueueSummary> summaries;
  for (auto& [name, summary] : all) {
    if (is_tenants(name)) summary.paused = api.queue(name).paused();
    summaries.push_back(std::move(summary));
  }
  return summaries;
}

std::vector<QueueSummary> tenants_among(const std::vector<QueueSummary>& queues, std::string_view entry) {
  std::vector<QueueSummary> tenants;
  std::copy_if(queues.begin(), queues.end(), std::back_inserter(tenants),
               [&](const QueueSummary& queue) { return tenant_in(queue.name) && matches(entry, queue.name); });
  std::sort(tenants.begin(), tenants.end(), [](const QueueSummary& a, const QueueSummary& b) {
    return std::tie(b.size, a.name) < std::tie(a.size, b.name);
  });
  return tenants;
}

}  // namespace brood
