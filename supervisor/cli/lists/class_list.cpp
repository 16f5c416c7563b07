#include "supervisor/cli/lists/class_list.hpp"

#include <map>

#include "shared/json/json_writer.hpp"
#include "shared/store/queues/known_queues.hpp"

namespace brood {

std::vector<ListedClass> list_classes(ShardConnections& shards, const std::vector<ClassUsage>& used,
                                      const QuarantineBounds& bounds) {
  std::map<std::string, ListedClass> classes;
  for (const ClassUsage& usage : used) {
    if (usage.job_class.empty()) continue;  // those that found no room in the table
    ListedClass& one = classes[usage.job_class];
    one.runs = usage.runs;
    one.failed = usage.failed;
    one.crashed = usage.crashed;
  }
  shards.each([&](ShardConnections::Shard& shard) {
    const Reply reply = shard.redis.call(ask_paused_classes());
    const std::optional<NameSet> paused = read_paused(reply.view());
    if (!paused) throw UnexpectedReply(std::string(reply.view().error()));
    for (const std::string& name : *paused) classes[name].paused = true;
    if (paused->empty()) return;
    std::size_t looked_at = 0;
    each_quarantined(shard.redis, [&](const QuarantinedJob& job) {
      for (const std::string& name : job.classes) {
        if (paused->contains(name)) ++classes[name].waiting;
      }
      return QuarantineStep{.wants_more = !bounds.are_reached(++looked_at)};
    });
  });
  std::vector<ListedClass> all;
  for (auto& [name, one] : classes) {
    one.name = name;
    all.push_back(std::move(one));
  }
  return all;
}

std::string class_json(const ListedClass& one) {
  return JsonWriter()
      .text("class", one.name)
      .truth("paused", one.paused)
      .number("waiting", one.waiting)
      .number("runs", one.runs)
      .number("failed", one.failed)
      .number("crashed", one.crashed)
      .object();
}

void pause_class_of(ShardConnections& shards, const std::string& job_class) {
  shards.each([&](ShardConnections::Shard& shard) {
    const Reply reply = shard.redis.call(pause_class(job_class));
    reply.view().integer();  // throws for a refusal
  });
}

// Paused no more first, or a worker would lay the jobs aside again.
ReleasedJobs unpause_class_of(ShardConnections& shards, const std::string& job_class, const QuarantineBounds& bounds) {
  ReleasedJobs all;
  shards.each([&](ShardConnections::Shard& shard) {
    const std::vector<Reply> replies = shard.redis.pipeline({unpause_class(job_class), ask_quarantined()});
    replies[0].view().integer();
    if (read_quarantined(replies[1].view()).contains(job_class)) return;
    all += release_jobs(
        shard.redis, [&](const QuarantinedJob& job) { return job.is_of(job_class); }, bounds);
  });
  return all;
}

}  // namespace brood
