#include "shared/config/periodic_settings.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <string_view>
#include <utility>

#include "shared/config/config.hpp"
#include "shared/config/config_file.hpp"
#include "shared/config/told_file.hpp"
#include "shared/scoreboard/scoreboard.hpp"

namespace brood {
namespace {

using namespace std::chrono_literals;
using CatchUp = PeriodicSettings::CatchUp;
using Overlap = PeriodicSettings::Overlap;
using Source = PeriodicSettings::Source;

constexpr std::array<std::pair<std::string_view, CatchUp>, 3> catch_up_words{
    {{"none", CatchUp::none}, {"last", CatchUp::last}, {"all", CatchUp::all}}};
constexpr std::array<std::pair<std::string_view, Overlap>, 3> overlap_words{
    {{"allow", Overlap::allow}, {"skip", Overlap::skip}, {"queue", Overlap::queue}}};

constexpr std::array<std::pair<std::string_view, Source>, 3> source_words{
    {{"configuration", Source::configuration}, {"library", Source::library}, {"redis", Source::redis}}};

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
std::string_view name_of(Source source) { return word_of(source_words, source); }

std::string registered_periodic_path(const std::string& runtime_directory, const std::string& identity) {
  return std::filesystem::path(scoreboard_path(runtime_directory, identity)).replace_extension(".periodic");
}

void tell_registered_periodic(const std::string& path, std::uint32_t generation, const std::string& lines) {
  std::string before;
  if (access(path.c_str(), F_OK) == 0) {
    try {
      before = read_config_file(path).text;
    } catch (const ConfigError&) {  // it is gone or cannot be read: it is replaced
    }
  } else if (lines.empty()) {
    return;
  }
  const std::string text = std::to_string(generation) + "\n" + lines;
  if (before == text || generation_of_registered_periodic(before) > generation) return;
  write_told_file(path, text);
}

std::uint32_t generation_of_registered_periodic(const std::string& text) {
  std::uint32_t generation = 0;
  std::from_chars(text.data(), text.data() + text.size(), generation);
  return generation;
}

void put_back_registered_periodic(const std::string& path, const std::string& text) {
  if (text.empty())
    unlink(path.c_str());
  else
    write_told_file(path, text);
}

}  // namespace brood
