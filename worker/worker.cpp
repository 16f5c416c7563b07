#include "worker/worker.hpp"

#include <sysexits.h>

#include <algorithm>
#include <exception>
#include <new>
#include <optional>
#include <utility>
#include <vector>

#include "shared/base/log.hpp"
#include "shared/base/redis_clock.hpp"
#include "shared/base/scarcity.hpp"
#include "shared/config/periodic_settings.hpp"
#include "shared/config/redis_location.hpp"
#include "shared/config/told_shard.hpp"
#include "shared/scoreboard/told_times.hpp"
#include "shared/store/gem_lock.hpp"
#include "shared/store/identity_record.hpp"
#include "shared/store/redis_time.hpp"
#include "worker/crash/crash_handler.hpp"
#include "worker/fetching/batch_size.hpp"
#include "worker/fetching/class_cap.hpp"
#include "worker/fetching/fetch_and_settle.hpp"
#include "worker/fetching/filled_queues.hpp"
#include "worker/fetching/queue_choice.hpp"
#include "worker/fetching/unique_turn.hpp"
#include "worker/guard/offspring.hpp"
#include "worker/guard/own_memory.hpp"
#include "worker/guard/seccomp_filter.hpp"
#include "worker/guard/seccomp_pidfd_signal.hpp"
#include "worker/job/job_registry.hpp"
#include "worker/job/lifecycle.hpp"
#include "worker/leaving.hpp"
#include "worker/limit_shards.hpp"
#include "worker/orders/supervisor_orders.hpp"
#include "worker/performing/performer.hpp"
#include "worker/performing/recycling.hpp"
#include "worker/preload.hpp"

namespace brood {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t all = static_cast<std::size_t>(-1);
constexpr auto quiet_wait = 1000ms;
constexpr auto look_for_beat_again = 100ms;
constexpr auto look_again = 20ms;         // at the queues, when Redis was away so far
constexpr auto idle_poll = 2s;            // outside of Redis: the supervisor looks and wakes us
constexpr auto ask_to_wait_again = 10s;   // Redis may allow it by then
constexpr auto time_to_unblock = 250ms;   // the supervisor has asked Redis to end our wait
constexpr auto longest_unsettled = 50ms;  // of a success
constexpr auto say_batching_again = 500ms;
constexpr auto say_left_wait_again = 5s;  // the doorbell looks often for longer than that

class Worker {
 public:
  Worker(const WorkerSetup& worker_setup, const Config& config, const Identity& identity,
         const std::vector<RedisAddress>& shards, Preloaded& preloaded)
      : config_(config),
        identity_(identity),
        preloaded_(preloaded),
        worker_setup_(worker_setup),
        shards_(shards),
        orders_(worker_setup, config.shutdown_timeout),
        slot_(*worker_setup.record),
        served_(assigned_shard()),
        redis_(shards.at(served_), {}, "brood-worker-" + std::to_string(worker_setup.slot)),
        limit_shards_(shards, served_, redis_, "brood-limits-" + std::to_string(worker_setup.slot)),
        performer_(config, identity, worker_setup, slot_, orders_, redis_, preloaded.registry),
        lifecycle_(performer_.registry(),
                   {.slot = worker_setup.slot,
                    .capsule = config.capsules.at(static_cast<std::size_t>(worker_setup.capsule)).name,
                    .preloaded = preloaded.done,
                    .longest = config.shutdown_timeout,
                    .begins = [this](std::string_view event) { performer_.begin_handlers(event); },
                    .ended = [this] { performer_.end_handlers(); }}),
        caps_(shares_of_caps(config.capsules.at(static_cast<std::size_t>(worker_setup.capsule)).caps, shards)),
        draw_(config.capsules.at(static_cast<std::size_t>(worker_setup.capsule)), redis_, worker_setup.queue_changes),
        filled_queues_(redis_, *worker_setup.record),
        in_flight_(redis_, slot_,
                   {.identity = identity.name,
                    .identity_record = identity_record(identity),
                    .slot = worker_setup.slot,
                    .dead_limits = {config.dead_max_jobs, config.dead_timeout.count()},
                    .caps = [this]() -> const std::vector<CapSettings>& { return caps_[served_]; },
                    .new_incarnation = [this] { return take_incarnation(ControlByte::need_incarnation); },
                    .incarnation_elsewhere = [this] { return take_incarnation(ControlByte::left_behind); },
                    .pause = [this](std::chrono::milliseconds length) { pause(length); },
                    .wake_fd = orders_.descriptor(),
                    .woken = [this] { return woken(); },
                    .draw_is_out_of_date = [this] { return draw_.is_stale(); },
                    .waits_again =
                        [this] {
                          lifecycle_.beat(redis_.connections());
                          return !draw_.is_old() && !performer_.has_quarantined();
                        },
                    .is_to_leave = [this] { return is_wanted_elsewhere(); },
                    .looks_again_soon = [this] { return performer_.has_quarantined(); },
                    .wait = shards.at(served_).wait,
                    .is_at_master = [this] { return redis_.is_at_master(); }}),
        batch_size_(jobs_at_once(config.capsules.at(static_cast<std::size_t>(worker_setup.capsule)),
                                 config.worker_of(worker_setup.capsule).max_batch)) {
    forget_time_of_another(shards.at(served_));
    performer_.keep_limits({.holder = [this] { return in_flight_.holder(); },
                            .place_of = [this](const std::string& limit) { return limit_shards_.place_of(limit); },
                            .shard = [this](const std::string& name) { return limit_shards_.shard(name); },
                            .pause = {}});
    performer_.follow_pauses([this] { return draw_.paused_classes(); });
    serve();
  }

