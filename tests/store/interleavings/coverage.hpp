#pragma once

#include <utility>
#include <vector>

namespace brood::interleavings {

// How often events happened, over any number of runs.  A rule is tested only if it was needed.
struct Coverage {
  long commands = 0, kills = 0, host_deaths = 0, lost_replies = 0, fenced = 0, acknowledged = 0, charged = 0,
       given_back = 0, orphaned = 0, taken_back = 0, retired = 0, due_moved = 0, waits = 0, arrived = 0,
       fetched_behind = 0, waits_lost = 0, waits_refused = 0, quieted = 0, fields_lost = 0, flushes = 0,
       settled_without_field = 0, sweeps = 0, processes_lost = 0, commands_refused = 0, beats_missed = 0, kept_from = 0,
       judged = 0, unique_ended = 0, twins = 0, raised = 0, taken = 0, found_taken = 0, takes_fenced = 0, moves = 0,
       times_away = 0, left_behind = 0, jobs_left_behind = 0, left_unsettled = 0, killed_on_the_way = 0, orphans = 0,
       set_aside = 0, ran_capped = 0, returned_aside = 0, ran_in_order = 0, tenants_found = 0;

  std::vector<std::pair<const char*, long>> all() const {
    return {{"commands", commands},
            {"kills", kills},
            {"host deaths", host_deaths},
            {"lost replies", lost_replies},
            {"fenced", fenced},
            {"acknowledged", acknowledged},
            {"charged", charged},
            {"given back", given_back},
            {"orphaned", orphaned},
            {"taken back", taken_back},
            {"retired", retired},
            {"moved when due", due_moved},
            {"waits", waits},
            {"arrived", arrived},
            {"fetched behind a wait", fetched_behind},
            {"waits given up", waits_lost},
            {"waits refused", waits_refused},
            {"given back while quieting", quieted},
            {"fields lost", fields_lost},
            {"flushes", flushes},
            {"settled without a field", settled_without_field},
            {"sweeps", sweeps},
            {"processes lost", processes_lost},
            {"commands refused", commands_refused},
            {"heartbeats missed", beats_missed},
            {"kept from beginning", kept_from},
            {"judged and not settled", judged},
            {"unique jobs ended", unique_ended},
            {"twins", twins},
            {"raised", raised},
            {"locks taken to run", taken},
            {"locks found taken", found_taken},
            {"locks fenced", takes_fenced},
            {"moves between shards", moves},
            {"shards away", times_away},
            {"left behind", left_behind},
            {"jobs left behind", jobs_left_behind},
            {"left unsettled", left_unsettled},
            {"killed on the way", killed_on_the_way},
            {"orphans", orphans},
            {"set aside", set_aside},
            {"ran under a cap", ran_capped},
            {"returned from beside", returned_aside},
            {"ran in sequence", ran_in_order},
            {"tenants found", tenants_found}};
  }
};

}  // namespace brood::interleavings
