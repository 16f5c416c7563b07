#include "worker/worker.hpp"

#include <sysexits.h>

#include <optional>
#include <utility>
#include <vector>

#include "shared/log.hpp"
#include "worker/control.hpp"
#include "worker/crash_handler.hpp"
#include "worker/in_flight.hpp"
#include "worker/job_registry.hpp"
#include "worker/offspring.hpp"
#include "worker/own_memory.hpp"
#include "worker/performer.hpp"
#include "worker/queue_draw.hpp"
#include "worker/recycling.hpp"
#include "worker/signal_shield.hpp"

namespace brood {
namespace {

using namespace std::chrono_literals;

constexpr auto idle_poll = 50ms;
constexpr auto quiet_wait = 1000ms;
constexpr int jobs_a_fetch = 1;

class Worker {
 public:
  Worker(const Seat& seat, const Config& config, const Identity& identity, const RedisAddress& address)
      : config_(config),
        seat_(seat),
        control_(seat, config.shutdown_timeout),
        slot_(*seat.record),
        performer_(config, seat, slot_, control_),
        redis_(address, {}, "brood-worker-" + std::to_string(seat.slot)),
        draw_(config.capsules.at(static_cast<std::size_t>(seat.capsule)), redis_),
        in_flight_(redis_, slot_,
                   {.identity = identity.name,
                    .identity_record = identity.record(),
                    .slot = seat.slot,
                    .dead_limits = {config.dead_max_jobs, config.dead_timeout.count()},
                    .new_incarnation = [this] { return control_.ask_for_incarnation(); },
                    .pause = [this](std::chrono::milliseconds length) { pause(length); }}) {}

  void load_libraries() {
    if (config_.worker.seccomp) shield_parent();
    performer_.load_libraries();
    slot_.record().ready.store(1);
    control_.say(ControlByte::ready);
  }

  void run() {
    try {
      while (!control_.told_to_stop() && !recycling_) {
        const bool quiet = control_.told_to_quiet();
        if (quiet) give_back_unbegun();
        if (quiet && outcomes_.empty()) {
          control_.wait(quiet_wait);
          continue;
        }
        const auto& batch = in_flight_.settle_and_fetch(take_outcomes(), draw_.next(), quiet ? 0 : jobs_a_fetch);
        unsettled_ = false;
        perform_batch(batch);
        if (batch.entries.empty()) control_.wait(idle_poll);
        log::flush();
      }
      in_flight_.retire(take_outcomes());
      if (recycling_) say_why_recycled();
    } catch (const ToldToStop&) {
      log::warn("worker_leaves_jobs_to_recovery", {{"reason", "told to stop while Redis was away"}});
    }
  }

 private:
  // Outcomes on their way must not be given up: what they settle has happened.
  std::vector<Outcome> take_outcomes() {
    unsettled_ = !outcomes_.empty();
    return std::exchange(outcomes_, {});
  }

  // Redis is away.  A worker with nothing to settle may leave at once; one that has something goes on trying until its
  // supervisor's patience ends, and what it could not say then stands in the scoreboard.
  void pause(std::chrono::milliseconds length) {
    log::flush();
    if (control_.told_to_stop() && !unsettled_) throw ToldToStop{};
    control_.wait(length);
  }

  // What arrived while the quiet was ordered; quiet may last for hours.  A stop gives it back by retiring.
  void give_back_unbegun() {
    const auto& entries = in_flight_.batch().entries;
    if (!outcomes_.empty()) return;  // settled first: what is left over then comes again
    for (std::size_t i = 0; i < entries.size() && slot_.entry(static_cast<int>(i)) == EntryState::fetched; ++i)
      outcomes_.push_back({Outcome::Kind::requeue_head, entries[i].payload, 0});
  }

  void perform_batch(const InFlight::Batch& batch) {
    for (std::size_t i = 0; i < batch.entries.size() && !control_.told_to_quiet(); ++i) {
      std::optional<Outcome> outcome =
          performer_.perform_entry(static_cast<int>(i), batch.entries[i].payload, batch.queue);
      if (!outcome) break;  // taken back
      performer_.clean_up();
      outcomes_.push_back(std::move(*outcome));
      recycling_ = performer_.reason_to_recycle();
      if (recycling_ || outcomes_.back().kind != Outcome::Kind::acknowledge) break;  // settled at once
    }
  }

  void say_why_recycled() const {
    log::info("worker_recycled", {{"slot", seat_.slot},
                                  {"reason", name_of(*recycling_)},
                                  {"jobs", performer_.age().jobs},
                                  {"rss", read_own_memory().resident_bytes}});
  }

  const Config& config_;
  const Seat seat_;
  Control control_;
  WorkerSlot slot_;
  Performer performer_;
  Connection redis_;
  QueueDraw draw_;
  InFlight in_flight_;
  std::vector<Outcome> outcomes_;
  std::optional<RecycleReason> recycling_;
  bool unsettled_ = false;
};

}  // namespace

int run_worker(const Seat& seat, const Config& config, const Identity& identity, const RedisAddress& redis) {
  try {
    install_crash_handler(*seat.record);
    adopt_orphans();
    Worker worker(seat, config, identity, redis);
    worker.load_libraries();
    worker.run();
    return EX_OK;
  } catch (const LibraryError& error) {
    log::error("library_refused", {{"slot", seat.slot}, {"reason", error.what()}});
    return EX_CONFIG;
  }
}

}  // namespace brood