  void load_libraries() {
    tell_shard(config_.redis.share_with_jobs ? shards_.at(served_).shard : "");
    if (config_.worker_of(worker_setup_.capsule).seccomp) {
      // Otherwise this is a copy of a template whose other copies want no shield.
      if (!preloaded_.shielded) shield_parent();
      if (!preloaded_.shielded || !preloaded_.done) trap_pidfd_signals();
    }
    if (!preloaded_.done) performer_.load_libraries();
    lifecycle_.start();
    performer_.note_process_state();
    performer_.prepare_isolation();
    tell_registered_periodic(registered_periodic_path(identity_.runtime_directory, identity_.name),
                             worker_setup_.generation, performer_.registry().periodic_jobs());
    slot_.record().ready.store(1);
    orders_.say(ControlByte::ready);
  }

  void run() {
    try {
      while (!orders_.supervisor_gone() && !orders_.told_to_stop() && !recycling_) {
        try {
          go_on();
        } catch (const ShardIsAway&) {
          if (leaving() != Leaving::goes_on) throw;
          in_flight_.leave_behind();
        }
      }
      in_flight_.retire(take_outcomes_to_settle());
      if (recycling_) say_why_recycled();
    } catch (const ToldToStop&) {
      log::warn("worker_leaves_jobs_to_recovery", {{"reason", "told to stop while Redis was away"}});
    } catch (const ShardIsAway&) {
      // The scoreboard says what has become of each job, for the recovery when that shard is back.  Another worker
      // takes this one's place elsewhere.
      log::warn("worker_leaves_jobs_to_recovery",
                {{"shard", shards_.at(served_).shard}, {"reason", "it is away, and others have jobs"}});
    }
    lifecycle_.shutdown();
    lifecycle_.exit();
    performer_.leave_isolation();
  }

 private:
  std::size_t assigned_shard() const {
    const auto shard = static_cast<std::size_t>(std::max(worker_setup_.record->shard.load(), 0));
    if (shard < shards_.size() && !shards_[shard].is_empty_place) return shard;
    // A job has scribbled over it.
    const auto first = std::find_if(shards_.begin(), shards_.end(),
                                    [](const RedisAddress& address) { return !address.is_empty_place; });
    return static_cast<std::size_t>(first - shards_.begin());
  }

