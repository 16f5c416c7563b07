#include "worker/worker.hpp"

#include <sysexits.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "shared/check.hpp"
#include "shared/log.hpp"
#include "shared/store/keys.hpp"
#include "worker/control.hpp"
#include "worker/crash_handler.hpp"
#include "worker/failed_job.hpp"
#include "worker/in_flight.hpp"
#include "worker/job_meter.hpp"
#include "worker/job_registry.hpp"
#include "worker/memory_limit.hpp"
#include "worker/offspring.hpp"
#include "worker/own_memory.hpp"
#include "worker/perform.hpp"
#include "worker/queue_draw.hpp"
#include "worker/recycling.hpp"
#include "worker/signal_shield.hpp"
#include "worker/standard_output.hpp"
#include "worker/surroundings.hpp"

namespace brood {
namespace {

using namespace std::chrono_literals;

constexpr auto idle_poll = 50ms;
constexpr auto quiet_wait = 1000ms;
constexpr int jobs_a_fetch = 1;

// A job that interrupts itself sooner than this would spin between queue and worker: it waits in `schedule` first.
constexpr auto shortest_run_before_requeue = 1s;

bool has_markup(std::string_view text) { return text.find_first_of("<>&\"'") != std::string_view::npos; }

std::uint32_t class_flags(const JobRegistry& registry, const Payload& job) {
  std::uint32_t flags = 0;
  if (const auto* known = registry.find(job.job_class())) {
    if (known->has_hooks()) flags |= class_has_hooks;
    if (known->has_death_handlers()) flags |= library_has_death_handlers;
  }
  for (const auto* member : {"class", "jid", "wrapped", "display_class"}) {
    if (has_markup(job.string(member).value_or(""))) flags |= class_is_unsafe_html;
  }
  return flags;
}

double seconds_since(SteadyTime start) { return std::chrono::duration<double>(steady_now() - start).count(); }

class Worker {
 public:
  Worker(const Seat& seat, const Config& config, const Identity& identity, const RedisAddress& address)
      : config_(config),
        seat_(seat),
        output_(seat.output, seat.output_token),
        control_(seat, config.shutdown_timeout),
        slot_(*seat.record),
        redis_(address, {}, "brood-worker-" + std::to_string(seat.slot)),
        draw_(config.capsules.at(static_cast<std::size_t>(seat.capsule)), redis_),
        in_flight_(redis_, slot_,
                   {.identity = identity.name,
                    .identity_record = identity.record(),
                    .slot = seat.slot,
                    .dead_limits = {config.dead_max_jobs, config.dead_timeout.count()},
                    .new_incarnation = [this] { return control_.ask_for_incarnation(); },
                    .pause = [this](std::chrono::milliseconds length) { pause(length); }}) {}

  // Before any code of a job library runs.
  void shield_supervisor() const {
    if (!config_.worker.seccomp || !can_shield_supervisor()) return;  // then the supervisor has said so
    try {
      brood::shield_supervisor(seat_.supervisor, check("getpgid", getpgid(seat_.supervisor)));
    } catch (const std::system_error& error) {
      log::warn("supervisor_not_shielded", {{"slot", seat_.slot}, {"reason", error.what()}});
    }
  }

  void load_libraries() {
    for (const std::string& path : config_.require) registry_.load(path);
    note_libraries();
    surroundings_.emplace();
    memory_limit_.emplace(seat_.in_memory_cgroup ? 0 : config_.worker.memory_limit_bytes);
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
      const std::optional<Outcome> outcome = perform_entry(static_cast<int>(i), batch.entries[i].payload, batch.queue);
      if (!outcome) break;  // taken back
      surroundings_->restore();
      output_.end_job(slot_.record());
      adopt_orphans();
      reap_orphans();
      note_libraries();
      outcomes_.push_back(*outcome);
      ++age_.jobs;
      if (is_to_be_recycled()) break;
      if (outcome->kind != Outcome::Kind::acknowledge) break;  // settled at once
    }
  }

