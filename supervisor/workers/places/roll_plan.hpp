#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "shared/base/clock.hpp"

namespace brood {

// One place of a capsule, as far as a roll is concerned.
struct RollPlace {
  enum class State {
    waiting,   // fresh, and not to be filled yet
    vacant,    // to be filled, without a worker
    starting,  // its worker is not ready yet
    ready,
    given_up,  // its worker has been ordered to finish, or is gone
  };
  int key = 0;
  bool fresh = false;  // a new place; else an old one
  std::string capsule = {};
  State state = State::waiting;
  SteadyTime since{};        // when `state` became starting or ready
  bool began_a_job = false;  // whether its worker did
  bool busy = false;         // its worker runs a job now
};

// The next actions of a roll.
struct RollStep {
  enum class Verdict { goes_on, done, failed };
  Verdict verdict = Verdict::goes_on;
  std::vector<int> start;    // fresh places to fill
  std::vector<int> give_up;  // places whose workers are to finish
};

// Replaces old workers by fresh ones.  Pure.
//
// At most `max_unavailable` fresh workers start at a time; those that follow one that has stood its trial do not count.
// An old worker is ordered to finish only when a fresh worker of its capsule is or was ready.  The first fresh workers
// are on trial: no old worker is ordered to finish until one of them has begun a job or lived for a while.  Time in
// which the supervisor stood still does not count, since deaths in it are not known yet.  The roll is done when each
// fresh place has had a worker that stood the trial, even if another worker has followed it since.
class RollPlan {
 public:
  static constexpr std::chrono::seconds trial{1};
  static constexpr int most_deaths = 3;  // of young workers without a job, one after the other

  // `longest_start` is how long a worker may take to become ready.
  explicit RollPlan(int max_unavailable, std::chrono::milliseconds longest_start);

  // The worker of a fresh place ended.
  struct Death {
    int place = 0;          // its key
    bool in_order = false;  // it obeyed an order to leave
    bool refused = false;   // it exited with EX_CONFIG or EX_TEMPFAIL before it was ready: the old workers stay
    bool began_a_job = false;
    bool was_ready = false;
    std::chrono::nanoseconds ready_for{};  // until its end was noticed
    std::string how = {};                  // "killed by SIGSEGV"
  };
  void note_death(const Death& death);

  // If it has `failed`, reason() explains why; do not call it after `done` or `failed`.
  RollStep next(const std::vector<RollPlace>& places, SteadyTime now);

  const std::string& reason() const { return reason_; }

  // When to call next() again even if nothing happens; nullopt: never.
  std::optional<SteadyTime> next_look() const { return next_look_; }

 private:
  // The observation of the worker that is in a fresh place now.
  struct Sight {
    SteadyTime ready_since, last_look;
    std::chrono::nanoseconds seen{0};
  };
  bool has_stood(const RollPlace& place) const { return stood_.contains(place.key); }
  void give_up_some(const std::vector<RollPlace>& places, RollStep& step) const;
  bool overstayed(const std::vector<RollPlace>& places, SteadyTime now);
  bool stands_its_trial(const RollPlace& place, SteadyTime now);
  void judge_trial(const std::vector<RollPlace>& places, SteadyTime now);
  void start_some(const std::vector<RollPlace>& places, RollStep& step) const;

  const int max_unavailable_;
  const std::chrono::milliseconds longest_start_;
  bool proven_ = false;
  std::set<int> stood_;          // fresh places with a worker that has stood its trial
  std::map<int, Sight> sights_;  // by key
  int deaths_ = 0;
  std::string reason_;
  std::optional<SteadyTime> next_look_;
};

}  // namespace brood
