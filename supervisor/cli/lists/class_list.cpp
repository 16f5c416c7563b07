#include "supervisor/cli/lists/class_list.hpp"

#include <map>

#include "shared/job/payload.hpp"
#include "shared/json/json_writer.hpp"
#include "shared/store/lenient.hpp"
#include "shared/store/queues/known_queues.hpp"
#include "supervisor/cli/terminal/iso_time.hpp"

namespace brood {

std::vector<ListedClass> list_classes(ShardConnections& shards, const std::vector<ClassUsage>& used,
                                      const QuarantineBounds& bounds) {
  std::map<std::string, ListedClass> classes;
  for (const ClassUsage& usage : used) {
    if (usage.job_class.empty()) continue;  // stands for classes that found no room in the table
    ListedClass& one = classes[usage.job_class];
    one.runs = usage.runs;
    one.failed = usage.failed;
    one.crashed = usage.crashed;
  }
  ClassPauses pauses;
  shards.each([&](ShardConnections::Shard& shard) {
    const ClassPauses paused = paused_classes_of(shard.redis);
    add_pauses(pauses, paused);
    if (paused.empty()) return;
    for (const auto& [name, pause] : paused) classes[name].paused = true;
    std::size_t looked_at = 0;
    each_quarantined(shard.redis, [&](const QuarantinedJob& job) {
      for (const std::string& name : job.classes) {
        if (paused.contains(name)) ++classes[name].waiting;
      }
      return QuarantineStep{.wants_more = !bounds.are_reached(++looked_at)};
    });
  });
  std::vector<ListedClass> all;
  for (auto& [name, one] : classes) {
    one.name = name;
    if (one.paused) one.pause = pauses[name];
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
      .text_or_null("reason", one.pause.reason)
      .number("since", one.pause.since)
      .number("until", one.pause.until)
      .object();
}

ClassPause pause_class_of(ShardConnections& shards, const std::string& job_class, const std::string& reason,
                          std::optional<std::chrono::seconds> length) {
  ClassPauses pauses;
  shards.each([&](ShardConnections::Shard& shard) {
    shard.redis.run(pause_class(job_class, reason, length)).view().integer();  // throws for a refusal
    add_pauses(pauses, paused_classes_of(shard.redis));
  });
  return pauses[job_class];
}

ClassPauses paused_classes_of(Connection& redis) {
  const std::vector<Reply> replies = redis.pipeline({ask_paused_classes(), ask_class_pauses()});
  const std::optional<NameSet> paused = read_paused(replies[0].view());
  if (!paused) throw UnexpectedReply(std::string(replies[0].view().error()));
  ClassPauses pauses = read_class_pauses(replies[1].view());
  std::erase_if(pauses, [&](const auto& one) { return !paused->contains(one.first); });
  for (const std::string& name : *paused) pauses.try_emplace(name);
  return pauses;
}

ClassPauses paused_classes_of(ShardConnections& shards) {
  ClassPauses all;
  shards.each([&](ShardConnections::Shard& shard) { add_pauses(all, paused_classes_of(shard.redis)); });
  return all;
}

void add_pauses(ClassPauses& all, const ClassPauses& more) {
  for (const auto& [name, pause] : more) {
    const auto [known, is_new] = all.try_emplace(name, pause);
    const bool ends_later = known->second.until && (!pause.until || *pause.until > *known->second.until);
    if (!is_new && ends_later) known->second = pause;
  }
}

std::optional<std::pair<std::string, ClassPause>> pause_of_job(const ClassPauses& pauses,
                                                               std::string_view payload) try {
  if (pauses.empty()) return std::nullopt;
  const Payload job = Payload::parse(std::string(payload));
  for (const std::string& name : {job.job_class(), job.counted_class()}) {
    if (const auto found = pauses.find(name); found != pauses.end()) return *found;
  }
  return std::nullopt;
} catch (const BadPayload&) {
  return std::nullopt;
}

std::string pause_text(const ClassPause& pause) {
  std::string text = "paused";
  if (pause.until) text += " until " + iso_time(lenient_moment(static_cast<double>(*pause.until)));
  return pause.reason.empty() ? text : text + ": " + pause.reason;
}

std::string class_pause_json(const std::string& job_class, const ClassPause& pause) {
  return JsonWriter()
      .text("class", job_class)
      .number("since", pause.since)
      .number("until", pause.until)
      .text_or_null("reason", pause.reason)
      .object();
}

// Ends the pause first: otherwise a worker would put the jobs back to wait.
ReleasedJobs unpause_class_of(ShardConnections& shards, const std::string& job_class, const QuarantineBounds& bounds) {
  ReleasedJobs all;
  shards.each([&](ShardConnections::Shard& shard) {
    shard.redis.run(unpause_class(job_class)).view().integer();
    const Reply quarantined = shard.redis.call(ask_quarantined());
    if (read_quarantined(quarantined.view()).contains(job_class)) return;
    all += release_jobs(
        shard.redis, [&](const QuarantinedJob& job) { return job.is_of(job_class); }, bounds);
  });
  return all;
}

}  // namespace brood
