#include "supervisor/schedule/due_mover.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "shared/base/log.hpp"
#include "shared/redis/answer_time.hpp"
#include "shared/redis/size_refusals.hpp"
#include "shared/redis/stream.hpp"
#include "shared/store/redis_time.hpp"
#include "supervisor/schedule/due_batch.hpp"

namespace brood {

using namespace std::chrono_literals;
using Results = std::vector<AsyncConnection::Result>;

namespace {

constexpr std::size_t first_batch = 25, largest_batch = max_jobs_moved;
constexpr auto between_reports = 1min;

bool is_unknown_script(const Command& sent, const AsyncConnection::Result& result) {
  return sent.args.front() == "EVALSHA" && classify_error(result.reply.view().error()) == ErrorKind::no_script;
}

}  // namespace

std::string score_bound(WallTime t) {
  const auto us = std::chrono::floor<std::chrono::microseconds>(t.time_since_epoch()).count();
  return fmt::format("{}.{:06}", us / 1'000'000, us % 1'000'000);
}

// While Redis moves one batch, the next is read from behind it and prepared.  What others add or take meanwhile shifts
// that read: it then misses members, or holds some that are already being moved, which the scripts find gone.  So only
// an exact read, one with nothing under way, tells that nothing is left.
//
// Callbacks of commands under way hold it weakly: an answer that comes after the end finds nobody.
struct DueMover::State : std::enable_shared_from_this<DueMover::State> {
  State(EventLoop& loop, AsyncConnection& connection, DeadLimits limits, Leaves given)
      : redis(connection), dead_limits(limits), leaves(std::move(given)), next_turn(loop, [this] {
          prepare();
          go_on();
        }) {}

  AsyncConnection& redis;
  const DeadLimits dead_limits;
  const Leaves leaves;
  Timer next_turn;
  std::mt19937_64 random{std::random_device{}()};
  bool stopped = false;
  std::size_t limit = first_batch;  // shrinks when members are large, so that a batch is about a turn's bytes
  SteadyTime last_report{};
  SizeRefusals refusals;
  std::size_t refused_bytes = std::numeric_limits<std::size_t>::max();  // of the smallest member that was too large

  // One move_all.
  std::string set_key, bound;
  Command companion;
  std::function<void(Done)> done;
  Done result;
  int unanswered = 0;     // reads and moves under way
  std::size_t stuck = 0;  // members that stay at the head of the set: the next read begins behind them

  // What was read last.
  std::optional<DueBatch> batch;
  bool exact = false;  // nothing was under way
  bool all = false;    // and nothing was left behind it

  // What is being moved.
  DueBatch::Moves moves;
  std::string reason_for_dead;
  std::size_t batch_stuck = 0, batch_left = 0;
  bool batch_exact = false, progress = false, raced = false;

  void begin();
  void go_on();
  void read(std::size_t under_way);
  void prepare();
  void adapt_limit();
  void move_batch();
  void send_moves();
  void settle_moves(const Results& results);
  void learn_from_sizes(const Results& results);
  void count(const Script& script, const MoveCounts& counts);
  void end_moves();
  void report_stuck();
  void fail(std::string error, bool connection_lost = false);
  void finish();

  template <typename Step>
  void guarded(Step step) {
    try {
      step();
    } catch (const UnexpectedReply& error) {
      fail(error.what());
    }
  }

