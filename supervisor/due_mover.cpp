#include "supervisor/due_mover.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <utility>
#include <vector>

#include "shared/log.hpp"
#include "shared/store/bury_due.hpp"
#include "shared/store/due_jobs.hpp"
#include "supervisor/prepared_job.hpp"

namespace brood {

using namespace std::chrono_literals;
using Results = std::vector<AsyncConnection::Result>;

namespace {

constexpr auto deadline = 10s;
constexpr std::size_t first_batch = 25, largest_batch = 200;
constexpr std::size_t bytes_per_turn = 1 << 20;
// A larger one stays where it is: to move it would hold up the loop, and it is sent twice over, as member and as
// payload.
constexpr std::size_t largest_member = 16 << 20;
constexpr auto between_reports = 1min;

// One script of a batch, and how many jobs it speaks of.
struct Move {
  ScriptCall call;
  bool buries = false;
};

std::vector<Command> by_sha(const std::vector<Move>& moves) {
  std::vector<Command> commands;
  for (const Move& move : moves) commands.push_back(move.call.evalsha());
  return commands;
}

}  // namespace

WallTime redis_time(ReplyView reply) {
  return WallTime(std::chrono::seconds(reply[0].integer()) + std::chrono::microseconds(reply[1].integer()));
}

std::string score_bound(WallTime t) {
  const auto us = std::chrono::floor<std::chrono::microseconds>(t.time_since_epoch()).count();
  return fmt::format("{}.{:06}", us / 1'000'000, us % 1'000'000);
}

// Callbacks of commands under way hold it weakly: an answer that comes after the end finds nobody.
struct DueMover::State : std::enable_shared_from_this<DueMover::State> {
  State(EventLoop& loop, AsyncConnection& connection, DeadLimits limits)
      : redis(connection), dead_limits(limits), next_turn(loop, [this] { guarded([this] { prepare(); }); }) {}

  AsyncConnection& redis;
  const DeadLimits dead_limits;
  Timer next_turn;
  std::mt19937_64 random{std::random_device{}()};
  bool stopped = false;
  std::size_t limit = first_batch;  // shrinks when members are large, so that a batch is about a turn's bytes
  SteadyTime last_report{};

  // One move_all.
  std::string set_key, bound;
  Command companion;
  std::function<void(Done)> done;
  Done result;
  std::size_t stuck = 0;  // members that stay at the head of the set: the next read begins behind them

  // One batch: the members as read, and how far they are prepared.
  Reply members;
  WallTime now{};
  std::size_t prepared = 0, bytes = 0, too_large = 0;
  std::vector<DueJob> jobs;
  std::vector<Move> moves;
  std::string first_reason;

  Command read_command() const {
    return {"ZRANGEBYSCORE",      set_key, "-inf", bound, "WITHSCORES", "LIMIT", std::to_string(stuck),
            std::to_string(limit)};
  }
  void read() {
    ask({read_command(), {"TIME"}}, [](State& self, Results& results) { self.begin_batch(results[0], results[1]); });
  }
  void begin_batch(AsyncConnection::Result& range, AsyncConnection::Result& time);
  void prepare();
  void prepare_one(const std::string& member, const std::string& score);
  void adapt_limit();
  void send_moves();
  void settle_moves(Results& results);
  bool count(const Move& move, const AsyncConnection::Result& answer, std::size_t& batch_stuck);
  void report_stuck();
  void finish(std::string error = "", bool connection_lost = false);

  template <typename Step>
  void guarded(Step step) {
    try {
      step();
    } catch (const UnexpectedReply& error) {
      finish(error.what());
    }
  }

