#pragma once

#include <array>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "shared/scoreboard/scoreboard.hpp"
#include "shared/store/in_flight/recover_worker.hpp"
#include "tests/store/interleavings/actor.hpp"
#include "tests/store/interleavings/network.hpp"
#include "worker/fetch_and_settle.hpp"

namespace brood::interleavings {

inline const std::string identity = "host:1:0123456789ab";

// A payload here is "<job>#<attempts charged>"; of a job that holds something JSON, with these two as its jid.
inline std::string name_of(const std::string& payload) {
  if (!payload.starts_with('{')) return payload;
  const std::size_t begin = payload.find('"', payload.find("\"name\":") + 7) + 1;
  return payload.substr(begin, payload.find('"', begin) - begin);
}
inline std::string job_of(const std::string& payload) {
  const std::string name = name_of(payload);
  return name.substr(0, name.find('#'));
}
inline int charges_of(const std::string& payload) {
  const std::string name = name_of(payload);
  return std::stoi(name.substr(name.find('#') + 1));
}

// Rules that a run can switch off, to show what each is for.
struct Broken {
  bool numbers_unchecked = false;         // the script settles whatever number it is sent
  bool recovery_unchecked = false;        // the recovery judges the list by the scoreboard whatever the number says
  bool incarnations_reused = false;       // a refilled slot goes on under its predecessor's name
  bool number_before_clearing = false;    // the number of the new batch meets the states of the old one
  bool tombstones_omitted = false;        // nothing keeps a dead worker's late BLMOVE from moving a job
  bool waits_unannounced = false;         // a settle does not say which queue its worker waits on next
  bool resends_renumbered = false;        // an unanswered settle is sent again as if it were the next one
  bool lost_fields_abandoned = false;     // what a worker holds when its field is lost stays where it is
  bool lost_entries_unchecked = false;    // without a field, outcomes apply to whatever the list holds
  bool living_swept = false;              // a list without a field is given back though its owner lives
  bool dead_without_field_left = false;   // a dead worker whose field is lost is not looked after
  bool refusals_ignored = false;          // a settle goes on though the user may not do what it has just tried
  bool old_beats_ignored = false;         // jobs are begun though another host may be about to take them over
  bool adoptions_unchecked = false;       // whoever was taken for dead is recovered though its heartbeat is there again
  bool lapses_ignored = false;            // what was fetched before the heartbeat was old is begun when it comes again
  bool notes_unheeded = false;            // nobody reads what a dead worker has noted of its failed jobs
  bool locks_kept_at_settle = false;      // the settle that ends a job leaves its lock to a command behind it
  bool locks_kept_at_recovery = false;    // the recovery that ends a job leaves its lock
  bool locks_let_go_by_anybody = false;   // a lock is let go though another job holds it by now
  bool locks_let_go_by_failures = false;  // a failure that is to be tried again lets go as well
  bool takes_unfenced = false;            // what a dead worker asked for is taken for it when it arrives late
  bool late_takes_unseen = false;         // the recovery lets go of what was noted when it looked, and looks once
  bool holdings_unheeded = false;         // the recovery lets go of nothing that the incarnation held
  bool kept_without_field = false;        // a worker whose field is lost does not let go
};

// How often things happened, over any number of runs: a rule is tested only if it was needed.
struct Coverage {
  long commands = 0, kills = 0, host_deaths = 0, lost_replies = 0, fenced = 0, acknowledged = 0, charged = 0,
       given_back = 0, orphaned = 0, taken_back = 0, retired = 0, moved = 0, waits = 0, arrived = 0, fetched_behind = 0,
       waits_lost = 0, waits_refused = 0, quieted = 0, fields_lost = 0, flushes = 0, settled_without_field = 0,
       sweeps = 0, processes_lost = 0, commands_refused = 0, beats_missed = 0, kept_from = 0, judged = 0,
       unique_ended = 0, twins = 0, raised = 0, taken = 0, found_taken = 0, takes_fenced = 0;
};

// One seed: three slots, three queues, 36 jobs, the product's own worker and recovery code, a real Redis, and
// everything that can go wrong between them.  Then calm, until every job is done or dead.
class World {
 public:
  World(Channel& redis, std::uint64_t seed, Broken broken, Coverage& coverage, bool tracing = false);
  ~World();

