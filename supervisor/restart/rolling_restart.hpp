#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "shared/config/config.hpp"
#include "supervisor/control/control_socket.hpp"
#include "supervisor/control/progress_throttle.hpp"
#include "supervisor/process/child_check.hpp"
#include "supervisor/process/children.hpp"
#include "supervisor/process/event_loop.hpp"
#include "supervisor/restart/canary.hpp"
#include "supervisor/workers/generation/generation.hpp"
#include "supervisor/workers/places/roll_plan.hpp"
#include "supervisor/workers/worker_pool.hpp"
#include "supervisor/workers/worker_succession.hpp"

namespace brood {

// Where a rolling restart reads its next configuration.  A child reads the file first: it may contain anything, and
// parsing it must not harm the supervisor.
struct ConfigSource {
  std::function<ConfigFile()> file;  // the present one.  Throws ConfigError
  // In a child: reads the configuration, and writes what its libraries need to the descriptor.  Throws ConfigError.
  std::function<void(const ConfigFile&, const Config& present, int needed)> try_out;
  // The same in the supervisor, once that succeeded.
  std::function<std::shared_ptr<const Config>(const ConfigFile&, const Config& present, int needed)> read;
};

// Replaces the workers one after the other by those of a newly read configuration, or changes their number.
//
// It reads the configuration, checks it and its libraries in children, rolls, and watches the new workers for a while.
// It rolls back if that fails, or if the new workers do worse than the old ones: see Canary.  One restart runs at a
// time; one that is requested meanwhile begins after it.
class RollingRestart {
 public:
  enum class Outcome {
    done,
    refused,      // the configuration or a job library is unusable: nothing was changed
    rolled_back,  // the new workers failed: the old ones go on
    not_now,      // a stop came first, or another restart is under way
  };
  struct Result {
    Outcome outcome = Outcome::done;
    std::string reason;  // a sentence; empty when it is done
    bool is_scale = false;
    std::chrono::nanoseconds took{};
    WallTime at{};
  };
  enum class News {
    begun,
    capsules_changed,    // the capsules that workers fetch for: see Generations::capsules()
    generation_changed,  // present() has changed
    adopted,             // call conclude() once the supervisor uses it
    ended,               // no other restart begins at once
  };
  RollingRestart(EventLoop& loop, Children& children, WorkerSuccession& workers, ConfigSource source,
                 ProgramOf program_of);

  // The next event; nullopt if there is none.
  std::optional<News> next_news();

  // Each answers with a JSON object: {"outcome":"done","reason":null,...}.
  void restart(std::optional<ControlSocket::Reply> asked_by);
  void scale(int workers, const std::string& capsule, const ControlSocket::Reply& asked_by);

  // Answers when the restart under way ends.  If none is under way, answers at once: as for the last restart, or
  // "not_now" if there was none.
  void await(const ControlSocket::Reply& reply);

  // Logs that the restart is done, and answers the waiting clients.  Call it after News::adopted.
  void conclude() { end(Outcome::done, ""); }

  // Each turn.
  void advance(SteadyTime now);
  void note_end(const EndedWorker& worker, SteadyTime now);

  // Ends the restart under way and the waiting one.  The old workers stay.
  void abandon(const std::string& why);

  bool under_way() const { return step_ != Step::none || waiting_; }
  const std::shared_ptr<const Generation>& present() const { return present_; }
  // When the configuration and the libraries of the present workers were read, by the clock of Redis; nullopt: at the
  // start of this program.
  std::optional<WallTime> loaded_at() const { return loaded_at_; }
  std::string status() const;  // half a sentence for people; empty if there is nothing to report
  std::string json() const;    // {"under_way":..., "step":..., "last":..., "last_restart":..., "ended":{"done":...}}

 private:
  enum class Step {
    none,
    checking,
    rolling,
    watching,    // all workers are new, and the old ones can still be brought back
    proving,     // still watching; the shards to be removed must still be empty
    concluding,  // no way back: waits for conclude()
  };

  void begin();
  void begin_what_waits();
  int write_flaw_of_file(int to) const;
  void was_read();
  void checked(const std::string& refusal);
  // Checks whether the old workers could be brought back; if not, there is no canary.
  void check_return();
  void return_checked(const std::string& refusal);
  void bring_next();
  void roll();
  void go_on(SteadyTime now);
  bool rolls() const { return step_ == Step::rolling || all_are_new(); }
  bool all_are_new() const { return step_ == Step::watching || step_ == Step::proving; }
  int write_refusal(int to) const;
  void prove();
  void look_at_runs(SteadyTime now);
  void take_back(const Canary::Alarm& alarm);
  bool may_end(SteadyTime now);
  void succeed();
  // `why` is a copy: the caller's text may belong to something that is destroyed here.
  void fail(Outcome outcome, std::string why);
  void end(Outcome outcome, std::string why);
  std::string answer() const;
  bool nobody_is_fresh() const;
  void tell_progress(SteadyTime now);

  WorkerSuccession& workers_;
  const ConfigSource source_;
  const ProgramOf program_of_;
  std::deque<News> news_;
  ChildCheck check_;
  Timer wake_;  // for advance()

  std::shared_ptr<const Generation> present_, next_;
  std::uint32_t last_number_;  // of a generation
  Step step_ = Step::none;
  bool is_scale_ = false;
  std::optional<RollPlan> roll_;
  Canary canary_;
  bool has_canary_ = false;   // in this roll
  std::vector<int> leaving_;  // shards that the next configuration lacks
  ConfigFile file_;           // of the next configuration
  UniqueFd needed_;           // what its libraries need: see ConfigSource
  std::optional<SteadyTime> watched_since_;
  SteadyTime next_look_{};
  SteadyTime began_{};
  WallTime read_at_{};                 // the next configuration
  std::optional<WallTime> loaded_at_;  // the present one
  ProgressThrottle told_;
  std::vector<ControlSocket::Reply> clients_;
  std::optional<std::vector<ControlSocket::Reply>> waiting_;  // for the restart that comes after this one
  std::optional<Result> last_, last_restart_;                 // `last_` includes scales
  std::map<Outcome, int> ended_;                              // restarts, since this program began
};

}  // namespace brood
