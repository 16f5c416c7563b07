#include "supervisor/queues/queues_and_pauses_watch.hpp"

#include <fmt/ranges.h>

#include <algorithm>

#include <string>
#include <utility>

#include "shared/base/clock.hpp"
#include "shared/base/log.hpp"
#include "shared/redis/pace.hpp"
#include "shared/store/tenants/tenant_look.hpp"

namespace brood {

using namespace std::chrono_literals;
using Result = AsyncConnection::Result;

namespace {

constexpr auto between_untold_looks = 1s;
constexpr auto between_counts = 100ms;
constexpr auto between_looks_when_told = 5s;
constexpr int looks_without_classes = 24;
constexpr auto names_last = 5s;  // the count stays the same if one queue goes and another comes
constexpr auto names_last_when_told = 2min;
constexpr int share_of_names = 50;  // reading them is followed by a pause at least this many times as long
constexpr std::chrono::nanoseconds longest_between_names = 10s;  // a Redis that was slow may have recovered

}  // namespace

QueuesAndPausesWatch::QueuesAndPausesWatch(EventLoop& loop, AsyncConnection& redis, QueueWorkers& workers,
                                           std::function<void(const KnownQueues&)> changed)
    : redis_(redis), workers_(workers), changed_(std::move(changed)), next_(loop, [this] { tick(); }) {}

void QueuesAndPausesWatch::follow_names(bool follow) {
  if (std::exchange(follows_names_, follow) == follow) return;
  count_ = -1;
  if (watching_) look();
}

void QueuesAndPausesWatch::look() {
  watching_ = true;
  look_anew();
}

void QueuesAndPausesWatch::rely_on_reports(bool told) {
  is_told_ = told;
  if (!told && watching_) look();
}

void QueuesAndPausesWatch::stop() {
  watching_ = false;
  next_.stop();
}

std::chrono::nanoseconds QueuesAndPausesWatch::between_looks() const {
  return is_told_ ? pace_ * between_looks_when_told : between_untold_looks;
}

void QueuesAndPausesWatch::look_anew() {
  look_again_ = asking_;  // the answer to the present question may be older than this change
  paused_read_ = classes_read_ = {};
  count_ = -1;
  tick();
}

void QueuesAndPausesWatch::tick() {
  if (!watching_ || asking_) return;
  if (!redis_.connected()) return look_later();
  std::vector<Command> commands;
  const bool wants_paused = steady_now() - paused_read_ >= between_looks() - between_counts / 2;
  const bool wants_classes = wants_paused && is_time_for_classes();
  if (wants_paused) commands.push_back(ask_paused_queues());
  if (wants_classes) commands.push_back(ask_paused_classes());
  if (follows_names_) commands.push_back(ask_queue_count());
  if (commands.empty()) return look_later();
  asking_ = true;
  redis_.send_all(commands, short_answer_time, [this, wants_paused, wants_classes](const std::vector<Result>& results) {
    asking_ = false;
    if (watching_) read(wants_paused, wants_classes, results);
  });
}

// While changes are reported, polling only covers what no report may have reached.
bool QueuesAndPausesWatch::is_time_for_classes() const {
  const auto between = is_told_ ? looks_without_classes * between_looks() : between_looks();
  return steady_now() - classes_read_ >= between - between_counts / 2;
}

void QueuesAndPausesWatch::read(bool asked_for_paused, bool asked_for_classes, const std::vector<Result>& results) {
  std::size_t at = 0;
  if (asked_for_paused) read_paused_queues(results.at(at++));
  if (asked_for_classes) read_paused_classes(results.at(at++));
  if (!follows_names_ || results.size() == at) return look_later();
  const Result& counted = results.back();
  if (!counted.ok()) return look_later();
  const std::int64_t before = std::exchange(count_, read_queue_count(counted.reply.view()));
  names_are_old_ |= count_ != before || steady_now() - names_read_ >= (is_told_ ? names_last_when_told : names_last);
  if (!names_are_old_ || steady_now() < names_not_before_) return look_later();
  ask_for_names();
}

void QueuesAndPausesWatch::ask_for_names() {
  asking_ = true;
  names_are_old_ = false;
  const bool asks_published = count_ >= many_queue_names && may_be_published_;
  may_be_published_ = true;
  redis_.send(asks_published ? ask_published_queue_names() : ask_queue_names(), short_answer_time,
              [this, asks_published, begun = steady_now()](const Result& result) {
                asking_ = false;
                if (!watching_) return;
                if (asks_published && result.error.empty() && !has_names(result.reply.view())) {
                  may_be_published_ = false;
                  return ask_for_names();
                }
                if (follows_names_) read_names(result);
                const SteadyTime now = steady_now();
                names_not_before_ =
                    now + std::min<std::chrono::nanoseconds>(share_of_names * (now - begun), longest_between_names);
                look_later();
              });
}

void QueuesAndPausesWatch::read_paused_queues(const Result& result) {
  if (!result.error.empty()) return;
  paused_read_ = steady_now();
  const ErrorKind refusal = classify_error(result.reply.view().error());
  if (refusal == ErrorKind::not_applied_retry || refusal == ErrorKind::not_applied_reconnect) return;
  const auto told = read_paused(result.reply.view());
  const bool is_set = told.has_value();
  const bool is_kept = !is_set && !is_never_told(result.reply.view());
  if (!is_set && !std::exchange(said_no_set_, true))
    log::warn("pauses_unknown",
              {{"reason", result.why()}, {"hint", is_kept ? "pauses stay as known" : "no queue is taken for paused"}});
  said_no_set_ = !is_set;
  if (is_kept) return;
  auto paused = told.value_or(NameSet());
  if (std::exchange(knows_paused_, true) && paused == known_.paused) return;
  const bool says_nothing = paused.empty() && known_.paused.empty();
  known_.paused = std::move(paused);
  tell(true);
  if (!says_nothing)
    log::info("queues_paused", {{"count", known_.paused.size()},
                                {"queues", fmt::format("{}", fmt::join(known_.paused, " ")).substr(0, 1'000)}});
}

void QueuesAndPausesWatch::read_paused_classes(const Result& result) {
  if (!result.error.empty()) return;
  const ErrorKind refusal = classify_error(result.reply.view().error());
  if (refusal == ErrorKind::not_applied_retry || refusal == ErrorKind::not_applied_reconnect) return;
  classes_read_ = steady_now();
  const auto told = read_paused(result.reply.view());
  const bool is_kept = !told && !is_never_told(result.reply.view());
  if (!told && !std::exchange(said_no_classes_, true))
    log::warn("paused_classes_unknown",
              {{"reason", result.why()}, {"hint", is_kept ? "pauses stay as known" : "no class is taken for paused"}});
  said_no_classes_ = !told;
  if (is_kept) return;
  NameSet paused = told.value_or(NameSet());
  if (classes_were_read_) classes_were_read_(paused);
  if (paused == known_.paused_classes) return;
  known_.paused_classes = std::move(paused);
  tell(true);
  log::info("classes_paused", {{"count", known_.paused_classes.size()},
                               {"classes", fmt::format("{}", fmt::join(known_.paused_classes, " ")).substr(0, 1'000)}});
}

void QueuesAndPausesWatch::read_names(const Result& result) {
  if (!result.ok()) return;
  std::vector<std::string> unsafe;
  auto names = read_queue_names(result.reply.view(), &unsafe);
  if (!names) return;
  names_read_ = steady_now();
  std::sort(unsafe.begin(), unsafe.end());
  if (unsafe != said_unsafe_ && !unsafe.empty()) {
    log::warn("queues_left_out",
              {{"count", unsafe.size()},
               {"first", unsafe.front()},
               {"reason", "\"*\" takes queues whose names are made of letters, digits and _ . : @ / ~ -"}});
  }
  said_unsafe_ = std::move(unsafe);
  if (*names == known_.names) return;
  known_.names = std::move(*names);
  tell(false);
}

void QueuesAndPausesWatch::look_later() {
  if (!watching_) return;
  if (std::exchange(look_again_, false)) return look_anew();
  const bool in_a_hurry = !is_told_ && follows_names_ && redis_.connected() && workers_.somebody_is_idle();
  std::chrono::nanoseconds pause = in_a_hurry ? between_counts : between_looks();
  if (names_are_old_ && follows_names_)
    pause = std::min(pause, std::max<std::chrono::nanoseconds>(names_not_before_ - steady_now(), between_counts));
  next_.start_in(pause);
}

void QueuesAndPausesWatch::tell(bool others_are_paused) {
  workers_.note_queues_changed(others_are_paused);
  changed_(known_);
}

}  // namespace brood
