#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "shared/base/clock.hpp"
#include "shared/redis/connection.hpp"
#include "shared/store/batches/batch.hpp"

namespace brood {

// Asks for each job of a worker whether its batch was cancelled.  Jobs that follow each other within milliseconds share
// an answer.
class CancelledBatches {
 public:
  // `redis` must be idle while this asks it.
  explicit CancelledBatches(Channel& redis) : redis_(redis) {}

  // Returns false while Redis is away.
  bool is_cancelled(std::string_view bid) {
    const SteadyTime now = steady_now();
    if (bid == bid_ && now - asked_ < longest_known) return cancelled_;
    bid_ = bid;
    asked_ = now;
    cancelled_ = false;
    try {
      const auto replies = redis_.call_patiently({ask_batch_cancelled(bid)}, {longest_wait, longest_wait});
      cancelled_ = read_batch_cancelled(replies.front().view());
    } catch (const ConnectionLost&) {  // the job runs
    }
    return cancelled_;
  }

 private:
  static constexpr std::chrono::milliseconds longest_known{5}, longest_wait{2000};

  Channel& redis_;
  std::string bid_;
  SteadyTime asked_{};
  bool cancelled_ = false;
};

}  // namespace brood