  // The very shard that is served: a job may have scribbled over the record.
  void serve() {
    if (worker_setup_.beats) {
      redis_.follow(&worker_setup_.beats->at(served_).redis_moves);
      redis_.on_another_server([this] { orders_.say(ControlByte::redis_moved); });
    }
    orders_.serve(static_cast<int>(served_));
    lapses_ = orders_.lapses();
  }

  bool is_wanted_elsewhere() const {
    return shards_.size() > 1 && worker_setup_.record->wanted_shard.load() != static_cast<std::int32_t>(served_);
  }

  // One round: settles, fetches and performs; or waits, or goes to another shard.
  void go_on() {
    const bool quiet = orders_.told_to_quiet();
    const bool begins = !quiet && !waits_for_beat();
    if (begins) performer_.look_at_quarantine(steady_now());
    if (!begins) give_back_unbegun();
    if (!quiet && is_wanted_elsewhere()) return move();
    if (!begins && outcomes_.empty()) {
      if (quiet) lifecycle_.quiet();
      lifecycle_.beat(redis_.connections());
      // Its byte may have been read, and the flag not yet seen, where something else waited meanwhile.
      if (orders_.told_to_quiet() == quiet && !orders_.told_to_stop())
        orders_.wait(quiet ? quiet_wait : look_for_beat_again);
      return;
    }
    fetch(begins ? batch_size_.want() : 0);
    lifecycle_.beat(redis_.connections());
    if (in_flight_.batch().entries.empty() && begins) wait_for_job();
    try {
      perform_batch(in_flight_.batch());
    } catch (const std::bad_alloc&) {
      if (reading_) performer_.begin_unread(*reading_);  // changes nothing if it has begun
      throw;
    }
    log::flush();
  }

  // How the worker may leave its shard while that Redis is away.  A batch may be performed in part: then its outcomes
  // are not on their way yet.  How far an iterable job came, nobody else knows.
  Leaving leaving() const {
    if (saves_iterations_ && performer_.has_unsaved_iteration()) return Leaving::not_yet;
    return how_to_leave(slot_, unsettled_ || !outcomes_.empty());
  }
  bool leaves() const { return is_wanted_elsewhere() && leaving() != Leaving::not_yet; }

  // Goes to a shard where there are jobs and nobody to take them.  The supervisor says which when it assigns the
  // incarnation.
  void move() {
    if (!outcomes_.empty()) in_flight_.settle_and_fetch(take_outcomes_to_settle(), {}, 0);
    unsettled_ = false;
    in_flight_.move();
  }

  // Gets a new incarnation from the supervisor, and serves from now on the shard that it is for.
  std::uint64_t take_incarnation(ControlByte byte) {
    const std::uint64_t incarnation = orders_.ask_for_incarnation(byte);
    const std::size_t shard = assigned_shard();
    slot_.record().own_shard.store(static_cast<std::int32_t>(shard));
    if (shard == served_) return incarnation;
    served_ = shard;
    tell_shard(config_.redis.share_with_jobs ? shards_.at(shard).shard : "");
    redis_.move_to(shards_.at(shard));
    serve();
    draw_.forget();
    filled_queues_.forget();
    performer_.forget_shard();
    forget_redis_time();
    refused_at_.reset();
    return incarnation;
  }

  // Notes whether outcomes are on their way to Redis: they must not be given up, since their jobs have run.
  std::vector<Outcome> take_outcomes() {
    unsettled_ = !outcomes_.empty();
    return std::exchange(outcomes_, {});
  }

