#include "shared/base/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <limits>

namespace brood {
namespace {

struct Unit {
  std::string_view name;
  std::int64_t milliseconds;
};

// Largest first, the order in which "1h30m" names them.
constexpr Unit units[] = {{"d", 86'400'000}, {"h", 3'600'000}, {"m", 60'000}, {"s", 1'000}, {"ms", 1}};

// Far longer than any setting, and far too short to overflow when it is added to the present time.
constexpr std::int64_t longest_ms = std::int64_t{300} * 366 * 86'400'000;

std::string_view take_digits(std::string_view& text) {
  const std::size_t end = std::min(text.find_first_not_of("0123456789"), text.size());
  const std::string_view digits = text.substr(0, end);
  text.remove_prefix(end);
  return digits;
}

// Takes a number, which may have a fraction ("1.5"), in thousandths.
std::optional<std::int64_t> take_thousandths(std::string_view& text) {
  const std::string_view whole = take_digits(text);
  std::string fraction;
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    fraction = take_digits(text);
    if (fraction.empty()) return std::nullopt;
  }
  fraction.resize(3, '0');
  const std::string digits = std::string(whole) + fraction;
  std::int64_t thousandths = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), thousandths);
  if (whole.empty() || error != std::errc{}) return std::nullopt;
  return thousandths;
}

const Unit* take_unit(std::string_view& text) {
  const std::size_t end = std::min(text.find_first_of("0123456789"), text.size());
  for (const Unit& unit : units) {
    if (unit.name != text.substr(0, end)) continue;
    text.remove_prefix(end);
    return &unit;
  }
  return nullptr;
}

}  // namespace

std::optional<std::chrono::milliseconds> parse_duration(std::string_view text) {
  std::int64_t total = 0;
  std::int64_t smallest_so_far = std::numeric_limits<std::int64_t>::max();
  bool first = true;
  do {
    const auto thousandths = take_thousandths(text);
    if (!thousandths) return std::nullopt;
    const bool bare_seconds = first && text.empty();
    const Unit* const unit = bare_seconds ? &units[3] : take_unit(text);
    if (!unit || unit->milliseconds >= smallest_so_far) return std::nullopt;
    if (*thousandths > longest_ms / unit->milliseconds * 1'000) return std::nullopt;
    total += static_cast<std::int64_t>(static_cast<__int128>(*thousandths) * unit->milliseconds / 1'000);
    if (total > longest_ms) return std::nullopt;
    smallest_so_far = unit->milliseconds;
    first = false;
  } while (!text.empty());
  return std::chrono::milliseconds(total);
}

std::string duration_text(std::chrono::milliseconds duration) {
  std::int64_t rest = duration.count();
  std::string text = rest < 0 ? "-" : "";
  if (rest < 0) rest = -rest;
  int shown = 0;
  for (const Unit& unit : units) {
    const bool too_fine = unit.milliseconds == 1 && shown > 0;  // the milliseconds of "25s" do not matter
    if (rest < unit.milliseconds || too_fine) {
      if (shown == 1) break;
      continue;
    }
    text += fmt::format("{}{}", rest / unit.milliseconds, unit.name);
    rest %= unit.milliseconds;
    if (++shown == 2) break;
  }
  return shown > 0 ? text : "0s";
}

std::optional<std::uint64_t> parse_size(std::string_view text) {
  constexpr std::string_view suffixes = "KMGT";
  const std::string_view digits = take_digits(text);
  std::uint64_t bytes = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), bytes);
  if (digits.empty() || error != std::errc{} || text.size() > 1) return std::nullopt;
  if (text.empty()) return bytes;
  const std::size_t suffix = suffixes.find(text[0]);
  if (suffix == std::string_view::npos) return std::nullopt;
  const int shift = 10 * (static_cast<int>(suffix) + 1);
  if (bytes > std::numeric_limits<std::uint64_t>::max() >> shift) return std::nullopt;
  return bytes << shift;
}

}  // namespace brood
