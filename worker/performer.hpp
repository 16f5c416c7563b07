#pragma once

#include <optional>
#include <string>

#include "shared/config.hpp"
#include "shared/job/payload.hpp"
#include "shared/scoreboard.hpp"
#include "shared/seat.hpp"
#include "shared/store/outcome.hpp"
#include "worker/control.hpp"
#include "worker/job_meter.hpp"
#include "worker/job_registry.hpp"
#include "worker/memory_limit.hpp"
#include "worker/perform.hpp"
#include "worker/recycling.hpp"
#include "worker/standard_output.hpp"
#include "worker/surroundings.hpp"

namespace brood {

// Everything between a fetched payload and its outcome, for one worker's jobs one after the other: what the scoreboard
// says meanwhile, the limits that hold, what is measured and logged, and what is put right afterwards.
class Performer {
 public:
  Performer(const Config& config, const Seat& seat, WorkerSlot& slot, Control& control);

  // Throws LibraryError.
  void load_libraries();

  // Performs entry `entry` of the held batch; nullopt: the supervisor has taken it back.  Does not return when the
  // supervisor ends this worker for it.
  std::optional<Outcome> perform_entry(int entry, const std::string& text, const std::string& queue);

  // Before anything else runs: puts back what jobs may have changed and collects what they have left behind.
  void clean_up();

  // Why this worker is to be replaced by a new one; nullopt: it goes on.
  std::optional<RecycleReason> reason_to_recycle();
  const WorkerAge& age() const { return age_; }

 private:
  Performed perform_within_limits(const Payload& job, const std::string& queue, SteadyTime started);
  Outcome settle(int entry, const Payload& job, const std::string& queue, const Performed& performed,
                 SteadyTime started);
  Outcome bury(int entry, const std::string& text, const std::string& queue, const std::string& why);
  Outcome requeue(const Payload& job, SteadyTime started) const;
  JobHost job_host();
  std::optional<std::chrono::milliseconds> time_left() const;
  bool out_of_time() const;
  void end_entry(int entry, EntryState state);
  [[noreturn]] void wait_for_the_end();
  void end_if_a_copy(const Payload& job) const;

  const Config& config_;
  const Seat& seat_;
  WorkerSlot& slot_;
  Control& control_;
  StandardOutput output_;
  JobRegistry registry_;
  std::optional<Surroundings> surroundings_;  // once the libraries are loaded
  std::optional<MemoryLimit> memory_limit_;   // likewise
  JobMeter meter_;
  WorkerAge age_;
};

}  // namespace brood
