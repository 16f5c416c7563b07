#pragma once

#include <chrono>
#include <cstdint>

namespace brood {

struct Discard {};     // type of brood::discard
struct Kill {};        // type of brood::kill
struct UsualDelay {};  // type of brood::usual_delay

inline constexpr Discard discard{};         // drop the job without storing it
inline constexpr Kill kill{};               // no further retry: the job is exhausted now, as after its last retry
inline constexpr UsualDelay usual_delay{};  // the delay without a hook

// The answer of `retry_in`: a delay of any duration type, brood::discard, brood::kill or brood::usual_delay.  A hook
// that always gives one kind of answer may return that type.
class RetryDecision {
 public:
  // The kind of answer.
  enum class Kind { usual, after_delay, discarded, killed };

  constexpr RetryDecision(UsualDelay) {}                        // count^4 + 15 seconds, and jitter (section 5.2)
  constexpr RetryDecision(Discard) : kind_(Kind::discarded) {}  // not stored; death handlers run
  constexpr RetryDecision(Kill) : kind_(Kind::killed) {}        // moved to `dead`, unless its option `dead` is false
  // A delay, rounded up to seconds.  One that is not positive means the usual delay.  Jitter is added as in Sidekiq:
  // up to 10 s for each failure so far.
  template <typename Number, typename Period>
  constexpr RetryDecision(std::chrono::duration<Number, Period> delay)
      : kind_(Kind::after_delay), delay_(std::chrono::ceil<std::chrono::seconds>(delay)) {}

  constexpr Kind kind() const { return kind_; }                    // the kind of answer
  constexpr std::chrono::seconds delay() const { return delay_; }  // 0 unless it is Kind::after_delay

 private:
  Kind kind_ = Kind::usual;
  std::chrono::seconds delay_{0};
};

}  // namespace brood
