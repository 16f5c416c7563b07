#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "shared/base/clock.hpp"
#include "shared/base/sidekiq_release.hpp"
#include "shared/base/time_unit.hpp"
#include "shared/redis/command.hpp"
#include "shared/redis/reply.hpp"

namespace brood {

// A living process of Ruby's Sidekiq, from its heartbeat.
struct RubyProcess {
  std::string identity;
  SidekiqRelease release = {};           // 6.0.0 if it names none, as releases 6 do
  std::vector<std::string> queues = {};  // those that it fetches from
};

// Reads the `info` of the process `identity`.  nullopt if its heartbeat has ended, it is a brood process, or its info
// cannot be read.
std::optional<RubyProcess> read_ruby_process(std::string_view identity, ReplyView info);

// The identities of all living processes except those listed as brood's, so that a large brood fleet costs few
// queries.  There are two commands; a client without rights on brood's keys may send only the first.  nullopt if Redis
// refuses to answer.
std::vector<Command> ask_who_may_be_ruby();
std::optional<std::vector<std::string>> read_who_may_be_ruby(ReplyView processes, ReplyView broods);

// Sends commands together and returns as many replies.
using AskRedis = std::function<std::vector<Reply>(const std::vector<Command>&)>;

// All living processes of Ruby's Sidekiq, in two round trips; empty if Redis refuses to answer.  Throws what `ask`
// throws.  `broods` holds processes known to be brood's, which are not queried; processes that prove to be brood's are
// added, and those that have left removed.  It may be null.
std::vector<RubyProcess> ruby_processes(const AskRedis& ask, std::set<std::string, std::less<>>* broods = nullptr);

// nullopt if `processes` is empty.
std::optional<SidekiqRelease> oldest_release(const std::vector<RubyProcess>& processes);

// The unit of times in jobs that are pushed beside these processes: the one that the oldest release reads.  nullopt:
// there is no Ruby process, so the usual unit.
TimeUnit times_beside(std::optional<SidekiqRelease> oldest);

// The Sidekiq release that the fleet must suit: its oldest, since newer ones read what that one writes.
class FleetRelease {
 public:
  // nullopt if no Ruby process lives.  Asks Redis at most once a minute.  If `ask` throws, the earlier answer stays,
  // and a later call asks again: after two seconds, or after five times as long as `ask` took.
  std::optional<SidekiqRelease> oldest(const AskRedis& ask);
  // The last answer.
  std::optional<SidekiqRelease> known() const { return oldest_; }

 private:
  std::optional<SidekiqRelease> oldest_;
  SteadyTime asks_again_at_{};
  std::set<std::string, std::less<>> broods_;  // names of brood processes
};

}  // namespace brood