  template <typename Read>
  void ask(const std::vector<Command>& commands, Read read, bool is_move = false) {
    ++unanswered;
    redis.send_all(commands, longest_answer_time, [weak = weak_from_this(), read, is_move](Results results) {
      const std::shared_ptr<State> self = weak.lock();
      if (!self || self->stopped) return;
      --self->unanswered;
      const auto lost = std::ranges::find_if(results, [](const auto& result) { return !result.error.empty(); });
      if (lost == results.end()) {
        self->guarded([&] { read(*self, results); });
      } else {
        if (is_move) self->learn_from_sizes(results);
        self->limit = 1;  // perhaps it was a batch too large to be answered in time
        self->fail(lost->error, true);
      }
      self->go_on();
    });
  }
};

void DueMover::State::begin() {
  stuck = 0;
  raced = false;
  read(0);
}

// The next step, once all that was asked is answered and all that was read is prepared.
void DueMover::State::go_on() {
  if (unanswered > 0) return;
  if (!result.error.empty()) return finish();
  if (batch && !batch->prepared()) return;
  if (std::exchange(raced, false)) {
    // Others moved the whole batch, or it stays: going on might never end.
    if (batch_exact) return finish();
    return read(0);
  }
  if (batch && batch->size() > 0) return move_batch();
  if (all) return finish();
  read(0);
}

void DueMover::State::read(std::size_t under_way) {
  batch.reset();
  const std::string offset = std::to_string(stuck + under_way), count = std::to_string(limit);
  ask({{"ZRANGEBYSCORE", set_key, "-inf", bound, "WITHSCORES", "LIMIT", offset, count}, {"TIME"}},
      [is_exact = under_way == 0](State& self, Results& results) {
        if (!results[0].ok()) return self.fail(results[0].why());
        self.batch.emplace(std::move(results[0].reply), redis_time(results[1].reply.view()), self.leaves,
                           self.refused_bytes);
        self.exact = is_exact;
        self.all = is_exact && self.batch->size() < self.limit;
        self.prepare();
      });
}

void DueMover::State::prepare() {
  guarded([this] {
    batch->prepare(set_key, dead_limits, random);
    if (batch->prepared()) {
      adapt_limit();
    } else {
      next_turn.start_in(0ns);
    }
  });
}

void DueMover::State::adapt_limit() {
  if (batch->bytes() > DueBatch::turn_bytes) {
    limit = std::max<std::size_t>(1, limit * DueBatch::turn_bytes / batch->bytes());
  } else if (batch->size() == limit) {
    limit = std::min(largest_batch, 2 * limit);
  }
}

void DueMover::State::move_batch() {
  const std::size_t size = batch->size();
  moves = batch->take_moves();
  reason_for_dead = batch->reason_for_dead();
  batch_stuck = batch->too_large();
  batch_left = batch->left();
  batch_exact = exact;
  progress = false;
  batch.reset();
  if (!all) read(size);  // sent first, so that its answer does not wait until Redis has moved this batch
  moves.commands.push_back(companion);
  send_moves();
}

void DueMover::State::send_moves() {
  ask(
      moves.commands, [](State& self, const Results& results) { self.settle_moves(results); }, true);
}

// Redis does not say which member was too large, but the largest was in any case.  From now on members of that size are
// moved as they are, without sending their payloads.
void DueMover::State::learn_from_sizes(const Results& results) {
  std::size_t bytes = 0;
  for (const Command& command : moves.commands) bytes = std::max(bytes, wire_size(command));
  const bool refused = std::ranges::any_of(
      results, [](const auto& result) { return refused_for_its_size(result.reply.view().error()); });
  const bool closed = std::ranges::any_of(results, [](const auto& result) { return result.closed; });
  if (!refused && !(closed && refusals.closed_upon(bytes))) return;
  refused_bytes = std::min(refused_bytes, moves.largest_member);
  log::warn("due_job_too_large", {{"set", set_key},
                                  {"bytes", moves.largest_member},
                                  {"error", "Redis refuses it for its proto-max-bulk-len or client-query-buffer-limit"},
                                  {"moved", "as it is"}});
}

void DueMover::State::settle_moves(const Results& results) {
  DueBatch::Moves unknown;  // to this Redis, which has restarted or failed over
  unknown.largest_member = moves.largest_member;
  for (std::size_t i = 0; i < moves.scripts.size(); ++i) {
    if (is_unknown_script(moves.commands[i], results[i])) {
      send_text_instead(moves.commands[i], *moves.scripts[i]);
      unknown.commands.push_back(std::move(moves.commands[i]));
      unknown.scripts.push_back(moves.scripts[i]);
    } else if (!results[i].ok()) {
      fail(results[i].why());
    } else {
      count(*moves.scripts[i], read_moved(results[i].reply.view()));
    }
  }
  moves = std::move(unknown);
  if (moves.scripts.empty() || !result.error.empty()) return end_moves();
  send_moves();
}

void DueMover::State::count(const Script& script, const MoveCounts& counts) {
  (&script == &scripts::move_due_to_dead ? result.moved_to_dead : result.moved) += counts.moved;
  batch_stuck += counts.stuck;
  progress |= counts.moved > 0;
}

void DueMover::State::end_moves() {
  stuck += batch_stuck + batch_left;
  raced = !progress && batch_stuck + batch_left == 0;
  if (batch_stuck > 0) report_stuck();
  if (result.moved_to_dead > 0 && !reason_for_dead.empty()) {
    log::warn("due_jobs_buried", {{"set", set_key}, {"so_far", result.moved_to_dead}, {"reason", reason_for_dead}});
  }
}

void DueMover::State::report_stuck() {
  const SteadyTime current = steady_now();
  if (last_report != SteadyTime{} && current - last_report < between_reports) return;
  last_report = current;
  log::error(
      "due_job_stuck",
      {{"set", set_key}, {"error", "its queue or the dead set is a key of another type, or it is larger than 16 MB"}});
}

void DueMover::State::fail(std::string error, bool connection_lost) {
  if (result.error.empty()) result.error = std::move(error);
  result.connection_lost |= connection_lost;
}

void DueMover::State::finish() {
  next_turn.stop();
  batch.reset();
  moves = {};
  // The callback may begin the next move_all.
  const auto callback = std::exchange(done, nullptr);
  if (!callback) return;
  result.left = stuck;
  callback(std::exchange(result, {}));
}

DueMover::DueMover(EventLoop& loop, AsyncConnection& redis, DeadLimits dead_limits, Leaves leaves)
    : state_(std::make_shared<State>(loop, redis, dead_limits, std::move(leaves))) {}

DueMover::~DueMover() { stop(); }

void DueMover::move_all(std::string set_key, WallTime now, Command companion, std::function<void(Done)> done) {
  state_->set_key = std::move(set_key);
  state_->bound = score_bound(now);
  state_->companion = std::move(companion);
  state_->done = std::move(done);
  state_->begin();
}

void DueMover::stop() {
  state_->stopped = true;
  state_->next_turn.stop();
}

}  // namespace brood
