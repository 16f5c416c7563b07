#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include <brood/api.hpp>

#include "shared/redis/connection.hpp"
#include "shared/store/job_place.hpp"

namespace brood::testing {

// Finds the jobs of a small Redis.  Each answer shows one instant, so a job that moves is not missed.  The functions
// throw UnexpectedReply, and ConnectionLost, which they also throw while Redis loads its data.
class JobPlaces {
 public:
  explicit JobPlaces(const std::string& socket_path);

  using Place = JobPlace::Kind;
  struct Found {
    Place place = Place::nowhere;
    std::optional<SetEntry> entry = {};  // set for schedule, retry and dead
  };
  Found find(std::string_view jid);
  std::size_t waiting();  // the number of jobs in queues and in flight

 private:
  Reply ask(const Command& command);

  Connection redis_;
};

}  // namespace brood::testing
