#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace brood {

// A text in Prometheus's exposition format, or in that of OpenMetrics: families, each followed by its samples.
class Exposition {
 public:
  using Labels = std::vector<std::pair<std::string_view, std::string>>;
  enum class Format { prometheus, openmetrics };

  explicit Exposition(Format format = Format::prometheus) : format_(format) {}

  void counter(std::string_view name, std::string_view help) { family(name, "counter", help); }
  void gauge(std::string_view name, std::string_view help) { family(name, "gauge", help); }

  // Adds a sample to the last family.  Label values may hold anything: they are made UTF-8, escaped, and cut if they
  // are long.  If two samples then have the same labels, only the first is kept, since a second would invalidate the
  // whole text.
  template <typename Number>
  void sample(const Labels& labels, Number value) {
    add(labels, fmt::format("{}", value));
  }

  // A sample of a histogram: the count of each bucket, of which the last has no bound, and the sum of all values.
  void histogram(std::string_view name, std::string_view help) { family(name, "histogram", help); }
  void buckets(const Labels& labels, const std::vector<double>& bounds, std::span<const std::uint64_t> counts,
               double sum);

  std::string text() const { return format_ == Format::openmetrics ? text_ + "# EOF\n" : text_; }

 private:
  void family(std::string_view name, std::string_view type, std::string_view help);
  void add(const Labels& labels, const std::string& value);

  Format format_;
  std::string text_, name_;
  std::set<std::string> said_;  // label sets of the last family
};

}  // namespace brood
