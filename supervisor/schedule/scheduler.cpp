#include "supervisor/schedule/scheduler.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "shared/base/log.hpp"
#include "shared/base/plain_number.hpp"
#include "shared/base/redis_clock.hpp"
#include "shared/redis/pace.hpp"
#include "shared/store/redis_time.hpp"
#include "shared/store/report/process_list.hpp"
#include "shared/store/report/ruby_processes.hpp"
#include "shared/store/sets/due_entries.hpp"
#include "shared/store/sets/scheduler_lock.hpp"
#include "supervisor/queues/queue_owners.hpp"
#include "supervisor/schedule/due_mover.hpp"

namespace brood {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;
using Results = std::vector<AsyncConnection::Result>;

namespace {

constexpr auto lock_lifetime = 2s;
constexpr auto count_lasts = 30s;  // for the processes: a fleet changes slowly, and beats ten seconds apart
constexpr nanoseconds first_error_pause = 100ms, longest_error_pause = 5s;

double seconds_of(const std::string& score) { return leading_number<double>(score); }

// The time until a score is due, at most `most`.  Is not rounded: the timer rounds up to milliseconds.
nanoseconds until(const std::string& score, WallTime now, nanoseconds most) {
  const double seconds = seconds_of(score) - epoch_seconds(now);
  if (!(seconds < std::chrono::duration<double>(most).count())) return most;
  if (seconds <= 0) return 0ns;
  return std::chrono::microseconds(static_cast<std::int64_t>(std::ceil(seconds * 1e6)));
}

bool is_due(const std::optional<std::string>& first_score, WallTime now) {
  return first_score && seconds_of(*first_score) <= epoch_seconds(now);
}

}  // namespace

// The state from one start to the next.  Replies to an earlier run's commands are ignored.
struct Scheduler::Run {
  Run(EventLoop& event_loop, AsyncConnection& connection, Settings given)
      : loop(event_loop),
        redis(connection),
        settings(std::move(given)),
        mover(loop, connection, settings.dead_limits,
              [this](std::string_view queue, WallTime due) {
                const nanoseconds longest = settings.left_to_ruby_for.value_or(left_to_ruby_for(processes));
                return settings.leaves_to_ruby && now - std::max(due, first_begun) < longest &&
                       owners.are_ruby_alone(queue);
              }),
        owners_look(connection, settings.identity),
        next_look(loop, [this] { look(); }),
        next_glance(loop, [this] { glance(); }) {}

  EventLoop& loop;
  AsyncConnection::Scope redis;
  const Settings settings;
  DueMover mover;
  QueueOwnersLook owners_look;
  QueueOwners owners;
  TimeUnit times = usual_time_unit;
  Timer next_look, next_glance;
  std::mt19937_64 random{std::random_device{}()};
  bool looking = false, stopped = false;
  std::uint64_t moved = 0, moved_to_dead = 0;

  // During a look:
  SchedulerLock lock = SchedulerLock::none;
  WallTime now{};  // by Redis, when the look began; `began` is the same by our clock
  SteadyTime began{};
  WallTime first_begun{};  // of the first look: jobs due long before may have had no scheduler until now
  std::string set_error;
  std::optional<std::size_t> expected;  // the set whose known score is the reason for the next look
  std::size_t first_set = 0;            // the first set that this look moves from

  std::optional<SteadyTime> counted;  // when the processes were last counted
  bool counts = false;                // asks for their number with the scores
  int processes = 1;

  // Between two looks:
  SteadyTime planned{};  // time of the next one
  bool is_told = false;  // of changes of `schedule`
  bool glancing = false, glance_again = false;
  std::string first_known;  // a score in `schedule`: glances need not count it or later ones
  std::int64_t stays = 0;   // due members that stay in `schedule`

  // Each streak of failures is logged once.
  bool failing = false;
  nanoseconds error_pause = first_error_pause;

  void look();
  void see_whether_due();
  void take_lock();
  void begin(Results& results);
  void move_set(std::size_t moved_before);
  void ask_for_next();
  std::vector<Command> next_scores(const std::optional<std::string>& above);
  void plan(Results& results);
  void start_look_in(nanoseconds pause);
  nanoseconds between_glances() const {
    return is_told ? settings.between_glances_when_told : settings.between_glances;
  }
  void glance();
  void rely_on_reports(bool told);
  void see_count(const AsyncConnection::Result& result);
  void back_off(const std::string& error);
  void say_failing(const std::string& error);
  double draw() { return std::uniform_real_distribution<double>(0, 1)(random); }

