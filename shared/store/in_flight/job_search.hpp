#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <brood/report.hpp>

#include "shared/redis/connection.hpp"
#include "shared/store/places_of_jobs.hpp"

namespace brood {

// A job, and where it lies.
struct PlacedJob {
  using Place = PlaceOfJobs::Kind;
  Place place = Place::queue;
  std::string queue = {};                 // that it waits in, or was fetched from
  std::string sequence = {};              // that it waits for
  std::string identity = {}, field = {};  // in flight: its supervisor, and the worker there as "<slot>.<incarnation>"
  std::string score_text = {};            // in a set
  std::string payload = {};
  std::int64_t returns = 0;  // from workers whose end nobody saw, within 72 h
};

// All jobs with this jid, wherever jobs live: in queues, in flight, in the three sets and in quarantine.  Looks at
// every job, one page after the other and as jobs go, so that one that moves is met further on; it may then be found
// twice. Throws ConnectionLost or UnexpectedReply.
std::vector<PlacedJob> search_job(Channel& redis, std::string_view jid);

// What is known of one job: where it lies, or its report, or neither.
struct LookedUpJob {
  JobReport report;                 // unknown: neither
  std::optional<PlacedJob> placed;  // nullopt: it has ended, or is unknown
};

// Asks for its report first, and looks through all jobs only without one, or if that says that the job is dead: it may
// have been retried since.  Throws as search_job().
LookedUpJob look_up_job(Channel& redis, std::string_view jid);

}  // namespace brood
