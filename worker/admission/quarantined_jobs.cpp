#include "worker/admission/quarantined_jobs.hpp"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "shared/base/log.hpp"
#include "shared/store/sets/job_sets.hpp"

namespace brood {
namespace {

using namespace std::chrono_literals;

// A change of the pauses takes a while to reach all workers: one that does not know of it yet defers a job that need
// not wait.
constexpr auto first_look_after_a_change = 500ms;
constexpr int looks_after_a_change = 2;  // at the second look all workers know of it
constexpr auto between_looks = 5s, between_looks_for_pauses = 60s;
constexpr auto length_of_claim = 4500ms;
static_assert(between_looks > length_of_claim);
constexpr std::size_t looked_at_once = 100, pages_of_a_look = 10;
// After a change of the pauses all waiting jobs are looked through, in steps: jobs that need not wait may lie at the
// end.
constexpr auto longest_step = 100ms, between_steps = 1'000ms;

// Returns nullopt if a member is no job: another program has put it there, and it stays for a person to look at.
std::optional<Payload> read_waiting(std::string_view member) {
  try {
    return Payload::parse(std::string(member));
  } catch (const BadPayload&) {
    return std::nullopt;
  }
}

}  // namespace

QuarantinedJobs::QuarantinedJobs(Channel& redis, Quarantine& quarantine, std::function<bool(const std::string&)> knows)
    : redis_(redis), quarantine_(quarantine), knows_(std::move(knows)) {}

void QuarantinedJobs::forget() {
  waiting_ = 0;
  looked_through_ = 0;
  looks_again_ = looks_at_all_ = false;
  looks_after_change_ = looks_after_a_change;
  paused_ = {};
  next_look_ = SteadyTime{};
}

// If Redis does not answer, it goes on with what it knows.
void QuarantinedJobs::look(SteadyTime now, const NameSet* paused) {
  if (!next_look_) {
    next_look_ = now;
    looks_after_change_ = looks_after_a_change;  // a pause may have ended after its predecessor looked last
  }
  if (paused == nullptr) return;  // else it could put back jobs of paused classes
  quarantine_.note_pauses(paused);
  note_changes(now);
  if (now < *next_look_) return;
  const bool after_change = looks_after_change_ > 0;
  if (after_change && !looks_again_) --looks_after_change_;  // else it goes on with the look before
  next_look_ = now + until_next_look(now);
  quarantine_.tell_of_passed();
  try {
    read();
    if (waiting_ == 0) {
      looked_through_ = 0;
      looks_again_ = looks_at_all_ = false;
    } else if (may_release()) {
      looks_at_all_ = looks_at_all_ || after_change;
      release(now);
    }
  } catch (const std::exception& lost) {
    log::debug("quarantine_not_read", {{"reason", lost.what()}});
  }
}

void QuarantinedJobs::note_changes(SteadyTime now) {
  if (quarantine_.take_ended_trial()) {
    looks_again_ = true;
    next_look_ = SteadyTime{};
  }
  if (quarantine_.paused() == paused_) return;
  paused_ = quarantine_.paused();
  looks_after_change_ = looks_after_a_change;
  next_look_ = std::min(*next_look_, now + first_look_after_a_change);
}

bool QuarantinedJobs::some_wait() const {
  return (quarantine_.is_on() && waiting_ > 0) || looks_after_change_ > 0 || looks_again_ ||
         quarantine_.has_ended_trial() || quarantine_.paused() != paused_;
}

std::chrono::nanoseconds QuarantinedJobs::until_next_look(SteadyTime now) const {
  if (quarantine_.is_on()) return quarantine_.stays_fresh_for(now);
  return looks_after_change_ > 0 ? between_looks : between_looks_for_pauses;
}

void QuarantinedJobs::read() {
  const std::vector<Reply> replies = redis_.call_patiently({ask_quarantined(), ask_set_size(quarantined_set)},
                                                           {quarantine_patience, quarantine_patience});
  quarantine_.learn(read_quarantined(replies.at(0).view()));
  waiting_ = replies.at(1).view().is_integer() ? replies[1].view().integer() : 0;
}

bool QuarantinedJobs::may_release() {
  if (std::exchange(looks_again_, false)) return true;
  const std::vector<Reply> claim = redis_.call_patiently(
      {claim_quarantine_look(quarantine_.libraries(), length_of_claim)}, {quarantine_patience, quarantine_patience});
  return read_claimed_look(claim.at(0).view());
}

// Puts back jobs that need not wait any more.  Jobs that must go on waiting may lie before them, so the next look goes
// on behind those.
void QuarantinedJobs::release(SteadyTime now) {
  const SteadyTime step_ends = steady_now() + longest_step;
  std::size_t released = 0;
  for (std::size_t page = 0; released == 0; ++page) {
    if (page >= pages_of_a_look && !(looks_at_all_ && steady_now() < step_ends)) break;
    std::size_t looked_at = 0;
    released = release_from(looked_through_, looked_at);
    looked_through_ = looked_at < looked_at_once ? 0 : looked_through_ + (released == 0 ? looked_at : 0);
    if (looked_through_ == 0) {
      looks_at_all_ = false;
      break;
    }
  }
  if (released > 0) log::info("quarantined_jobs_released", {{"jobs", released}, {"waited", waiting_}});
  if (released == 0 && !looks_at_all_) return;
  looks_again_ = true;
  next_look_ = released > 0 ? now : now + between_steps;
}

// Puts back all jobs of a class that is free, the newest first, since each goes to the head of its queue.  If a class
// is on trial, puts back only the oldest of its jobs that its queue takes, and only while no trial is under way.
std::size_t QuarantinedJobs::release_from(std::size_t first, std::size_t& looked_at) {
  const std::vector<Reply> page = redis_.call_patiently(
      {ask_entries_at(quarantined_set, std::to_string(first), std::to_string(first + looked_at_once - 1), false)},
      {quarantine_patience, quarantine_patience});
  const std::vector<EntryAsRead> entries = read_entries_as_read(page.at(0).view());
  looked_at = entries.size();
  std::map<std::string, std::vector<Payload>> on_trial;  // by class, the newest first
  std::size_t released = 0;
  for (auto entry = entries.rbegin(); entry != entries.rend(); ++entry) {
    const std::optional<Payload> job = read_waiting(entry->member);
    if (!job || quarantine_.is_paused(*job)) continue;
    const QuarantineAnswer answer = quarantine_.judge(*job);
    if (answer == QuarantineAnswer::perform && put_back(*job) == PutBack::done) ++released;
    if (answer == QuarantineAnswer::probe && knows_(job->code_class())) on_trial[job->code_class()].push_back(*job);
  }
  for (const auto& [job_class, jobs] : on_trial) {
    const std::vector<Reply> probe =
        redis_.call_patiently({ask_probe(job_class)}, {quarantine_patience, quarantine_patience});
    if (probe.at(0).view().integer() != 0) continue;
    for (auto job = jobs.rbegin(); job != jobs.rend(); ++job) {
      const PutBack put = put_back(*job);
      if (put == PutBack::done) ++released;
      if (put != PutBack::refused) break;
    }
  }
  return released;
}

// Puts back a job.  If Redis refuses its queue, whose key has another type for example, only jobs of that queue stay.
QuarantinedJobs::PutBack QuarantinedJobs::put_back(const Payload& job) {
  try {
    const std::string queue = job.string("queue").value_or("default");
    const bool was_there = redis_.run(release_quarantined(job.text(), queue)).view().integer() == 1;
    return was_there ? PutBack::done : PutBack::gone;
  } catch (const UnexpectedReply& refused) {
    if (!std::exchange(said_refused_, true))
      log::warn("waiting_job_not_put_back", {{"jid", job.jid()}, {"reason", refused.what()}});
    return PutBack::refused;
  }
}

}  // namespace brood
