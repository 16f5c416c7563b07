#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>

#include "shared/config/periodic_settings.hpp"

namespace brood {

// A rule that cannot be used.  what() is a sentence: `the hour "25" is not within 0 to 23`.
class BadPeriodicRule : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The rule of a periodic job as one JSON object, in Redis and from job libraries:
//
//   {"cron":"30 3 * * *","tz":"Europe/Berlin","class":"Report","args":[],"queue":"default","retry":true,
//    "catch_up":"last","within":3600,"overlap":"allow","jitter":0,"enabled_on":["web"],"members":{}}
//
// Only `cron` and `class` are required.  `members` are further members of the payload.  Any program may have written
// the text, so all of it is checked, and the time zone looked up on this machine.  Throws BadPeriodicRule.
PeriodicSettings read_periodic_rule(std::string_view json);
std::string periodic_rule_json(const PeriodicSettings& job);

// Throws BadPeriodicRule for a name that the configuration would not accept, or that looks like one of sidekiq-cron.
void check_periodic_name(std::string_view name);

// The rule and its time zone.  Ticks belong to this text: a job with another text has another rule, whose ticks begin
// anew.
std::string periodic_rule_text(const PeriodicSettings& job);
// Returns the JSON of a rule that `brood periodic` shows and runs.
std::string periodic_definition(const PeriodicSettings& job);

inline constexpr std::size_t longest_periodic_rule = 64 << 10;  // bytes of a rule in Redis
inline constexpr std::size_t most_periodic_rules = 1'000;       // in one Redis

}  // namespace brood
