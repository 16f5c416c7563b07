#pragma once

#include <map>
#include <string>
#include <string_view>

#include "shared/api/push_writer.hpp"

namespace brood::testing {

// The locks of unique jobs, as Redis would keep them.
class HeldLocks {
 public:
  // False: another job holds it, and the pusher is told which.
  bool take(const ClientPush& push) {
    if (!push.lock) return true;
    const auto [held, is_free] = holders_.try_emplace(push.lock->name, push.jid);
    if (!is_free) *push.lock->holder = held->second;
    return is_free;
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
