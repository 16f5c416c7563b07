#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "shared/base/clock.hpp"
#include "shared/redis/command.hpp"
#include "shared/redis/reply.hpp"

namespace brood {

// Marks of deployments in the graphs of Sidekiq's metrics, to the minute.

// Each machine of a deploy tries to mark it.  Only the first one within a minute gets this permission.
Command may_mark_deploy(std::string_view label, WallTime at);
bool read_may_mark(ReplyView reply);
// Send them as a transaction.
std::vector<Command> mark_deploy(std::string_view label, WallTime at);

// The marks of a day, in UTC.
Command ask_deploy_marks(WallTime day);
struct MarkOfDeploy {
  WallTime at{};
  std::string label;
};
// The earliest first.  Entries that are no marks are left out: other programs may write there.
std::vector<MarkOfDeploy> read_deploy_marks(ReplyView reply);

}  // namespace brood
