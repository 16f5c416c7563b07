#include "shared/store/queues/queue_jobs.hpp"

#include "shared/store/holdings.hpp"
#include "shared/store/keys.hpp"

namespace brood {

namespace scripts {
extern const Script remove_job;
}

Command ask_queue_length(std::string_view queue) { return {"LLEN", keys::queue(queue)}; }

Command ask_next_job(std::string_view queue) { return {"LINDEX", keys::queue(queue), "-1"}; }

std::optional<std::string_view> read_next_job(ReplyView reply) {
  return reply.is_nil() ? std::nullopt : std::optional(reply.text());
}

Command ask_jobs_at(std::string_view queue, std::string_view first, std::string_view last) {
  return {"LRANGE", keys::queue(queue), first, last};
}

std::vector<std::string> read_jobs_at(ReplyView reply) {
  std::vector<std::string> payloads;
  for (std::size_t i = 0; i < reply.size(); ++i) payloads.emplace_back(reply[i].text());
  return payloads;
}

Command remove_job(std::string_view queue, std::string_view payload) {
  return {"LREM", keys::queue(queue), "1", payload};
}

ScriptCall remove_holding_job(std::string_view queue, const std::string& payload) {
  ScriptCall call{&scripts::remove_job, {keys::queue(queue)}, {payload}};
  std::vector<LetGo> let_go;
  append_held(let_go, payload, 1, JobEnding::gone);
  append(call, let_go);
  return call;
}

bool read_job_was_removed(ReplyView reply) { return reply.integer() > 0; }

Command drop_queue(std::string_view queue) { return {"UNLINK", keys::queue(queue)}; }

ScriptCall queue_page(std::string_view queue, const QueuePosition& position, std::size_t count) {
  return {
      &scripts::queue_page,
      {keys::queue(queue)},
      {std::to_string(position.behind), position.size ? std::to_string(*position.size) : "", std::to_string(count)}};
}

QueuePage read_queue_page(ReplyView reply) {
  QueuePage page{static_cast<std::size_t>(reply[0].integer()), static_cast<std::size_t>(reply[1].integer()), {}};
  for (std::size_t i = 0; i < reply[2].size(); ++i) page.payloads.emplace_back(reply[2][i].text());
  return page;
}

ScriptCall remove_jobs(std::string_view queue, const std::vector<QueuedJob>& jobs, std::size_t slack) {
  ScriptCall call{&scripts::remove_jobs, {keys::queue(queue)}, {std::to_string(slack)}};
  for (const QueuedJob& job : jobs) {
    call.args.push_back(std::to_string(job.position));
    call.args.push_back(job.payload);
  }
  std::vector<LetGo> let_go;
  for (std::size_t i = 0; i < jobs.size(); ++i) append_held(let_go, jobs[i].payload, i + 1, JobEnding::gone);
  append(call, let_go);
  return call;
}

Removed read_removed(ReplyView reply) {
  return {static_cast<std::size_t>(reply[0].integer()), static_cast<std::size_t>(reply[1].integer())};
}

// From the tail to the tail, so the job stays where it is.
Command peek(std::string_view queue, std::chrono::seconds longest) {
  const RedisKey key = keys::queue(queue);
  return {"BLMOVE", key, key, "RIGHT", "RIGHT", std::to_string(longest.count())};
}

std::string read_peek(ReplyView reply) { return reply.is_nil() ? "" : std::string(reply.text()); }

}  // namespace brood