  bool is_to_be_recycled() {
    if (config_.worker.max_rss_bytes > 0) age_.rss_bytes = read_own_memory().resident_bytes;
    recycling_ = judge_recycling(config_.worker, age_);
    return recycling_.has_value();
  }

  void say_why_recycled() const {
    log::info("worker_recycled", {{"slot", seat_.slot},
                                  {"reason", name_of(*recycling_)},
                                  {"jobs", age_.jobs},
                                  {"rss", read_own_memory().resident_bytes}});
  }

  // A job that finds no memory under its limit has failed like any other; but what it has leaked is still there.
  Performed perform_within_limit(const Payload& job, const std::string& queue) {
    Performed performed;
    try {
      const auto imposed = memory_limit_->impose();
      performed = perform(registry_, job, queue, job_host());
    } catch (const std::bad_alloc&) {  // nor was there any left for what surrounds the job's code
      if (!memory_limit_->in_force()) throw;
      performed.kind = Performed::Kind::failed;
      performed.failure.error_class = "std::bad_alloc";
    }
    if (performed.kind != Performed::Kind::failed) return performed;
    if (auto out_of_memory = memory_limit_->judge(performed.failure)) {
      performed.failure = std::move(*out_of_memory);
      age_.ran_out_of_memory = true;
    }
    return performed;
  }

  void note_usage(const std::string& job_class, const Performed& performed) {
    const JobUsage usage = meter_.end();
    if (seat_.usage) add_run(*seat_.usage, job_class, usage, performed.kind == Performed::Kind::failed);
  }

  std::optional<Outcome> perform_entry(int entry, const std::string& text, const std::string& queue) {
    std::optional<Payload> job;
    try {
      job = Payload::parse(text);
    } catch (const BadPayload& bad) {
      if (!slot_.begin(entry, "", "", wall_now(), steady_now(), 0)) return std::nullopt;
      end_entry(entry, EntryState::failed);
      slot_.let_go(entry);
      return bury_unreadable(text, queue, bad.what());
    }
    meter_.begin();
    slot_.record().cpu_before_us.store(meter_.cpu_before().count());
    const SteadyTime started = steady_now();
    if (!slot_.begin(entry, job->jid(), job->display_class(), wall_now(), started, class_flags(registry_, *job)))
      return std::nullopt;
    if (const auto timeout = timeout_of(registry_, *job, config_.worker.job_timeout))
      slot_.set_deadline(started + *timeout);
    const std::string jid = job->jid(), job_class = job->display_class();
    if (config_.log_jobs) log::info("job_started", {{"jid", jid}, {"class", job_class}, {"queue", queue}});

    Performed performed = perform_within_limit(*job, queue);
    end_if_a_copy(*job);
    note_usage(job_class, performed);
    if (performed.kind == Performed::Kind::interrupted && out_of_time()) performed = wound_up_at_timeout(started);
    const double elapsed = seconds_since(started);
    const auto say = [&](std::string_view event) {
      if (config_.log_jobs)
        log::info(event,
                  {{"jid", jid}, {"class", job_class}, {"queue", queue}, {"elapsed", fmt::format("{:.3f}", elapsed)}});
    };
    switch (performed.kind) {
      case Performed::Kind::succeeded:
        end_entry(entry, EntryState::succeeded);
        say("job_done");
        return Outcome{};
      case Performed::Kind::interrupted:
        end_entry(entry, EntryState::interrupted);
        slot_.record().failed.fetch_add(1);  // Sidekiq counts an interruption among the failed runs
        say("job_interrupted");
        return requeue(*job, started);
      case Performed::Kind::failed:
        break;
    }
    // Before the hooks run: one that crashes the worker must not make this look like a run that never ended.
    end_entry(entry, EntryState::failed);
    const Outcome outcome = settle_failure(registry_, *job, queue, performed.failure, config_);
    end_if_a_copy(*job);
    if (!slot_.let_go(entry)) wait_for_the_end();
    if (config_.log_jobs) {
      log::warn("job_failed", {{"jid", jid},
                               {"class", job_class},
                               {"queue", queue},
                               {"elapsed", fmt::format("{:.3f}", elapsed)},
                               {"error", performed.failure.error_class},
                               {"message", performed.failure.message}});
    }
    return outcome;
  }

