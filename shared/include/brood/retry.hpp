#pragma once

#include <chrono>
#include <cstdint>

namespace brood {

struct Discard {};     // of brood::discard
struct Kill {};        // of brood::kill
struct UsualDelay {};  // of brood::usual_delay

inline constexpr Discard discard{};         // drop the job: it is stored nowhere
inline constexpr Kill kill{};               // no further retry: exhausted now, as after the last one
inline constexpr UsualDelay usual_delay{};  // as if there were no hook

// What `retry_in` answers: a delay of any duration type, brood::discard, brood::kill or brood::usual_delay.  A hook
// that answers in only one of these ways may return it as it is.
class RetryDecision {
 public:
  // What is to become of the job.
  enum class Kind { usual, after_delay, discarded, killed };

  constexpr RetryDecision(UsualDelay) {}                        // count^4 + 15 seconds, and jitter (section 5.2)
  constexpr RetryDecision(Discard) : kind_(Kind::discarded) {}  // stored nowhere; death handlers run
  constexpr RetryDecision(Kill) : kind_(Kind::killed) {}        // into `dead`, unless its option `dead` is false
  // Rounded up to seconds; one that is not positive is the usual one.  Jitter is added as in Sidekiq: up to 10 s for
  // each failure so far.
  template <typename Number, typename Period>
  constexpr RetryDecision(std::chrono::duration<Number, Period> delay)
      : kind_(Kind::after_delay), delay_(std::chrono::ceil<std::chrono::seconds>(delay)) {}

  constexpr Kind kind() const { return kind_; }                    // what was answered
  constexpr std::chrono::seconds delay() const { return delay_; }  // 0 unless it is Kind::after_delay

 private:
  Kind kind_ = Kind::usual;
  std::chrono::seconds delay_{0};
};

}  // namespace brood
