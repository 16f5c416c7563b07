#include "supervisor/report/heartbeat.hpp"

#include <utility>

#include "shared/base/log.hpp"
#include "shared/base/redis_clock.hpp"
#include "shared/redis/answer_time.hpp"
#include "shared/store/identity_record.hpp"
#include "shared/store/report/heartbeat_hash.hpp"
#include "supervisor/process/memory_use.hpp"
#include "supervisor/redis/send_scripts.hpp"
#include "supervisor/report/metrics_flush.hpp"

namespace brood {

using namespace std::chrono_literals;
using Results = std::vector<AsyncConnection::Result>;

namespace {

constexpr auto beat_interval = 10s;
constexpr auto look_period = 2s;
constexpr auto finish_deadline = 2s;
constexpr std::int64_t slow_rtt_us = 50'000;
constexpr int slow_rtts_that_count = 5;
constexpr std::size_t longest_shown = 200;

}  // namespace

// Callbacks of commands under way hold it weakly: an answer that comes after the end finds nobody.
struct Heartbeat::State : std::enable_shared_from_this<Heartbeat::State> {
  State(EventLoop& loop, AsyncConnection& connection, Identity self, ProcessFacts given, Sources from, Events callbacks)
      : redis(connection),
        identity(std::move(self)),
        sources(std::move(from)),
        tokens(sources.tokens),
        events(std::move(callbacks)),
        tick_timer(loop, [this] { tick(); }),
        finish_timer(loop, [this] { finished(); }) {
    set_facts(std::move(given));
  }

  AsyncConnection& redis;
  const Identity identity;
  const Sources sources;
  BeatTokens tokens;
  const Events events;
  Timer tick_timer, finish_timer;
  std::string info;
  int concurrency = 0;
  Statistics statistics;
  const std::shared_ptr<MetricsFlush> metrics_flush = std::make_shared<MetricsFlush>(redis);
  bool tells_metrics = true;
  bool is_told = false;  // of signals

  bool beating = false;
  SteadyTime last_beat{};  // that was answered
  std::vector<RunningJob> shown;
  bool shows_nothing = false;  // for certain: nothing need be cleared
  int slow_rtts = 0;
  bool failing = false;
  std::int64_t counters_refused = 0;  // said once
  bool finishing = false;
  bool taken = false;          // somebody else goes by our name: nothing of it is ours to write
  std::function<void()> done;  // of finish

  void set_facts(ProcessFacts facts) {
    info = heartbeat_info(identity, facts);
    concurrency = facts.concurrency();
  }
  std::vector<SeenSlot> observe_slots();
  Beat describe(const std::vector<SeenSlot>& slots, std::size_t busy, std::int64_t rtt_us, std::uint64_t token) const;

  void tick();
  void look_for_signals();
  void beat();
  void send(std::int64_t rtt_us);
  struct Sent {
    SteadyTime steady;
    BootTime boot;
  };
  struct Rest {  // what is sent once the beat has been answered
    bool shows_work;
    std::vector<RunningJob> running;
    std::vector<ScriptCall> calls;
    Statistics::Counts counts;
  };
  void settle_beat(Sent sent, Rest rest, const AsyncConnection::Result& result);
  void settle(Sent sent, const BeatAnswer& answer, Rest& rest, Results& results);
  void settle_counts(Statistics::Counts counts, const AsyncConnection::Result& answer);
  void tell_metrics(std::chrono::milliseconds within, void (State::*then)());
  void end_beat();
  void handle(const std::vector<std::string>& signals);
  void note_rtt(std::int64_t us);
  void say_failing(const std::string& error);
  void finish(std::function<void()> when_done);
  void leave_processes();
  void finished();

