#include "supervisor/queues/set_aside_watch.hpp"

#include <algorithm>
#include <chrono>

#include "shared/base/clock.hpp"
#include "shared/base/log.hpp"
#include "shared/redis/pace.hpp"
#include "shared/store/places_of_jobs.hpp"
#include "shared/store/queues/known_queues.hpp"
#include "shared/store/queues/set_aside.hpp"
#include "shared/store/scan.hpp"

namespace brood {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::nanoseconds between_looks_aside = 5s;
constexpr std::int64_t returned_at_once = 1'000;

}  // namespace

std::vector<LeftAside> left_aside(const std::vector<std::string>& asides, const std::vector<CapsuleSettings>& ours) {
  std::vector<LeftAside> left;
  for (const std::string& aside : asides) {
    const std::string home(home_by_name(aside));
    if (home.empty()) continue;
    bool is_ours = false, is_used = false;
    for (const CapsuleSettings& capsule : ours) {
      const std::vector<std::string> names = capsule.queues.names();
      is_ours |= fetches_from(names, home);
      is_used |= home_of(capsule.caps, aside) != aside;
    }
    if (is_ours && !is_used) left.push_back({aside, home});
  }
  return left;
}

SetAsideWatch::SetAsideWatch(EventLoop& loop, AsyncConnection& redis, Pace pace)
    : redis_(redis), pace_(pace), next_(loop, [this] { ask(); }) {}

void SetAsideWatch::look(const std::vector<CapsuleSettings>& ours) {
  ours_ = ours;
  looks_soon_until_ = steady_now() + pace_.soon_for;
  ask();
}

void SetAsideWatch::ask() {
  if (asking_) return;
  asking_ = true;
  next_.stop();
  redis_.send(ask_set_aside(), longest_answer_time, [this](const AsyncConnection::Result& result) {
    asking_ = false;
    std::vector<std::string> asides;  // empty if Redis does not answer
    if (result.ok()) asides = read_name_list_if_told(result.reply.view()).value_or(std::vector<std::string>());
    std::vector<LeftAside> left = left_aside(asides, ours_);
    if (!left.empty()) return give_back(std::move(left));
    if (steady_now() >= looks_soon_until_) return next_.start_in(pace_.later);
    next_.start_in(asides.empty() ? pace_.in_vain : between_looks_aside);
  });
}

void SetAsideWatch::give_back(std::vector<LeftAside> left) {
  std::vector<ScriptCall> calls;
  for (const LeftAside& one : left) calls.push_back(return_set_aside(one.aside, one.home, returned_at_once));
  redis_.run_all(std::move(calls), longest_answer_time,
                 [this, left = std::move(left)](const std::vector<AsyncConnection::Result>& results) {
                   bool is_more = false;
                   for (std::size_t i = 0; i < results.size() && i < left.size(); ++i) {
                     if (!results[i].ok() || !results[i].reply.view().is_integer()) continue;
                     const std::int64_t returned = results[i].reply.view().integer();
                     is_more |= returned == returned_at_once;
                     if (returned > 0)
                       log::info("set_aside_jobs_given_back",
                                 {{"queue", left[i].home}, {"waited_in", left[i].aside}, {"jobs", returned}});
                   }
                   next_.start_in(is_more ? 0s : between_looks_aside);
                 });
}

}  // namespace brood