  std::vector<Outcome> take_outcomes_to_settle() {
    std::vector<Outcome> outcomes = take_outcomes();
    saves_iterations_ = true;
    performer_.save_iterations([this](std::chrono::milliseconds length) { pause(length); });
    saves_iterations_ = false;
    return outcomes;
  }

  void fetch(int want) {
    const std::vector<Outcome> outcomes = take_outcomes_to_settle();  // which may take long, with Redis away
    if (!draw_.begin() && leaves()) throw ShardIsAway{};  // which another call would find only after its time too
    const std::vector<std::string> first = draw_.take(max_queues_asked);
    const std::string wait_queue = may_wait() && want > 0 ? draw_.wait_queue(worker_setup_.number) : "";
    lapses_ = orders_.lapses();
    in_flight_.settle_and_fetch(outcomes, first, want, draw_.is_over() ? wait_queue : "");
    unsettled_ = false;
    if (want > 0 && !draw_.is_over() && !draw_.is_stale() && in_flight_.batch().entries.empty()) {
      const std::vector<std::string> filled = filled_queues_.among(draw_.take(all));
      const FetchAndSettle::Batch& fetched = in_flight_.settle_and_fetch({}, filled, want, wait_queue);
      filled_queues_.note_fetched(filled, fetched.entries.empty() ? "" : fetched.queue);
    }
    say_whether_batching();
  }

  void say_whether_batching() {
    if (in_flight_.batch().entries.size() > 1)
      say_now_and_then(ControlByte::batching, said_batching_, say_batching_again);
  }

  void say_now_and_then(ControlByte byte, SteadyTime& said, std::chrono::nanoseconds again) {
    const SteadyTime now = steady_now();
    if (now - said <= again) return;
    orders_.say(byte);
    said = now;
  }

  // Waits in Redis, so that a job begins one hop after its push.
  void wait_for_job() {
    log::flush();
    if (draw_.is_stale()) return;
    if (!may_wait() || in_flight_.batch().queue.empty()) {
      // Only the supervisor sees the next job now, and may believe that all wait in Redis, or are busy.
      say_now_and_then(ControlByte::left_wait, said_left_wait_, say_left_wait_again);
      if (!orders_.told_to_quiet()) orders_.wait(draw_.has_looked() ? idle_poll : look_again);
      return;
    }
    const std::vector<std::string> draw = other_queues();
    const bool may_be_more_queues = draw_.may_grow() || draw_.has_capped();
    const FetchAndSettle::Waited waited = in_flight_.wait_for_job(draw, batch_size_.want(), may_be_more_queues);
    if (waited == FetchAndSettle::Waited::refused) refused_at_ = steady_now();
    say_whether_batching();
    // Where all workers wait on one queue, the supervisor need not hear that this one has left its wait.
    if (waited == FetchAndSettle::Waited::job && (!draw.empty() || shards_.size() > 1))
      say_now_and_then(ControlByte::left_wait, said_left_wait_, say_left_wait_again);
  }

  // Empty where a job can only come from the queue that is waited on.  They are drawn from what was known when that
  // queue was chosen: asking Redis now would hide a change that came after the choice.
  std::vector<std::string> other_queues() {
    draw_.begin_again();
    std::vector<std::string> draw = draw_.take(max_queues_asked_after_wait + 1);
    std::erase_if(draw, [this](const std::string& queue) { return draw_.is_capped(queue); });
    if (draw.size() == 1 && draw.front() == in_flight_.batch().queue) draw.clear();
    return draw;
  }

  bool may_wait() {
    if (slot_.record().waits_outside.load() != 0) return false;
    return !refused_at_ || steady_now() - *refused_at_ > ask_to_wait_again;
  }

  // Whether somebody wants this worker while it waits in Redis.  Whoever wants it has asked Redis to end the wait, and
  // that may take as long as the time returned.
  std::optional<std::chrono::milliseconds> woken() {
    if (!orders_.wait(0ms) && !orders_.told_to_quiet() && !beat_is_missed() && !draw_.is_stale()) return std::nullopt;
    return time_to_unblock;
  }

