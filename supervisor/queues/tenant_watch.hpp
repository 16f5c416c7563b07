#pragma once

#include <chrono>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "shared/base/clock.hpp"
#include "shared/config/config.hpp"
#include "shared/redis/async_connection.hpp"
#include "shared/store/queues/known_queues.hpp"
#include "supervisor/process/event_loop.hpp"

namespace brood {

// Looks after tenants, in one supervisor of all that serve some.
//
// Other clients than brood's push without giving the tenant its turn.  So this reads all names slice by slice, again
// and again, and gives a tenant with jobs its turn, within two seconds.  It removes the names of tenants without jobs
// for a day from the list of queues.  If there are many names, it publishes those of the other queues, so that no other
// process must read tens of thousands.
class TenantWatch {
 public:
  struct Pace {
    std::chrono::nanoseconds pass = std::chrono::milliseconds(1500);           // over all names, if many
    std::chrono::nanoseconds between_slices = std::chrono::milliseconds(500);  // the longest pause between two slices
    std::chrono::nanoseconds census = std::chrono::hours(1);  // how often tenants without jobs are noted
    std::chrono::seconds idle_for = std::chrono::hours(24);   // a tenant without jobs for this long is forgotten
  };
  TenantWatch(EventLoop& loop, AsyncConnection& redis, std::string identity, Pace pace);
  TenantWatch(EventLoop& loop, AsyncConnection& redis, std::string identity)
      : TenantWatch(loop, redis, std::move(identity), Pace()) {}
  TenantWatch(const TenantWatch&) = delete;
  TenantWatch& operator=(const TenantWatch&) = delete;

  // Looks only while these capsules serve tenants, or take patterns and tenants are known.
  void set_capsules(const std::vector<CapsuleSettings>& capsules);
  void know(const KnownQueues& known);

  // Call this to begin, and again whenever Redis is back.  From then on it goes by itself.
  void look();
  void stop();

 private:
  using Results = std::vector<AsyncConnection::Result>;
  static constexpr std::chrono::seconds lifetime{4}, take_again{1}, keep_again{1};

  bool is_needed() const;
  void tick();
  void go_on(std::chrono::nanoseconds pause);
  void take_part();
  void read_slice();
  void note_slice(std::vector<std::string> tenants);
  void end_slice();
  void enter(const std::vector<std::string>& tenants);
  void end_pass();
  void forget_idle();
  std::chrono::nanoseconds between_slices() const;

  AsyncConnection::Scope redis_;
  const std::string identity_;
  const Pace pace_;
  Timer next_;
  bool watching_ = false, asking_ = false;
  bool serves_tenants_ = false, has_patterns_ = false, knows_tenants_ = false;
  NameSet paused_;

  bool has_part_ = false;
  SteadyTime kept_at_{};
  std::string position_;
  int slices_ = 0, slices_before_ = 1;
  std::int64_t names_ = 0;
  std::set<std::string> others_, published_;  // the names of a pass, with "images~*" for tenants
  SteadyTime published_at_{}, census_at_{};
  bool is_census_ = false;
};

}  // namespace brood