  // Calls `read` with what was answered, unless we are gone by then.
  template <typename Read>
  auto when_answered(Read read) {
    return [weak = weak_from_this(), read = std::move(read)](auto results) mutable {
      const std::shared_ptr<State> self = weak.lock();
      if (!self) return;
      try {
        read(*self, results);
      } catch (const UnexpectedReply& error) {
        self->say_failing(error.what());
        self->end_beat();
      }
    };
  }
};

std::vector<SeenSlot> Heartbeat::State::observe_slots() {
  std::vector<SeenSlot> slots = sources.slots();
  const SteadyTime now = steady_now();
  for (const auto& [number, seen] : slots) statistics.observe(number, {seen.processed, seen.failed}, now);
  if (sources.usage) metrics_flush->metrics().observe(sources.usage(), now);
  if (!tells_metrics) metrics_flush->metrics().forget_unflushed();
  return slots;
}

Beat Heartbeat::State::describe(const std::vector<SeenSlot>& slots, std::size_t busy, std::int64_t rtt_us,
                                std::uint64_t token) const {
  std::vector<pid_t> pids;
  for (const auto& [number, seen] : slots) {
    if (seen.pid > 0) pids.push_back(seen.pid);
  }
  return {info,        static_cast<int>(busy), wall_now(), sources.quiet(), memory_use_kb(pids), rtt_us,
          concurrency, token_text(token)};
}

void Heartbeat::State::tick() {
  tick_timer.start_in(look_period);
  if (beating || finishing || taken || !redis.connected()) return;
  if (steady_now() - last_beat > beat_interval - look_period / 2 || what_runs(sources.slots()) != shown) return beat();
  if (!is_told) look_for_signals();
}

void Heartbeat::State::look_for_signals() {
  if (finishing || taken || !redis.connected()) return;
  redis.send(take_signals(identity.name), short_answer_time,
             when_answered([](State& self, AsyncConnection::Result& answer) {
               if (answer.ok() && !self.finishing) self.handle(read_signals(answer.reply.view()));
             }));
}

void Heartbeat::State::beat() {
  if (beating || finishing || taken) return;
  tick_timer.start_in(look_period);
  if (!redis.connected()) return;  // the counts wait where they are
  beating = true;
  const SteadyTime asked = steady_now();
  redis.send({"PING"}, short_answer_time, when_answered([asked](State& self, AsyncConnection::Result& answer) {
               const auto rtt = std::chrono::floor<std::chrono::microseconds>(steady_now() - asked).count();
               if (!answer.error.empty() || self.finishing) return self.end_beat();
               self.note_rtt(rtt);
               self.send(rtt);
             }));
}

void Heartbeat::State::send(std::int64_t rtt_us) {
  const std::vector<SeenSlot> slots = observe_slots();
  Rest rest{!shows_nothing, what_runs(slots), {}, statistics.unflushed()};
  const std::uint64_t token = random_token();
  if (events.token) events.token(token);
  tokens.add(token);  // its own too: between us and Redis something may send it twice
  ScriptCall call = send_beat(identity.name, identity_record(identity), tokens.known(),
                              describe(slots, rest.running.size(), rtt_us, token));
  rest.shows_work |= !rest.running.empty();
  shows_nothing = false;
  if (rest.shows_work) rest.calls.push_back(work_entries(identity.name, busy_workers(slots)));
  if (!rest.counts.empty())
    rest.calls.push_back(count_jobs(rest.counts.processed, rest.counts.failed, statistics_day(redis_now())));

  const Sent sent{steady_now(), boot_now()};
  send_scripts(redis, {std::move(call)}, short_answer_time,
               when_answered([sent, rest = std::move(rest)](State& self, Results& results) mutable {
                 self.settle_beat(sent, std::move(rest), results[0]);
               }));
}

// The table of what runs goes by our name too: it is not written before we know that the name is ours.
void Heartbeat::State::settle_beat(Sent sent, Rest rest, const AsyncConnection::Result& result) {
  if (!result.ok()) {
    say_failing(result.why());
    return end_beat();
  }
  BeatAnswer answer = read_beat(result.reply.view());
  if (answer.name_is_taken) {
    taken = true;
    tick_timer.stop();
    if (events.name_is_taken) events.name_is_taken();
    return end_beat();
  }
  tokens.beat_was_answered();
  if (rest.calls.empty()) {
    Results none;
    return settle(sent, answer, rest, none);
  }
  std::vector<ScriptCall> calls = std::move(rest.calls);
  send_scripts(redis, std::move(calls), short_answer_time,
               when_answered([sent, answer = std::move(answer), rest = std::move(rest)](
                                 State& self, Results& results) mutable { self.settle(sent, answer, rest, results); }));
}

void Heartbeat::State::settle(Sent sent, const BeatAnswer& answer, Rest& rest, Results& results) {
  if (!rest.counts.empty()) settle_counts(rest.counts, results.back());
  last_beat = sent.steady;
  const bool work_is_shown = !rest.shows_work || results[0].ok();
  if (work_is_shown) {
    shown = std::move(rest.running);
    shows_nothing = shown.empty();
  }
  const std::string why = work_is_shown ? answer.refused : results[0].why();
  if (!why.empty())
    say_failing(why);
  else if (std::exchange(failing, false))
    log::info("heartbeat_works_again");
  if (answer.was_unlisted) {
    log::warn("process_was_unlisted", {{"identity", identity.name}});
    events.was_unlisted();
  }
  if (events.beaten) events.beaten(sent.boot);
  if (!finishing) handle(answer.signals);
  tell_metrics(short_answer_time, &State::end_beat);
}

// Last, so that nothing waits for the metrics, whatever becomes of them.
void Heartbeat::State::tell_metrics(std::chrono::milliseconds within, void (State::*then)()) {
  metrics_flush->begin(within, [weak = weak_from_this(), then] {
    if (const std::shared_ptr<State> self = weak.lock()) ((*self).*then)();
  });
}

// After an error reply the counts are sent again: Redis has refused them.  No reply may mean either; it is better to
// lose counts than to count twice.
void Heartbeat::State::settle_counts(Statistics::Counts counts, const AsyncConnection::Result& answer) {
  if (!answer.error.empty() || answer.ok()) statistics.flushed(counts);
  if (!answer.ok()) return;
  const std::int64_t refused = answer.reply.view().integer();
  if (refused > 0 && refused != counters_refused) log::warn("statistics_refused", {{"counters", refused}});
  counters_refused = refused;
}

void Heartbeat::State::end_beat() {
  if (!std::exchange(beating, false)) return;
  if (finishing) leave_processes();
}

void Heartbeat::State::handle(const std::vector<std::string>& signals) {
  for (const std::string& signal : signals) {
    log::info("signal_from_redis", {{"signal", std::string_view(signal).substr(0, longest_shown)}});
    const bool is_word = signal != "TSTP" && signal != "TERM" && signal != "TTIN";
    if (signal == "TSTP" && events.quiet) events.quiet();
    if (signal == "TERM" && events.stop) events.stop();
    if (signal == "TTIN" && events.dump) events.dump();
    if (is_word && events.word) events.word(signal);
  }
}

void Heartbeat::State::note_rtt(std::int64_t us) {
  slow_rtts = us > slow_rtt_us ? slow_rtts + 1 : 0;
  if (slow_rtts < slow_rtts_that_count) return;
  slow_rtts = 0;
  log::warn("redis_is_slow", {{"rtt_us", us}, {"readings_above_50_ms", slow_rtts_that_count}});
}

void Heartbeat::State::say_failing(const std::string& error) {
  // The connection itself logs that Redis is away.
  if (!redis.connected() || std::exchange(failing, true)) return;
  log::warn("heartbeat_fails", {{"error", error}});
}

void Heartbeat::State::finish(std::function<void()> when_done) {
  if (std::exchange(finishing, true)) return;
  done = std::move(when_done);
  tick_timer.stop();
  finish_timer.start_in(redis.connected() ? std::chrono::nanoseconds(finish_deadline) : 0ns);
  // A beat under way comes first: it would bring us back into `processes`, and it carries counts.
  if (!beating) leave_processes();
}

void Heartbeat::State::leave_processes() {
  if (taken) return finish_timer.start_in(0ns);
  if (!redis.connected()) return finish_timer.start_in(0ns);
  observe_slots();
  const Statistics::Counts counts = statistics.unflushed();
  if (!counts.empty()) {
    send_scripts(redis, {count_jobs(counts.processed, counts.failed, statistics_day(redis_now()))}, finish_deadline,
                 when_answered([counts](State& self, Results& results) { self.settle_counts(counts, results[0]); }));
  }
  redis.send_all(leave(identity.name), finish_deadline,
                 when_answered([](State& self, Results&) { self.tell_metrics(finish_deadline, &State::finished); }));
}

void Heartbeat::State::finished() {
  finish_timer.stop();
  if (const auto callback = std::exchange(done, nullptr)) callback();
}

Heartbeat::Heartbeat(EventLoop& loop, AsyncConnection& redis, Identity identity, ProcessFacts facts, Sources sources,
                     Events events)
    : state_(std::make_shared<State>(loop, redis, std::move(identity), std::move(facts), std::move(sources),
                                     std::move(events))) {}

Heartbeat::~Heartbeat() {
  state_->tick_timer.stop();
  state_->finish_timer.stop();
}

void Heartbeat::beat() { state_->beat(); }

void Heartbeat::look_for_signals() { state_->look_for_signals(); }

void Heartbeat::rely_on_being_told(bool told) { state_->is_told = told; }

void Heartbeat::set_facts(ProcessFacts facts) { state_->set_facts(std::move(facts)); }

bool Heartbeat::beating() const { return state_->beating; }

Statistics& Heartbeat::statistics() { return state_->statistics; }

Metrics& Heartbeat::metrics() { return state_->metrics_flush->metrics(); }

const BeatTokens& Heartbeat::tokens() const { return state_->tokens; }

void Heartbeat::tell_metrics(bool wanted) { state_->tells_metrics = wanted; }

void Heartbeat::finish(std::function<void()> done) { state_->finish(std::move(done)); }

}  // namespace brood
