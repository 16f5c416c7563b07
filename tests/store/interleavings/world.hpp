#pragma once

#include <array>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "shared/config/cap_settings.hpp"
#include "shared/scoreboard/scoreboard.hpp"
#include "shared/store/in_flight/recover_worker.hpp"
#include "tests/store/interleavings/actor.hpp"
#include "tests/store/interleavings/broken.hpp"
#include "tests/store/interleavings/coverage.hpp"
#include "tests/store/interleavings/moving_channel.hpp"
#include "tests/store/interleavings/network.hpp"
#include "worker/session/session.hpp"

namespace brood::interleavings {

inline const std::string identity = "host:1:0123456789ab";

// Only scripts fetch from it: Redis serves waits in another order than our network delivers.
inline constexpr const char* queue_of_sequences = "c";

// One seed: three slots, one to three shards with three queues each, 36 jobs, the product's own worker and recovery
// code, a real Redis, and everything that can go wrong between them.  Then calm, until every job is done or dead.
//
// In a quarter of the seeds a class and a queue have caps; in another quarter some jobs run in sequence; in a third two
// of the queues are tenants.
class World {
 public:
  // Each shard is a database of the same server.  The seed determines their number.
  World(const std::vector<Channel*>& shards, std::uint64_t seed, Broken broken, Coverage& coverage,
        bool tracing = false);
  ~World();

  // Sentences about what went wrong; empty if all went well.
  std::vector<std::string> run();
  const std::vector<std::string>& trace() const { return trace_; }

 private:
  struct Shard {
    Shard(int its_number, Channel& its_redis) : number(its_number), redis(its_redis), network(its_redis) {}
    const int number;
    Channel& redis;
    Network network;
    bool is_away = false, beat_is_old = false;
    int lapses = 0;  // of its heartbeat
  };
  struct Worker {
    int slot = 0;
    int shard = 0, wanted = 0;  // as the supervisor assigned, and called
    std::uint64_t incarnation = 0;
    bool told_to_retire = false;
    bool ends_unsettled = false;                             // in a shard that is away
    std::string runs = {};                                   // the job under way
    int lapses = 0;                                          // of the heartbeat, when it asked for what it holds
    std::vector<Outcome> outcomes = {};                      // not sent yet
    bool unsettled = false;                                  // some are on their way
    Session* session = nullptr;                              // null when it has ended
    std::vector<std::string> held = {};                      // when it ended
    std::array<std::uint32_t, max_batch_entries> cleared{};  // for Broken::number_before_clearing
    std::uint64_t last_number = 0;
    std::unique_ptr<MovingChannel> channel;
    std::unique_ptr<Actor> actor;
  };
  struct Recovery {
    std::string field;
    int shard = 0;
    std::vector<std::string> held;  // by the dead
    std::unique_ptr<UnreliableChannel> channel;
    std::unique_ptr<Actor> actor;
  };
  struct Home {
    int shard = 0;
    std::string queue;
  };

  bool chance(double probability) { return std::uniform_real_distribution<>(0, 1)(random_) < probability; }
  void note(const std::string& event) {
    if (tracing_) trace_.push_back(event);
  }
  void fault(const std::string& sentence);
  Shard& shard(int number) { return *shards_[static_cast<std::size_t>(number)]; }
  Shard& any_shard() { return *shards_[random_() % shards_.size()]; }
  Channel& server() { return shards_.front()->redis; }
  SlotRecord& record_of_slot(const Worker& worker) { return scoreboard_.slot(worker.slot); }

  // The steps of a run.
  void step(bool calm);
  bool deliver_one();
  void resume_somebody();
  void spawn(Worker& worker);

  // How jobs come, and are repeated.
  void push_jobs(Shard* to);
  void move_due_jobs(Shard& at);
  void reschedule_a_retry(Shard& at);
  void push_a_twin(Shard& at);
  void raise_a_dead(Shard& at);

