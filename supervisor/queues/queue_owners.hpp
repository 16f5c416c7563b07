#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "shared/base/clock.hpp"
#include "shared/base/sidekiq_release.hpp"
#include "shared/redis/async_connection.hpp"
#include "shared/store/report/ruby_processes.hpp"

namespace brood {

// The queues that live processes serve according to their heartbeats, and the oldest release of Ruby's Sidekiq among
// them. Pure.
class QueueOwners {
 public:
  // Adds one process, by the JSON of its heartbeat.
  void add(std::string_view info, bool is_brood);

  // Whether Ruby processes serve the queue and no brood process does.  Then Ruby's scheduler should push its jobs,
  // through the middleware of Ruby's client.
  bool are_ruby_alone(std::string_view queue) const;

  // nullopt if no Ruby process lives.
  std::optional<SidekiqRelease> oldest() const { return oldest_; }
  void set_oldest(std::optional<SidekiqRelease> oldest) { oldest_ = oldest; }

 private:
  std::set<std::string, std::less<>> broods_, rubys_;
  std::optional<SidekiqRelease> oldest_;
};

// Asks Redis which processes serve which queues.  `own` counts as brood's from the start: its workers list it only when
// they register.
class QueueOwnersLook {
 public:
  QueueOwnersLook(AsyncConnection& redis, std::string own) : redis_(redis), own_(std::move(own)) {}

  // Calls `then` with a recent answer or a new one; with the previous one if Redis does not answer.  A process whose
  // heartbeat Redis refuses to show counts as serving nothing.
  using Then = std::function<void(const QueueOwners&)>;
  void look(const Then& then);

 private:
  struct Process {
    std::string identity;
    bool is_brood = false;
  };
  struct Asked {
    std::vector<Process> now, later;
  };
  struct Found {
    QueueOwners owners;
    std::vector<RubyProcess> rubys;
    void add(const Process& process, ReplyView reply);
  };
  void ask_of(Asked asked, Found found, const Then& then);
  void answer(Found found, const Then& then);

  AsyncConnection::Scope redis_;
  const std::string own_;
  QueueOwners known_;
  SteadyTime known_at_{};
  int asked_ = 0;  // number of processes that were asked for this answer
};

}  // namespace brood
