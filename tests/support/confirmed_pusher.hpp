#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <set>
#include <string>
#include <thread>

#include "shared/redis/connection.hpp"

namespace brood {

// Pushes jobs of the Ledger, one or a few at a time, like a client that trusts only what a replica has confirmed.
// Never pushes a job twice.
class ConfirmedPusher {
 public:
  struct Pace {
    std::chrono::milliseconds between{10};  // two pushes
    std::chrono::milliseconds answer{2'000};
    int at_once = 1;
    int job = 5;    // how many milliseconds each takes
    int first = 0;  // of the first job; the others follow
  };
  // If `waits` is false, it trusts every answer.
  ConfirmedPusher(RedisAddress redis, std::string ledger, bool waits, Pace pace);
  ~ConfirmedPusher() { stop(); }
  ConfirmedPusher(const ConfirmedPusher&) = delete;
  ConfirmedPusher& operator=(const ConfirmedPusher&) = delete;

  void stop();
  std::size_t count() const { return pushed_; }                          // the number of confirmed jobs
  const std::set<std::string>& confirmed() const { return confirmed_; }  // ids, once it is stopped

 private:
  void push_until_told();
  bool push(int first);

  Connection redis_;
  const std::string path_;
  const bool waits_;
  const Pace pace_;
  std::set<std::string> confirmed_;
  std::atomic<std::size_t> pushed_ = 0;
  std::atomic<bool> stopping_ = false;
  std::thread thread_;
};

// A job of the Ledger that takes `milliseconds`.
std::string ledger_job(const std::string& path, int id, int milliseconds);

// The time on the clock of the Ledger's jobs, in nanoseconds.
std::int64_t ledger_now();

}  // namespace brood