  // Faults, and brood's reactions to them.
  void break_a_connection();
  void kill(Worker& worker, bool with_its_host);
  void note_what_it_holds(Worker& worker);
  void recover_from(Worker& worker, bool with_its_host);
  void beat_is_missed(Shard& at);
  void host_seems_dead(Shard& at);
  void what_is_begun_may_run_twice(const Shard& at);
  void take_back();
  // Besides the coverage, `goes_back` counts the jobs that it gives back.
  void start_recovery(int shard, DeadWorker dead, std::vector<std::string> held, long* goes_back = nullptr);
  void look_for_orphans(Shard& at);
  void lose_fields(Shard& at);
  bool has_field(int shard, const std::string& field);
  void judge_unknown(const std::vector<std::string>& held);
  bool leaves_locks() const;
  void lose_the_processes(Shard& at);
  void refuse_a_command();
  void allow_everything();
  void flush(Shard& at);
  void sweep(Shard& at);
  void return_set_aside(Shard& at);
  void free_places_of(const Worker& worker);
  void go_away_or_come_back(Shard& one);

  // A worker's life, on its own thread.
  void work(Worker& worker, Actor& actor);
  void go_on(Worker& worker, WorkerSlot& slot, Actor& actor);
  void move(Worker& worker);
  std::uint64_t assign(Worker& worker);
  std::uint64_t assign_elsewhere(Worker& worker);
  void pause(Worker& worker, const WorkerSlot& slot, Actor& actor);
  bool may_begin(const Worker& worker);
  void wait(Worker& worker, const std::vector<std::string>& draw, int want);
  void perform_batch(Worker& worker, WorkerSlot& slot, Actor& actor);
  enum class Lock { none_needed, taken, held, fenced };
  Lock take_running_lock(Worker& worker, const std::string& payload);
  Lock enter_sequence(Worker& worker, const std::string& payload);
  void check_order(const std::string& payload);
  void begin_under(Worker& worker, Lock lock, const std::string& payload);
  void push_aside(Worker& worker, const std::vector<std::pair<std::string, std::string>>& jobs);
  Outcome perform(Worker& worker, WorkerSlot& slot, int entry, const std::string& payload);
  void wrote(Worker& worker);
  UnreliableChannel::Rewrite rewrite();

  // The invariants.
  struct Place {
    int shard = 0;
    std::string key, payload;
  };
  std::vector<Place> all_places();
  bool check_places();  // whether every job has ended
  void check_locks(const std::vector<Place>& places);
  void check_caps(const std::vector<Place>& places);
  void pass_sequences_on(const std::vector<Place>& places);
  void check_nothing_is_held();
  void check_charges(const std::string& payload);
  void finish();
  void let_all_leave();
  void look_for_ghosts(Shard& at);

  const std::vector<CapSettings>& caps() const;  // none in most seeds

  // In another quarter of the seeds two of the three queues are tenants.
  const std::vector<std::string>& home_queues() const;
  void look_for_tenants(Shard& at);

  Broken broken_;
  Coverage& coverage_;
  bool tracing_;
  std::mt19937_64 random_;
  const bool has_caps_, has_sequences_, has_tenants_;
  std::vector<std::unique_ptr<Shard>> shards_;
  Scoreboard scoreboard_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::vector<std::unique_ptr<Recovery>> recoveries_;
  std::uint64_t last_incarnation_ = 0;
  int pushed_ = 0;
  std::map<std::string, std::vector<std::string>> in_order_;  // by sequence: its jobs as they were pushed
  bool may_change_order_ = false;  // a job that may not be moved to the waiting ones goes back to its queue
  bool full_redis_ = false, calm_ = false, lost_fields_ = false;
  bool refuses_ = true;  // the last seed may have left a refusal
  bool all_stand_still_ = false;

  std::map<std::string, Home> home_;           // job -> its queue
  std::map<std::string, std::string> unique_;  // lock -> the job that was pushed with it, until that has ended
  std::map<std::string, Worker*> running_;     // lock -> the worker that runs a job under it
  std::map<std::string, int> ends_;            // job -> number of successes
  std::map<std::string, int> deserved_;        // job -> number of attempts that failed or crashed
  std::set<std::string> may_run_twice_;        // begun by a worker that was recovered without a scoreboard
  std::set<std::string> charge_unknown_;       // failed under a worker that brood itself ended
  std::vector<std::string> faults_, trace_;
};

}  // namespace brood::interleavings
