#include "shared/config/tenants.hpp"

#include <algorithm>

#include "shared/base/ascii.hpp"
#include "shared/config/queue_order.hpp"

namespace brood {
namespace {

// The parts of "mail*!mail_bulk!x~y".
std::vector<std::string_view> parts_of(std::string_view pattern) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = std::min(pattern.find('!'), pattern.size());
    parts.push_back(pattern.substr(0, end));
    if (end == pattern.size()) return parts;
    pattern.remove_prefix(end + 1);
  }
}

bool is_rest(std::string_view pattern) { return pattern == "*" || pattern.starts_with("*!"); }

// The pattern of names that one part has for the tenants of `base`, "*" for all of them; nullopt: none.
std::optional<std::string_view> tenants_in_part(std::string_view part, std::string_view base) {
  const std::size_t tilde = part.find('~');
  if (tilde != part.npos) {
    if (part.substr(0, tilde) != base || tilde + 1 == part.size()) return std::nullopt;
    return part.substr(tilde + 1);
  }
  if (!is_pattern(part) || !matches(part, base)) return std::nullopt;
  return "*";
}

// The patterns that entry_for() looks at before this one.
std::vector<std::string_view> before(std::string_view pattern, const std::vector<std::string>& listed) {
  std::vector<std::string_view> all;
  for (const std::string& entry : listed) {
    if (!is_pattern(entry) || is_rest(entry)) continue;
    if (entry == pattern) break;
    all.push_back(entry);
  }
  return all;
}

std::string pattern_of_lua(std::string_view glob) {
  std::string pattern = "^";
  for (const char c : glob) {
    if (c == '*') {
      pattern += ".*";
    } else {
      if (!ascii::is_letter_or_digit(c)) pattern += '%';
      pattern += c;
    }
  }
  return pattern + "$";
}

}  // namespace

std::optional<TenantName> tenant_in(std::string_view queue) {
  const std::size_t tilde = queue.find('~');
  if (tilde == queue.npos || tilde == 0 || tilde + 1 == queue.size()) return std::nullopt;
  return TenantName{queue.substr(0, tilde), queue.substr(tilde + 1)};
}

bool is_tenants(std::string_view entry) {
  const auto name = tenant_in(entry);
  return name && entry.find('!') == entry.npos && name->tenant.find('*') != entry.npos;
}

std::string_view base_of_tenants(std::string_view tenants) { return tenants.substr(0, tenants.find('~')); }

std::string all_tenants_of(std::string_view base) { return std::string(base) + "~*"; }

std::optional<std::string> tenants_of_pattern(const std::string& pattern, std::string_view base,
                                              const std::vector<std::string>& listed) {
  const std::vector<std::string_view> parts = parts_of(pattern);
  const auto tenants = tenants_in_part(parts.front(), base);
  if (!tenants) return std::nullopt;
  const std::string entry = std::string(base) + "~" + std::string(*tenants);
  const auto takes_all = [&](std::string_view part) {
    const auto others = tenants_in_part(part, base);
    return others && (*others == "*" || *others == *tenants);
  };
  if (std::any_of(parts.begin() + 1, parts.end(), takes_all)) return std::nullopt;
  const std::vector<std::string_view> first = before(pattern, listed);
  if (std::any_of(first.begin(), first.end(), [&](std::string_view one) { return takes_all(parts_of(one).front()); }))
    return std::nullopt;
  return entry;
}

TenantRules rules_of_tenants(std::string_view tenants, const std::vector<std::string>& listed,
                             const TenantWeights& weights) {
  TenantRules rules;
  const std::string_view base = base_of_tenants(tenants), own = tenants.substr(base.size() + 1);
  if (own != "*") rules.taken.push_back(pattern_of_lua(own));
  const auto skip = [&](std::string_view part) {
    if (const auto others = tenants_in_part(part, base)) rules.skipped.push_back(pattern_of_lua(*others));
  };
  for (const std::string& entry : listed) {
    if (!is_pattern(entry)) skip(entry);
  }
  for (const std::string& entry : listed) {
    if (!is_pattern(entry) || tenants_of_pattern(entry, base, listed) != tenants) continue;
    const std::vector<std::string_view> parts = parts_of(entry);
    std::for_each(parts.begin() + 1, parts.end(), skip);
    for (const std::string_view other : before(entry, listed)) skip(parts_of(other).front());
    break;
  }
  if (const auto given = weights.find(base); given != weights.end()) {
    for (const auto& [tenant, weight] : given->second) rules.weights += "\n" + tenant + " " + std::to_string(weight);
    if (!rules.weights.empty()) rules.weights += "\n";
  }
  return rules;
}

}  // namespace brood
