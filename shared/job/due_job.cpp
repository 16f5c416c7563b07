#include "shared/job/due_job.hpp"

#include <fmt/format.h>

#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "shared/job/expiry.hpp"
#include "shared/job/payload.hpp"
#include "shared/job/unreadable_job.hpp"
#include "shared/json/json.hpp"

namespace brood {

namespace {

// A job id as Sidekiq's client makes them: 12 random bytes in hex.
std::string new_jid(std::mt19937_64& random) { return fmt::format("{:016x}{:08x}", random(), random() & 0xffffffff); }

// As Payload::with, but does not read the result again: nearly every due job needs only this change, and the new value
// is our own.
std::string with_enqueued_at(const Payload& job, const std::string& time) {
  constexpr std::string_view name = R"(,"enqueued_at":)";
  const std::string& text = job.text();
  std::string changed;
  changed.reserve(text.size() + name.size() + time.size());
  if (const auto old = job.raw("enqueued_at")) {
    const auto begin = static_cast<std::size_t>(old->data() - text.data());
    changed.append(text, 0, begin).append(time).append(text, begin + old->size());
  } else {
    // Put it after the last member; a job always has some.
    const std::size_t end = text.find_last_not_of(" \t\n\r", text.rfind('}') - 1) + 1;
    changed.append(text, 0, end).append(name).append(time).append(text, end);
  }
  return changed;
}

// Ruby's integers have no limit, ours do: a count that does not fit stays as it is.
std::optional<std::string> one_less(const Payload& job) {
  const auto count = job.integer("retry_count");
  if (!count || *count == std::numeric_limits<std::int64_t>::min()) return std::nullopt;
  return std::to_string(*count - 1);
}

std::optional<Payload::Edit> change_of_expiry(const Payload& job, const ExpiryClock& clock) {
  switch (clock.kind) {
    case ExpiryClock::Kind::begins:
      return kept_expiry(job, clock.from);
    case ExpiryClock::Kind::begins_again:
      return renewed_expiry(job, clock.from);
    case ExpiryClock::Kind::goes_on:
      break;
  }
  return kept_expiry(job);
}

}  // namespace

RewrittenJob prepare_due_job(std::string_view member, WallTime now, std::mt19937_64& random, TimeUnit otherwise,
                             RetryCount retry_count, ExpiryClock clock) {
  const auto to_dead = [&](const std::string& reason) {
    return RewrittenJob{"", record_of_unreadable(member, reason, new_jid(random), now, otherwise), reason};
  };
  try {
    const Payload job = Payload::parse(std::string(member));
    std::string queue = job.raw("queue") ? job.string("queue").value_or("") : "default";
    // Any name is accepted here, since a Ruby process of the fleet may serve that queue.
    if (queue.empty()) return to_dead("its queue is not a name");

    const TimeUnit unit = job.time_unit(otherwise);
    const std::string time = json_time(now, unit);
    const std::optional<std::string> count = retry_count == RetryCount::one_less ? one_less(job) : std::nullopt;
    std::optional<Payload::Edit> expiry = change_of_expiry(job, clock);
    if (!count && !expiry && job.raw("queue") && job.truthy("jid") && job.truthy("created_at"))
      return {std::move(queue), with_enqueued_at(job, time), ""};
    std::vector<Payload::Edit> edits{{"enqueued_at", time}};
    if (count) edits.push_back({"retry_count", *count});
    if (expiry) edits.push_back(*std::move(expiry));
    if (!job.raw("queue")) edits.push_back({"queue", json_string(queue)});
    if (!job.truthy("jid")) edits.push_back({"jid", json_string(new_jid(random))});
    if (!job.truthy("created_at")) edits.push_back({"created_at", time});
    return {std::move(queue), job.with(edits).text(), ""};
  } catch (const BadPayload& error) {
    return to_dead(error.what());
  }
}

}  // namespace brood
