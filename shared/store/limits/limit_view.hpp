#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "shared/redis/command.hpp"
#include "shared/redis/reply.hpp"
#include "shared/store/limits/limit.hpp"
#include "shared/store/script.hpp"

namespace brood {

// What there is to see of a limit.
struct LimitView {
  LimitKind kind = LimitKind::concurrent;
  std::int64_t amount = 0;
  std::chrono::milliseconds interval{0};
  double held = 0;  // slots, or what is used of the interval
  std::int64_t taken = 0, waited = 0, waited_ms = 0, over = 0;
  std::int64_t reclaimed = 0;        // slots of holders that have settled or died without giving them back
  std::vector<std::string> holders;  // of slots: "<identity>/<slot>.<incarnation>"
};

// The names of all that were used of late: read_name_list() reads the answer.
Command ask_limit_names();
ScriptCall show_limit(const std::string& name);
std::optional<LimitView> read_limit_view(
    ReplyView reply);  // nullopt: there is none of that name.  Throws UnexpectedReply

// Nothing of its interval is used from now on, and its counts begin anew; slots that are held stay so.
ScriptCall reset_limit(const std::string& name);
std::optional<std::int64_t> read_reset_limit(ReplyView reply);  // how many are held; nullopt: there is no such limit

}  // namespace brood
