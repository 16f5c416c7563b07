#include "shared/config/periodic_settings.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace brood {
namespace {

using namespace std::chrono_literals;
using CatchUp = PeriodicSettings::CatchUp;
using Overlap = PeriodicSettings::Overlap;

constexpr std::array<std::pair<std::string_view, CatchUp>, 3> catch_up_words{
    {{"none", CatchUp::none}, {"last", CatchUp::last}, {"all", CatchUp::all}}};
constexpr std::array<std::pair<std::string_view, Overlap>, 3> overlap_words{
    {{"allow", Overlap::allow}, {"skip", Overlap::skip}, {"queue", Overlap::queue}}};

template <typename Words>
auto value_of(const Words& words, std::string_view word) -> std::optional<decltype(words[0].second)> {
  for (const auto& [name, value] : words) {
    if (word == name) return value;
  }
  return std::nullopt;
}

template <typename Words, typename Value>
std::string_view word_of(const Words& words, Value value) {
  for (const auto& [name, one] : words) {
    if (one == value) return name;
  }
  return "";
}

}  // namespace

bool PeriodicSettings::is_enabled_on(const std::vector<std::string>& labels) const {
  return enabled_on.empty() || std::any_of(enabled_on.begin(), enabled_on.end(), [&](const std::string& label) {
           return std::find(labels.begin(), labels.end(), label) != labels.end();
         });
}

CatchUp PeriodicSettings::catches_up() const {
  if (catch_up) return *catch_up;
  return rule.is_hourly_at_most() || overlap == Overlap::queue ? CatchUp::last : CatchUp::none;
}

std::chrono::seconds PeriodicSettings::late_at_most() const {
  if (catches_up() == CatchUp::none) return 60s;
  if (within) return *within;
  return overlap == Overlap::queue ? 24h : 1h;
}

std::optional<CatchUp> catch_up_of(std::string_view word) { return value_of(catch_up_words, word); }
std::optional<Overlap> overlap_of(std::string_view word) { return value_of(overlap_words, word); }
std::string_view name_of(CatchUp catch_up) { return word_of(catch_up_words, catch_up); }
std::string_view name_of(Overlap overlap) { return word_of(overlap_words, overlap); }

}  // namespace brood
