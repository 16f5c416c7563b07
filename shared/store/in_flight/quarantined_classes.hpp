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

// Classes whose jobs crash again and again at one place with the same libraries.  Those jobs wait in a set of their
// own, `brood:quarantined`, until an operator or other libraries release them.

// One such class.
struct QuarantinedClass {
  std::string libraries;    // the last four sets that it crashed with: "0123456789abcdef,..."
  std::string fingerprint;  // of the crash
  double since = 0;         // seconds since the epoch
  std::int64_t crashes = 0;
  int passed = 0;  // jobs on trial with other libraries that have ended without a crash
};
// By class.  Entries that cannot be read are left out.
using QuarantinedClasses = std::map<std::string, QuarantinedClass, std::less<>>;
Command ask_quarantined();
QuarantinedClasses read_quarantined(ReplyView reply);
// The set of the jobs that wait, as `set_key` of the functions in job_sets.hpp.
extern const std::string_view quarantined_set;

// From the configuration's [crashes].
struct QuarantineRules {
  int after = 0;  // so many crashes with one fingerprint; 0: never
  std::chrono::seconds within{600};
};

// One crash of a worker.  Sent twice it counts once.
struct QuarantineCrash {
  std::string job_class, fingerprint;
  std::string libraries;  // digest of those that were loaded, without a comma
  std::string worker;     // the worker that crashed: "<identity> <slot>.<incarnation>"
};
// Answers how often the fingerprint was seen within that time; and 1 if this crash put the class into quarantine, 2 if
// it was there already, else 0.
ScriptCall count_quarantine_crash(const QuarantineCrash& crash, const QuarantineRules& rules);
struct CountedCrash {
  std::int64_t crashes = 0;
  bool begins = false;
};
CountedCrash read_counted_crash(ReplyView reply);

// With other libraries the jobs of such a class are tried one at a time.  Answers 1 if this job may begin; its trial
// lasts ten minutes, prolonged by each keep_probe(), or a day if `is_kept` is false.  Answers 0 if another job is on
// trial, or if the class has crashed with `libraries` too, which the worker may not know yet.
ScriptCall begin_probe(std::string_view job_class, std::string_view jid, std::string_view libraries,
                       bool is_kept = true);
ScriptCall keep_probe(std::string_view job_class, std::string_view jid);
// The job does not begin after all, and another may try.
ScriptCall leave_probe(std::string_view job_class, std::string_view jid);
// The job has ended without a crash.  Answers 1 if that was enough and the class is free.
inline constexpr int probes_needed = 3;
ScriptCall pass_probe(std::string_view job_class, std::string_view jid);
// Whether a trial is under way: answers an integer.
Command ask_probe(std::string_view job_class);

// Among all workers with these libraries, one looks through the waiting jobs every few seconds: the one that claims it.
Command claim_quarantine_look(std::string_view libraries, std::chrono::milliseconds length);
bool read_claimed_look(ReplyView reply);

// Puts a waiting job back to the head of its queue.  Answers 1, or 0 if it is no longer there.
ScriptCall release_quarantined(std::string_view payload, std::string_view queue);
// Lifts the quarantine of a class, at an operator's order.  Its jobs are released afterwards.  Answers 1 if the class
// was in quarantine.
Command lift_quarantine(std::string_view job_class);
// Send it after lift_quarantine(): the crashes so far no longer count.
Command forget_quarantine_crashes(std::string_view fingerprint);

}  // namespace brood
