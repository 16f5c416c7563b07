#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "shared/base/clock.hpp"
#include "shared/base/time_unit.hpp"
#include "shared/redis/async_connection.hpp"
#include "shared/store/outcome.hpp"
#include "supervisor/process/event_loop.hpp"
#include "supervisor/schedule/due_batch.hpp"

namespace brood {

// Moves everything due in one sorted set to its queues, a few hundred jobs a round trip.  Parses at most about a
// megabyte of payloads in one turn of the loop.  A member that is no job, or that no queue can take, goes to the dead
// set.  If a queue is of the wrong type, its jobs stay and do not hold up the others.
class DueMover {
 public:
  struct Done {
    std::uint64_t moved = 0, moved_to_dead = 0;
    std::uint64_t left = 0;        // due members that stay
    std::string error;             // why it ended early; empty if nothing is due any more
    bool connection_lost = false;  // else `error` is an error reply
  };

  // Whether a due job stays in place, for other processes to move.
  using Leaves = std::function<bool(std::string_view queue, WallTime due)>;

  DueMover(EventLoop& loop, AsyncConnection& redis, DeadLimits dead_limits, Leaves leaves = {});
  DueMover(const DueMover&) = delete;
  DueMover& operator=(const DueMover&) = delete;

  // Moves what was due in `set_key` at `now`, by the clock of Redis.  `times` is the time unit for jobs without one.
  // `companion` is sent with each batch, and its answer ignored.  Call it only once the previous move has called
  // `done`.
  void move_all(std::string set_key, WallTime now, TimeUnit times, Command companion, std::function<void(Done)> done);

  // Sends nothing more; `done` is not called.
  void stop();

 private:
  using Results = std::vector<AsyncConnection::Result>;

  void begin();
  void go_on();
  void read(std::size_t under_way);
  void prepare();
  void adapt_limit();
  void move_batch();
  void settle_moves(const Results& results);
  void learn_from_sizes(const Results& results);
  void count(const Script& script, const MoveCounts& counts);
  void end_moves();
  void report_stuck();
  void fail(std::string error, bool connection_lost = false);
  void finish();
  template <typename Step>
  void guarded(const Step& step);
  template <typename Read>
  void ask(std::vector<Command> commands, Read read, bool is_move = false);

  static constexpr std::size_t first_batch = 25;

  AsyncConnection::Scope redis_;
  const DeadLimits dead_limits_;
  const Leaves leaves_;
  Timer next_turn_;
  std::mt19937_64 random_{std::random_device{}()};
  std::size_t limit_ = first_batch;  // shrinks if members are large, so that a batch is about a turn's bytes
  SteadyTime last_report_{};
  std::size_t refused_bytes_ = std::numeric_limits<std::size_t>::max();  // of the smallest member that was too large

  // During one move_all:
  std::string set_key_, bound_;
  TimeUnit times_ = usual_time_unit;
  Command companion_;
  std::function<void(Done)> done_;
  Done result_;
  int unanswered_ = 0;     // reads and moves under way
  std::size_t stuck_ = 0;  // members that stay at the head of the set: the next read begins behind them

  // The last batch that was read.
  std::optional<DueBatch> batch_;
  bool exact_ = false;  // nothing was under way at the read
  bool all_ = false;    // and nothing was left behind it

  // The moves under way.
  DueBatch::Moves moves_;
  std::string reason_for_dead_;
  std::size_t batch_stuck_ = 0, batch_left_ = 0;
  bool batch_exact_ = false, progress_ = false, raced_ = false;
};

}  // namespace brood
