#include "worker/testing/held_locks.hpp"

#include <algorithm>

#include "shared/job/payload.hpp"
#include "shared/job/uniqueness.hpp"

namespace brood::testing {
namespace {

std::optional<SteadyTime> end_of(std::chrono::milliseconds longest) {
  return longest.count() > 0 ? std::optional(steady_now() + longest) : std::nullopt;
}

}  // namespace

HeldLocks::Held* HeldLocks::find(std::string_view lock) {
  const auto found = locks_.find(lock);
  if (found == locks_.end()) return nullptr;
  if (!found->second.until || steady_now() < *found->second.until) return &found->second;
  locks_.erase(found);
  return nullptr;
}

bool HeldLocks::take(std::string_view lock, std::string_view jid, std::chrono::milliseconds longest) {
  if (const Held* const held = find(lock)) return held->jid == jid;
  locks_[std::string(lock)] = {std::string(jid), end_of(longest)};
  return true;
}

HeldLocks::Taken HeldLocks::take(const ClientPush& push) {
  if (!push.lock) return Taken::yes;
  const ClientPush::Lock& lock = *push.lock;
  Held* const held = find(lock.name);
  if (held == nullptr) {
    take(lock.name, push.jid, lock.longest);
    return Taken::yes;
  }
  const bool is_anothers = held->jid != push.jid;
  if (is_anothers && lock.on_conflict == OnConflict::after) return Taken::yes;
  if (is_anothers && lock.on_conflict == OnConflict::extend && held->until)
    held->until = std::max(held->until, end_of(lock.longest));
  *lock.holder = held->jid;
  return Taken::refused;
}

void HeldLocks::hand_over(const ClientPush& push) {
  locks_[push.lock->name] = {push.jid, end_of(push.lock->longest)};
  push.lock->holder->clear();
}

HeldLocks::Turn HeldLocks::take_turn(std::string_view payload) {
  if (!may_be_unique(payload)) return Turn::begins;
  const Payload job = Payload::parse(payload);
  const std::optional<Uniqueness> unique = uniqueness_of(job);
  if (!unique) return Turn::begins;
  const bool waits = unique->on_conflict == OnConflict::after;
  if (unique->until == Uniqueness::Until::running) {
    if (running_.try_emplace(unique->lock, job.jid()).second) return Turn::begins;
    return waits ? Turn::waits : Turn::dropped;
  }
  // The lock is the one that its push named: the payload may have been encrypted since.
  const std::optional<std::string> lock = job.string("unique_lock");
  if (!lock) return Turn::begins;
  if (waits && !take(*lock, job.jid(), unique->longest)) return Turn::waits;
  const Held* const held = unique->until == Uniqueness::Until::start ? find(*lock) : nullptr;
  if (held != nullptr && held->jid == job.jid()) locks_.erase(*lock);
  return Turn::begins;
}

std::string HeldLocks::holder(std::string_view lock) {
  const Held* const held = find(lock);
  return held == nullptr ? std::string() : held->jid;
}

void HeldLocks::let_go(std::string_view jid) {
  std::erase_if(locks_, [&](const auto& one) { return one.second.jid == jid; });
  std::erase_if(running_, [&](const auto& one) { return one.second == jid; });
}

}  // namespace brood::testing
