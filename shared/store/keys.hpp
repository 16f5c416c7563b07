#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "shared/store/in_flight_list.hpp"

// Every key that brood reads or writes.  Nobody else spells one.
namespace brood::keys {

// Sidekiq's.
inline constexpr std::string_view queues = "queues";
inline constexpr std::string_view schedule = "schedule";
inline constexpr std::string_view retry = "retry";
inline constexpr std::string_view dead = "dead";
inline constexpr std::string_view paused = "paused";
inline constexpr std::string_view processes = "processes";
inline constexpr std::string_view leader = "dear-leader";
inline constexpr std::string_view process_cleanup = "process_cleanup";
inline constexpr std::string_view stat_processed = "stat:processed";
inline constexpr std::string_view stat_failed = "stat:failed";

// `day` is YYYY-MM-DD in UTC.
inline std::string processed_on(std::string_view day) { return "stat:processed:" + std::string(day); }
inline std::string failed_on(std::string_view day) { return "stat:failed:" + std::string(day); }

// Marks of deployments; `day` is YYYYMMDD in UTC.
inline std::string deploy_marks(std::string_view day) { return std::string(day) + "-marks"; }
inline std::string deploy_lock(std::string_view label) { return "deploylock-" + std::string(label); }

inline std::string queue(std::string_view name) { return "queue:" + std::string(name); }
inline std::string work(std::string_view identity) { return std::string(identity) + ":work"; }
inline std::string workers_of_6(std::string_view identity) {
  return std::string(identity) + ":workers";
}  // as Sidekiq 6.4.1 reads it
inline std::string signals(std::string_view identity) { return std::string(identity) + "-signals"; }
inline std::string iteration(std::string_view jid) { return "it-" + std::string(jid); }

// Ours.
inline constexpr std::string_view brood_processes = "brood:processes";
// In a heartbeat, beside Sidekiq's fields: the token that its writer left last.
inline constexpr std::string_view beat_token_field = "brood_token";
inline constexpr std::string_view brood_scheduler = "brood:scheduler";
inline constexpr std::string_view brood_recovered_prefix = "brood:recovered:";
inline constexpr std::string_view brood_crashes = "brood:crashes";
inline constexpr std::string_view brood_crash_stacks = "brood:crash_stacks";
inline constexpr std::string_view brood_crash_counts = "brood:crash_counts";
inline constexpr std::string_view brood_crash_times = "brood:crash_times";
// Classes whose jobs wait since they crash: what is known of each, the jobs, the crashes that count, the job on trial.
inline constexpr std::string_view brood_quarantine = "brood:quarantine";
inline constexpr std::string_view brood_quarantined = "brood:quarantined";
inline std::string quarantine_crashes(std::string_view fingerprint) {
  return "brood:quarantine:crashes:" + std::string(fingerprint);
}
inline std::string quarantine_probe(std::string_view job_class) {
  return "brood:quarantine:probe:" + std::string(job_class);
}
inline std::string quarantine_look(std::string_view libraries) {
  return "brood:quarantine:look:" + std::string(libraries);
}
// What the classes have used on a day (YYYY-MM-DD, UTC): a hash of `<class>|runs`, `|failed`, `|crashed`, `|cpu_us`,
// `|wall_us` and `|peak_rss_kb`.
inline std::string brood_usage(std::string_view day) { return "brood:usage:" + std::string(day); }

// The number of the last batch of one client that keeps pushes while Redis is away.
inline std::string pushes(std::string_view client) { return "brood:pushes:" + std::string(client); }

// The jobs that a benchmark will offer as the queue `name`, where no worker looks.
inline std::string laid_aside(std::string_view name) { return std::string(name) + ":aside"; }

inline std::string in_flight_hash(std::string_view identity) { return "brood:inflight:" + std::string(identity); }
inline std::string in_flight_list(std::string_view identity, std::string_view field, std::string_view queue) {
  return in_flight_hash(identity) + ":" + std::string(field) + ":" + std::string(queue);
}

// The parts of an in-flight list's key; nullopt for any other key.
std::optional<InFlightList> parse_in_flight_list(std::string_view key);

}  // namespace brood::keys
