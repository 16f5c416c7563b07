#include "worker/job/limit_keeper.hpp"

#include <algorithm>
#include <utility>

#include "shared/base/clock.hpp"
#include "shared/base/log.hpp"
#include "shared/base/random.hpp"

namespace brood {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

constexpr milliseconds limits_answer_within = 2000ms;
constexpr milliseconds shortest_rest_of_limits = 50ms, longest_rest_of_limits = 1000ms;
// How often to look for free slots again: no bell is rung for a slot whose holder has settled or died.
constexpr milliseconds look_at_slots_again = 200ms;
constexpr milliseconds reply_of_bell_within = 2000ms;

Patience limits_patience(milliseconds longest = limits_answer_within) {
  return {.longest = longest, .longest_connect = limits_answer_within};
}

Reply call_script(Channel& redis, const ScriptCall& call) {
  return std::move(redis.call_patiently({call.command()}, limits_patience()).front());
}

bool may_work_later(ErrorKind kind) {
  return kind == ErrorKind::not_applied_retry || kind == ErrorKind::not_applied_reconnect;
}

LimitResult refused(std::string why) { return {LimitResult::Kind::refused, 0, std::move(why)}; }

}  // namespace

std::vector<LimitKeeper::Together> LimitKeeper::by_server(const std::vector<Limit>& limits) const {
  std::vector<Together> servers;
  for (std::size_t i = 0; i < limits.size(); ++i) {
    const LimitPlaces::Place place = places_.place_of(limits[i].name);
    auto server = std::find_if(servers.begin(), servers.end(),
                               [&](const Together& known) { return known.place.redis == place.redis; });
    if (server == servers.end()) server = servers.insert(server, Together{place, {}, {}});
    server->limits.push_back(limits[i]);
    server->numbers.push_back(i);
  }
  std::sort(servers.begin(), servers.end(),
            [](const Together& one, const Together& other) { return one.place.number < other.place.number; });
  return servers;
}

LimitResult LimitKeeper::take(const std::vector<Limit>& limits, milliseconds wait,
                              const std::function<bool()>& is_wanted) {
  begin_batch_anew();
  const SteadyTime begun = steady_now();
  std::vector<LimitUse> taken;
  for (const Together& together : by_server(limits)) {
    const auto waited = std::chrono::floor<milliseconds>(steady_now() - begun);
    LimitResult result = take_together(together, std::max(wait - waited, 0ms), is_wanted);
    if (result.kind != LimitResult::Kind::taken) {
      if (result.which < together.numbers.size()) result.which = together.numbers[result.which];
      give_back(taken);
      return result;
    }
    for (const Limit& limit : together.limits) {
      if (limit.kind == LimitKind::concurrent) {
        Slot& slot = slots_[limit.name];
        ++slot.depth;
        slot.taking = held_by_.taking;
      }
      taken.push_back({limit.name, limit.kind, limit.kind == LimitKind::points ? -limit.wanted : 0});
    }
  }
  return {};
}

LimitResult LimitKeeper::take_together(const Together& together, milliseconds wait,
                                       const std::function<bool()>& is_wanted) {
  Channel& redis = *together.place.redis;
  LimitHolder holder = held_by_;
  holder.elsewhere = together.place.elsewhere;
  const SteadyTime begun = steady_now();
  milliseconds rest = shortest_rest_of_limits;
  std::vector<Limit> limits = together.limits;
  bool said_away = false;
  for (milliseconds least = 0ms;; least = 1ms) {  // from the second try on it counts as having waited
    const auto waited = std::max(std::chrono::floor<milliseconds>(steady_now() - begun), least);
    const milliseconds left = std::max(wait - waited, 0ms);
    for (std::size_t i = 0; i < limits.size(); ++i) limits[i].defined_ago = together.limits[i].defined_ago + waited;
    std::string away;
    if (!is_wanted()) return {LimitResult::Kind::away};
    try {
      const Reply reply = call_script(redis, take_limits(holder, limits, left, waited));
      const ErrorKind kind = classify_error(reply.view().error());
      if (kind == ErrorKind::none) {
        const LimitAnswer answer = read_limit_answer(reply.view());
        if (answer.kind == LimitAnswer::Kind::taken) return {};
        if (!answer.elsewhere.empty() && forget_gone(redis, limits.at(answer.which).name, answer.elsewhere)) continue;
        if (answer.kind == LimitAnswer::Kind::over) return {LimitResult::Kind::over, answer.which, ""};
        if (!pause_(0ms)) return {LimitResult::Kind::away, answer.which, ""};
        if (answer.until_then >= 0ms) {
          if (!pause_(std::clamp(answer.until_then, 1ms, std::max(left, 1ms)))) return {LimitResult::Kind::away};
        } else {
          const milliseconds look = std::clamp(left, 1ms, look_at_slots_again);
          const std::vector<Reply> bell = redis.call_patiently({wait_for_slot(limits.at(answer.which).name, look)},
                                                               limits_patience(look + reply_of_bell_within));
          const bool may_not_wait_there = !bell.front().view().error().empty();
          if (may_not_wait_there && !pause_(look)) return {LimitResult::Kind::away};
        }
        continue;
      }
      away = reply.view().error();
      if (kind == ErrorKind::not_applied_reconnect) redis.disconnect();
      if (!may_work_later(kind)) return refused("the limits cannot be kept: " + away);
    } catch (const ConnectionLost& lost) {
      away = lost.what();
    } catch (const UnexpectedReply& strange) {
      return refused(strange.what());
    }
    if (!std::exchange(said_away, true)) log::warn("limits_wait_for_redis", {{"reason", away}});
    if (!pause_(std::chrono::ceil<milliseconds>(jittered(rest)))) return {LimitResult::Kind::away};
    rest = std::min(2 * rest, longest_rest_of_limits);
  }
}

