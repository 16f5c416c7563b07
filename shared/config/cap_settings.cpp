#include "shared/config/cap_settings.hpp"

#include <algorithm>

#include "shared/config/queue_order.hpp"
#include "shared/config/tenants.hpp"

namespace brood {
namespace {

// The cap for which jobs were set aside into this queue; null: it is no such queue.
const CapSettings* cap_beside(const std::vector<CapSettings>& caps, std::string_view queue) {
  for (const CapSettings& cap : caps) {
    if (queue.size() < cap.name.size() + 2 || !queue.ends_with(cap.name)) continue;
    const std::string_view home = queue.substr(0, queue.size() - cap.name.size() - 1);
    if (queue[home.size()] == '@' && cap.may_set_aside(home)) return &cap;
  }
  return nullptr;
}

}  // namespace

bool CapSettings::may_set_aside(std::string_view queue) const {
  if (classes.empty()) return false;
  if (queues.empty() || names(queue)) return true;
  const auto tenant = tenant_in(queue);
  return tenant && names(all_tenants_of(tenant->base));
}

bool CapSettings::may_set_aside_of_tenants(std::string_view base) const {
  if (classes.empty()) return false;
  return queues.empty() || std::any_of(queues.begin(), queues.end(), [&](const std::string& queue) {
           const auto tenant = tenant_in(queue);
           return tenant && tenant->base == base;
         });
}

std::string_view home_of(const std::vector<CapSettings>& caps, std::string_view queue) {
  const CapSettings* const cap = cap_beside(caps, queue);
  return cap == nullptr ? queue : queue.substr(0, queue.size() - cap->name.size() - 1);
}

std::vector<const CapSettings*> caps_of(const std::vector<CapSettings>& caps, std::string_view queue) {
  std::vector<const CapSettings*> all;
  if (const CapSettings* const beside = cap_beside(caps, queue)) all.push_back(beside);
  const std::string_view home = home_of(caps, queue);
  for (const CapSettings& cap : caps) {
    if (cap.classes.empty() && !cap.per_tenant && cap.names(home)) all.push_back(&cap);
  }
  return all;
}

std::vector<std::string> asides_of(const std::vector<CapSettings>& caps, std::string_view queue) {
  std::vector<std::string> all;
  if (is_pattern(queue)) return all;  // it stands for other queues
  for (const CapSettings& cap : caps) {
    if (cap.may_set_aside(queue) && home_of(caps, queue) == queue) all.push_back(std::string(queue) + "@" + cap.name);
  }
  return all;
}

std::string aside_for(const std::vector<CapSettings>& caps, std::string_view queue, std::string_view job_class) {
  const std::string_view home = home_of(caps, queue);
  for (const CapSettings& cap : caps) {
    if (!cap.may_set_aside(home) || !cap.is_of_class(job_class)) continue;
    std::string aside = std::string(home) + "@" + cap.name;
    return aside == queue ? "" : aside;
  }
  return "";
}

std::vector<CapSettings> share_of(std::vector<CapSettings> caps, std::size_t shard, std::size_t shards) {
  if (shards < 2) return caps;
  for (CapSettings& cap : caps) {
    const auto most = static_cast<std::size_t>(cap.most);
    cap.most = static_cast<std::int64_t>(most / shards + (shard < most % shards ? 1 : 0));
  }
  return caps;
}

}  // namespace brood
