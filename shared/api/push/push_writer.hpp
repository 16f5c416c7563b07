#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <brood/push.hpp>

#include "shared/base/clock.hpp"
#include "shared/base/time_unit.hpp"
#include "shared/job/random_bytes.hpp"
#include "shared/job/uniqueness.hpp"

namespace brood {

// A push that was checked and only needs to be sent.
struct ClientPush {
  std::string jid, queue, payload;
  std::optional<double> score;  // into the schedule; else into the queue
  std::string shard_by = {};    // as in Push
  // The lock of a unique job, which the push takes.
  struct Lock {
    std::string name;                     // base64url of SHA-256
    std::chrono::milliseconds longest{};  // that it lives; 0: as long as the job
    // After the push the jid of the job that holds it; empty: it is this one's.
    std::shared_ptr<std::string> holder = std::make_shared<std::string>();
    OnConflict on_conflict = OnConflict::drop;
  };
  std::optional<Lock> lock = {};
};

// Rewrites arguments and members in the spelling of ruby_spelling().  For pushes that a person typed, which no program
// has to find again.  Throws std::invalid_argument for invalid JSON; prepare_push() refuses JSON of a wrong type.
void spell_as_ruby(Push& job);

// Checks the parts by Sidekiq's rules and writes the payload.  Throws std::invalid_argument with a sentence.
ClientPush prepare_push(const Push& job, WallTime now, TimeUnit times = usual_time_unit);

// Prepares the jobs of one call: they share its time.
class PushWriter {
 public:
  explicit PushWriter(WallTime now, TimeUnit times = usual_time_unit);

  // `args_in_clear`: of a job whose last argument has been encrypted since, and by which it is unique.
  ClientPush prepare(const Push& job, std::optional<std::string_view> args_in_clear = std::nullopt);
  std::string new_jid() { return random_.jid(); }
  TimeUnit times() const { return times_; }

 private:
  void check_names(const Push& job);
  void make_unique(ClientPush& prepared, const Push& job, std::optional<std::string_view> args_in_clear) const;

  WallTime now_;
  TimeUnit times_;
  std::string time_;  // as JSON
  RandomBytes random_;
  std::string checked_class_, checked_queue_;  // the last ones, since most jobs of a bulk have the same
};

// Sidekiq's rule for the one number of perform_in and perform_at: below 1,000,000,000 it is an interval, else a point
// in epoch seconds.  Returns when to run; nullopt: at once.
std::optional<double> scheduled_time(double number, double now);

// 24 random hex digits.
std::string new_jid();

}  // namespace brood
