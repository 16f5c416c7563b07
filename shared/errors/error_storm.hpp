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

// Decides which reports are sent.  Of each error class of each job class the first few within a minute are; the others
// of that minute are summed up in one digest.  Pure.
class ErrorStorm {
 public:
  static constexpr std::chrono::seconds minute{60};
  static constexpr std::size_t most_kinds = 1'000;  // those beyond share one

  // `after`: so many are sent each; 0: all.
  explicit ErrorStorm(int after) : after_(after) {}

  // Whether to send this one.  If not, it is in the digest of its minute.
  bool sends(const ErrorReport& report, SteadyTime now);

  // The digests of minutes that are over; of all with `everything`.  Each has the members of its last failure, and an
  // id of its own.
  std::vector<ErrorReport> take_digests(SteadyTime now, bool everything = false);
  // When the next is due.
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
