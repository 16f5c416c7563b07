#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace brood {

// The queue "images~acme" is the tenant "acme" of "images".  A worker does not ask the queues of tenants one by one: in
// its list "images~*" stands for all of them, and Redis knows whose turn it is (shared/store/tenants/tenants.hpp).
struct TenantName {
  std::string_view base, tenant;
};
std::optional<TenantName> tenant_in(std::string_view queue);  // nullopt: an ordinary queue

// Whether an entry of a draw stands for tenants of one base: "images~*", or "images~b*" for some of them.
bool is_tenants(std::string_view entry);
std::string_view base_of_tenants(std::string_view tenants);
// "images~*".
std::string all_tenants_of(std::string_view base);

// The weight with which each tenant shares in the turns of its base, by base and tenant; 1 if none is given.
using TenantWeights = std::map<std::string, std::map<std::string, int>, std::less<>>;

// The tenants of a base that a pattern of `listed` stands for: "images~*", or for example "images~b*"; nullopt: none,
// or all are excluded or taken by an earlier pattern (entry_for()).
std::optional<std::string> tenants_of_pattern(const std::string& pattern, std::string_view base,
                                              const std::vector<std::string>& listed);

// Which tenants a fetch by this entry of a draw takes.
struct TenantRules {
  std::vector<std::string> taken;    // patterns of Lua; one of them must match the tenant's name; none: all do
  std::vector<std::string> skipped;  // patterns of Lua; none of them may match
  std::string weights;               // "\nacme 3\nbig 2\n"; empty: none is given
};
TenantRules rules_of_tenants(std::string_view tenants, const std::vector<std::string>& listed,
                             const TenantWeights& weights);

}  // namespace brood
