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

// A crash that a job is charged for.  It is noted for people, and counted for the quarantine of its class.
struct ChargedCrash {
  Crash crash;
  std::string job_class;  // as in the payload
};

// nullopt for a job that a user ended by hand: it has not crashed.
std::optional<ChargedCrash> charged_crash(const WorkerDeath& worker_death, const Payload& job, const std::string& queue,
                                          const CrashReport& report);

// The same with only the facts that the quarantine needs, which are known at once.
std::optional<ChargedCrash> charged_crash(const WorkerDeath& worker_death, const Payload& job);

// Notes it in the book of crashes.  Throws nothing: the book is for people, and a crash that it lacks is in the job's
// record and in the log all the same.
void note_for_people(Channel& redis, const ChargedCrash& charged);

// Counts it, after which the jobs of the class may have to wait.  Throws nothing: if Redis does not answer, they run
// on.
void count_for_quarantine(Channel& redis, const ChargedCrash& charged, const WorkerDeath& worker_death,
                          const QuarantineRules& rules);

}  // namespace brood
