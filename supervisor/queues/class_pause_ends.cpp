#include "supervisor/queues/class_pause_ends.hpp"

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "shared/base/log.hpp"
#include "shared/redis/pace.hpp"
#include "shared/store/redis_time.hpp"

namespace brood {

using namespace std::chrono_literals;
using Results = std::vector<AsyncConnection::Result>;

namespace {

// A timer that is set for longer would follow a clock of Redis that is put forward too late.
constexpr std::chrono::nanoseconds longest_sleep = 60s, shortest_sleep = 100ms;
constexpr std::chrono::nanoseconds after_refusal = 5s;
constexpr std::size_t most_ended_at_once = 100;

}  // namespace

std::optional<std::int64_t> next_end_of(const ClassPauses& pauses) {
  std::optional<std::int64_t> next;
  for (const auto& [job_class, pause] : pauses) {
    if (pause.until && (!next || *pause.until < *next)) next = pause.until;
  }
  return next;
}

ClassPauseEnds::ClassPauseEnds(EventLoop& loop, AsyncConnection& redis)
    : redis_(redis), next_(loop, [this] { ask(); }) {}

void ClassPauseEnds::look(const NameSet& paused) {
  paused_ = paused;
  // Even after the last pause, the text of a class that an earlier release has unpaused may be left.
  if (!paused.empty()) may_have_pauses_ = true;
  if (may_have_pauses_) ask();
}

void ClassPauseEnds::stop() {
  redis_.cancel();
  asking_ = ask_again_ = false;
  next_.stop();
}

void ClassPauseEnds::ask() {
  ask_again_ = asking_;
  if (asking_ || !redis_.connected()) return;  // when Redis is back look() is called, too
  asking_ = true;
  next_.stop();
  redis_.send_all({ask_class_pauses(), ask_time()}, short_answer_time, [this](const Results& results) {
    asking_ = false;
    const bool is_told = results[0].ok() && results[1].ok();
    if (is_told) read(paused_, read_class_pauses(results[0].reply.view()), redis_time(results[1].reply.view()));
    if (std::exchange(ask_again_, false)) ask();
  });
}

void ClassPauseEnds::read(const NameSet& paused, const ClassPauses& pauses, WallTime now) {
  const auto second = std::chrono::duration_cast<std::chrono::seconds>(now.time_since_epoch()).count();
  std::vector<ScriptCall> calls;
  std::vector<std::string> ended;
  ClassPauses waiting;
  for (const auto& [job_class, pause] : pauses) {
    const bool is_paused = paused.contains(job_class);
    if (is_paused) tell(job_class, pause);
    if (is_paused && (!pause.until || *pause.until > second)) {
      waiting.emplace(job_class, pause);
    } else if (calls.size() < most_ended_at_once) {
      calls.push_back(end_class_pause(job_class, pause));
      ended.push_back(job_class);
    }
  }
  std::erase_if(told_, [&](const auto& one) { return !paused.contains(one.first); });
  may_have_pauses_ = !paused.empty() || !calls.empty();
  if (const auto next = next_end_of(waiting)) {
    const std::chrono::nanoseconds left = WallTime(std::chrono::seconds(*next)) - now;
    next_.start_in(std::clamp(left, shortest_sleep, longest_sleep));
  }
  if (calls.empty()) return;
  redis_.run_all(std::move(calls), short_answer_time, [this, ended](const Results& results) {
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (!results[i].ok())
        next_.start_in(after_refusal);
      else if (results[i].reply.view().integer() == 1)
        log::info("class_pause_ended", {{"class", ended[i]}});
    }
  });
}

void ClassPauseEnds::tell(const std::string& job_class, const ClassPause& pause) {
  std::string& told = told_[job_class];
  if (std::exchange(told, pause.text) == pause.text) return;
  log::info("class_paused", {{"class", job_class}, {"reason", pause.reason}, {"until", pause.until.value_or(0)}});
}

}  // namespace brood
