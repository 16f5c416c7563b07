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

// A living process of Ruby's Sidekiq, as its heartbeat tells it.
struct RubyProcess {
  std::string identity;
  SidekiqRelease release = {};           // 6.0.0 where it names none: 6 does not
  std::vector<std::string> queues = {};  // that it fetches from
};

// `info` of the process `identity`.  nullopt: its heartbeat has ended, it is a brood process, or it cannot be read.
std::optional<RubyProcess> read_ruby_process(std::string_view identity, ReplyView info);

// The identities of all living processes but those that are listed as brood's own: so asking each costs little in a
// large fleet of brood's.  Two commands, of which a mere client may send only the first; nullopt: Redis does not tell.
std::vector<Command> ask_who_may_be_ruby();
std::optional<std::vector<std::string>> read_who_may_be_ruby(ReplyView processes, ReplyView broods);

// Sends commands at once and returns as many replies.
using AskRedis = std::function<std::vector<Reply>(const std::vector<Command>&)>;

// All that live, in two round trips; none where Redis refuses to tell.  Throws what `ask` throws.  A process of
// `broods` is known to be brood's, and is not asked for; those that are found to be are added, and those that have left
// are taken out.
std::vector<RubyProcess> ruby_processes(const AskRedis& ask, std::set<std::string, std::less<>>* broods = nullptr);

// nullopt: there are none.
std::optional<SidekiqRelease> oldest_release(const std::vector<RubyProcess>& processes);

// The unit of the times in what is pushed beside them: that in which the oldest reads times; the usual one where none
// runs.
TimeUnit times_beside(std::optional<SidekiqRelease> oldest);

// Which release of Sidekiq the fleet goes by: its oldest, since the newer ones read what that one writes.
class FleetRelease {
 public:
  // nullopt: no Ruby process lives.  Asks Redis once a minute at most.  Where `ask` throws, what was known before
  // holds, and a later call asks again: after two seconds, or after five times as long as `ask` took.
  std::optional<SidekiqRelease> oldest(const AskRedis& ask);
  // As it was told last.
  std::optional<SidekiqRelease> known() const { return oldest_; }

 private:
  std::optional<SidekiqRelease> oldest_;
  SteadyTime asks_again_at_{};
  std::set<std::string, std::less<>> broods_;  // of the processes
};

}  // namespace brood
