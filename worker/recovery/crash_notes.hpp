#pragma once

#include <optional>
#include <string>

#include "shared/config/config.hpp"
#include "shared/job/payload.hpp"
#include "shared/redis/connection.hpp"
#include "shared/store/in_flight/crash_book.hpp"
#include "shared/store/in_flight/quarantined_classes.hpp"
#include "shared/store/in_flight/worker_death.hpp"
#include "worker/crash/crash_report.hpp"

namespace brood {

// A crash that a job is charged for, as it is noted for people and counted for the quarantine of its class.
struct ChargedCrash {
  Crash crash;
  std::string job_class;  // as the payload calls it
};

// nullopt: a job that a user ended by hand has not crashed.
std::optional<ChargedCrash> charged_crash(const WorkerDeath& worker_death, const Payload& job, const std::string& queue,
                                          const CrashReport& report);

// The same with no more than the quarantine needs, which is known at once.
std::optional<ChargedCrash> charged_crash(const WorkerDeath& worker_death, const Payload& job);

// Notes it in the book of crashes.  The book is for people: a crash that it lacks is in its job's record and in the log
// all the same, so nothing is thrown.
void note_for_people(Channel& redis, const ChargedCrash& charged);

// From now on the class's jobs may have to wait.  If Redis does not answer, they go on crashing: nothing is thrown.
void count_for_quarantine(Channel& redis, const ChargedCrash& charged, const WorkerDeath& worker_death,
                          const QuarantineRules& rules);

}  // namespace brood
