#pragma once

#include <brood/periodic.hpp>
#include <string>
#include <string_view>

#include "shared/api/push/known_redis.hpp"
#include "shared/store/periodic/periodic_jobs.hpp"

namespace brood::detail {

// Access for the command line and the page, which have shards from their options, and rules as texts.
struct PeriodicRules {
  static Periodic open(const KnownRedis& known);

  // `rule` is what read_periodic_rule() reads.  `by` says who adds it.  Throws std::invalid_argument for what cannot be
  // used; PutRule tells what else keeps it from being added.
  static PutRule put(Periodic& periodic, std::string_view name, std::string_view rule, const std::string& by,
                     bool replaces);
  static RemovedRule remove(Periodic& periodic, std::string_view name);
};

}  // namespace brood::detail
