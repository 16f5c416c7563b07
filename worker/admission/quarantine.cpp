#include "worker/admission/quarantine.hpp"

#include <fmt/format.h>

#include "shared/base/log.hpp"
#include "shared/scoreboard/scoreboard.hpp"

namespace brood {
namespace {

using namespace std::chrono_literals;

constexpr auto stays_fresh = 5s;
// For a new worker, since a crash of its predecessor may not be counted yet.
constexpr auto stays_fresh_at_first = 50ms;
constexpr auto is_new_for = 5s;

}  // namespace

QuarantineAnswer judge_quarantine(const QuarantinedClass* known, std::string_view libraries) {
  if (known == nullptr) return QuarantineAnswer::perform;
  const bool crashed_with_these =
      ("," + known->libraries + ",").find("," + std::string(libraries) + ",") != std::string::npos;
  return crashed_with_these ? QuarantineAnswer::defer : QuarantineAnswer::probe;
}

bool is_of_paused_class(const Payload& job, const NameSet& paused) {
  return paused.contains(job.job_class()) || paused.contains(job.counted_class());
}

void Quarantine::set_libraries(std::uint64_t digest, SteadyTime now) {
  libraries_ = fmt::format("{:016x}", digest);
  begun_ = now;
}

void Quarantine::forget() {
  classes_ = {};
  paused_ = {};
  passed_.reset();
  has_ended_trial_ = false;
}

bool Quarantine::is_paused(const Payload& job) const { return !paused_.empty() && is_of_paused_class(job, paused_); }

void Quarantine::note_pauses(const NameSet* paused) {
  if (paused != nullptr && *paused != paused_) paused_ = *paused;
}

void Quarantine::learn(QuarantinedClasses classes) {
  read_at_ = steady_now();
  classes_ = std::move(classes);
}

std::chrono::nanoseconds Quarantine::stays_fresh_for(SteadyTime now) const {
  return now - begun_ < is_new_for ? stays_fresh_at_first : std::chrono::nanoseconds(stays_fresh);
}

const QuarantinedClass* Quarantine::known(const Payload& job) const {
  const auto known = classes_.find(job.code_class());
  return known == classes_.end() ? nullptr : &known->second;
}

bool Quarantine::may_defer(const NameSet* paused) {
  probe_.reset();
  tell_of_passed();
  note_pauses(paused);
  if (is_on()) read_unless_fresh();
  return !paused_.empty() || (is_on() && !classes_.empty());
}

std::optional<Deferral> Quarantine::defers(const Payload& job) {
  if (is_paused(job)) {
    log::debug("job_of_paused_class", {{"jid", job.jid()}, {"class", job.display_class()}});
    return Deferral{.why = Deferral::Why::pause};
  }
  return has_crashed(job) ? std::optional(Deferral{.why = Deferral::Why::quarantine}) : std::nullopt;
}

// Reads the quarantines again, unless that was done recently: a worker that has waited for a job since may not know of
// one.
void Quarantine::read_unless_fresh() {
  const SteadyTime now = steady_now();
  if (now - read_at_ < stays_fresh_for(now)) return;
  read_at_ = now;
  try {
    learn(read_quarantined(
        redis_.call_patiently({ask_quarantined()}, {quarantine_patience, quarantine_patience}).at(0).view()));
  } catch (const std::exception& lost) {
    log::debug("quarantine_not_read", {{"reason", lost.what()}});
  }
}

bool Quarantine::has_crashed(const Payload& job) {
  const QuarantinedClass* const found = is_on() ? known(job) : nullptr;
  if (found == nullptr) return false;
  if (judge(job) == QuarantineAnswer::probe) {
    try {
      is_kept_ = fits_a_record(job.jid(), job.code_class()) && job.display_class() == job.code_class();
      if (redis_.run(begin_probe(job.code_class(), job.jid(), libraries_, is_kept_)).view().integer() == 1) {
        probe_ = job.jid();
        log::info("quarantine_probe", {{"jid", job.jid()}, {"class", job.display_class()}, {"passed", found->passed}});
        return false;
      }
    } catch (const std::exception& lost) {
      log::debug("quarantine_not_read", {{"reason", lost.what()}});
    }
  }
  log::info("job_quarantined",
            {{"jid", job.jid()}, {"class", job.display_class()}, {"fingerprint", found->fingerprint}});
  return true;
}

void Quarantine::does_not_begin(const Payload& job) {
  if (!probe_) return;
  probe_.reset();
  try {
    redis_.run(leave_probe(job.code_class(), job.jid()));
  } catch (const std::exception& lost) {
    log::debug("quarantine_not_read", {{"reason", lost.what()}});
  }
}

// Whether the probe succeeded or failed does not matter: it has not crashed.
void Quarantine::ended(const Payload& job) {
  if (!probe_) return;
  passed_ = Passed{job.code_class(), job.display_class(), job.jid()};
  probe_.reset();
  has_ended_trial_ = true;
  tell_of_passed();
}

// Sent twice, it counts once: the key names the probe that is under way.  If it cannot be sent now, it is sent at the
// next look, or before the next job.
void Quarantine::tell_of_passed() try {
  if (!passed_) return;
  if (redis_.run(pass_probe(passed_->job_class, passed_->jid)).view().integer() == 1) {
    classes_.erase(passed_->job_class);
    log::warn("class_released", {{"class", passed_->shown}, {"passed", probes_needed}});
  }
  passed_.reset();
  has_ended_trial_ = true;
} catch (const std::exception& lost) {
  log::debug("quarantine_not_read", {{"reason", lost.what()}});
}

}  // namespace brood
