#include "supervisor/workers/places/roll_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace brood {
namespace {

constexpr std::chrono::milliseconds between_looks{20}, most_of_a_look{100};

bool is_coming(const RollPlace& place) {
  return place.fresh && (place.state == RollPlace::State::vacant || place.state == RollPlace::State::starting);
}

bool is_old(const RollPlace& place) { return !place.fresh && place.state != RollPlace::State::given_up; }

// Orders the old places: gives up first those without a worker, then those whose worker is not ready, then idle ones,
// then busy ones.
int loss(const RollPlace& place) {
  if (place.state == RollPlace::State::vacant || place.state == RollPlace::State::waiting) return 0;
  if (place.state == RollPlace::State::starting) return 1;
  return place.busy ? 3 : 2;
}

}  // namespace

RollPlan::RollPlan(int max_unavailable, std::chrono::milliseconds longest_start)
    : max_unavailable_(std::max(1, max_unavailable)), longest_start_(longest_start) {}

void RollPlan::note_death(const Death& death) {
  if (!reason_.empty()) return;
  // If the supervisor stood still, the time of death is unknown.  Then only a trial that was seen to be over counts.
  const bool was_seen = stood_.contains(death.place);
  const bool stood = death.began_a_job || (death.was_ready && death.ready_for >= trial && was_seen);
  if (stood) stood_.insert(death.place);
  if (death.refused) {
    reason_ = "a new worker refused to start; see the log";
  } else if (death.in_order || stood) {
    deaths_ = 0;
  } else if (++deaths_ >= most_deaths) {
    reason_ = fmt::format("{} new workers in a row ended before any job, the last one {}", deaths_, death.how);
  }
}

RollStep RollPlan::next(const std::vector<RollPlace>& places, SteadyTime now) {
  RollStep step;
  next_look_.reset();
  if (!reason_.empty() || overstayed(places, now)) {
    step.verdict = RollStep::Verdict::failed;
    return step;
  }
  judge_trial(places, now);
  start_some(places, step);
  const bool all_are_proven = std::all_of(places.begin(), places.end(),
                                          [&](const RollPlace& place) { return !place.fresh || has_stood(place); });
  if (!proven_) return step;
  if (!all_are_proven) {
    give_up_some(places, step);
    return step;
  }
  // The remaining old places have no fresh counterpart: their capsule is smaller now, or gone.
  for (const RollPlace& place : places) {
    if (is_old(place)) step.give_up.push_back(place.key);
  }
  step.verdict = RollStep::Verdict::done;
  return step;
}

// Gives up as many old places of each capsule as its fresh workers replace.
void RollPlan::give_up_some(const std::vector<RollPlace>& places, RollStep& step) const {
  std::map<std::string, int> spare;
  std::vector<const RollPlace*> old;
  for (const RollPlace& place : places) {
    if (place.fresh && (place.state == RollPlace::State::ready || has_stood(place))) ++spare[place.capsule];
    if (!place.fresh && place.state == RollPlace::State::given_up) --spare[place.capsule];
    if (is_old(place)) old.push_back(&place);
  }
  std::stable_sort(old.begin(), old.end(), [](const RollPlace* a, const RollPlace* b) { return loss(*a) < loss(*b); });
  for (const RollPlace* place : old) {
    if (spare[place->capsule]-- > 0) step.give_up.push_back(place->key);
  }
}

bool RollPlan::overstayed(const std::vector<RollPlace>& places, SteadyTime now) {
  for (const RollPlace& place : places) {
    if (!place.fresh || place.state != RollPlace::State::starting) continue;
    if (now - place.since >= longest_start_) {
      reason_ = fmt::format("a new worker was not ready after {:g} seconds",
                            std::chrono::duration<double>(longest_start_).count());
      return true;
    }
    next_look_ = std::min(next_look_.value_or(SteadyTime::max()), place.since + longest_start_);
  }
  return false;
}

bool RollPlan::stands_its_trial(const RollPlace& place, SteadyTime now) {
  if (place.began_a_job) return true;
  Sight& sight = sights_.try_emplace(place.key, Sight{place.since, now}).first->second;
  if (sight.ready_since != place.since) sight = {place.since, now};  // the sight is of an earlier worker
  sight.seen += std::min<std::chrono::nanoseconds>(now - sight.last_look, most_of_a_look);
  sight.last_look = now;
  return sight.seen >= trial;
}

void RollPlan::judge_trial(const std::vector<RollPlace>& places, SteadyTime now) {
  proven_ |= std::none_of(places.begin(), places.end(), [](const RollPlace& place) { return place.fresh; });
  for (const RollPlace& place : places) {
    if (!place.fresh || place.state != RollPlace::State::ready || has_stood(place)) continue;
    if (stands_its_trial(place, now))
      stood_.insert(place.key);
    else
      next_look_ = now + between_looks;  // the start of a job is not reported
  }
  proven_ |= !stood_.empty();
}

void RollPlan::start_some(const std::vector<RollPlace>& places, RollStep& step) const {
  auto under_way = std::count_if(places.begin(), places.end(), [&](const RollPlace& place) {
    return (is_coming(place) && !has_stood(place)) ||
           (!proven_ && place.fresh && place.state == RollPlace::State::ready);
  });
  for (const RollPlace& place : places) {
    if (under_way >= max_unavailable_) return;
    if (!place.fresh || place.state != RollPlace::State::waiting) continue;
    step.start.push_back(place.key);
    ++under_way;
  }
}

}  // namespace brood
