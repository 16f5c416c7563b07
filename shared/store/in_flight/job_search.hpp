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
  std::string bid = {};                   // of its flow, while it waits for other steps
  std::int64_t waits_for = 0;             // so many steps of it
  std::string identity = {}, field = {};  // in flight: its supervisor, and the worker there as "<slot>.<incarnation>"
  std::string score_text = {};            // in a set
  std::string payload = {};
  std::int64_t returns = 0;  // from workers whose end no supervisor saw, within 72 h
};

// Finds all jobs with this jid, wherever jobs live: in queues, in flight, in the three sets, in quarantine, and in
// flows whose other steps come first.
// Searches page by page in the direction in which jobs move, so a job that moves meanwhile is found further on, and
// possibly twice.  Throws ConnectionLost or UnexpectedReply.
std::vector<PlacedJob> search_job(Channel& redis, std::string_view jid);

// The facts about one job: where it lies, or its report, or neither.
struct LookedUpJob {
  JobReport report;                 // unknown: neither
  std::optional<PlacedJob> placed;  // nullopt: it has ended, or is unknown
};

// Asks for the report first.  Searches all jobs only if there is none, or if its state is dead,
// since it may have been retried.  Throws as search_job().
LookedUpJob look_up_job(Channel& redis, std::string_view jid);

}  // namespace brood