  template <typename Read>
  void ask(const std::vector<Command>& commands, Read read) {
    redis.send_all(commands, longest_answer_time, [this, read](Results results) {
      for (const AsyncConnection::Result& result : results) {
        if (!result.error.empty()) return back_off(result.error);
      }
      try {
        read(results);
      } catch (const UnexpectedReply& error) {
        back_off(error.what());
      }
    });
  }
};

void Scheduler::Run::look() {
  if (looking || stopped) return;
  looking = true;
  next_look.stop();
  next_glance.stop();
  first_set = expected.value_or(0);
  if (std::exchange(expected, std::nullopt))
    take_lock();
  else
    see_whether_due();
}

// Nearly every poll finds nothing new, so it must cost Redis little.
void Scheduler::Run::see_whether_due() {
  std::vector<Command> commands = next_scores(std::nullopt);
  commands.insert(commands.begin(), ask_time());
  ask(commands, [this, asked = steady_now()](Results& results) {
    now = redis_time(results[0].reply.view());
    began = steady_now();
    if (settings.tells_time()) note_redis_time(now, asked, began);
    lock = SchedulerLock::none;
    stays = 0;
    set_error.clear();
    results.erase(results.begin());
    for (std::size_t set = 0; set < due_sets.size(); ++set) {
      const AsyncConnection::Result& first = results[set];
      // The move meets a refusal again and logs it.
      if (!first.ok() || is_due(read_first_score(first.reply.view()), now)) return take_lock();
    }
    plan(results);
  });
}

void Scheduler::Run::take_lock() {
  std::vector<Command> commands = take_scheduler_lock(settings.identity, lock_lifetime);
  commands.insert(commands.begin(), ask_time());
  ask(commands, [this](Results& results) { begin(results); });
}

void Scheduler::Run::begin(Results& results) {
  now = redis_time(results[0].reply.view());
  began = steady_now();
  // The lock only saves duplicate work: each move is safe by itself.  If Redis refuses the lock (Redis is full, or
  // another program has the key), goes on without it.
  lock = read_scheduler_lock(results.back().reply.view(), settings.identity);
  set_error.clear();
  if (lock == SchedulerLock::of_another) return ask_for_next();
  if (first_begun == WallTime{}) first_begun = now;
  owners_look.look([this](const QueueOwners& found) {
    if (stopped) return;
    owners = found;
    times = settings.times.value_or(times_beside(owners.oldest()));
    move_set(0);
  });
}

void Scheduler::Run::move_set(std::size_t moved_before) {
  if (moved_before == due_sets.size()) return ask_for_next();
  const std::size_t set = (first_set + moved_before) % due_sets.size();
  const Command keep_lock = keep_scheduler_lock(settings.identity, lock_lifetime);  // sent with each batch
  mover.move_all(
      std::string(due_sets[set]), now, times, keep_lock, [this, set, moved_before](const DueMover::Done& done) {
        if (set == schedule_of_due_sets) stays = static_cast<std::int64_t>(done.left);
        moved += done.moved;
        moved_to_dead += done.moved_to_dead;
        if (done.moved + done.moved_to_dead > 0) {
          log::debug("due_jobs_moved", {{"set", due_sets[set]}, {"moved", done.moved}, {"buried", done.moved_to_dead}});
        }
        if (done.connection_lost) return back_off(done.error);
        if (!done.error.empty()) {
          if (classify_error(done.error) != ErrorKind::other) return back_off(done.error);
          set_error = done.error;  // only this set is at fault: a key of another type
        }
        move_set(moved_before + 1);
      });
}

void Scheduler::Run::ask_for_next() {
  // Due jobs that were left in place wait for the next poll.  While another process holds the lock, they wait for the
  // lock.
  const auto above = lock == SchedulerLock::of_another ? std::nullopt : std::optional(due_score(now));
  std::vector<Command> commands = next_scores(above);
  if (lock == SchedulerLock::ours) commands.push_back(end_scheduler_lock());
  ask(commands, [this](Results& results) { plan(results); });
}

// Asks for the first member of each set above a score, and now and then the number of processes.
std::vector<Command> Scheduler::Run::next_scores(const std::optional<std::string>& above) {
  std::vector<Command> commands;
  for (const std::string_view set : due_sets) commands.push_back(ask_first_score(set, above));
  counts = !counted || steady_now() - *counted >= count_lasts;
  if (counts) commands.push_back(ask_process_count());
  return commands;
}

void Scheduler::Run::plan(Results& results) {
  if (counts) {
    const AsyncConnection::Result& count = results[due_sets.size()];
    processes =
        count.ok() ? static_cast<int>(std::min<std::int64_t>(read_process_count(count.reply.view()), 100'000)) : 1;
    counted = steady_now();
  }
  // Sidekiq waits ten seconds before its first look, until the processes that start together have registered and their
  // number can be trusted.  We need not wait: the lock keeps them from doing the same work.
  nanoseconds pause = poll_pause(settings.poll, processes, draw());
  const nanoseconds passed = steady_now() - began;
  for (std::size_t set = 0; set < due_sets.size(); ++set) {
    if (!results[set].ok()) continue;
    const std::optional<std::string> score = read_first_score(results[set].reply.view());
    if (!score) continue;
    const nanoseconds after_beginning = until(*score, now, pause + passed);
    nanoseconds due_in = std::max<nanoseconds>(after_beginning - passed, 0ns);
    // The holder of the lock is moving it, or has crashed and its lock will expire.
    if (lock == SchedulerLock::of_another) due_in = std::max<nanoseconds>(due_in, lock_lifetime);
    if (due_in < pause) expected = set;
    pause = std::min(pause, due_in);
  }
  // Until then glances count only what has been pushed since.
  const WallTime next = now + (steady_now() - began) + pause;
  first_known = due_score(next);
  if (const auto& first = results[schedule_of_due_sets]; first.ok()) {
    const std::optional<std::string> score = read_first_score(first.reply.view());
    if (is_due(score, next)) first_known = *score;
  }
  start_look_in(pause);

  if (!set_error.empty()) return say_failing(set_error);
  if (failing) log::info("scheduler_works_again");
  failing = false;
  error_pause = first_error_pause;
}

void Scheduler::Run::start_look_in(nanoseconds pause) {
  looking = false;
  planned = steady_now() + pause;
  next_look.start_in(pause);
  if (std::exchange(glance_again, false)) return glance();
  if (pause > between_glances()) next_glance.start_in(between_glances());
}

void Scheduler::Run::rely_on_reports(bool told) {
  is_told = told;
  if (!told) glance();  // from then on more often
}

void Scheduler::Run::glance() {
  if (stopped || !redis.connected()) return;
  if (looking || glancing) {
    glance_again = true;  // the present answer may be older than this call
    return;
  }
  glancing = true;
  redis.send(ask_scheduled_below(first_known), longest_answer_time, [this](const AsyncConnection::Result& result) {
    glancing = false;
    if (!looking) see_count(result);
  });
}

// A refusal is logged by the planned look.
void Scheduler::Run::see_count(const AsyncConnection::Result& result) {
  if (result.ok()) {
    const std::int64_t count = read_scheduled_below(result.reply.view());
    if (count > stays) {
      expected.reset();
      return start_look_in(0ns);
    }
    stays = count;  // another process moved some of it
  }
  if (std::exchange(glance_again, false)) return glance();
  if (planned - steady_now() > between_glances()) next_glance.start_in(between_glances());
}

void Scheduler::Run::back_off(const std::string& error) {
  // If Redis is away, the connection logs that.
  if (redis.connected()) say_failing(error);
  looking = false;
  const auto jittered = std::chrono::duration_cast<nanoseconds>(error_pause * (0.5 + draw()));
  error_pause = std::min(2 * error_pause, longest_error_pause);
  next_look.start_in(jittered);
}

void Scheduler::Run::say_failing(const std::string& error) {
  if (!std::exchange(failing, true)) log::warn("scheduler_fails", {{"error", error}});
}

Scheduler::Scheduler(EventLoop& loop, AsyncConnection& redis, Settings settings)
    : run_(std::make_unique<Run>(loop, redis, std::move(settings))) {}

Scheduler::~Scheduler() { stop(); }

void Scheduler::look() { run_->look(); }

void Scheduler::glance() { run_->glance(); }

void Scheduler::rely_on_reports(bool told) { run_->rely_on_reports(told); }

// A batch that was sent may still be applied.
void Scheduler::set(Settings settings) {
  if (!run_->stopped) resume(std::move(settings));
}

void Scheduler::resume(Settings settings) {
  stop();
  const std::unique_ptr<Run> old = std::move(run_);
  run_ = std::make_unique<Run>(old->loop, old->redis.connection(), std::move(settings));
  run_->moved = old->moved;
  run_->moved_to_dead = old->moved_to_dead;
  run_->is_told = old->is_told;
  if (run_->redis.connected()) look();
}

void Scheduler::stop() {
  run_->stopped = true;
  run_->redis.cancel();
  run_->next_look.stop();
  run_->next_glance.stop();
  run_->mover.stop();
}

std::uint64_t Scheduler::moved() const { return run_->moved; }
std::uint64_t Scheduler::moved_to_dead() const { return run_->moved_to_dead; }

}  // namespace brood
