#include "supervisor/report/heartbeat.hpp"

#include <stdexcept>
#include <utility>

#include "shared/base/log.hpp"
#include "shared/base/redis_clock.hpp"
#include "shared/redis/pace.hpp"
#include "shared/store/identity_record.hpp"
#include "shared/store/in_flight/quarantined_classes.hpp"
#include "shared/store/report/heartbeat_hash.hpp"
#include "supervisor/process/memory_use.hpp"

namespace brood {

using namespace std::chrono_literals;
using Results = std::vector<AsyncConnection::Result>;

namespace {

constexpr auto look_period = 2s;
constexpr auto finish_deadline = 2s;
constexpr std::int64_t slow_rtt_us = 50'000;
constexpr int slow_rtts_that_count = 5;
constexpr std::size_t longest_shown = 200;

}  // namespace

struct Heartbeat::Sent {
  SteadyTime steady;
  BootTime boot;
};

// The commands that are sent once the heartbeat itself has been answered.
struct Heartbeat::Rest {
  bool shows_work;
  std::vector<RunningJob> running;
  std::vector<ScriptCall> calls;
  Statistics::Counts counts;
};

Heartbeat::Heartbeat(EventLoop& loop, AsyncConnection& redis, Identity identity, ProcessFacts facts, Workers& workers,
                     BeatTokens tokens)
    : redis_(redis),
      identity_(std::move(identity)),
      workers_(workers),
      tokens_(std::move(tokens)),
      tick_timer_(loop, [this] { tick(); }),
      finish_timer_(loop, [this] { note_finished(); }),
      metrics_flush_(redis, workers.metrics()) {
  set_facts(std::move(facts));
}

void Heartbeat::set_facts(ProcessFacts facts) {
  info_ = heartbeat_info(identity_, facts);
  concurrency_ = facts.concurrency();
}

template <typename Read>
auto Heartbeat::when_answered(Read read) {
  return [this, read = std::move(read)](auto results) mutable {
    try {
      read(results);
    } catch (const std::runtime_error& error) {  // the next beat must come anyway
      say_failing(error.what());
      end_beat();
    }
  };
}

std::vector<SeenSlot> Heartbeat::observe_slots() {
  std::vector<SeenSlot> slots = workers_.slots();
  const SteadyTime now = steady_now();
  for (const auto& [number, seen] : slots) statistics_.observe(number, {seen.processed, seen.failed}, now);
  tells_of_classes_ = workers_.observe_classes(now);
  if (tells_of_classes_ && !tells_metrics_) workers_.metrics().forget_unflushed();
  return slots;
}

Beat Heartbeat::describe(const std::vector<SeenSlot>& slots, std::size_t busy, std::int64_t rtt_us,
                         std::uint64_t token) const {
  std::vector<pid_t> pids;
  for (const auto& [number, seen] : slots) {
    if (seen.pid > 0) pids.push_back(seen.pid);
    if (seen.pid > 0 && seen.job_pid > 0) pids.push_back(seen.job_pid);
  }
  return {info_,  static_cast<int>(busy), wall_now(),        quiet_, memory_use_kb(pids),
          rtt_us, concurrency_,           token_text(token), state_};
}

void Heartbeat::tick() {
  tick_timer_.start_in(look_period);
  if (beating_ || finishing_ || taken_ || !redis_.connected()) return;
  if (steady_now() - last_beat_ > interval_ - look_period / 2 || state_ != sent_state_ ||
      what_runs(workers_.slots()) != shown_)
    return beat();
  if (!is_told_) look_for_signals();
}

void Heartbeat::look_for_signals() {
  if (finishing_ || taken_ || !redis_.connected()) return;
  redis_.send(take_signals(identity_.name), short_answer_time, when_answered([this](AsyncConnection::Result& answer) {
                if (!answer.ok() || finishing_) return;
                try {
                  note(read_signals(answer.reply.view()));
                } catch (const std::runtime_error& error) {  // a beat may be under way: it goes on
                  say_failing(error.what());
                }
              }));
}

void Heartbeat::beat() {
  if (beating_ || finishing_ || taken_) return;
  tick_timer_.start_in(look_period);
  if (!redis_.connected()) return;  // the counts stay where they are
  beating_ = true;
  const SteadyTime asked = steady_now();
  redis_.send({"PING"}, short_answer_time, when_answered([this, asked](AsyncConnection::Result& answer) {
                const auto rtt = std::chrono::floor<std::chrono::microseconds>(steady_now() - asked).count();
                if (!answer.error.empty() || finishing_) return end_beat();
                note_rtt(rtt);
                send(rtt);
              }));
}

void Heartbeat::send(std::int64_t rtt_us) {
  const std::vector<SeenSlot> slots = observe_slots();
  Rest rest{!shows_nothing_, what_runs(slots), {}, statistics_.unflushed()};
  const std::uint64_t token = new_beat_token();
  workers_.note_beat_token(token);
  tokens_.add(token);  // this beat's own token too: a proxy may send the command twice
  ScriptCall call = send_beat(identity_.name, identity_record(identity_), tokens_.known(),
                              describe(slots, rest.running.size(), rtt_us, token));
  rest.shows_work |= !rest.running.empty();
  shows_nothing_ = false;
  if (rest.shows_work) rest.calls.push_back(work_entries(identity_.name, busy_workers(slots)));
  for (const SeenSlot& slot : slots) {
    if (is_on_trial(slot.seen)) rest.calls.push_back(keep_probe(slot.seen.job_class, slot.seen.jid));
  }
  if (!rest.counts.empty())
    rest.calls.push_back(count_jobs(rest.counts.processed, rest.counts.failed, statistics_day(redis_now())));

  sent_state_ = state_;  // if this beat fails, the next one sends it too
  const Sent sent{steady_now(), boot_now()};
  redis_.run_all({std::move(call)}, short_answer_time,
                 when_answered([this, sent, rest = std::move(rest)](Results& results) mutable {
                   settle_beat(sent, std::move(rest), results[0]);
                 }));
}

// The table of running jobs has our name too.  It is written only once the name is known to be ours alone.
void Heartbeat::settle_beat(Sent sent, Rest rest, const AsyncConnection::Result& result) {
  if (!result.ok()) {
    say_failing(result.why());
    return end_beat();
  }
  BeatAnswer answer = read_beat(result.reply.view());
  if (answer.name_is_taken) {
    taken_ = true;
    tick_timer_.stop();
    return end_beat();
  }
  tokens_.beat_was_answered();
  if (rest.calls.empty()) {
    Results none;
    return settle(sent, answer, rest, none);
  }
  std::vector<ScriptCall> calls = std::move(rest.calls);
  redis_.run_all(std::move(calls), short_answer_time,
                 when_answered([this, sent, answer = std::move(answer), rest = std::move(rest)](
                                   Results& results) mutable { settle(sent, answer, rest, results); }));
}

void Heartbeat::settle(Sent sent, const BeatAnswer& answer, Rest& rest, Results& results) {
  if (!rest.counts.empty()) settle_counts(rest.counts, results.back());
  last_beat_ = sent.steady;
  const bool work_is_shown = !rest.shows_work || results[0].ok();
  if (work_is_shown) {
    shown_ = std::move(rest.running);
    shows_nothing_ = shown_.empty();
  }
  const std::string why = work_is_shown ? answer.refused : results[0].why();
  if (!why.empty())
    say_failing(why);
  else if (std::exchange(failing_, false))
    log::info("heartbeat_works_again");
  if (answer.was_unlisted) {
    log::warn("process_was_unlisted", {{"identity", identity_.name}});
    news_.was_unlisted = true;
  }
  workers_.note_beat(sent.boot);
  news_.has_beaten = true;
  if (!finishing_) note(answer.signals);
  flush_metrics(short_answer_time, &Heartbeat::end_beat);
}

// Metrics come last: nothing waits for them.
void Heartbeat::flush_metrics(std::chrono::milliseconds within, void (Heartbeat::*then)()) {
  if (!tells_of_classes_) return (this->*then)();
  metrics_flush_.begin(within, [this, then] { (this->*then)(); });
}

// An error reply is a refusal: the counts are sent again.  Without a reply they may have been counted: losing them is
// better than counting them twice.
void Heartbeat::settle_counts(Statistics::Counts counts, const AsyncConnection::Result& answer) {
  if (!answer.error.empty() || answer.ok()) statistics_.flushed(counts);
  if (!answer.ok()) return;
  const std::int64_t refused = answer.reply.view().integer();
  if (refused > 0 && refused != counters_refused_) log::warn("statistics_refused", {{"counters", refused}});
  counters_refused_ = refused;
}

void Heartbeat::end_beat() {
  if (!std::exchange(beating_, false)) return;
  if (finishing_) leave_processes();
}

void Heartbeat::note(const std::vector<std::string>& signals) {
  for (const std::string& signal : signals) {
    log::info("signal_from_redis", {{"signal", std::string_view(signal).substr(0, longest_shown)}});
    news_.signals.push_back(signal);
  }
}

void Heartbeat::note_rtt(std::int64_t us) {
  slow_rtts_ = us > slow_rtt_us ? slow_rtts_ + 1 : 0;
  if (slow_rtts_ < slow_rtts_that_count) return;
  slow_rtts_ = 0;
  log::warn("redis_is_slow", {{"rtt_us", us}, {"readings_above_50_ms", slow_rtts_that_count}});
}

void Heartbeat::say_failing(const std::string& error) {
  // The connection itself logs that Redis is away.
  if (!redis_.connected() || std::exchange(failing_, true)) return;
  log::warn("heartbeat_fails", {{"error", error}});
}

void Heartbeat::finish() {
  if (std::exchange(finishing_, true)) return;
  tick_timer_.stop();
  finish_timer_.start_in(redis_.connected() ? std::chrono::nanoseconds(finish_deadline) : 0ns);
  // A beat under way comes first: it would list us in `processes` again, and it carries counts.
  if (!beating_) leave_processes();
}

void Heartbeat::leave_processes() {
  if (taken_) return finish_timer_.start_in(0ns);
  if (!redis_.connected()) return finish_timer_.start_in(0ns);
  observe_slots();
  const Statistics::Counts counts = statistics_.unflushed();
  if (!counts.empty()) {
    redis_.run_all({count_jobs(counts.processed, counts.failed, statistics_day(redis_now()))}, finish_deadline,
                   when_answered([this, counts](Results& results) { settle_counts(counts, results[0]); }));
  }
  redis_.send_all(leave(identity_.name), finish_deadline,
                  when_answered([this](Results&) { flush_metrics(finish_deadline, &Heartbeat::note_finished); }));
}

void Heartbeat::note_finished() {
  finish_timer_.stop();
  finished_ = true;
}

}  // namespace brood