  JobHost job_host() {
    return {.stopping = [this] { return control_.told_to_stop() || out_of_time(); },
            .time_left = [this] { return time_left(); },
            .set_time_left = [this](std::chrono::milliseconds left) { slot_.set_deadline(steady_now() + left); }};
  }

  std::optional<std::chrono::milliseconds> time_left() const {
    const auto deadline = slot_.deadline();
    if (!deadline) return std::nullopt;
    return std::chrono::ceil<std::chrono::milliseconds>(*deadline - steady_now());
  }

  bool out_of_time() const { return time_left().value_or(1ms) <= 0ms; }

  // It did what it was asked to; but a job that is requeued each time its time is up would go on for ever.
  Performed wound_up_at_timeout(SteadyTime started) const {
    Failure failure;
    failure.error_class = "JobTimeout";
    failure.message = fmt::format("wound up after {:.1f}s, when its timeout had passed", seconds_since(started));
    return {Performed::Kind::failed, std::move(failure)};
  }

  void end_entry(int entry, EntryState state) {
    if (!slot_.end(entry, state)) wait_for_the_end();
  }

  // The supervisor has decided what becomes of this job, and ends this worker.
  [[noreturn]] void wait_for_the_end() {
    log::flush();
    while (!control_.supervisor_gone()) control_.wait(quiet_wait);
    _exit(EX_SOFTWARE);
  }

  // A job that forks and lets both processes return: the copy holds the worker's connection and its slot, and must
  // touch neither.
  void end_if_a_copy(const Payload& job) {
    if (surroundings_->still_the_worker()) return;
    log::error("copy_of_worker_ended", {{"jid", job.jid()},
                                        {"class", job.display_class()},
                                        {"hint", "the job forked, and its child returned; it should end by _exit"}});
    log::flush();
    _exit(EX_SOFTWARE);
  }

  Outcome requeue(const Payload& job, SteadyTime started) {
    const WallTime now = wall_now();
    const Payload again = job.with({{"enqueued_at", json_time(now, job.time_unit())}});
    if (steady_now() - started < shortest_run_before_requeue)
      return {Outcome::Kind::schedule, again.text(), epoch_seconds(now + shortest_run_before_requeue)};
    return {Outcome::Kind::requeue_back, again.text(), 0};
  }

  const Config& config_;
  const Seat seat_;
  StandardOutput output_;
  Control control_;
  WorkerSlot slot_;
  Connection redis_;
  QueueDraw draw_;
  InFlight in_flight_;
  JobRegistry registry_;
  std::optional<Surroundings> surroundings_;  // once the libraries are loaded
  std::optional<MemoryLimit> memory_limit_;   // likewise
  JobMeter meter_;
  WorkerAge age_;
  std::optional<RecycleReason> recycling_;
  std::vector<Outcome> outcomes_;
  bool unsettled_ = false;
};

}  // namespace

int run_worker(const Seat& seat, const Config& config, const Identity& identity, const RedisAddress& redis) {
  try {
    install_crash_handler(*seat.record);
    adopt_orphans();
    Worker worker(seat, config, identity, redis);
    worker.shield_supervisor();
    worker.load_libraries();
    worker.run();
    return EX_OK;
  } catch (const LibraryError& error) {
    log::error("library_refused", {{"slot", seat.slot}, {"reason", error.what()}});
    return EX_CONFIG;
  }
}

}  // namespace brood
