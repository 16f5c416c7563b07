#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>

#include "shared/base/identity.hpp"
#include "shared/redis/async_connection.hpp"
#include "supervisor/process/event_loop.hpp"
#include "supervisor/recovery/judge_supervisor_deaths.hpp"

namespace brood {

// Looks into Redis for jobs in flight that nobody beats for: those of dead supervisors, and the fields of our own
// identity that no slot names.  What it finds is reported at every look for as long as it is there.
class OrphanWatch {
 public:
  // Whoever takes over what is found: DeadSupervisors; tests listen.
  class Heir {
   public:
    virtual ~Heir() = default;
    virtual void handle(const DeadSupervisor& dead, SteadyTime now) = 0;
    virtual void handle_field(const std::string& field) = 0;  // "<slot>.<incarnation>" of our own in-flight hash
    // Every dead supervisor that is listed has been reported; `listed` names all others.
    virtual void end_look(const std::set<std::string>& listed) = 0;
  };
  // The fields of our identity that are in use: every slot's incarnation, adopted or only assigned, and every one whose
  // recovery is under way.
  using LivingFields = std::function<std::set<std::string>()>;

  OrphanWatch(EventLoop& loop, AsyncConnection& redis, Identity own, LivingFields living_fields, Heir& heir);
  ~OrphanWatch();
  OrphanWatch(const OrphanWatch&) = delete;
  OrphanWatch& operator=(const OrphanWatch&) = delete;

  // Looks now, unless a look is under way: at the start and with each heartbeat.  While a dead supervisor of this host
  // is still listed it looks again by itself every two seconds.
  void look();

  void stop();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace brood
