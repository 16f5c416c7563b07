#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "shared/base/clock.hpp"
#include "shared/base/identity.hpp"
#include "shared/redis/async_connection.hpp"
#include "shared/store/report/owners.hpp"
#include "supervisor/process/event_loop.hpp"
#include "supervisor/recovery/judge_supervisor_deaths.hpp"

namespace brood {

// Looks in Redis for jobs in flight that no living process looks after: those of dead supervisors, and fields of our
// own identity that no slot names.  Each look reports them again for as long as they are there.
//
// A look costs a few commands, however many supervisors there are.  The list is read again only when it has changed.
// One command counts the heartbeats of a hundred supervisors; only if one is missing, each of them is asked for.  The
// next look goes on with the supervisors that follow by name.  Each supervisor begins at its own name, so together they
// soon see all.
class OrphanWatch {
 public:
  // Receives the findings of a look: DeadSupervisors.
  class Listener {
   public:
    virtual ~Listener() = default;
    virtual void handle(const DeadSupervisor& dead, SteadyTime now) = 0;
    virtual void handle_field(const std::string& field) = 0;  // "<slot>.<incarnation>" of our own in-flight hash
    // Called once every listed dead supervisor has been reported; `listed` names all others.
    virtual void end_look(const std::set<std::string>& listed, SteadyTime now) = 0;
  };
  // The fields of our identity that are in use: every slot's incarnation, adopted or only assigned, and every one under
  // recovery.
  using LivingFields = std::function<std::set<std::string>()>;

  OrphanWatch(EventLoop& loop, AsyncConnection& redis, Identity own, LivingFields living_fields, Listener& listener);
  OrphanWatch(const OrphanWatch&) = delete;
  OrphanWatch& operator=(const OrphanWatch&) = delete;

  // Call it when the list of supervisors has changed.
  void note_change() { changed_ = true; }
  // Whether note_change() will be called for each change.  If not, each look reads the list.
  void rely_on_reports(bool told) { is_told_ = told; }

  // Looks now, unless a look is under way; called at the start and with each heartbeat.  While a dead supervisor of
  // this host is still listed, it looks again by itself every two seconds.
  void look();

  void stop();

 private:
  using Sightings = std::vector<SupervisorDeathJudge::Sighting>;
  using Results = std::vector<AsyncConnection::Result>;

  bool must_read_list() const;
  void read_list(ReplyView records);
  std::vector<Identity> of_standing(SupervisorDeathJudge::Standing standing) const;
  void ask_of_each(std::vector<Identity> asked);
  void read_each(const std::vector<Identity>& asked, const Results& results);
  void ask_of_the_next();
  void end_look();
  void report_orphan_fields(const std::vector<std::string>& fields) const;
  void forget_what_was_seen();
  template <typename Read>
  void ask(const std::vector<Command>& commands, Read read);

  AsyncConnection::Scope redis_;
  const Identity own_;
  SupervisorDeathJudge judge_;
  const LivingFields living_fields_;
  Listener& listener_;
  Timer again_;
  bool looking_ = false, stopped_ = false;
  std::set<std::string> living_before_;  // when the look was sent

  std::vector<Identity> others_;  // on the list, by name
  bool changed_ = true, is_told_ = false;
  SteadyTime list_read_{};
  std::string asked_last_;  // a name: the next look begins behind it

  // During a look:
  Sightings sightings_;
  std::string conversation_;
  std::vector<Identity> unasked_;           // heartbeats that may still be counted
  std::set<std::string> reported_records_;  // of owners that we cannot read
};

}  // namespace brood
