#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "shared/base/clock.hpp"
#include "shared/base/identity.hpp"
#include "shared/redis/async_connection.hpp"
#include "shared/store/report/heartbeat_hash.hpp"
#include "supervisor/process/event_loop.hpp"
#include "supervisor/report/beat_tokens.hpp"
#include "supervisor/report/heartbeat_info_json.hpp"
#include "supervisor/report/metrics.hpp"
#include "supervisor/report/metrics_flush.hpp"
#include "supervisor/report/running_jobs.hpp"
#include "supervisor/report/statistics.hpp"

namespace brood {

// Reports to Sidekiq's tools every ten seconds that this process lives, what its workers run and what they have done.
// It beats early when the running jobs have changed, so that the busy page is up to date.
//
// Also reads the signals that the Web UI's buttons leave: when look_for_signals() is called, or every two seconds if
// Redis does not report changes.
class Heartbeat {
 public:
  // The workers that a beat reports.  A shard has ShardWorkers, tests have their own.
  class Workers {
   public:
    virtual ~Workers() = default;
    virtual std::vector<SeenSlot> slots() const = 0;  // all of them
    // The runs of job classes, in all shards together, that no Redis has received yet.
    virtual Metrics& metrics() = 0;
    // Adds the runs since the last call to metrics().  Returns false if another shard's heartbeat does that.
    virtual bool observe_classes(SteadyTime now) = 0;
    virtual void note_beat_token(std::uint64_t token) = 0;  // the next beat, not yet sent, carries it
    // A beat that left at `sent` was answered: Redis keeps it for at least 60 s from then.
    virtual void note_beat(BootTime sent) = 0;
  };
  // Events since the last take_news().
  struct News {
    bool has_beaten = false;  // a beat was answered, after note_beat()
    // Redis has lost our record from brood:processes, and perhaps those of dead supervisors too.
    bool was_unlisted = false;
    // TSTP, TERM, TTIN or any other text: every client of Redis may write here.
    std::vector<std::string> signals = {};
  };

  // `tokens` are those of the previous program in this process.
  Heartbeat(EventLoop& loop, AsyncConnection& redis, Identity identity, ProcessFacts facts, Workers& workers,
            BeatTokens tokens = {});
  Heartbeat(const Heartbeat&) = delete;
  Heartbeat& operator=(const Heartbeat&) = delete;

  // Beats now, unless a beat is under way, and then repeats by itself.  Call it at the start and when Redis is back.
  void beat();

  News take_news() { return std::exchange(news_, {}); }
  // Whether another process sends heartbeats under our name.  Then nothing was written, and no beat follows.
  bool name_is_taken() const { return taken_; }

  // Reads signals now.  Call it when one has been left.
  void look_for_signals();

  // Whether look_for_signals() will be called for each signal.
  void rely_on_reports(bool told) { is_told_ = told; }

  // What the next beat shows.  A supervisor that stops counts as quiet too.
  void set_facts(ProcessFacts facts);
  void set_quiet(bool quiet) { quiet_ = quiet; }

  // What commands to the whole fleet read: text_of() a SupervisorState.  A change is sent within two seconds.
  void set_state(std::string state) { state_ = std::move(state); }

  // `interval` replaces the ten seconds.
  void beat_every(std::chrono::seconds interval) { interval_ = interval; }

  // Whether the metrics of job classes are sent; if not, they are dropped.
  void tell_metrics(bool wanted) { tells_metrics_ = wanted; }

  // Whether a beat is under way, which may carry counts.
  bool beating() const { return beating_; }

  // The counts that are not sent yet.  They stay here while Redis is away.
  Statistics& statistics() { return statistics_; }
  const BeatTokens& tokens() const { return tokens_; }

  // Stops beating: sends the last counts, and removes this process and its running jobs from Redis.  This ends when
  // Redis has answered, or after two seconds.
  void finish();
  bool is_finishing() const { return finishing_ && !finished_; }
  bool has_finished() const { return finished_; }

 private:
  using Results = std::vector<AsyncConnection::Result>;
  struct Sent;
  struct Rest;

  std::vector<SeenSlot> observe_slots();
  Beat describe(const std::vector<SeenSlot>& slots, std::size_t busy, std::int64_t rtt_us, std::uint64_t token) const;
  void tick();
  void send(std::int64_t rtt_us);
  void settle_beat(Sent sent, Rest rest, const AsyncConnection::Result& result);
  void settle(Sent sent, const BeatAnswer& answer, Rest& rest, Results& results);
  void settle_counts(Statistics::Counts counts, const AsyncConnection::Result& answer);
  void flush_metrics(std::chrono::milliseconds within, void (Heartbeat::*then)());
  void end_beat();
  void note(const std::vector<std::string>& signals);
  void note_rtt(std::int64_t us);
  void say_failing(const std::string& error);
  void leave_processes();
  void note_finished();
  // Calls `read` with what was answered.
  template <typename Read>
  auto when_answered(Read read);

  AsyncConnection::Scope redis_;
  const Identity identity_;
  Workers& workers_;
  BeatTokens tokens_;
  News news_;
  Timer tick_timer_, finish_timer_;
  std::string info_;
  int concurrency_ = 0;
  bool quiet_ = false;
  std::string state_, sent_state_;
  Statistics statistics_;
  MetricsFlush metrics_flush_;
  bool tells_metrics_ = true, tells_of_classes_ = true;
  bool is_told_ = false;  // whether Redis reports new signals

  std::chrono::seconds interval_{10};
  bool beating_ = false;
  SteadyTime last_beat_{};  // the last answered one
  std::vector<RunningJob> shown_;
  bool shows_nothing_ = false;  // certain: no row of ours is shown, so there is none to clear
  int slow_rtts_ = 0;
  bool failing_ = false;
  std::int64_t counters_refused_ = 0;  // logged once
  bool finishing_ = false, finished_ = false;
  bool taken_ = false;  // another process uses our name: nothing may be written under it
};

}  // namespace brood
