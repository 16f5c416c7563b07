#pragma once

#include <chrono>
#include <cstdint>

namespace brood {

struct Discard {};
struct Kill {};
struct UsualDelay {};

inline constexpr Discard discard{};         // drop the job: it is stored nowhere
inline constexpr Kill kill{};               // no further retry: exhausted now
inline constexpr UsualDelay usual_delay{};  // as if there were no hook

// What `retry_in` answers: a delay of at least a second, brood::discard, brood::kill or brood::usual_delay.  A hook
// that answers in only one of these ways may return it as it is.
class RetryDecision {
 public:
  enum class Kind { usual, after_delay, discarded, killed };

  constexpr RetryDecision(UsualDelay) {}
  constexpr RetryDecision(Discard) : kind_(Kind::discarded) {}
  constexpr RetryDecision(Kill) : kind_(Kind::killed) {}
  template <typename Number, typename Period>
  constexpr RetryDecision(std::chrono::duration<Number, Period> delay)
      : kind_(Kind::after_delay), delay_(std::chrono::ceil<std::chrono::seconds>(delay)) {}

  constexpr Kind kind() const { return kind_; }
  constexpr std::chrono::seconds delay() const { return delay_; }

 private:
  Kind kind_ = Kind::usual;
  std::chrono::seconds delay_{0};
};

}  // namespace brood
