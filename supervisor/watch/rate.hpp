#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "shared/base/clock.hpp"
#include "supervisor/watch/text.hpp"

namespace brood::watch {

// How fast a number changes, from its values at points in time.
class Trend {
 public:
  // The rate over the last `window`, for a number that changes in steps; if zero, since the last value.
  explicit Trend(SteadyTime::duration window) : window_(window) {}

  void note(SteadyTime at, std::int64_t value);

  // nullopt before there are two values.
  std::optional<double> per_second() const;

 private:
  struct Point {
    SteadyTime at;
    std::int64_t value;
  };
  SteadyTime::duration window_;
  std::deque<Point> points_;
};

// The same for a counter.  If it falls, it was reset: that is no negative rate.
class Rate {
 public:
  explicit Rate(SteadyTime::duration window) : trend_(window) {}

  void note(SteadyTime at, std::uint64_t value);
  std::optional<double> per_second() const { return trend_.per_second(); }

 private:
  Trend trend_;
  std::optional<std::uint64_t> last_;
  std::int64_t grown_ = 0;
};

// The values of the last minutes; each bar stands for several.
class Series {
 public:
  explicit Series(std::size_t values_in_a_bar = 1) : in_a_bar_(values_in_a_bar) {}

  void add(std::optional<double> value);

  // The averages of the last `columns` bars, the latest on the right; columns before the first value are empty.  Only a
  // value of zero gets the lowest bar.
  std::string sparkline(std::size_t columns, const Glyphs& glyphs) const;

 private:
  struct Bar {
    std::size_t values = 0, known = 0;
    double sum = 0;
    std::optional<double> average() const;
  };
  std::size_t in_a_bar_;
  std::deque<Bar> bars_;
};

// "[|||    ]" in `columns`, full when `part` is `whole`.
std::string bar(std::uint64_t part, std::uint64_t whole, std::size_t columns, const Glyphs& glyphs);

}  // namespace brood::watch
