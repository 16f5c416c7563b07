#include "shared/store/holdings.hpp"

#include <algorithm>
#include <utility>

#include "shared/base/contains_text.hpp"
#include "shared/base/plain_number.hpp"
#include "shared/base/planted_bug.hpp"
#include "shared/job/batch_membership.hpp"
#include "shared/job/sequence.hpp"
#include "shared/json/json.hpp"
#include "shared/json/json_object.hpp"
#include "shared/store/gem_lock.hpp"
#include "shared/store/kept_report.hpp"
#include "shared/store/keys.hpp"

namespace brood {
namespace {

constexpr std::string_view mark_of_unique_lock = "\"unique_lock\"";
constexpr std::string_view lock_member = mark_of_unique_lock.substr(1, mark_of_unique_lock.size() - 2);

template <typename Job>
std::optional<NamedLock> lock_in(const Job& job) {
  auto lock = job.string(lock_member), jid = job.string("jid");
  if (!lock || !jid || lock->empty() || jid->empty()) return std::nullopt;
  return NamedLock{std::move(*lock), std::move(*jid)};
}

// Adds an index to "7,8-12".
void add_index(std::string& indices, std::uint32_t index) {
  const std::string_view last = std::string_view(indices).substr(indices.find_last_of(',') + 1);
  const std::size_t dash = last.find('-');
  const auto end = plain_number<std::uint32_t>(last.substr(dash == last.npos ? 0 : dash + 1));
  if (!end || *end + 1 != index)
    indices += ',' + std::to_string(index);
  else if (dash == last.npos)
    indices += '-' + std::to_string(index);
  else
    indices.replace(indices.size() - (last.size() - dash - 1), std::string::npos, std::to_string(index));
}

void append_lock(std::vector<LetGo>& all, const std::optional<NamedLock>& held, std::size_t entry) {
  if (held) all.push_back({entry, "unique", keys::unique_lock(held->lock), held->jid});
}

void append_sequence(std::vector<LetGo>& all, std::string_view payload, std::size_t entry, JobEnding end) {
  const auto sequence = sequence_named_by(payload);
  // The scripts read some payloads that are unreadable here, such as one with NaN: it may hold a sequence.
  if (!sequence && end != JobEnding::failed && contains_text(payload, mark_of_sequence) && !is_json(payload))
    all.push_back({entry, "sequence", keys::brood_sequences, "", std::string(payload)});
  const bool lets_pass = sequence && (sequence->lets_pass || planted(PlantedBug::failed_job_lets_its_sequence_pass));
  if (!sequence || (end == JobEnding::failed && !lets_pass)) return;
  all.push_back({entry, "sequence", keys::brood_sequences, sequence->jid, sequence->name});
}

}  // namespace

void append(ScriptCall& call, const std::vector<LetGo>& all) {
  for (const LetGo& one : all) {
    call.keys.push_back(one.key);
    call.args.insert(call.args.end(), {std::to_string(one.of), one.what, one.member, one.verdict});
  }
  call.args.push_back(std::to_string(all.size()));
}

std::vector<std::string_view> marks_of_holders() {
  std::vector<std::string_view> marks{mark_of_unique_lock, mark_of_batch_job, mark_of_batch_callback, mark_of_report,
                                      mark_of_sequence};
  if (gem_locks_are_served()) marks.push_back(mark_of_gem_lock);
  return marks;
}

bool may_hold(std::string_view payload) {
  return contains_text(payload, mark_of_unique_lock) || contains_text(payload, mark_of_batch_job) ||
         contains_text(payload, mark_of_batch_callback) || contains_text(payload, mark_of_report) ||
         contains_text(payload, mark_of_sequence) ||
         (gem_locks_are_served() && contains_text(payload, mark_of_gem_lock));
}

std::optional<NamedLock> lock_named_by(std::string_view payload) {
  if (!contains_text(payload, mark_of_unique_lock)) return std::nullopt;
  try {
    return lock_in(JsonObject::parse(payload));
  } catch (const BadJson&) {  // holds nothing
    return std::nullopt;
  }
}

std::optional<NamedLock> lock_named_by(const Payload& job) {
  return contains_text(job.text(), mark_of_unique_lock) ? lock_in(job) : std::nullopt;
}

void append_unique_lock(std::vector<LetGo>& all, const Payload& job, std::size_t entry) {
  append_lock(all, lock_named_by(job), entry);
}

void append_turn_for_lock(std::vector<LetGo>& all, std::string_view payload) {
  const auto lock = lock_named_by(payload);
  const auto sequence = sequence_named_by(payload);
  if (lock && sequence) all.push_back({0, "turn_for_lock", keys::unique_lock(lock->lock), lock->jid, sequence->name});
}

// Jobs of one batch that end together in the same way share one LetGo.
void append_batch(std::vector<LetGo>& all, std::string_view payload, std::size_t entry, JobEnding end,
                  std::int64_t dead_timeout_s) {
  const auto membership = batch_named_by(payload);
  if (!membership) return;
  if (end == JobEnding::gone && planted(PlantedBug::dead_job_is_not_counted)) return;
  if (end == JobEnding::failed && planted(PlantedBug::failed_job_counts_as_done)) end = JobEnding::done;
  std::string verdict = end == JobEnding::done     ? "done"
                        : end == JobEnding::failed ? "failed"
                                                   : "dead " + std::to_string(kept_for(dead_timeout_s));
  if (!membership->callback.empty())
    all.push_back({entry, "batch_callback", keys::batch(membership->callback), membership->jid, verdict});
  if (membership->bid.empty()) return;
  static const std::string empty_key = keys::batch("").name();
  const auto same = std::find_if(all.rbegin(), all.rend(), [&](const LetGo& other) {
    const std::string& name = other.key.name();
    return other.of == entry && other.what == "batch" && other.verdict == verdict &&
           name.size() == empty_key.size() + membership->bid.size() && name.ends_with(membership->bid);
  });
  if (same != all.rend())
    add_index(same->member, membership->index);
  else
    all.push_back(
        {entry, "batch", keys::batch(membership->bid), std::to_string(membership->index), std::move(verdict)});
}

void append_held(std::vector<LetGo>& all, std::string_view payload, std::size_t entry, JobEnding end,
                 std::int64_t dead_timeout_s, const Outcome* outcome) {
  if (!may_hold(payload)) return;
  if (end == JobEnding::done && outcome != nullptr) append_step_result(all, payload, entry, *outcome);
  append_batch(all, payload, entry, end, dead_timeout_s);
  append_sequence(all, payload, entry, end);
  if (end != JobEnding::failed) append_report(all, payload, entry, outcome);
  if (end == JobEnding::failed || (end == JobEnding::gone && planted(PlantedBug::dead_job_keeps_its_lock))) return;
  append_lock(all, lock_named_by(payload), entry);
  const auto of_gem = gem_lock_named_by(payload);
  if (of_gem && (end == JobEnding::gone || of_gem->until != GemLock::Until::expiry)) append_held(all, *of_gem, entry);
}

std::optional<JobEnding> end_of_job(Outcome::Kind kind) {
  switch (kind) {
    case Outcome::Kind::acknowledge:
      return JobEnding::done;
    case Outcome::Kind::retry:
      return JobEnding::failed;
    case Outcome::Kind::move_to_dead:
    case Outcome::Kind::discard:
      return JobEnding::gone;
    default:
      return std::nullopt;
  }
}

// A line is "<what> <member> <key>": neither of the first two has a blank.
IncarnationHoldings::IncarnationHoldings(std::string_view note) {
  while (!note.empty()) {
    const std::size_t end = std::min(note.find('\n'), note.size());
    const std::string_view line = note.substr(0, end);
    note.remove_prefix(std::min(end + 1, note.size()));
    const std::size_t first = line.find(' ');
    const std::size_t second = first == line.npos ? line.npos : line.find(' ', first + 1);
    if (second == line.npos) continue;
    all_.push_back({std::string(line.substr(0, first)), RedisKey(line.substr(second + 1)),
                    std::string(line.substr(first + 1, second - first - 1))});
  }
}

std::string IncarnationHoldings::note() const {
  std::string text;
  for (const Held& held : all_) text += held.what + " " + held.member + " " + held.key.name() + "\n";
  return text;
}

void append_held(std::vector<LetGo>& all, const IncarnationHoldings& held, std::string_view identity) {
  if (held.empty()) return;
  for (const IncarnationHoldings::Held& one : held.all())
    if (!planted(PlantedBug::running_lock_outlives_its_run)) all.push_back({0, one.what, one.key, one.member});
  all.push_back({0, "note", keys::in_flight_hash(identity), held.note()});
}

}  // namespace brood