// Frees the slots of holders that no longer hold.  Only the shard of a holder knows that.  If the shard does not
// answer, its holders keep their slots.
bool LimitKeeper::forget_gone(Channel& redis, const std::string& name, const std::vector<LimitHolder>& holders) {
  std::vector<LimitHolder> gone;
  for (const LimitHolder& holder : holders) {
    try {
      Channel* const there = places_.shard(holder.elsewhere);
      const bool is_configured = there != nullptr;
      const Reply told = std::move(
          (is_configured ? *there : redis)
              .call_patiently({is_configured ? ask_holder(holder) : ask_whether_owner_beats(holder)}, limits_patience())
              .front());
      const bool holds = is_configured ? read_still_holds(holder, told.view())
                                       : !told.view().is_integer() || told.view().integer() != 0;
      if (!holds) gone.push_back(holder);
    } catch (const ConnectionLost&) {
      continue;
    }
  }
  if (gone.empty()) return false;
  const Reply freed = call_script(redis, forget_holders(name, gone));
  return freed.view().is_integer() && freed.view().integer() > 0;
}

// Forgets the slots of an earlier holder: a settle frees all slots that were held before it.
void LimitKeeper::begin_batch_anew() {
  const LimitHolder holder = holder_();
  if (holder.member() == held_by_.member() && holder.number == held_by_.number) return;
  held_by_ = holder;
  slots_.clear();
}

void LimitKeeper::give_back(const std::vector<LimitUse>& uses) {
  std::vector<LimitUse> over;
  for (const LimitUse& use : uses) {
    if (use.kind == LimitKind::concurrent) {
      const auto slot = slots_.find(use.name);
      if (slot != slots_.end() && --slot->second.depth > 0) continue;
      over.push_back(use);
    } else if (use.kind == LimitKind::points && use.difference != 0) {
      over.push_back(use);
    }
  }
  if (!over.empty()) send_back(over);
}

void LimitKeeper::send_back(const std::vector<LimitUse>& uses) {
  std::map<std::pair<Channel*, unsigned>, std::pair<std::string, std::vector<LimitUse>>> together;
  for (const LimitUse& use : uses) {
    const LimitPlaces::Place place = places_.place_of(use.name);
    const auto slot = slots_.find(use.name);
    auto& [elsewhere, of_server] = together[{place.redis, slot == slots_.end() ? 0 : slot->second.taking}];
    elsewhere = place.elsewhere;
    of_server.push_back(use);
    if (slot != slots_.end() && use.kind == LimitKind::concurrent) slots_.erase(slot);
  }
  for (const auto& [where, of_server] : together) {
    LimitHolder holder = held_by_;
    holder.elsewhere = of_server.first;
    holder.taking = where.second;
    try {
      const Reply reply = call_script(*where.first, give_back_limits(holder, of_server.second));
      if (!reply.view().error().empty()) log::warn("limits_not_given_back", {{"reason", reply.view().error()}});
    } catch (const ConnectionLost& lost) {
      ++held_by_.taking;  // the call may arrive later, when the next job of the batch holds the same limit
      log::warn("limits_not_given_back", {{"reason", lost.what()}, {"hint", "they end with the settle of the job"}});
    }
  }
}

}  // namespace brood
