#include "worker/recovery/sweep_strays.hpp"

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <thread>

#include "shared/base/log.hpp"
#include "shared/store/in_flight/incarnation.hpp"
#include "shared/store/in_flight/lock_list.hpp"
#include "shared/store/in_flight/running_lock.hpp"
#include "shared/store/report/heartbeat_hash.hpp"
#include "shared/store/report/owners.hpp"
#include "worker/crash/signs_of_life.hpp"
#include "worker/recovery/free_slots.hpp"
#include "worker/recovery/recovery_process.hpp"

namespace brood {
namespace {

constexpr std::chrono::seconds look_for_life_again(2);

class Sweep {
 public:
  Sweep(const OwnIncarnations& own, const RedisAddress& redis) : own_(own), redis_(redis) {}

  void give_back_jobs() {
    list_unlisted_processes(redis_);
    std::set<std::string> others;
    int jobs = give_back_lists_without_field(redis_, [&](const InFlightList& list) {
      if (list.identity == own_.identity) return own_.lives(list.field);
      others.insert(list.identity);
      return true;
    });
    if (!others.empty()) {
      const std::set<std::string> silent = without_sign_of_life(others);
      jobs += give_back_lists_without_field(redis_,
                                            [&](const InFlightList& list) { return !silent.contains(list.identity); });
    }
    if (jobs > 0) log::warn("stray_jobs_given_back", {{"jobs", jobs}});
  }

  // Lets go of locks whose jobs or fields were deleted by hand.
  void let_go_of_locks() {
    std::set<std::string> others;
    let_go_of_stray_locks(redis_, [&](const RunningHolder& holder) {
      if (holder.identity == own_.identity) return own_.lives(holder.field);
      others.insert(holder.identity);
      return true;
    });
    if (!others.empty()) {
      const std::set<std::string> silent = without_sign_of_life(others);
      let_go_of_stray_locks(redis_, [&](const RunningHolder& holder) { return !silent.contains(holder.identity); });
    }
    let_go_of_abandoned_locks(redis_);
  }

  // Frees slots whose holders have ended, or whose holders' shard was taken out, and for which no job has asked since.
  void free_slots(const std::vector<RedisAddress>& shards) {
    std::map<std::string, std::optional<RecoveryConnection>> others;
    for (const RedisAddress& shard : shards) others[shard.shard];
    SlotWitnesses witnesses;
    for (const auto& [name, none] : others) witnesses.shards.insert(name);
    witnesses.shard = [&](const std::string& name) -> Channel& {
      std::optional<RecoveryConnection>& there = others.at(name);
      const auto address =
          std::find_if(shards.begin(), shards.end(), [&](const RedisAddress& shard) { return shard.shard == name; });
      if (!there) there.emplace(*address);
      return *there;
    };
    witnesses.own = own_;
    witnesses.silent = [this](const std::set<std::string>& supervisors) { return without_sign_of_life(supervisors); };
    free_slots_of_the_gone(redis_, witnesses);
  }

 private:
  // Takes up to two minutes.
  std::set<std::string> without_sign_of_life(const std::set<std::string>& identities) {
    SignsOfLife signs(identities, steady_now());
    for (;;) {
      for (const std::string& identity : signs.doubtful(steady_now())) {
        const Reply beats = redis_.call(ask_whether_beats(identity));
        // A refusal, by an access list for example, does not show that the heartbeat is missing.
        if (read_whether_beats(beats.view()).value_or(true)) signs.seen(identity, steady_now());
      }
      const SteadyTime now = steady_now();
      if (signs.doubtful(now).empty()) return signs.silent(now);
      std::this_thread::sleep_for(look_for_life_again);
    }
  }

  const OwnIncarnations& own_;
  Connection redis_;
};

}  // namespace

int sweep_strays(const OwnIncarnations& own, const RedisAddress& redis, const std::vector<RedisAddress>& shards) {
  return end_of_recovery([&] {
    Sweep sweep(own, redis);
    sweep.give_back_jobs();
    sweep.let_go_of_locks();
    sweep.free_slots(shards);
  });
}

}  // namespace brood
