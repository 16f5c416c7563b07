#pragma once

#include <string_view>

#include "shared/periodic/cron_rule.hpp"
#include "shared/periodic/zone.hpp"

namespace brood {

// A rule as fugit reads it, the library of the gem sidekiq-cron.  It differs from cron(8):
//
//  - A field of days counts as `*` when it allows all its values and is spelled with `*` or the whole range; else a day
//    of the month or of the week is enough.  So "0 0 */2 * 1" comes on odd days and on Mondays.  With `&` behind a
//    field of days both have to fit.
//  - "mon#2" is the second Monday of a month, "fri#-1" and "fri#L" the last Friday; "L", "last" and "-1" are the last
//    day of a month, "-2" the one before.
//  - Ranges may run over the end ("22-2"), "/5" means "*/5", the hour 24 is 0, and steps may be longer than the range.
//  - A zone may stand behind it: a name ("Europe/Berlin", "UTC", "GMT"), or a distance from UTC ("+09:00", "-0330").
//
// Rules in words, at random ("0~59") and of every so many weeks ("mon%2") are not read.
struct FugitRule {
  CronRule rule;
  Zone zone;

  static FugitRule parse(std::string_view text);  // throws CronError
};

}  // namespace brood
