#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "shared/redis/connection.hpp"
#include "shared/store/limits/take_limits.hpp"
#include "worker/job/job_host.hpp"

namespace brood {

// The shards that keep the limits.
class LimitPlaces {
 public:
  struct Place {
    Channel* redis = nullptr;
    std::string elsewhere = {};  // the shard that has the holder's field, if it is another one: see LimitHolder
    std::size_t number = 0;      // of the limit's shard, the same for all workers
  };
  virtual ~LimitPlaces() = default;
  virtual Place place_of(const std::string& limit) = 0;
  virtual Channel* shard(const std::string& name) = 0;  // null if there is none of that name
};

// Takes limits in Redis for a worker's jobs, over connections that are idle while a job runs, and gives them back.
class LimitKeeper {
 public:
  // `holder` returns the holder in whose name this worker takes limits now.  `pause` waits; it returns false if the job
  // or its worker must end.
  LimitKeeper(LimitPlaces& places, std::function<LimitHolder()> holder,
              std::function<bool(std::chrono::milliseconds)> pause)
      : places_(places), holder_(std::move(holder)), pause_(std::move(pause)) {}

  // Takes all of the limits or none, and waits for them up to `wait`.  Takes the limits of one shard together, and goes
  // through the shards in the order of their numbers, so that two jobs never wait for each other.  While Redis is away
  // it asks again until `pause` or `is_wanted` returns false; the latter once a job in another process has ended.
  LimitResult take(
      const std::vector<Limit>& limits, std::chrono::milliseconds wait,
      const std::function<bool()>& is_wanted = [] { return true; });

  // Gives back the limits of one take().  If Redis is away, they become free when the job is settled.
  void give_back(const std::vector<LimitUse>& uses);

 private:
  struct Together {
    LimitPlaces::Place place;
    std::vector<Limit> limits;
    std::vector<std::size_t> numbers;  // the index of each in the whole call
  };

  std::vector<Together> by_server(const std::vector<Limit>& limits) const;
  LimitResult take_together(const Together& together, std::chrono::milliseconds wait,
                            const std::function<bool()>& is_wanted);
  bool forget_gone(Channel& redis, const std::string& name, const std::vector<LimitHolder>& holders);
  void begin_batch_anew();
  void send_back(const std::vector<LimitUse>& uses);

  LimitPlaces& places_;
  const std::function<LimitHolder()> holder_;
  const std::function<bool(std::chrono::milliseconds)> pause_;
  struct Slot {
    int depth = 0;  // how often the job has taken it, one within the other
    unsigned taking = 0;
  };

  LimitHolder held_by_;  // the holder of `slots_`, with the number of the next taking
  std::map<std::string, Slot> slots_;
};

}  // namespace brood
