#include "shared/config/queue_order.hpp"

#include <algorithm>
#include <charconv>
#include <stdexcept>
#include <unordered_set>
#include <utility>

#include "shared/config/tenants.hpp"

namespace brood {
namespace {

constexpr std::size_t longest_name = 255;
constexpr int heaviest = 1000;  // the expanded list repeats a name that often, and every fetch shuffles it

std::vector<std::string> without_repeats(const std::vector<std::string>& names) {
  std::vector<std::string> unique;
  std::unordered_set<std::string_view> seen;
  for (const std::string& name : names) {
    if (seen.insert(name).second) unique.push_back(name);
  }
  return unique;
}

constexpr std::string_view safe_characters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.:@/-";

bool is_safe_pattern(std::string_view text) {
  return !text.empty() && text.size() <= longest_name && text.find("**") == std::string_view::npos &&
         text.find_first_not_of(std::string(safe_characters) + "*~") == std::string_view::npos;
}

// "!a" or "*!a!b": every part is a name or a pattern.
bool is_safe_entry(std::string_view text) {
  if (text.starts_with('!')) return is_safe_pattern(text.substr(1));
  if (!is_pattern(text)) return is_safe_queue(text);
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find('!', begin), text.size());
    if (!is_safe_pattern(text.substr(begin, end - begin))) return false;
    begin = end + 1;
  }
  return true;
}

// Whether a text matches a glob.  "*" matches any text, also an empty one.
bool matches_glob(std::string_view glob, std::string_view text) {
  std::size_t g = 0, t = 0, star = std::string_view::npos, resume = 0;
  while (t < text.size()) {
    if (g < glob.size() && glob[g] == '*') {
      star = g++;
      resume = t;
    } else if (g < glob.size() && glob[g] == text[t]) {
      ++g;
      ++t;
    } else if (star != std::string_view::npos) {
      g = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  return glob.find_first_not_of('*', g) == std::string_view::npos;
}

// Whether a part of a pattern matches a queue.  A part without "~" matches bases: "mail*" matches all tenants of
// "mail_a".
bool matches_part(std::string_view glob, std::string_view queue) {
  const auto tenant = tenant_in(queue);
  const bool takes_bases = glob.find('~') == std::string_view::npos && glob.find('*') != std::string_view::npos;
  return matches_glob(glob, tenant && takes_bases ? tenant->base : queue);
}

// Whether a part is like "im*~acme", which does not name one base.
bool has_star_before_tilde(std::string_view text) {
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('!', begin), text.size());
    const std::string_view part = text.substr(begin, end - begin);
    const std::size_t tilde = part.find('~');
    if (tilde != std::string_view::npos && part.find('*') != std::string_view::npos &&
        (tilde == 0 || part.find('*') < tilde))
      return true;
    begin = end + 1;
  }
  return false;
}

[[noreturn]] void refuse(std::string_view text, const std::string& why) {
  throw std::invalid_argument("queue \"" + std::string(text) + "\": " + why);
}

}  // namespace

QueueOrder::QueueOrder(const std::vector<Entry>& entries) {
  std::string exclusions;
  for (const Entry& entry : entries) {
    if (!entry.name.starts_with('!')) {
      entries_.push_back(entry);
      continue;
    }
    const auto is_it = [name = entry.name.substr(1)](const Entry& other) { return other.name == name; };
    if (std::any_of(entries.begin(), entries.end(), is_it)) refuse(entry.name, "it is both listed and excluded");
    exclusions += entry.name;
  }
  if (!exclusions.empty() && !has_patterns())
    refuse(exclusions, "it is excluded from patterns, and the list has none, such as \"mail*\" or \"*\"");
  for (Entry& entry : entries_) {
    if (is_pattern(entry.name)) entry.name += exclusions;
  }
  for (const Entry& entry : entries_)
    expanded_.insert(expanded_.end(), static_cast<std::size_t>(std::clamp(entry.weight, 1, heaviest)), entry.name);

  const auto every_weight_is = [weights = weights()](int weight) {
    return std::all_of(weights.begin(), weights.end(), [weight](const auto& item) { return item.second == weight; });
  };
  mode_ = every_weight_is(0) ? Mode::strict : every_weight_is(1) ? Mode::random : Mode::weighted;
}

QueueOrder::Entry QueueOrder::parse(std::string_view text) {
  const std::size_t comma = text.find(',');
  const std::string_view name = text.substr(0, comma);
  if (name.empty()) refuse(text, "a queue needs a name");
  if (!is_safe_entry(name)) refuse(text, "a queue's name is made of letters, digits and _ . : @ / ~ -");
  if (has_star_before_tilde(name)) refuse(text, "what stands before ~ is the name of a queue, without *");
  if (comma == std::string_view::npos) return {std::string(name), 0};

  const std::string_view number = text.substr(comma + 1);
  int weight = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), weight);
  if (error != std::errc() || end != number.data() + number.size() || weight < 0 || weight > heaviest)
    refuse(text, "its weight is not a number from 0 to " + std::to_string(heaviest));
  if (name.starts_with('!')) refuse(text, "an exclusion has no weight");
  return {std::string(name), weight};
}

std::map<std::string, int> QueueOrder::weights() const {
  std::map<std::string, int> weights;
  for (const Entry& entry : entries_) weights[entry.name] = entry.weight;
  return weights;
}

std::vector<std::string> QueueOrder::names() const { return without_repeats(expanded_); }

std::vector<std::string> QueueOrder::draw(std::mt19937_64& random) const {
  if (mode_ == Mode::strict) return names();
  std::vector<std::string> order = expanded_;
  std::shuffle(order.begin(), order.end(), random);
  return without_repeats(order);
}

bool QueueOrder::has_patterns() const {
  return std::any_of(entries_.begin(), entries_.end(), [](const Entry& entry) { return is_pattern(entry.name); });
}

bool is_pattern(std::string_view entry) { return entry.substr(0, entry.find('!')).find('*') != std::string_view::npos; }

bool matches(std::string_view pattern, std::string_view queue) {
  if (!is_safe_queue(queue) && !is_tenants(queue)) return false;
  std::size_t end = std::min(pattern.find('!'), pattern.size());
  if (!matches_part(pattern.substr(0, end), queue)) return false;
  while (end < pattern.size()) {
    const std::size_t begin = end + 1;
    end = std::min(pattern.find('!', begin), pattern.size());
    if (matches_part(pattern.substr(begin, end - begin), queue)) return false;
  }
  return true;
}

const std::string* entry_for(const std::vector<std::string>& listed, std::string_view queue) {
  const std::string *pattern = nullptr, *rest = nullptr;
  for (const std::string& entry : listed) {
    if (entry == queue && !is_pattern(entry)) return &entry;
    const std::string*& found = entry == "*" || entry.starts_with("*!") ? rest : pattern;
    if (found == nullptr && is_pattern(entry) && matches(entry, queue)) found = &entry;
  }
  return pattern != nullptr ? pattern : rest;
}

bool is_safe_queue(std::string_view text) {
  return !text.empty() && text.size() <= longest_name &&
         text.find_first_not_of(std::string(safe_characters) + "~") == std::string_view::npos;
}

bool is_safe_name(std::string_view text) {
  return !text.empty() && text.size() <= longest_name &&
         text.find_first_not_of(safe_characters) == std::string_view::npos;
}

}  // namespace brood
