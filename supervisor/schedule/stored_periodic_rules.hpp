#pragma once

#include <functional>
#include <set>
#include <string>
#include <utility>

#include "shared/base/clock.hpp"
#include "shared/redis/async_connection.hpp"
#include "shared/store/periodic/periodic_jobs.hpp"
#include "supervisor/process/event_loop.hpp"
#include "supervisor/schedule/registered_periodic_jobs.hpp"

namespace brood {

// The periodic jobs whose rules lie in one Redis, where `brood periodic add` and brood::Periodic write them.
//
// It looks at each reported change, and every two minutes; if changes are not reported, every five seconds.  While
// Redis is away, the known rules stay.  A rule that cannot be used is logged once and left out.
class StoredPeriodicRules {
 public:
  // `read` is called after each look, with whether jobs() has changed.
  StoredPeriodicRules(EventLoop& loop, AsyncConnection& redis, std::function<void(bool have_changed)> read);
  StoredPeriodicRules(const StoredPeriodicRules&) = delete;
  StoredPeriodicRules& operator=(const StoredPeriodicRules&) = delete;

  // Call it to begin, or to look now because something has changed.  From then on it repeats by itself.
  void look();
  // Whether look() is called for every change from now on.
  void rely_on_reports(bool told);
  void stop();

  const PeriodicJobSettings& jobs() const { return jobs_; }

  // Moves the rules to the Redis of `home(name)`, one after the other, because this one is drained.  A rule that has
  // been removed or replaced meanwhile is left alone.
  void move_to(const std::function<StoredPeriodicRules*(const std::string& name)>& home);

 private:
  void ask();
  void read(ReplyView reply);
  void look_later();
  void move(const std::string& name, const std::string& rule, StoredPeriodicRules& home);

  AsyncConnection::Scope redis_;
  const std::function<void(bool)> tell_;
  Timer next_;
  bool looking_ = false, asking_ = false, look_again_ = false, is_told_ = false;
  PeriodicJobSettings jobs_;
  std::set<std::string> moving_;                        // names
  std::set<std::pair<std::string, std::string>> said_;  // names, and what is wrong with them
};

}  // namespace brood
