#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "shared/redis/keyspace.hpp"
#include "shared/store/worker_field.hpp"

// Every key that brood reads or writes.  No other code spells a key.
namespace brood::keys {

// Sidekiq's.
inline constexpr FixedKey queues{"queues"};
inline constexpr FixedKey schedule{"schedule"};
inline constexpr FixedKey retry{"retry"};
inline constexpr FixedKey dead{"dead"};
inline constexpr FixedKey paused{"paused"};
inline constexpr FixedKey processes{"processes"};
inline constexpr FixedKey leader{"dear-leader"};
inline constexpr FixedKey process_cleanup{"process_cleanup"};
inline constexpr FixedKey stat_processed{"stat:processed"};
inline constexpr FixedKey stat_failed{"stat:failed"};

// `day` is YYYY-MM-DD in UTC.
inline RedisKey processed_on(std::string_view day) { return RedisKey("stat:processed:" + std::string(day)); }
inline RedisKey failed_on(std::string_view day) { return RedisKey("stat:failed:" + std::string(day)); }

// Marks of deployments; `day` is YYYYMMDD in UTC.
inline RedisKey deploy_marks(std::string_view day) { return RedisKey(std::string(day) + "-marks"); }
inline RedisKey deploy_lock(std::string_view label) { return RedisKey("deploylock-" + std::string(label)); }

inline RedisKey queue(std::string_view name) { return RedisKey("queue:" + std::string(name)); }
inline RedisKey heartbeat(std::string_view identity) { return RedisKey(identity); }
inline RedisKey work(std::string_view identity) { return RedisKey(std::string(identity) + ":work"); }
inline RedisKey workers_of_6(std::string_view identity) {
  return RedisKey(std::string(identity) + ":workers");
}  // for readers of Sidekiq 6.4.1
inline RedisKey signals(std::string_view identity) { return RedisKey(std::string(identity) + "-signals"); }
inline RedisKey iteration(std::string_view jid) { return RedisKey("it-" + std::string(jid)); }

// brood's own.
inline constexpr FixedKey brood_processes{"brood:processes"};
// Beside Sidekiq's fields in a heartbeat: the token that its writer left last.
inline constexpr std::string_view beat_token_field = "brood_token";
// In the heartbeat of a supervisor of brood: its state, as text_of() a SupervisorState.
inline constexpr std::string_view supervisor_state_field = "brood_state";
// Held by the command that restarts a fleet.
inline constexpr FixedKey fleet_lease{"brood:fleet_lease"};
inline constexpr FixedKey brood_scheduler{"brood:scheduler"};
inline constexpr FixedKey brood_metrics_teller{"brood:metrics_teller"};
// Tenants of queues: whose turn it is, those that left their turn with jobs, and more that tenants/tenants.hpp lists.
inline RedisKey tenants(std::string_view base) { return RedisKey("brood:tenants:" + std::string(base)); }
inline RedisKey tenants_away(std::string_view base) { return RedisKey("brood:tenants_away:" + std::string(base)); }
inline constexpr FixedKey brood_tenants_watch{"brood:tenants_watch"};  // which supervisor looks for filled tenants
inline constexpr FixedKey brood_tenants_idle{"brood:tenants_idle"};    // tenants without jobs, since when
inline constexpr FixedKey brood_queues{"brood:queues"};  // the names of `queues`, with "images~*" for all its tenants
inline constexpr FixedKey brood_queues_next{"brood:queues:next"};  // those while they are written
// How often a payload came back from workers whose end no supervisor saw.  The scripts that count it also spell it.
inline RedisKey brood_recovered(std::string_view sha1_of_payload) {
  return RedisKey("brood:recovered:" + std::string(sha1_of_payload));
}
inline constexpr FixedKey brood_crashes{"brood:crashes"};
inline constexpr FixedKey brood_crash_stacks{"brood:crash_stacks"};
inline constexpr FixedKey brood_crash_counts{"brood:crash_counts"};
inline constexpr FixedKey brood_crash_times{"brood:crash_times"};
inline constexpr FixedKey brood_crash_days{"brood:crash_days"};
// Classes whose jobs wait because they crash: the classes, the jobs, the crashes that count, the job on trial.
inline constexpr FixedKey brood_quarantine{"brood:quarantine"};
inline constexpr FixedKey brood_quarantined{"brood:quarantined"};
inline constexpr FixedKey brood_paused_classes{"brood:paused_classes"};
inline constexpr FixedKey brood_class_pauses{"brood:class_pauses"};  // why, and until when
inline RedisKey quarantine_crashes(std::string_view fingerprint) {
  return RedisKey("brood:quarantine:crashes:" + std::string(fingerprint));
}
inline RedisKey quarantine_probe(std::string_view job_class) {
  return RedisKey("brood:quarantine:probe:" + std::string(job_class));
}
inline RedisKey quarantine_look(std::string_view libraries) {
  return RedisKey("brood:quarantine:look:" + std::string(libraries));
}
// Limits of jobs.  `brood_limits` has all names, each with the time from which it may be forgotten.  A limit has its
// definition; what is used of it (of slots the holders, each with the number of its last settle); a mark that a worker
// waits for a slot; and the list on which such a worker waits.
inline constexpr FixedKey brood_limits{"brood:limits"};
inline RedisKey limit(std::string_view name) { return RedisKey("brood:limit:" + std::string(name)); }
inline RedisKey limit_used(std::string_view name) { return RedisKey(limit(name).name() + ":used"); }
inline RedisKey limit_waited_for(std::string_view name) { return RedisKey(limit(name).name() + ":waited_for"); }
inline RedisKey limit_bell(std::string_view name) { return RedisKey(limit(name).name() + ":bell"); }
// Caps of queues: the maximum of each, by name; the queues in which jobs wait for a place; and for each cap the
// in-flight lists that may hold a place of it.
inline constexpr FixedKey brood_caps{"brood:caps"};
inline constexpr FixedKey brood_set_aside{"brood:set_aside"};
inline RedisKey cap(std::string_view name) { return RedisKey("brood:cap:" + std::string(name)); }
// The usage of classes on a day (YYYY-MM-DD, UTC): a hash of `<class>|runs`, `|failed`, `|crashed`, `|cpu_us`,
// `|wall_us` and `|peak_rss_kb`.
inline RedisKey brood_usage(std::string_view day) { return RedisKey("brood:usage:" + std::string(day)); }

// The number of the last batch of one client that keeps pushes while Redis is away.
inline constexpr FixedKey wait_mark{"brood:pushes:wait_mark"};  // written before WAIT, see mark_for_wait()
inline RedisKey pushes(std::string_view client) { return RedisKey("brood:pushes:" + std::string(client)); }

inline RedisKey report(std::string_view jid) { return RedisKey("brood:report:" + std::string(jid)); }

// A unique lock holds a jid.  A lock of a running job holds the incarnation that runs it.  `digest` is base64url of
// SHA-256.
inline RedisKey unique_lock(std::string_view digest) { return RedisKey("brood:unique:" + std::string(digest)); }
inline RedisKey running_lock(std::string_view digest) { return RedisKey("brood:running:" + std::string(digest)); }

// Periodic jobs: all names, each with the time at which a supervisor last announced that it serves the job; the rules
// that were added at run time, by name; and for each job a hash of its state, and a list of what became of its last
// ticks.
inline constexpr FixedKey brood_periodic{"brood:periodic"};
inline constexpr FixedKey brood_periodic_rules{"brood:periodic:rules"};
inline RedisKey periodic_state(std::string_view name) { return RedisKey("brood:periodic:job:" + std::string(name)); }
inline RedisKey periodic_history(std::string_view name) {
  return RedisKey("brood:periodic:history:" + std::string(name));
}

// The job classes that workers publish: a document for each build; and for each build since when its workers are seen,
// and when they were last seen.
inline constexpr FixedKey brood_classes{"brood:classes"};
inline constexpr FixedKey brood_classes_seen{"brood:classes:seen"};

// Batches: all of them by their expiry, in epoch seconds; and the keys of each, which batches/batch.hpp lists.
inline constexpr FixedKey brood_batches{"brood:batches"};
inline RedisKey batch(std::string_view bid) { return RedisKey("brood:batch:" + std::string(bid)); }
inline RedisKey batch_states(std::string_view bid) { return RedisKey(batch(bid).name() + ":states"); }
inline RedisKey batch_steps(std::string_view bid) { return RedisKey(batch(bid).name() + ":steps"); }
inline RedisKey batch_results(std::string_view bid) { return RedisKey(batch(bid).name() + ":results"); }
inline RedisKey batch_children(std::string_view bid) { return RedisKey(batch(bid).name() + ":children"); }

// Sequences: the holder of each, by name; and for each the list of the jobs that wait.  The scripts spell both keys:
// see pieces/sequences.lua.
inline constexpr FixedKey brood_sequences{"brood:sequences"};
inline constexpr FixedKey brood_sequence_watch{"brood:watch:sequences"};  // the supervisor whose turn it is to watch
inline constexpr FixedKey brood_stray_sequence_watch{
    "brood:watch:stray_sequences"};  // who has looked for strays lately
inline RedisKey sequence(std::string_view name) { return RedisKey("brood:sequence:" + std::string(name)); }

// The keys of the gem sidekiq-cron, releases 1 and 2.  A schedule is named by its whole key.
inline constexpr FixedKey gem_schedules_of_1{"cron_jobs"};
inline RedisKey gem_schedules(std::string_view name_space) { return RedisKey("cron_jobs:" + std::string(name_space)); }
inline RedisKey gem_schedule_set(std::string_view set) { return RedisKey(set); }
inline RedisKey gem_schedule(std::string_view name) { return RedisKey(name); }
inline RedisKey gem_ticks(std::string_view name) { return RedisKey(std::string(name) + ":enqueued"); }
inline RedisKey gem_ids(std::string_view name) { return RedisKey(std::string(name) + ":jid_history"); }

// The keys of the gem sidekiq-unique-jobs.  A lock is named by its digest, which begins with "uniquejobs:".
inline constexpr FixedKey gem_locks{"uniquejobs:digests"};
inline constexpr FixedKey gem_expiring_locks{"uniquejobs:expiring_digests"};
inline RedisKey gem_lock(std::string_view digest) { return RedisKey(digest); }
inline RedisKey gem_lock_holders(std::string_view digest) { return RedisKey(std::string(digest) + ":LOCKED"); }
inline RedisKey gem_lock_info(std::string_view digest) { return RedisKey(std::string(digest) + ":INFO"); }
inline RedisKey gem_lock_primed(std::string_view digest) { return RedisKey(std::string(digest) + ":PRIMED"); }

// The jobs that a benchmark is about to offer as the queue `name`.  No worker looks there.
inline RedisKey laid_aside(std::string_view name) { return RedisKey(std::string(name) + ":aside"); }

inline RedisKey in_flight_hash(std::string_view identity) {
  return RedisKey("brood:inflight:" + std::string(identity));
}
// Notes that a worker's BLMOVE will find a job and not wait: see fetch_after_wait.lua, which spells this key too.
inline RedisKey wait_found_job(std::string_view identity, std::string_view field) {
  return RedisKey("brood:wait_found_job:" + std::string(identity) + ":" + std::string(field));
}
inline RedisKey in_flight_list(std::string_view identity, std::string_view field, std::string_view queue) {
  return RedisKey(in_flight_hash(identity).name() + ":" + std::string(field) + ":" + std::string(queue));
}

// The parts of an in-flight list's key; nullopt for any other key.
std::optional<InFlightList> parse_in_flight_list(std::string_view key);

}  // namespace brood::keys
