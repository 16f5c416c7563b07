#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "shared/base/clock.hpp"
#include "shared/redis/connection.hpp"
#include "shared/store/batches/batch.hpp"

namespace brood {

// Whether a batch was cancelled, as one worker asks for each of its jobs.  Short jobs share an answer.
class CancelledBatches {
 public:
  // `redis` is idle while it is asked here.
  explicit CancelledBatches(Channel& redis) : redis_(redis) {}

  // False while Redis is away.
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
