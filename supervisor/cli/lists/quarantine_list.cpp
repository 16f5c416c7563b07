#include "supervisor/cli/lists/quarantine_list.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "shared/base/log_line.hpp"
#include "shared/base/plain_number.hpp"
#include "shared/job/payload.hpp"
#include "shared/json/json_writer.hpp"
#include "shared/store/queues/known_queues.hpp"
#include "shared/store/sets/job_sets.hpp"
#include "supervisor/cli/terminal/count_text.hpp"

namespace brood {
namespace {

constexpr std::size_t waiting_read_at_once = 100;  // each may be a megabyte

QuarantinedJob read_quarantined_job(const EntryAsRead& entry) {
  QuarantinedJob waiting{.payload = std::string(entry.member),
                         .job_class = {},
                         .jid = {},
                         .queue = {},
                         .since = leading_number<double>(entry.score_text),
                         .classes = {},
                         .score_text = std::string(entry.score_text)};
  try {
    const Payload job = Payload::parse(waiting.payload);
    waiting.job_class = job.code_class();
    waiting.classes = {job.job_class(), job.counted_class()};
    waiting.jid = job.jid();
    waiting.queue = job.string("queue").value_or("default");
  } catch (const BadPayload&) {  // put there by another program
  }
  return waiting;
}

}  // namespace

bool each_quarantined(Connection& redis, const std::function<QuarantineStep(const QuarantinedJob&)>& take) {
  for (std::size_t first = 0;;) {
    const Reply page = redis.call(
        ask_entries_at(quarantined_set, std::to_string(first), std::to_string(first + waiting_read_at_once - 1), true));
    const std::vector<EntryAsRead> entries = read_entries_as_read(page.view());
    for (const EntryAsRead& entry : entries) {
      const QuarantineStep step = take(read_quarantined_job(entry));
      if (!step.removed) ++first;  // removing an entry moves the next ones up
      if (!step.wants_more) return false;
    }
    if (entries.size() < waiting_read_at_once) return true;
  }
}

QuarantineList list_quarantine(ShardConnections& shards, const QuarantineBounds& bounds) {
  QuarantineList list;
  shards.each([&](ShardConnections::Shard& shard) {
    const std::vector<Reply> replies = shard.redis.pipeline({ask_quarantined(), ask_paused_classes()});
    const NameSet paused = read_paused(replies[1].view()).value_or(NameSet());
    for (auto& [name, one] : read_quarantined(replies[0].view())) {
      QuarantinedClass& all = list.classes[name].known;
      const std::int64_t crashes = all.crashes + one.crashes;
      if (one.since > all.since) all = one;
      all.crashes = crashes;
    }
    std::size_t looked_at = 0;
    list.is_cut |= !each_quarantined(shard.redis, [&](const QuarantinedJob& job) {
      const bool is_paused = std::any_of(job.classes.begin(), job.classes.end(),
                                         [&](const std::string& name) { return paused.contains(name); });
      const bool waits_for_a_pause = is_paused && !list.classes.contains(job.job_class);
      if (!waits_for_a_pause) ++list.classes[job.job_class].waiting;
      return QuarantineStep{.wants_more = !bounds.are_reached(++looked_at)};
    });
  });
  return list;
}

std::string quarantine_json(const std::string& job_class, const ListedQuarantine& one) {
  return JsonWriter()
      .text("fingerprint", one.known.fingerprint)
      .text("class", job_class)
      .number("count", one.known.crashes)
      .decimal("since", one.known.since)
      .number("waiting", one.waiting)
      .text("libraries", one.known.libraries)
      .number("passed", one.known.passed)
      .object();
}

bool free_class(Connection& redis, const std::string& job_class, const QuarantinedClasses& here) {
  const auto known = here.find(job_class);
  if (known != here.end()) redis.call(forget_quarantine_crashes(known->second.fingerprint));
  return redis.call(lift_quarantine(job_class)).view().integer() == 1;
}

ReleasedJobs& ReleasedJobs::operator+=(const ReleasedJobs& more) {
  released += more.released;
  is_cut |= more.is_cut;
  refused += more.refused;
  if (!more.why.empty()) why = more.why;
  return *this;
}

std::string refused_text(const ReleasedJobs& done) {
  return fmt::format("{} could not be put back and wait on: {}",
                     counted(static_cast<std::size_t>(done.refused), "job", "jobs"), log::printable(done.why));
}

ReleasedJobs release_jobs(Connection& redis, const std::function<bool(const QuarantinedJob&)>& is_meant,
                          const QuarantineBounds& bounds) {
  ReleasedJobs done;
  std::size_t looked_at = 0;
  done.is_cut = !each_quarantined(redis, [&](const QuarantinedJob& job) {
    const bool wants_more = !bounds.are_reached(++looked_at);
    if (job.job_class.empty() || !is_meant(job)) return QuarantineStep{.wants_more = wants_more};
    try {
      done.released += redis.run(release_quarantined(job.payload, job.queue)).view().integer();
    } catch (const UnexpectedReply& refusal) {
      ++done.refused;
      done.why = refusal.what();
      return QuarantineStep{.wants_more = wants_more};
    }
    return QuarantineStep{.removed = true, .wants_more = wants_more};
  });
  return done;
}

}  // namespace brood
