#pragma once

#include <array>
#include <string_view>

namespace brood {

// Faults that the random walk (tests/walk) must find.  Each is one line of the program.  A fault is active only if
// brood is built with its tests and the variable BROOD_PLANTED_BUG names it.
enum class PlantedBug {
  dead_job_keeps_its_lock,
  running_lock_outlives_its_run,
  unbegun_job_is_charged,
  unbegun_job_is_forgotten,
  requeued_job_gets_more_time,
  cap_has_a_place_more,
  dead_job_gives_no_reason,
  new_worker_knows_no_pause,
  lost_push_is_pushed_twice,
  set_aside_jobs_are_forgotten,
  dead_job_is_not_counted,
  failed_job_counts_as_done,
  callbacks_wait_for_no_push,
  step_waits_for_one_less,
  failed_job_lets_its_sequence_pass,
};

// Their names, in that order.
inline constexpr std::array<std::string_view, 15> planted_bugs{
    "dead_job_keeps_its_lock",      "running_lock_outlives_its_run", "unbegun_job_is_charged",
    "unbegun_job_is_forgotten",     "requeued_job_gets_more_time",   "cap_has_a_place_more",
    "dead_job_gives_no_reason",     "new_worker_knows_no_pause",     "lost_push_is_pushed_twice",
    "set_aside_jobs_are_forgotten", "dead_job_is_not_counted",       "failed_job_counts_as_done",
    "callbacks_wait_for_no_push",   "step_waits_for_one_less",       "failed_job_lets_its_sequence_pass"};

bool planted(PlantedBug bug);
// As planted(), but only the first four times that a process asks.
bool planted_at_first(PlantedBug bug);

}  // namespace brood
