#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace brood {

// The queue "images~acme" is the tenant "acme" of "images".  A worker does not ask the queues of tenants one by one: in
// its list "images~*" stands for all of them, and Redis knows whose turn it is (store/queues/tenants.hpp).
struct TenantName {
  std::string_view base, tenant;
};
std::optional<TenantName> tenant_in(std::string_view queue);  // nullopt: an ordinary queue

// Whether an entry of a draw stands for tenants of one base: "images~*", or "images~b*" for some of them.
bool is_tenants(std::string_view entry);
std::string_view base_of_tenants(std::string_view tenants);
// "images~*".
std::string all_tenants_of(std::string_view base);

// How the tenants of each base share its turns, by base and tenant; 1 where none is given.
using TenantWeights = std::map<std::string, std::map<std::string, int>, std::less<>>;

// What a pattern of `listed` stands for among the tenants of a base: "images~*", or "images~b*" of "images~b*";
// nullopt: none of them, or all are excluded or taken by a pattern that goes first (entry_for()).
std::optional<std::string> tenants_of_pattern(const std::string& pattern, std::string_view base,
                                              const std::vector<std::string>& listed);

// Which tenants a fetch by this entry of a draw takes.
struct TenantRules {
  std::vector<std::string> taken;    // patterns of Lua, of which one must match the tenant's name; none: any does
  std::vector<std::string> skipped;  // of which none may match
  std::string weights;               // "\nacme 3\nbig 2\n"; empty: none is given
};
TenantRules rules_of_tenants(std::string_view tenants, const std::vector<std::string>& listed,
                             const TenantWeights& weights);

}  // namespace brood