  // Another host that sees no heartbeat of our supervisor is about to adopt what we hold, or has done so before we
  // looked.
  bool beat_is_missed() const { return orders_.beat_is_old() || orders_.lapses() != lapses_; }

  bool waits_for_beat() {
    const bool waits = beat_is_missed();
    if (waits != said_waiting_for_beat_) {
      if (waits)
        log::warn("worker_waits_for_heartbeat", {{"slot", worker_setup_.slot}});
      else
        log::info("worker_goes_on", {{"slot", worker_setup_.slot}});
      said_waiting_for_beat_ = waits;
    }
    return waits;
  }

  // Redis is away.  A worker with nothing to settle may leave at once.  One that has something goes on trying until its
  // supervisor's patience ends; what it could not settle is then in the scoreboard.
  void pause(std::chrono::milliseconds length) {
    log::flush();
    if (!orders_.told_to_stop() && shards_.size() > 1) {
      if (!leaves()) orders_.pause(length);
      if (leaves()) throw ShardIsAway{};
      return;
    }
    if (!orders_.told_to_stop()) return orders_.pause(length);
    if (!unsettled_) throw ToldToStop{};
    orders_.wait(length);
  }

  // Gives back what arrived while quiet was ordered: quiet may last for hours.  (A stop gives it back by retiring.)  It
  // goes to the head of its queue, newest first, so that the oldest is again the next to run.
  void give_back_unbegun() {
    if (!outcomes_.empty()) return;  // settled first: what is left over then comes again
    lapses_ = orders_.lapses();
    in_flight_.give_back_unbegun();
  }

  // Performs the jobs in order, up to the first whose outcome is to be settled at once.
  void perform_batch(const FetchAndSettle::Batch& batch) {
    const SteadyTime begun = steady_now();
    SteadyTime last = begun;
    std::chrono::nanoseconds longest{};
    int performed = 0, set_aside = 0;
    const std::string home(home_of(caps_[served_], batch.queue));
    reading_.reset();
    performer_.begin_batch(batch.entries.size());
    // The heartbeat may have grown old while the fetch was under way.
    const auto may_begin = [this] { return !orders_.told_to_quiet() && !beat_is_missed(); };
    for (bool go_on = true; go_on && performed < static_cast<int>(batch.entries.size());) {
      const std::string& payload = batch.entries[static_cast<std::size_t>(performed)].payload;
      const bool may_defer = performer_.may_defer();  // which may ask Redis: before we look whether a job may begin
      if (!may_begin()) break;
      reading_ = performed;
      if (std::string aside = aside_for_job(caps_[served_], batch.queue, payload); !aside.empty()) {
        if (!slot_.defer(performed)) break;
        outcomes_.push_back({Outcome::Kind::beside, "", 0, std::move(aside)});
        ++performed;
        ++set_aside;
        continue;
      }
      // Before it lets go of a lock, or takes one: it does not begin.
      if (may_defer && performer_.is_to_park(payload)) {
        std::optional<Outcome> parked = performer_.park(performed, home);
        if (!parked) break;
        outcomes_.push_back(std::move(*parked));
        ++performed;
        ++set_aside;
        continue;
      }
      // A recovery reads as performed only what nothing that was laid aside lies in front of.
      if (set_aside > 0) break;
      const UniqueTurn turn = take_unique_turn(in_flight_, payload);  // which may take long, with Redis away
      if (turn == UniqueTurn::fenced) break;
      if (turn != UniqueTurn::begins && !may_begin()) {
        in_flight_.let_go_of_taken();
        break;
      }
      // One that has come too late needs no lock: it ends, and asks for a turn no more.
      const bool waits = turn == UniqueTurn::dropped || (turn == UniqueTurn::waits && !performer_.is_too_late(payload));
      std::optional<Outcome> outcome = waits ? performer_.put_off(performed, payload, home, turn == UniqueTurn::dropped)
                                             : performer_.perform_entry(performed, payload, home, performed > 0);
      reading_.reset();
      if (!outcome) {
        in_flight_.let_go_of_taken();
        recycling_ = performer_.reason_to_recycle();
        break;
      }
      ++performed;
      const SteadyTime now = steady_now();
      longest = std::max(longest, now - last);
      last = now;
      outcomes_.push_back(std::move(*outcome));
      recycling_ = performer_.reason_to_recycle();
      // A failed job whose outcome is not noted would be charged if the next job crashed.
      const EntryState state = slot_.entry(performed - 1);
      go_on = !recycling_ && turn == UniqueTurn::begins &&
              (state == EntryState::succeeded || state == EntryState::judged) && now - begun < longest_unsettled;
    }
    reading_.reset();
    if (performed > 0) performer_.end_batch();
    if (performed > set_aside) batch_size_.performed(performed - set_aside, last - begun, longest);
  }

