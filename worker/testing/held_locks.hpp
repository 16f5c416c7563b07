#pragma once

#include <map>
#include <string>
#include <string_view>

#include "shared/api/push_writer.hpp"

namespace brood::testing {

// The locks of unique jobs, as Redis would keep them.
class HeldLocks {
 public:
  // What becomes of a push.
  enum class Taken {
    yes,      // it is pushed, with its lock if it has one
    waits,    // it is pushed, and begins once it has the lock
    refused,  // another job holds it, and the pusher is told which
  };
  Taken take(const ClientPush& push) {
    if (!push.lock) return Taken::yes;
    const auto [held, is_free] = holders_.try_emplace(push.lock->name, push.jid);
    if (is_free) return Taken::yes;
    if (push.lock->on_conflict == OnConflict::after) return Taken::waits;
    *push.lock->holder = held->second;
    return Taken::refused;
  }
  // It takes the place of the job that refused it.
  void hand_over(const ClientPush& push) {
    holders_[push.lock->name] = push.jid;
    push.lock->holder->clear();
  }
  // Whether a job that waits for its lock has it now.
  bool take_turn(std::string_view lock, std::string_view jid) {
    return holders_.try_emplace(std::string(lock), jid).first->second == jid;
  }
  bool is_free_for(std::string_view lock, std::string_view jid) const {
    const std::string held = holder(lock);
    return held.empty() || held == jid;
  }
  std::string holder(std::string_view lock) const {
    const auto held = holders_.find(std::string(lock));
    return held == holders_.end() ? std::string() : held->second;
  }
  void let_go(std::string_view jid) {
    std::erase_if(holders_, [&](const auto& one) { return one.second == jid; });
  }

 private:
  std::map<std::string, std::string> holders_;  // lock -> jid
};

// Whether this job lets go of its lock when it begins.
inline bool ends_at_start(std::string_view payload) {
  return payload.find("\"unique_until\":\"start\"") != payload.npos;
}

}  // namespace brood::testing
