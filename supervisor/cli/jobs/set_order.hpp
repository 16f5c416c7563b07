#pragma once

#include <brood/api.hpp>
#include <optional>
#include <string>
#include <vector>

#include "supervisor/cli/access/redis_access.hpp"
#include "supervisor/cli/jobs/job_filter.hpp"

namespace brood {

// The differences between `retry`, `schedule` and `dead`.
struct SetKind {
  std::string command;           // "retries"
  std::string one, many;         // "retry", "retries"
  std::string time_title;        // of the column with its time
  std::string what_its_time_is;  // "next run"
  bool has_errors = false;
  JobSet (Api::*open)() = nullptr;
  JobSet::Order order = JobSet::Order::lowest_first;        // of lists for people
  std::optional<Time> (*since)(const SetEntry&) = nullptr;  // the time that --older-than compares
};

// A parsed command line such as `brood retries kill --class Zip --yes`.
struct SetOrder {
  const SetKind* kind = nullptr;
  RedisAccess redis;
  JobFilter filter;
  std::vector<std::string> jids;  // the words after the verb
  bool all = false, yes = false, dry_run = false, json = false;
  std::optional<std::size_t> limit, page;
  std::string in, at;

  bool takes(const SetEntry& entry) const { return filter.takes(entry, kind->since(entry)); }
};

// The verbs.  Each returns the exit status.
int list_entries(const SetOrder& order);
int show_entries(const SetOrder& order);
int run_entries(const SetOrder& order);
int kill_entries(const SetOrder& order);
int delete_entries(const SetOrder& order);
int clear_entries(const SetOrder& order);
int reschedule_entries(const SetOrder& order);

// A table of entries, with the same columns for all sets.
std::string table_of(const SetKind& kind, const std::vector<SetEntry>& entries);

}  // namespace brood
