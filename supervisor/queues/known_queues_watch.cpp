#include "supervisor/queues/known_queues_watch.hpp"

#include <fmt/ranges.h>

#include <algorithm>

#include <string>
#include <utility>

#include "shared/base/clock.hpp"
#include "shared/base/log.hpp"
#include "shared/redis/answer_time.hpp"
#include "shared/store/keys.hpp"

namespace brood {

using namespace std::chrono_literals;
using Result = AsyncConnection::Result;

namespace {

constexpr auto between_untold_looks = 1s;
constexpr auto between_counts = 100ms;
constexpr auto between_looks_when_told = 5s;
constexpr auto names_last = 5s;  // one may have gone while another came

}  // namespace

// Answers hold it weakly: one that comes after the end finds nobody.
struct KnownQueuesWatch::State : std::enable_shared_from_this<State> {
  State(EventLoop& loop, AsyncConnection& connection, QueueWorkers& all, std::function<void(const KnownQueues&)> told)
      : redis(connection), workers(all), changed(std::move(told)), next(loop, [this] { tick(); }) {}

  AsyncConnection& redis;
  QueueWorkers& workers;
  const std::function<void(const KnownQueues&)> changed;
  Timer next;
  bool watching = false, asking = false, look_again = false;
  bool is_told = false;
  bool follows_names = false;
  KnownQueues known;
  std::int64_t count = -1;
  SteadyTime paused_read{}, names_read{};
  bool knows_paused = false;  // workers that another program has left may know better
  bool said_no_set = false;
  std::vector<std::string> said_unsafe;

  std::chrono::nanoseconds between_looks() const { return is_told ? between_looks_when_told : between_untold_looks; }
  void look();
  void tick();
  void read(bool asked_for_paused, const std::vector<Result>& results);
  void ask_for_names();
  void read_paused(const Result& result);
  void read_names(const Result& result);
  void look_later();
  void tell(bool others_are_paused) {
    workers.note_queues_changed(others_are_paused);
    changed(known);
  }
};

void KnownQueuesWatch::State::look() {
  look_again = asking;  // what is asked for now may have been read before
  paused_read = {};
  count = -1;
  tick();
}

void KnownQueuesWatch::State::tick() {
  if (!watching || asking) return;
  if (!redis.connected()) return look_later();
  std::vector<Command> commands;
  const bool wants_paused = steady_now() - paused_read >= between_looks() - between_counts / 2;
  if (wants_paused) commands.push_back({"SMEMBERS", keys::paused});
  if (follows_names) commands.push_back({"SCARD", keys::queues});
  if (commands.empty()) return look_later();
  asking = true;
  redis.send_all(commands, short_answer_time,
                 [weak = weak_from_this(), wants_paused](const std::vector<Result>& results) {
                   const auto self = weak.lock();
                   if (!self) return;
                   self->asking = false;
                   if (self->watching) self->read(wants_paused, results);
                 });
}

void KnownQueuesWatch::State::read(bool asked_for_paused, const std::vector<Result>& results) {
  if (asked_for_paused) read_paused(results.front());
  if (!follows_names || results.size() == (asked_for_paused ? 1U : 0U)) return look_later();
  const Result& counted = results.back();
  if (!counted.ok()) return look_later();
  const std::int64_t before = std::exchange(count, counted.reply.view().integer());
  if (count == before && steady_now() - names_read < names_last) return look_later();
  ask_for_names();
}

void KnownQueuesWatch::State::ask_for_names() {
  asking = true;
  redis.send({"SMEMBERS", keys::queues}, short_answer_time, [weak = weak_from_this()](const Result& result) {
    const auto self = weak.lock();
    if (!self) return;
    self->asking = false;
    if (!self->watching) return;
    if (self->follows_names) self->read_names(result);
    self->look_later();
  });
}

void KnownQueuesWatch::State::read_paused(const Result& result) {
  if (!result.error.empty()) return;
  paused_read = steady_now();
  const ErrorKind refusal = classify_error(result.reply.view().error());
  if (refusal == ErrorKind::not_applied_retry || refusal == ErrorKind::not_applied_reconnect) return;
  const bool is_set = result.reply.view().is_array();
  if (!is_set && !std::exchange(said_no_set, true))
    log::warn("pauses_unknown", {{"reason", result.why()}, {"hint", "no queue is taken for paused"}});
  said_no_set = !is_set;
  auto paused = is_set ? read_paused_queues(result.reply.view()) : decltype(known.paused)();
  if (std::exchange(knows_paused, true) && paused == known.paused) return;
  const bool says_nothing = paused.empty() && known.paused.empty();
  known.paused = std::move(paused);
  tell(true);
  if (!says_nothing)
    log::info("queues_paused", {{"count", known.paused.size()},
                                {"queues", fmt::format("{}", fmt::join(known.paused, " ")).substr(0, 1'000)}});
}

void KnownQueuesWatch::State::read_names(const Result& result) {
  if (!result.ok() || !result.reply.view().is_array()) return;
  names_read = steady_now();
  std::vector<std::string> unsafe;
  std::vector<std::string> names = read_queue_names(result.reply.view(), &unsafe);
  std::sort(unsafe.begin(), unsafe.end());
  if (unsafe != said_unsafe && !unsafe.empty()) {
    log::warn("queues_left_out",
              {{"count", unsafe.size()},
               {"first", unsafe.front()},
               {"reason", "\"*\" takes queues whose names are made of letters, digits and _ . : @ / -"}});
  }
  said_unsafe = std::move(unsafe);
  if (names == known.names) return;
  known.names = std::move(names);
  tell(false);
}

void KnownQueuesWatch::State::look_later() {
  if (!watching) return;
  if (std::exchange(look_again, false)) return look();
  const bool in_a_hurry = !is_told && follows_names && redis.connected() && workers.somebody_is_idle();
  next.start_in(in_a_hurry ? between_counts : between_looks());
}

KnownQueuesWatch::KnownQueuesWatch(EventLoop& loop, AsyncConnection& redis, QueueWorkers& workers,
                                   std::function<void(const KnownQueues&)> changed)
    : state_(std::make_shared<State>(loop, redis, workers, std::move(changed))) {}

KnownQueuesWatch::~KnownQueuesWatch() { stop(); }

void KnownQueuesWatch::follow_names(bool follow) {
  if (std::exchange(state_->follows_names, follow) == follow) return;
  state_->count = -1;
  if (state_->watching) look();
}

void KnownQueuesWatch::look() {
  state_->watching = true;
  state_->look();
}

void KnownQueuesWatch::rely_on_being_told(bool told) {
  state_->is_told = told;
  if (!told && state_->watching) look();
}

void KnownQueuesWatch::stop() {
  state_->watching = false;
  state_->next.stop();
}

}  // namespace brood
