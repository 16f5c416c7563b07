#include "supervisor/prepared_job.hpp"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "shared/job/json.hpp"
#include "shared/job/json_object.hpp"
#include "shared/job/payload.hpp"

namespace brood {

namespace {

// A job id as Sidekiq's client makes them: 12 random bytes in hex.
std::string new_jid(std::mt19937_64& random) { return fmt::format("{:016x}{:08x}", random(), random() & 0xffffffff); }

PreparedJob bury(const std::string& member, const std::string& reason, WallTime now) {
  PreparedJob buried{"", member, reason};
  try {
    const JsonObject object = JsonObject::parse(member);
    buried.payload = object
                         .with({{"error_class", json_string("BadPayload")},
                                {"error_message", json_string(reason)},
                                {"failed_at", json_time(now, TimeUnit::integer_milliseconds)}})
                         .text();
  } catch (const BadJson&) {
    // Nothing can be added to what is no object; Sidekiq too keeps the raw bytes.
  }
  return buried;
}

}  // namespace

PreparedJob prepare_due_job(const std::string& member, WallTime now, std::mt19937_64& random) {
  try {
    const Payload job = Payload::parse(member);
    std::string queue = job.raw("queue") ? job.string("queue").value_or("") : "default";
    // Any name that Redis takes is a queue to some Ruby process of the fleet: it is not for us to refuse it.
    if (queue.empty()) return bury(member, "its queue is not a name", now);

    const TimeUnit unit = job.time_unit();
    std::vector<Payload::Edit> edits{{"enqueued_at", json_time(now, unit)}};
    if (!job.raw("queue")) edits.push_back({"queue", json_string(queue)});
    if (!job.truthy("jid")) edits.push_back({"jid", json_string(new_jid(random))});
    if (!job.truthy("created_at")) edits.push_back({"created_at", json_time(now, unit)});
    return {std::move(queue), job.with(edits).text(), ""};
  } catch (const BadPayload& error) {
    return bury(member, error.what(), now);
  }
}

}  // namespace brood