  template <typename Read>
  void ask(const std::vector<Command>& commands, Read read) {
    redis.send_all(commands, deadline, [weak = weak_from_this(), read](Results results) {
      const std::shared_ptr<State> self = weak.lock();
      if (!self || self->stopped) return;
      for (const AsyncConnection::Result& result : results) {
        if (result.error.empty()) continue;
        self->limit = 1;  // perhaps it was a batch too large to be answered in time
        return self->finish(result.error, true);
      }
      self->guarded([&] { read(*self, results); });
    });
  }
};

void DueMover::State::begin_batch(AsyncConnection::Result& range, AsyncConnection::Result& time) {
  if (!range.ok()) return finish(range.why());
  if (range.reply.view().size() == 0) return finish();
  now = redis_time(time.reply.view());
  members = std::move(range.reply);
  prepared = bytes = too_large = 0;
  jobs.clear();
  moves.clear();
  first_reason.clear();
  prepare();
}

void DueMover::State::prepare() {
  const ReplyView view = members.view();
  std::size_t turn_bytes = 0;
  for (; prepared + 1 < view.size() && turn_bytes < bytes_per_turn; prepared += 2) {
    const std::string_view member = view[prepared].text();
    turn_bytes += member.size();
    if (member.size() > largest_member) {
      ++too_large;
    } else {
      prepare_one(std::string(member), std::string(view[prepared + 1].text()));
    }
  }
  bytes += turn_bytes;
  if (prepared + 1 < view.size()) return next_turn.start_in(0ns);
  send_moves();
}

void DueMover::State::prepare_one(const std::string& member, const std::string& score) {
  PreparedJob job = prepare_due_job(member, now, random);
  if (job.queue.empty()) {
    if (first_reason.empty()) first_reason = job.reason;
    moves.push_back({bury_due(set_key, member, score, job.payload, now, dead_limits), true});
  } else {
    jobs.push_back({member, score, std::move(job.queue), std::move(job.payload)});
  }
  if (jobs.size() == max_jobs_moved) {
    moves.push_back({move_due(set_key, jobs)});
    jobs.clear();
  }
}

void DueMover::State::adapt_limit() {
  if (bytes > bytes_per_turn) {
    limit = std::max<std::size_t>(1, limit * bytes_per_turn / bytes);
  } else if (prepared == 2 * limit) {
    limit = std::min(largest_batch, 2 * limit);
  }
}

void DueMover::State::send_moves() {
  if (!jobs.empty()) moves.push_back({move_due(set_key, jobs)});
  jobs.clear();
  adapt_limit();
  // The next batch is read in the same round trip: what these scripts move is gone when it is.
  std::vector<Command> commands = by_sha(moves);
  commands.insert(commands.end(), {companion, read_command(), {"TIME"}});
  ask(commands, [](State& self, Results& results) { self.settle_moves(results); });
}

void DueMover::State::settle_moves(Results& results) {
  std::vector<Move> unknown;  // to this Redis, which has restarted or failed over
  std::size_t batch_stuck = too_large;
  bool progress = false;
  for (std::size_t i = 0; i < moves.size(); ++i) {
    if (classify_error(results[i].reply.view().error()) == ErrorKind::no_script) {
      unknown.push_back(std::move(moves[i]));
    } else if (!results[i].ok()) {
      return finish(results[i].why());
    } else {
      progress |= count(moves[i], results[i], batch_stuck);
    }
  }
  if (batch_stuck > 0) report_stuck();
  if (result.buried > 0 && !first_reason.empty()) {
    log::warn("due_jobs_buried", {{"set", set_key}, {"so_far", result.buried}, {"reason", first_reason}});
  }

  if (!unknown.empty()) {
    std::vector<Command> commands;
    for (const Move& move : unknown) commands.push_back(move.call.eval());
    stuck += batch_stuck;
    moves = std::move(unknown);
    first_reason.clear();
    return ask(commands, [](State& self, Results& results) {
      std::size_t batch_stuck = 0;
      for (std::size_t i = 0; i < self.moves.size(); ++i) {
        if (!results[i].ok()) return self.finish(results[i].why());
        self.count(self.moves[i], results[i], batch_stuck);
      }
      self.stuck += batch_stuck;
      self.read();
    });
  }
  // Others moved, or hold, all of it: to go on reading would be a race at best, and at worst never end.
  if (!progress && batch_stuck == 0) return finish();
  stuck += batch_stuck;
  if (batch_stuck > 0) return read();  // what was read along begins at the wrong place
  begin_batch(results[moves.size() + 1], results[moves.size() + 2]);
}

// Counts what one script did; true when it moved anything.
bool DueMover::State::count(const Move& move, const AsyncConnection::Result& answer, std::size_t& batch_stuck) {
  bool progress = false;
  for (const MoveResult one : read_moved(answer.reply.view())) {
    if (one == MoveResult::bad_queue) ++batch_stuck;
    if (one != MoveResult::moved) continue;
    ++(move.buries ? result.buried : result.moved);
    progress = true;
  }
  return progress;
}

void DueMover::State::report_stuck() {
  const SteadyTime current = steady_now();
  if (last_report != SteadyTime{} && current - last_report < between_reports) return;
  last_report = current;
  log::error(
      "due_job_stuck",
      {{"set", set_key}, {"error", "its queue or the dead set is a key of another type, or it is larger than 16 MB"}});
}

void DueMover::State::finish(std::string error, bool connection_lost) {
  members = Reply();
  result.error = std::move(error);
  result.connection_lost = connection_lost;
  // The callback may begin the next move_all.
  const auto callback = std::exchange(done, nullptr);
  if (!callback) return;
  callback(std::exchange(result, {}));
}

DueMover::DueMover(EventLoop& loop, AsyncConnection& redis, DeadLimits dead_limits)
    : state_(std::make_shared<State>(loop, redis, dead_limits)) {}

DueMover::~DueMover() { stop(); }

void DueMover::move_all(std::string set_key, WallTime now, Command companion, std::function<void(Done)> done) {
  state_->set_key = std::move(set_key);
  state_->bound = score_bound(now);
  state_->companion = std::move(companion);
  state_->done = std::move(done);
  state_->stuck = 0;
  state_->read();
}

void DueMover::stop() {
  state_->stopped = true;
  state_->next_turn.stop();
}

}  // namespace brood
