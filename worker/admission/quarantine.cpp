#include "worker/admission/quarantine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "shared/base/log.hpp"
#include "shared/scoreboard/scoreboard.hpp"
#include "shared/store/sets/job_sets.hpp"

namespace brood {
namespace {

using namespace std::chrono_literals;

constexpr auto between_looks = 5s;
// After a change of the pauses: a worker that does not know of it yet defers a job that need not wait.
constexpr auto first_look_after_a_change = 500ms;
constexpr int looks_after_a_change = 2;         // at the second all workers have heard of it
constexpr auto between_looks_for_pauses = 60s;  // without a quarantine
// For a new worker: its predecessor may have crashed, and that crash may not be counted yet.
constexpr auto between_first_looks = 50ms;
constexpr auto is_new_for = 5s;
constexpr auto patience = 2000ms;
constexpr auto length_of_claim = 4500ms;
static_assert(between_looks > length_of_claim);
constexpr std::size_t looked_at_once = 100, pages_of_a_look = 10;
// After a change of the pauses all that waits is looked through, in steps: what need not wait may lie at its end.
constexpr auto longest_step = 100ms, between_steps = 1'000ms;

// nullopt: it is no job.  Another program has put it there, and it stays for a person to look at.
std::optional<Payload> read_waiting(std::string_view member) {
  try {
    return Payload::parse(std::string(member));
  } catch (const BadPayload&) {
    return std::nullopt;
  }
}

}  // namespace

QuarantineAnswer judge_quarantine(const QuarantinedClass* known, std::string_view libraries) {
  if (known == nullptr) return QuarantineAnswer::perform;
  const bool crashed_with_these =
      ("," + known->libraries + ",").find("," + std::string(libraries) + ",") != std::string::npos;
  return crashed_with_these ? QuarantineAnswer::defer : QuarantineAnswer::probe;
}

Quarantine::Quarantine(Channel& redis, const QuarantineRules& rules, std::function<bool(const std::string&)> knows)
    : redis_(redis), rules_(rules), knows_(std::move(knows)) {}

void Quarantine::set_libraries(std::uint64_t digest) { libraries_ = fmt::format("{:016x}", digest); }

void Quarantine::forget() {
  classes_ = {};
  waiting_ = 0;
  looked_through_ = 0;
  looks_again_ = looks_at_all_ = false;
  paused_now_ = {};
  passed_.reset();
  next_look_ = {};
}

bool Quarantine::is_paused(const Payload& job) const {
  return !paused_now_.empty() && (paused_now_.contains(job.job_class()) || paused_now_.contains(job.counted_class()));
}

void Quarantine::note_pauses(const NameSet& paused, SteadyTime now) {
  if (paused == paused_now_) return;
  paused_now_ = paused;
  looks_after_change_ = looks_after_a_change;
  next_look_ = std::min(next_look_, now + first_look_after_a_change);
}

// Without Redis it goes on with what it knew.
void Quarantine::look(SteadyTime now) {
  if (first_look_ == SteadyTime{}) {
    first_look_ = now;
    if (!is_on()) next_look_ = now + between_looks_for_pauses;
  }
  if (paused_) {
    const NameSet* const paused = paused_();
    if (paused == nullptr) return;  // else it would put back what is paused
    note_pauses(*paused, now);
  }
  if (now < next_look_) return;
  const bool after_change = looks_after_change_ > 0;
  if (after_change) --looks_after_change_;
  next_look_ = now + until_next_look(now);
  tell_of_passed();
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

bool Quarantine::some_wait() const { return (is_on() && waiting_ > 0) || looks_after_change_ > 0 || looks_again_; }

std::chrono::nanoseconds Quarantine::until_next_look(SteadyTime now) const {
  if (is_on() && now - first_look_ < is_new_for) return between_first_looks;
  return is_on() || looks_after_change_ > 0 ? between_looks : between_looks_for_pauses;
}

void Quarantine::read() {
  read_at_ = steady_now();
  const std::vector<Reply> replies =
      redis_.call_patiently({ask_quarantined(), ask_set_size(quarantined_set)}, {patience, patience});
  classes_ = read_quarantined(replies.at(0).view());
  waiting_ = replies.at(1).view().is_integer() ? replies[1].view().integer() : 0;
}

bool Quarantine::may_release() {
  if (std::exchange(looks_again_, false)) return true;
  const std::vector<Reply> claim =
      redis_.call_patiently({claim_quarantine_look(libraries_, length_of_claim)}, {patience, patience});
  return read_claimed_look(claim.at(0).view());
}

// Jobs that must go on waiting may stand before jobs that need not: the next look goes on behind the former.
void Quarantine::release(SteadyTime now) {
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

// Puts back all jobs of a class that is free, the newest first, since each goes to the head of its queue.  Of a class
// on trial it puts back only the oldest that its queue takes, if no trial is under way.
std::size_t Quarantine::release_from(std::size_t first, std::size_t& looked_at) {
  const std::vector<Reply> page = redis_.call_patiently(
      {ask_entries_at(quarantined_set, std::to_string(first), std::to_string(first + looked_at_once - 1), false)},
      {patience, patience});
  const std::vector<EntryAsRead> entries = read_entries_as_read(page.at(0).view());
  looked_at = entries.size();
  std::map<std::string, std::vector<Payload>> on_trial;  // by class, the newest first
  std::size_t released = 0;
  for (auto entry = entries.rbegin(); entry != entries.rend(); ++entry) {
    const std::optional<Payload> job = read_waiting(entry->member);
    if (!job || is_paused(*job)) continue;
    const auto known = classes_.find(job->job_class());
    const auto answer = judge_quarantine(known == classes_.end() ? nullptr : &known->second, libraries_);
    if (answer == QuarantineAnswer::perform && put_back(*job) == PutBack::done) ++released;
    if (answer == QuarantineAnswer::probe && knows_(job->job_class())) on_trial[job->job_class()].push_back(*job);
  }
  for (const auto& [job_class, jobs] : on_trial) {
    const std::vector<Reply> probe = redis_.call_patiently({ask_probe(job_class)}, {patience, patience});
    if (probe.at(0).view().integer() != 0) continue;
    for (auto job = jobs.rbegin(); job != jobs.rend(); ++job) {
      const PutBack put = put_back(*job);
      if (put == PutBack::done) ++released;
      if (put != PutBack::refused) break;
    }
  }
  return released;
}

// A queue that Redis refuses, of another type, say, keeps its own jobs from going on and no others.
Quarantine::PutBack Quarantine::put_back(const Payload& job) {
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

bool Quarantine::may_defer() {
  probe_.reset();
  tell_of_passed();
  if (paused_) {
    if (const NameSet* const paused = paused_()) note_pauses(*paused, steady_now());
  }
  if (is_on()) read_unless_fresh();
  return !paused_now_.empty() || (is_on() && !classes_.empty());
}

std::optional<Deferral> Quarantine::defers(const Payload& job) {
  if (is_paused(job)) {
    log::debug("job_of_paused_class", {{"jid", job.jid()}, {"class", job.display_class()}});
    return Deferral{.why = Deferral::Why::pause};
  }
  return has_crashed(job) ? std::optional(Deferral{.why = Deferral::Why::quarantine}) : std::nullopt;
}

// A worker that has waited for a job since its last look may not know of a quarantine.
void Quarantine::read_unless_fresh() {
  const SteadyTime now = steady_now();
  if (first_look_ == SteadyTime{} || now - read_at_ < until_next_look(now)) return;
  try {
    read();
  } catch (const std::exception& lost) {
    read_at_ = now;
    log::debug("quarantine_not_read", {{"reason", lost.what()}});
  }
}

bool Quarantine::has_crashed(const Payload& job) {
  if (!is_on() || classes_.empty()) return false;
  const auto known = classes_.find(job.job_class());
  if (known == classes_.end()) return false;
  QuarantineAnswer answer = judge_quarantine(&known->second, libraries_);
  if (answer == QuarantineAnswer::probe) {
    try {
      is_kept_ = fits_a_record(job.jid(), job.job_class()) && job.display_class() == job.job_class();
      if (redis_.run(begin_probe(job.job_class(), job.jid(), is_kept_)).view().integer() == 1) {
        probe_ = job.jid();
        log::info("quarantine_probe",
                  {{"jid", job.jid()}, {"class", job.display_class()}, {"passed", known->second.passed}});
        return false;
      }
    } catch (const std::exception& lost) {
      log::debug("quarantine_not_read", {{"reason", lost.what()}});
    }
  }
  log::info("job_quarantined",
            {{"jid", job.jid()}, {"class", job.display_class()}, {"fingerprint", known->second.fingerprint}});
  return true;
}

void Quarantine::does_not_begin(const Payload& job) {
  if (!probe_) return;
  probe_.reset();
  try {
    redis_.run(leave_probe(job.job_class(), job.jid()));
  } catch (const std::exception& lost) {
    log::debug("quarantine_not_read", {{"reason", lost.what()}});
  }
}

// How the probe ended does not matter: it has not crashed.
void Quarantine::ended(const Payload& job) {
  if (!probe_) return;
  passed_ = Passed{job.job_class(), job.display_class(), job.jid()};
  probe_.reset();
  tell_of_passed();
  if (passed_) next_look_ = {};
}

// Sent twice, it counts once: the key names the probe that is under way.  What could not be sent goes with the next
// look, or before the next job.
void Quarantine::tell_of_passed() try {
  if (!passed_) return;
  if (redis_.run(pass_probe(passed_->job_class, passed_->jid)).view().integer() == 1) {
    classes_.erase(passed_->job_class);
    log::warn("class_released", {{"class", passed_->shown}, {"passed", probes_needed}});
  }
  passed_.reset();
  looks_again_ = true;
  next_look_ = {};
} catch (const std::exception& lost) {
  log::debug("quarantine_not_read", {{"reason", lost.what()}});
}

}  // namespace brood
