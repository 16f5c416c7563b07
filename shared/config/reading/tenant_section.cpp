#include "shared/config/reading/tenant_section.hpp"

#include <string>
#include <utility>

namespace brood {
namespace {

using setting::Place;

constexpr std::size_t most_weights = 1'000;  // of one base: each fetch sends them
constexpr std::int64_t heaviest = 1'000;

}  // namespace

TenantWeights read_tenant_weights(const ConfigSection& root) {
  TenantWeights weights;
  root.named_sections("tenants", [&](const std::string& base, const Place& at, const ConfigSection& section) {
    section.own_counts(1, heaviest, [&](const Place& weight_at, const std::string& tenant, std::int64_t weight) {
      setting::check_queue(weight_at, tenant);
      weights[base].emplace(tenant, static_cast<int>(weight));
    });
    if (weights[base].size() > most_weights)
      at.refuse("has more than 1000 weights: give one to those tenants alone that need another than 1");
  });
  return weights;
}

std::vector<CapSettings> with_caps_of_listed_tenants(std::vector<CapSettings> caps, const QueueOrder& queues) {
  std::vector<CapSettings> of_listed;
  for (const std::string& queue : queues.names()) {
    const auto tenant = is_pattern(queue) ? std::nullopt : tenant_in(queue);
    if (!tenant) continue;
    for (const CapSettings& cap : caps) {
      if (!cap.per_tenant || !cap.names(all_tenants_of(tenant->base))) continue;
      CapSettings& one = of_listed.emplace_back(cap);
      one.name += "~" + std::string(tenant->tenant);
      one.queues = {queue};
      one.per_tenant = false;
    }
  }
  caps.insert(caps.end(), of_listed.begin(), of_listed.end());
  return caps;
}

}  // namespace brood
