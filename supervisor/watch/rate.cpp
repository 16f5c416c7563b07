#include "supervisor/watch/rate.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace brood::watch {

void Trend::note(SteadyTime at, std::int64_t value) {
  constexpr std::int64_t most = 1'000'000'000'000'000'000;
  points_.push_back({at, std::clamp(value, -most, most)});
  // The last point before the window stays, so that the points cover the whole window.
  while (points_.size() > 2 && points_[1].at <= at - window_) points_.pop_front();
}

std::optional<double> Trend::per_second() const {
  if (points_.size() < 2) return std::nullopt;
  const double seconds = std::chrono::duration<double>(points_.back().at - points_.front().at).count();
  if (seconds <= 0) return std::nullopt;
  return static_cast<double>(points_.back().value - points_.front().value) / seconds;
}

void Rate::note(SteadyTime at, std::uint64_t value) {
  // A job may have overwritten the counter: an impossible value must not overflow.
  constexpr std::uint64_t most = 1'000'000'000'000;
  if (last_ && value > *last_) grown_ += static_cast<std::int64_t>(std::min(value - *last_, most));
  last_ = value;
  trend_.note(at, grown_);
}

std::optional<double> Series::Bar::average() const {
  return known > 0 ? std::optional(sum / static_cast<double>(known)) : std::nullopt;
}

void Series::add(std::optional<double> value) {
  constexpr std::size_t most = 1000;
  if (bars_.empty() || bars_.back().values == in_a_bar_) bars_.emplace_back();
  if (bars_.size() > most) bars_.pop_front();
  Bar& bar = bars_.back();
  ++bar.values;
  bar.known += value.has_value();
  bar.sum += value.value_or(0);
}

std::string Series::sparkline(std::size_t columns, const Glyphs& glyphs) const {
  constexpr std::array<std::string_view, 8> blocks = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  constexpr std::array<std::string_view, 8> ascii = {"_", ".", ":", "-", "=", "+", "*", "#"};
  const auto& steps = glyphs.blocks ? blocks : ascii;
  const std::size_t shown = std::min(columns, bars_.size());
  const auto first = bars_.end() - static_cast<std::ptrdiff_t>(shown);
  double highest = 0;
  for (auto bar = first; bar != bars_.end(); ++bar) highest = std::max(highest, bar->average().value_or(0));
  std::string line(columns - shown, ' ');
  for (auto bar = first; bar != bars_.end(); ++bar) {
    const auto value = bar->average();
    if (!value) {
      line += ' ';
    } else if (*value <= 0) {
      line += steps[0];
    } else {
      const double step = std::ceil(*value / highest * static_cast<double>(steps.size() - 1));
      line += steps[std::clamp<std::size_t>(static_cast<std::size_t>(step), 1, steps.size() - 1)];
    }
  }
  return line;
}

std::string bar(std::uint64_t part, std::uint64_t whole, std::size_t columns, const Glyphs& glyphs) {
  if (columns < 3) return std::string(columns, ' ');
  const std::size_t room = columns - 2;
  std::size_t full = 0;
  if (whole > 0) {
    const double share = static_cast<double>(std::min(part, whole)) / static_cast<double>(whole);
    full = static_cast<std::size_t>(std::lround(share * static_cast<double>(room)));
    // Neither one busy worker of a thousand nor one idle one is rounded away.
    if (part > 0) full = std::max<std::size_t>(full, 1);
    if (part < whole) full = std::min(full, room - 1);
  }
  std::string line = "[";
  for (std::size_t i = 0; i < room; ++i) line += i < full ? (glyphs.blocks ? "█" : "|") : (glyphs.blocks ? "░" : " ");
  return line + "]";
}

}  // namespace brood::watch
