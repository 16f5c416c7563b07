#pragma once

#include <fmt/format.h>

#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace brood {

// A text in Prometheus's exposition format: families, and after each its samples.
class Exposition {
 public:
  using Labels = std::vector<std::pair<std::string_view, std::string>>;

  void counter(std::string_view name, std::string_view help) { family(name, "counter", help); }
  void gauge(std::string_view name, std::string_view help) { family(name, "gauge", help); }

  // Adds a sample to the last family.  Label values may hold anything: they are made UTF-8, escaped, and cut where they
  // are long.  If two samples then have the same labels, only the first is kept, since a second would make the whole
  // text invalid.
  template <typename Number>
  void sample(const Labels& labels, Number value) {
    add(labels, fmt::format("{}", value));
  }

  const std::string& text() const { return text_; }

 private:
  void family(std::string_view name, std::string_view type, std::string_view help);
  void add(const Labels& labels, const std::string& value);

  std::string text_, name_;
  std::set<std::string> said_;  // label sets of the last family
};

}  // namespace brood
