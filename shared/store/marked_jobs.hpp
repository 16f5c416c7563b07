#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "shared/redis/reply.hpp"
#include "shared/store/script.hpp"

namespace brood {

// A job whose payload contains a mark, and where it lies.
struct MarkedJob {
  std::size_t position = 0;  // from the head of a list; from the highest score of a set, since sets lose their lowest
  std::string payload;
  std::string score_text;  // empty in a list
};
struct MarkedJobs {
  std::size_t looked_at = 0;  // 0: there are no more
  std::vector<MarkedJob> jobs;
};

// The jobs of a page of a list or sorted set, from `first` on, that contain one of the marks: only these are sent.
ScriptCall marked_jobs(const RedisKey& key, std::size_t first, const std::vector<std::string_view>& marks);
MarkedJobs read_marked_jobs(ReplyView reply);  // throws UnexpectedReply

// The same in a queue and in a set, for jobs that may hold something: see holdings.hpp.
ScriptCall holding_jobs_of_queue(std::string_view queue, std::size_t first);
ScriptCall holding_jobs_of_set(std::string_view set_key, std::size_t first);

}  // namespace brood
