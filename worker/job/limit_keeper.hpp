#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "shared/redis/connection.hpp"
#include "shared/store/limits/take_limits.hpp"
#include "worker/job/job_host.hpp"

namespace brood {

// Takes limits in Redis for a worker's jobs, over connections that are idle while a job runs, and gives them back.
class LimitKeeper {
 public:
  struct Setup {
    std::function<LimitHolder()> holder;  // who this worker is by now
    // Where a limit of this name lies, and where whoever holds of it in another shard has that written down.
    struct Place {
      Channel* redis = nullptr;
      std::string elsewhere = {};  // as LimitHolder has it
      std::size_t number = 0;      // of the shard, the same for everybody
    };
    std::function<Place(const std::string& name)> place_of;
    std::function<Channel*(const std::string& shard)> shard;  // null: there is none of that name
    // Waits; false: the job is to end, or its worker.
    std::function<bool(std::chrono::milliseconds)> pause;
  };

  explicit LimitKeeper(Setup setup) : setup_(std::move(setup)) {}

  // Takes all or none, and waits for that as long.  Those of one shard are taken together; everybody goes through the
  // shards in the same order, or two jobs would wait for what the other holds.  While Redis is away it asks again
  // until `pause` says no, or `is_wanted`: whoever takes for a job in another process stops when that has ended.
  LimitResult take(
      const std::vector<Limit>& limits, std::chrono::milliseconds wait,
      const std::function<bool()>& is_wanted = [] { return true; });

  // What one take() has taken.  What Redis does not hear of ends with the settle of the job.
  void give_back(const std::vector<LimitUse>& uses);

 private:
  struct Together {
    Setup::Place place;
    std::vector<Limit> limits;
    std::vector<std::size_t> numbers;  // of each, in the whole call
  };

  std::vector<Together> by_server(const std::vector<Limit>& limits) const;
  LimitResult take_together(const Together& together, std::chrono::milliseconds wait,
                            const std::function<bool()>& is_wanted);
  bool forget_gone(Channel& redis, const std::string& name, const std::vector<LimitHolder>& holders);
  void begin_batch_anew();
  void send_back(const std::vector<LimitUse>& uses);

  Setup setup_;
  struct Slot {
    int depth = 0;  // how often it is held within itself
    unsigned taking = 0;
  };

  LimitHolder held_by_;  // as which `slots_` counts; with the taking that is the next
  std::map<std::string, Slot> slots_;
};

}  // namespace brood
