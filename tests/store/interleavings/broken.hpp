#pragma once

#include "shared/redis/connection.hpp"

namespace brood::interleavings {

// Rules that a run can switch off, to show why each is needed.
struct Broken {
  bool numbers_unchecked = false;         // the script settles with any number
  bool recovery_unchecked = false;        // the recovery judges the list by the scoreboard with any number
  bool incarnations_reused = false;       // a refilled slot keeps its predecessor's name
  bool number_before_clearing = false;    // the new batch's number is set while the old one's states are there
  bool tombstones_omitted = false;        // nothing keeps a dead worker's late BLMOVE from moving a job
  bool waits_unannounced = false;         // a settle does not name the queue that its worker waits on next
  bool resends_renumbered = false;        // an unanswered settle is sent again as if it were the next one
  bool lost_fields_abandoned = false;     // what a worker holds when its field is lost stays where it is
  bool lost_entries_unchecked = false;    // without a field, outcomes apply to any entries in the list
  bool living_swept = false;              // a list without a field is given back though its owner lives
  bool dead_without_field_left = false;   // a dead worker whose field is lost is not recovered
  bool refusals_ignored = false;          // a settle goes on though the user may not do what it has just tried
  bool old_beats_ignored = false;         // jobs are begun though another host may soon adopt them
  bool adoptions_unchecked = false;       // a supervisor is recovered although its heartbeat is there again
  bool lapses_ignored = false;            // jobs fetched before a lapse of the heartbeat are begun after it
  bool notes_unheeded = false;            // notes of a dead worker about its failed jobs are not read
  bool locks_kept_at_settle = false;      // the settle that ends a job leaves its lock to a later command
  bool locks_kept_at_recovery = false;    // the recovery that ends a job leaves its lock
  bool locks_let_go_by_anybody = false;   // a lock is let go even if another job holds it by now
  bool locks_let_go_by_failures = false;  // a failure that is retried lets go as well
  bool takes_unfenced = false;            // a dead worker's late request still takes what it asks for
  bool late_takes_unseen = false;         // the recovery reads the note once and lets go of what it had then
  bool holdings_unheeded = false;         // the recovery lets go of nothing that the incarnation held
  bool kept_without_field = false;        // a worker whose field is lost does not let go
  bool moves_unsettled = false;           // a worker goes to another shard without settling what it has done
  bool moves_before_leaving = false;      // a worker goes to another shard before it has left the first
  bool leaves_unsettled = false;          // a worker leaves a shard that is away as if it had done nothing there
  bool left_behind_forgotten = false;   // jobs that a worker has left behind in a shard that is away are not recovered
  bool left_behind_unnamed = false;     // jobs under recovery pass for orphans
  bool recovered_where_called = false;  // a dead worker's jobs are looked for in the shard that it was called to

  // Rules of caps, which a quarter of the seeds have.
  bool places_unchecked = false;           // jobs are fetched whether or not a place is free
  bool places_unnoted = false;             // a fetching worker does not note its place
  bool unnoted_places_taken = false;       // a fetching worker goes on although it may not note its place
  bool places_kept_at_settle = false;      // a settle leaves the place to a later recovery
  bool places_kept_at_recovery = false;    // settles free places, and recoveries do not
  bool places_freed_at_death = false;      // a place is free once its worker has died, before its recovery
  bool places_freed_by_anybody = false;    // a late settle frees a place that is another worker's
  bool caps_end_beside_queues = false;     // jobs set aside do not count for the cap of their queue
  bool set_aside_apart = false;            // the settle takes a job away, and its worker pushes it aside afterwards
  bool asides_pass_for_done = false;       // the slot shows a job that is set aside as succeeded
  bool asides_end_without_field = false;   // a worker that has lost its field ends what it has set aside
  bool asides_forgotten = false;           // a queue of set aside jobs is forgotten while a worker has one of them
  bool asides_returned_backwards = false;  // jobs set aside go back with the newest first
};

// Changes the command of a worker or a recovery according to the rules that are switched off.  `last_was_lost`: whether
// its sender's last command was lost.
void without_rules(const Broken& broken, Command& command, bool last_was_lost);

bool settles_without_field(const Command& command);

}  // namespace brood::interleavings
