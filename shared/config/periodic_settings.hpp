#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shared/periodic/cron_rule.hpp"

namespace brood {

// A job to be run again and again: [periodic.NAME].
struct PeriodicSettings {
  enum class CatchUp { none, last, all };               // of the ticks while no supervisor ran
  enum class Overlap { allow, skip, queue };            // while the job of the tick before has not ended
  enum class Source { configuration, library, redis };  // where the rule is written
  static constexpr std::chrono::hours longest_within{366 * 24}, longest_jitter{24};

  std::string cron;
  CronRule rule = {};  // the same, read
  std::string zone = "UTC";
  std::string job_class;
  std::string args = "[]";  // JSON
  std::string queue = "default";
  std::string members = {};                         // further members of the payload, as JSON: `,"tags":["slow"]`
  std::string retry = "true";                       // JSON: true, false or a count
  std::optional<CatchUp> catch_up = {};             // nullopt: last if ticks come at most once an hour, else none
  std::optional<std::chrono::seconds> within = {};  // how old a tick may be that is caught up; nullopt: see below
  Overlap overlap = Overlap::allow;
  std::chrono::seconds jitter{0};            // each job waits a random time of at most that
  std::vector<std::string> enabled_on = {};  // labels: only supervisors that have one of them claim ticks; none: all do
  // For a rule of the configuration: it takes the options of its class, except those that it sets itself.
  bool goes_by_class = false, says_queue = false, says_retry = false;
  std::string place = {};  // of the zone, or of the whole: "etc/brood.toml:12: periodic.report.tz"
  Source source = Source::configuration;
  std::string paused_at =
      {};  // where the configuration pauses it: "etc/brood.toml:14: periodic.report.paused"; else empty
  std::string stored = {};  // Source::redis: the rule as its text lies in the Redis that serves it; else empty

  bool is_enabled_on(const std::vector<std::string>& labels) const;
  CatchUp catches_up() const;
  // How late a tick may come: a minute if nothing is caught up; else `within`; without that an hour, or a day if ticks
  // wait for the job before.
  std::chrono::seconds late_at_most() const;
};

// The values of words in a configuration; nullopt: another word.
std::optional<PeriodicSettings::CatchUp> catch_up_of(std::string_view word);
std::optional<PeriodicSettings::Overlap> overlap_of(std::string_view word);
std::string_view name_of(PeriodicSettings::CatchUp catch_up);
std::string_view name_of(PeriodicSettings::Overlap overlap);
std::string_view name_of(PeriodicSettings::Source source);

// The file by which workers, which load the job libraries, tell the supervisor, which does not, of the periodic jobs in
// them.  It lies beside the scoreboard.  Its first line is the generation that wrote it; then comes a line of JSON for
// each job.
std::string registered_periodic_path(const std::string& runtime_directory, const std::string& identity);

// In a worker: writes the file, unless a later generation has written it.
void tell_registered_periodic(const std::string& path, std::uint32_t generation, const std::string& lines);

// In the supervisor: returns the generation that has written this text; 0 if none can be read.
std::uint32_t generation_of_registered_periodic(const std::string& text);
// Puts back the former text of the file after a generation was rolled back.  If `text` is empty, removes the file.
void put_back_registered_periodic(const std::string& path, const std::string& text);

}  // namespace brood
