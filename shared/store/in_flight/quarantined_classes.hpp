#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "shared/redis/command.hpp"
#include "shared/redis/reply.hpp"
#include "shared/store/script.hpp"

namespace brood {

// Classes whose jobs crash again and again at one place with the same libraries: those jobs wait in a set of their own,
// `brood:quarantined`, until they are released by hand or by other libraries.

// What is known of one such class.
struct QuarantinedClass {
  std::string libraries;    // those that it crashed with, the last four sets of them: "0123456789abcdef,..."
  std::string fingerprint;  // of the crash
  double since = 0;         // seconds since the epoch
  std::int64_t crashes = 0;
  int passed = 0;  // jobs that have ended without a crash since other libraries came
};
// By class; what cannot be read is left out.
using QuarantinedClasses = std::map<std::string, QuarantinedClass, std::less<>>;
Command ask_quarantined();
QuarantinedClasses read_quarantined(ReplyView reply);
// The jobs that wait: `set_key` to the functions of job_sets.hpp.
extern const std::string_view quarantined_set;

// As the configuration's [crashes] has them.
struct QuarantineRules {
  int after = 0;  // so many crashes with one fingerprint; 0: never
  std::chrono::seconds within{600};
};

// One crash of a worker.  Sent twice it counts once.
struct QuarantineCrash {
  std::string job_class, fingerprint;
  std::string libraries;  // digest of those that were loaded, without a comma
  std::string worker;     // which worker of which supervisor died of it: "<identity> <slot>.<incarnation>"
};
// Answers how often the fingerprint was seen within the time; and 1 if the class is in quarantine for it from now on,
// 2 if it was so already.
ScriptCall count_quarantine_crash(const QuarantineCrash& crash, const QuarantineRules& rules);
struct CountedCrash {
  std::int64_t crashes = 0;
  bool begins = false;
};
CountedCrash read_counted_crash(ReplyView reply);

// With other libraries its jobs are tried one at a time.  Answers 1 where this job is the one, for ten minutes, if
// keep_probe() lengthens that as long as it runs, else for a day.  Answers 0 if the class has crashed with `libraries`
// too, which the worker may not know yet.
ScriptCall begin_probe(std::string_view job_class, std::string_view jid, std::string_view libraries,
                       bool is_kept = true);
ScriptCall keep_probe(std::string_view job_class, std::string_view jid);
// It does not begin after all, and another may try.
ScriptCall leave_probe(std::string_view job_class, std::string_view jid);
// It has ended without a crash.  Answers 1 when that was enough, and the class is free.
inline constexpr int probes_needed = 3;
ScriptCall pass_probe(std::string_view job_class, std::string_view jid);
// Whether one is under way: answers an integer.
Command ask_probe(std::string_view job_class);

// Of all workers with these libraries one looks through what waits, every few seconds.
Command claim_quarantine_look(std::string_view libraries, std::chrono::milliseconds length);
bool read_claimed_look(ReplyView reply);

// Puts a job that waits back to the head of its queue.  Answers 1, or 0 where it is not there any more.
ScriptCall release_quarantined(std::string_view payload, std::string_view queue);
// Of one class, by hand: the jobs wait on, and are released after that.  Answers 1 if it was in quarantine.
Command lift_quarantine(std::string_view job_class);
// Then: the crashes until now do not count any more.
Command forget_quarantine_crashes(std::string_view fingerprint);

}  // namespace brood
