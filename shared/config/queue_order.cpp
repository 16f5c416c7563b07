#include "shared/config/queue_order.hpp"

#include <algorithm>
#include <charconv>
#include <stdexcept>
#include <unordered_set>
#include <utility>

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

[[noreturn]] void refuse(std::string_view text, const std::string& why) {
  throw std::invalid_argument("queue \"" + std::string(text) + "\": " + why);
}

}  // namespace

QueueOrder::QueueOrder(std::vector<Entry> entries) : entries_(std::move(entries)) {
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
  if (name != "*" && !is_safe_name(name)) refuse(text, "a queue's name is made of letters, digits and _ . : @ / -");
  if (comma == std::string_view::npos) return {std::string(name), 0};

  const std::string_view number = text.substr(comma + 1);
  int weight = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), weight);
  if (error != std::errc() || end != number.data() + number.size() || weight < 0 || weight > heaviest)
    refuse(text, "its weight is not a number from 0 to " + std::to_string(heaviest));
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

bool is_safe_name(std::string_view text) {
  constexpr std::string_view safe = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.:@/-";
  return !text.empty() && text.size() <= longest_name && text.find_first_not_of(safe) == std::string_view::npos;
}

}  // namespace brood