  // Sentences about what went wrong; empty when nothing did.
  std::vector<std::string> run();
  const std::vector<std::string>& trace() const { return trace_; }

 private:
  struct Worker {
    int slot = 0;
    std::uint64_t incarnation = 0;
    bool told_to_retire = false;
    std::string runs = {};  // the job under way
    int lapses = 0;         // of the heartbeat, when it asked for what it holds
    FetchAndSettle* in_flight = nullptr;
    std::array<std::uint32_t, max_batch_entries> cleared{};  // for Broken::number_before_clearing
    std::uint64_t last_number = 0;
    std::unique_ptr<UnreliableChannel> channel;
    std::unique_ptr<Actor> actor;
  };
  struct Recovery {
    std::string field;
    std::vector<std::string> held;  // by the dead
    std::unique_ptr<UnreliableChannel> channel;
    std::unique_ptr<Actor> actor;
  };

  void push_jobs();
  bool chance(double probability) { return std::uniform_real_distribution<>(0, 1)(random_) < probability; }
  void note(const std::string& event) {
    if (tracing_) trace_.push_back(event);
  }
  void fault(const std::string& sentence);

  // What happens next.
  void step(bool calm);
  void resume_somebody();
  void break_a_connection();
  void kill(Worker& worker, bool with_its_host);
  void spawn(Worker& worker);
  void beat_is_missed();
  void host_seems_dead();
  void what_is_begun_may_run_twice();
  bool may_begin(const Worker& worker) const;
  void take_back();
  void move_due_jobs();
  void reschedule_a_retry();
  void push_a_twin();
  void raise_a_dead();
  void start_recovery(DeadWorker dead, std::vector<std::string> held);
  void lose_fields();
  bool has_field(const std::string& field);
  void judge_unknown(const std::vector<std::string>& held);
  bool leaves_locks() const;
  void lose_the_processes();
  void refuse_a_command();
  void allow_everything();
  void flush();
  void sweep();

  // A worker's life, on its own thread.
  void work(Worker& worker, Actor& actor);
  void wait(Worker& worker, FetchAndSettle& in_flight, const std::vector<std::string>& draw, int want);
  enum class Lock { none_needed, taken, held, fenced };
  Lock take_running_lock(Worker& worker, const std::string& payload);
  void begin_under(Worker& worker, Lock lock, const std::string& payload);
  Outcome perform(Worker& worker, WorkerSlot& slot, int entry, const std::string& payload);
  void wrote(Worker& worker);
  void rewrite(Command& command, bool last_was_lost) const;
  void break_holdings(Command& command) const;

  // What must hold.
  void check_places();
  void check_locks();
  void check_nothing_is_held();
  void check_charges(const std::string& payload);
  bool every_job_has_ended();
  void finish();

  Channel& redis_;
  Broken broken_;
  Coverage& coverage_;
  bool tracing_;
  std::mt19937_64 random_;
  Network network_;
  Scoreboard scoreboard_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::vector<std::unique_ptr<Recovery>> recoveries_;
  std::uint64_t last_incarnation_ = 0;
  int pushed_ = 0;
  bool full_redis_ = false, calm_ = false, lost_fields_ = false;
  bool refuses_ = true;  // what the last seed left
  bool beat_is_old_ = false, all_stand_still_ = false;
  int lapses_ = 0;

  std::map<std::string, std::string> home_;    // job -> its queue
  std::map<std::string, std::string> unique_;  // lock -> the job that was pushed with it, until that has ended
  std::map<std::string, Worker*> running_;     // lock -> who runs a job under it
  std::map<std::string, int> ends_;            // job -> how often it succeeded
  std::map<std::string, int> deserved_;        // job -> attempts that failed or crashed
  std::set<std::string> may_run_twice_;        // begun by a worker that nobody with a scoreboard recovered
  std::set<std::string> charge_unknown_;       // failed under a worker that brood itself ended
  std::vector<std::string> faults_, trace_;
};

}  // namespace brood::interleavings
