#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "shared/base/identity.hpp"
#include "shared/config/config.hpp"
#include "shared/redis/address.hpp"
#include "shared/scoreboard/worker_setup.hpp"
#include "worker/admission/admission.hpp"
#include "worker/fetching/fetcher.hpp"
#include "worker/job/lifecycle.hpp"
#include "worker/orders/supervisor_orders.hpp"
#include "worker/preload.hpp"
#include "worker/run/runner.hpp"
#include "worker/session/session.hpp"
#include "worker/shards/served_shard.hpp"

namespace brood {

// One worker.  Until the order to stop, it fetches a batch, decides about each job, runs those that may begin, and
// settles them with the next fetch.
class Worker {
 public:
  Worker(const WorkerSetup& setup, const Config& config, const Identity& identity,
         const std::vector<RedisAddress>& shards, Preloaded& preloaded);

  // Call it before run().  Throws LibraryError and StartupError.
  void load_libraries(const Identity& identity, const Preloaded& preloaded);
  void run();

 private:
  enum class Ended { well_enough, waits_for_class, settles_at_once };

  void go_on();
  void stand_by(bool quiet);
  bool fetch(bool begins);
  void wait_for_job();
  void perform_batch();
  std::optional<Ended> perform(int entry, const std::string& payload, const std::string& home);
  bool may_begin();
  bool waits_for_beat();
  void give_back_unbegun();
  void move();
  void renew(ControlByte byte);
  Leaving leaving();
  bool leaves();
  void pause(std::chrono::milliseconds length);
  std::vector<Outcome> take_outcomes();

  SupervisorOrders orders_;
  WorkerSlot slot_;
  ServedShard shard_;
  Workplace place_;
  Session session_;
  Fetcher fetcher_;
  Admission admission_;
  Runner runner_;
  Lifecycle lifecycle_;
  std::vector<Outcome> outcomes_;  // those that wait to be settled
  bool unsettled_ = false;         // whether others are being sent to Redis
  bool saves_iterations_ = false;
  bool said_waiting_for_beat_ = false;
  std::optional<RecycleReason> recycling_;
};

}  // namespace brood
