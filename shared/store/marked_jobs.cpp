#include "shared/store/marked_jobs.hpp"

#include "shared/store/holdings.hpp"
#include "shared/store/keys.hpp"

namespace brood {

namespace scripts {
extern const Script marked_jobs;
}

namespace {

constexpr std::size_t marked_looked_at_once = 2000;

}  // namespace

ScriptCall marked_jobs(const RedisKey& key, std::size_t first, const std::vector<std::string_view>& marks) {
  ScriptCall call{&scripts::marked_jobs, {key}, {std::to_string(first), std::to_string(marked_looked_at_once)}};
  for (const std::string_view mark : marks) call.args.emplace_back(mark);
  return call;
}

MarkedJobs read_marked_jobs(ReplyView reply) {
  MarkedJobs page{static_cast<std::size_t>(reply[0].integer()), {}};
  for (std::size_t i = 1; i + 2 < reply.size(); i += 3)
    page.jobs.push_back({static_cast<std::size_t>(reply[i].integer()), std::string(reply[i + 1].text()),
                         std::string(reply[i + 2].text())});
  return page;
}

ScriptCall holding_jobs_of_queue(std::string_view queue, std::size_t first) {
  return marked_jobs(keys::queue(queue), first, marks_of_holders());
}

ScriptCall holding_jobs_of_set(std::string_view set_key, std::size_t first) {
  return marked_jobs(RedisKey(set_key), first, marks_of_holders());
}

}  // namespace brood
