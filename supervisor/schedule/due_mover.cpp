#include "supervisor/schedule/due_mover.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "shared/base/log.hpp"
#include "shared/redis/pace.hpp"
#include "shared/store/redis_time.hpp"
#include "shared/store/sets/due_entries.hpp"
#include "supervisor/schedule/due_batch.hpp"

namespace brood {

using namespace std::chrono_literals;
using Results = std::vector<AsyncConnection::Result>;

namespace {

constexpr std::size_t largest_batch = max_jobs_moved;
constexpr auto between_reports = 1min;

}  // namespace

// While Redis moves one batch, the next is read, from behind the jobs under way, and prepared.
//
// Other programs may add or take members meanwhile.  Then the read misses members, or includes some that are under way,
// which the scripts find gone.  So only an exact read, with nothing under way, proves that nothing is left.
DueMover::DueMover(EventLoop& loop, AsyncConnection& redis, DeadLimits dead_limits, Leaves leaves)
    : redis_(redis), dead_limits_(dead_limits), leaves_(std::move(leaves)), next_turn_(loop, [this] {
        prepare();
        go_on();
      }) {}

void DueMover::move_all(std::string set_key, WallTime now, TimeUnit times, Command companion,
                        std::function<void(Done)> done) {
  set_key_ = std::move(set_key);
  bound_ = due_score(now);
  times_ = times;
  companion_ = std::move(companion);
  done_ = std::move(done);
  begin();
}

void DueMover::stop() {
  redis_.cancel();
  next_turn_.stop();
}

template <typename Step>
void DueMover::guarded(const Step& step) {
  try {
    step();
  } catch (const UnexpectedReply& error) {
    fail(error.what());
  }
}

template <typename Read>
void DueMover::ask(std::vector<Command> commands, Read read, bool is_move) {
  ++unanswered_;
  redis_.send_all(std::move(commands), longest_answer_time, [this, read, is_move](Results results) {
    --unanswered_;
    const auto lost = std::ranges::find_if(results, [](const auto& answer) { return !answer.error.empty(); });
    if (lost == results.end()) {
      guarded([&] { read(results); });
    } else {
      if (is_move) learn_from_sizes(results);
      limit_ = 1;  // the batch may have been too large for an answer in time
      fail(lost->error, true);
    }
    go_on();
  });
}

void DueMover::begin() {
  stuck_ = 0;
  raced_ = false;
  read(0);
}

// Takes the next step, once every question is answered and everything read is prepared.
void DueMover::go_on() {
  if (unanswered_ > 0) return;
  if (!result_.error.empty()) return finish();
  if (batch_ && !batch_->prepared()) return;
  if (std::exchange(raced_, false)) {
    // Other processes moved, or hold, the whole batch.  Going on would be a race without end.
    if (batch_exact_) return finish();
    return read(0);
  }
  if (batch_ && batch_->size() > 0) return move_batch();
  if (all_) return finish();
  read(0);
}

void DueMover::read(std::size_t under_way) {
  batch_.reset();
  ask({ask_due_entries(set_key_, bound_, stuck_ + under_way, limit_), ask_time()},
      [this, is_exact = under_way == 0](Results& results) {
        if (!results[0].ok()) return fail(results[0].why());
        batch_.emplace(DueEntries(std::move(results[0].reply)), redis_time(results[1].reply.view()), times_, leaves_,
                       refused_bytes_);
        exact_ = is_exact;
        all_ = is_exact && batch_->size() < limit_;
        prepare();
      });
}

void DueMover::prepare() {
  guarded([this] {
    batch_->prepare(set_key_, dead_limits_, random_);
    if (batch_->prepared()) {
      adapt_limit();
    } else {
      next_turn_.start_in(0ns);
    }
  });
}

void DueMover::adapt_limit() {
  if (batch_->bytes() > DueBatch::turn_bytes) {
    limit_ = std::max<std::size_t>(1, limit_ * DueBatch::turn_bytes / batch_->bytes());
  } else if (batch_->size() == limit_) {
    limit_ = std::min(largest_batch, 2 * limit_);
  }
}

void DueMover::move_batch() {
  const std::size_t size = batch_->size();
  moves_ = batch_->take_moves();
  reason_for_dead_ = batch_->reason_for_dead();
  batch_stuck_ = 0;
  batch_left_ = batch_->left();
  batch_exact_ = exact_;
  progress_ = false;
  batch_.reset();
  if (!all_) read(size);  // sent first, so that its answer does not wait until Redis has moved this batch
  moves_.commands.push_back(companion_);
  ask(
      std::move(moves_.commands), [this](const Results& results) { settle_moves(results); }, true);
}

// Redis does not report which member was too large, but the largest one was.  From now on Redis itself moves members of
// a refused size, unchanged.
void DueMover::learn_from_sizes(const Results& results) {
  if (std::ranges::none_of(results, [](const auto& answer) { return answer.loss == Loss::too_large; })) return;
  refused_bytes_ = std::min(refused_bytes_, moves_.largest_member);
  log::warn("due_job_too_large", {{"set", set_key_},
                                  {"bytes", moves_.largest_member},
                                  {"error", "Redis refuses it for its proto-max-bulk-len or client-query-buffer-limit"},
                                  {"moved", "as it is"}});
}

void DueMover::settle_moves(const Results& results) {
  for (std::size_t i = 0; i < moves_.scripts.size(); ++i) {
    if (results[i].ok())
      count(*moves_.scripts[i], read_moved(results[i].reply.view()));
    else
      fail(results[i].why());
  }
  end_moves();
}

void DueMover::count(const Script& script, const MoveCounts& counts) {
  (&script == &scripts::move_due_to_dead ? result_.moved_to_dead : result_.moved) += counts.moved;
  batch_stuck_ += counts.stuck;
  progress_ |= counts.moved > 0;
}

void DueMover::end_moves() {
  stuck_ += batch_stuck_ + batch_left_;
  raced_ = !progress_ && batch_stuck_ + batch_left_ == 0;
  if (batch_stuck_ > 0) report_stuck();
  if (result_.moved_to_dead > 0 && !reason_for_dead_.empty()) {
    log::warn("due_jobs_buried", {{"set", set_key_}, {"so_far", result_.moved_to_dead}, {"reason", reason_for_dead_}});
  }
}

void DueMover::report_stuck() {
  const SteadyTime current = steady_now();
  if (last_report_ != SteadyTime{} && current - last_report_ < between_reports) return;
  last_report_ = current;
  log::error("due_job_stuck", {{"set", set_key_}, {"error", "its queue or the dead set is a key of another type"}});
}

void DueMover::fail(std::string error, bool connection_lost) {
  if (result_.error.empty()) result_.error = std::move(error);
  result_.connection_lost |= connection_lost;
}

void DueMover::finish() {
  next_turn_.stop();
  batch_.reset();
  moves_ = {};
  // The callback may begin the next move_all.
  const auto callback = std::exchange(done_, nullptr);
  if (!callback) return;
  result_.left = stuck_;
  callback(std::exchange(result_, {}));
}

}  // namespace brood
