// Tenants of queues; see world.hpp.

#include "shared/store/tenants/tenant_look.hpp"
#include "tests/store/interleavings/world.hpp"

namespace brood::interleavings {

const std::vector<std::string>& World::home_queues() const {
  static const std::vector<std::string> plain{"a", "b", "c"}, with_tenants{"a", "t~b", "t~c"};
  return has_tenants_ ? with_tenants : plain;
}

// Done by the one supervisor that looks for tenants.
void World::look_for_tenants(Shard& at) {
  if (at.is_away) return;
  const Reply entered = at.redis.run(enter_filled_tenants({home_queues()[1], home_queues()[2]}));
  if (entered.view().is_integer()) coverage_.tenants_found += entered.view().integer();
}

}  // namespace brood::interleavings