  void say_why_recycled() const {
    log::info("worker_recycled", {{"slot", worker_setup_.slot},
                                  {"reason", name_of(*recycling_)},
                                  {"jobs", performer_.age().jobs},
                                  {"rss", read_own_memory().resident_bytes}});
  }

  const Config& config_;
  const Identity& identity_;
  const Preloaded& preloaded_;
  const WorkerSetup worker_setup_;
  const std::vector<RedisAddress>& shards_;
  SupervisorOrders orders_;
  WorkerSlot slot_;
  std::size_t served_;  // of the shards
  Connection redis_;
  LimitShards limit_shards_;
  Performer performer_;
  Lifecycle lifecycle_;
  const std::vector<std::vector<CapSettings>> caps_;  // of each shard its share
  QueueChoice draw_;
  FilledQueues filled_queues_;
  FetchAndSettle in_flight_;
  BatchSize batch_size_;
  SteadyTime said_batching_{}, said_left_wait_{};
  std::optional<SteadyTime> refused_at_;  // when Redis last did not let us wait
  std::vector<Outcome> outcomes_;
  std::optional<RecycleReason> recycling_;
  std::optional<int> reading_;  // the entry that is about to begin
  bool unsettled_ = false, saves_iterations_ = false;
  bool said_waiting_for_beat_ = false;
  std::uint32_t lapses_ = orders_.lapses();  // when what is in hand was asked for
};

}  // namespace

int run_worker(const WorkerSetup& worker_setup, const Config& config, const Identity& identity,
               const std::vector<RedisAddress>& shards, Preloaded& preloaded) {
  try {
    tell_jobs_of_redis(config.redis);
    tell_jobs_of_keys(config.encryption, config.redis.share_with_jobs);
    tell_times(config.compatibility.time_unit());
    tell_to_serve_gem_locks(config.compatibility.serves_unique_jobs_gem);
    install_crash_handler(*worker_setup.record);
    adopt_orphans();
    Worker worker(worker_setup, config, identity, shards, preloaded);
    worker.load_libraries();
    try {
      worker.run();
    } catch (const std::bad_alloc&) {
      std::terminate();  // the crash handler writes down what it was, and the supervisor judges by that
    }
    return EX_OK;
  } catch (const StartupError& error) {
    log::error("startup_failed", {{"slot", worker_setup.slot}, {"reason", error.what()}});
    return EX_TEMPFAIL;
  } catch (const LibraryError& error) {
    log::error("library_refused", {{"slot", worker_setup.slot}, {"reason", error.what()}});
    return EX_CONFIG;
  } catch (const std::exception& error) {
    if (worker_setup.record->ready.load() != 0 || !is_scarcity(error)) throw;
    log::error("startup_failed", {{"slot", worker_setup.slot}, {"reason", error.what()}});
    return EX_TEMPFAIL;
  }
}

}  // namespace brood
