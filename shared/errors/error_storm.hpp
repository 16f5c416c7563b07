#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "shared/base/clock.hpp"
#include "shared/errors/error_report.hpp"

namespace brood {

// Decides which reports are sent.  For each pair of job class and error class, the first few failures within a minute
// are sent as they are.  One digest sums up the others of that minute.  Pure.
class ErrorStorm {
 public:
  static constexpr std::chrono::seconds minute{60};
  static constexpr std::size_t most_kinds = 1'000;  // pairs beyond these share one digest

  // `after`: how many of each pair are sent within a minute; 0: all.
  explicit ErrorStorm(int after) : after_(after) {}

  // Whether to send this report.  If not, the digest of its minute counts it.
  bool sends(const ErrorReport& report, SteadyTime now);

  // The digests of minutes that are over; with `everything` all digests.  Each has the members of its last failure, and
  // an id of its own.
  std::vector<ErrorReport> take_digests(SteadyTime now, bool everything = false);
  // When the next minute is over; nullopt: there is none.
  std::optional<SteadyTime> next_digest() const;

 private:
  using Kind = std::pair<std::string, std::string>;  // job class, error class
  struct Minute {
    SteadyTime ends{};
    int sent = 0;
    double since = 0;
    std::uint64_t summed = 0;
    ErrorReport last = {};  // valid if some were summed
  };

  const int after_;
  std::map<Kind, Minute> minutes_;
};

}  // namespace brood
