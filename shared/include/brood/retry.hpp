#pragma once

#include <chrono>
#include <cstdint>

namespace brood {

struct Discard {};     // the type of brood::discard
struct Kill {};        // the type of brood::kill
struct UsualDelay {};  // the type of brood::usual_delay

inline constexpr Discard discard{};         // the job is dropped and not stored
inline constexpr Kill kill{};               // no further retry: the job is exhausted now, as after its last retry
inline constexpr UsualDelay usual_delay{};  // the delay of a job without a hook

// The answer of `retry_in`: a delay of any duration type, brood::discard, brood::kill or brood::usual_delay.  A hook
// that always gives one kind of answer may return that type.
class RetryDecision {
 public:
  // The kind of answer.
  enum class Kind { usual, after_delay, discarded, killed };

  constexpr RetryDecision(UsualDelay) {}                        // count^4 + 15 seconds, plus jitter (section 5.2)
  constexpr RetryDecision(Discard) : kind_(Kind::discarded) {}  // the job is not stored; death handlers run
  constexpr RetryDecision(Kill) : kind_(Kind::killed) {}        // moves it to `dead`, unless its option `dead` is false
  // A delay, rounded up to seconds.  A delay that is not positive means the usual delay.  Jitter is added as in
  // Sidekiq: up to 10 s for each failure so far.
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
