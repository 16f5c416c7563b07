#include "worker/reporting/report_queue.hpp"

#include <algorithm>
#include <exception>
#include <utility>

#include "shared/base/log.hpp"
#include "shared/http/retry_pause.hpp"

namespace brood {
namespace {

using namespace std::chrono_literals;

constexpr auto lines_apart = 1min;       // in the log
constexpr std::size_t most_reasons = 8;  // of one outage, in the log
constexpr int most_failures = 5;         // of the service for one report; then the other reports are tried

}  // namespace

ReportQueue::ReportQueue(ErrorSink sink, const ErrorSettings& settings, ErrorSinkCounts& counts, Begin begin, Done done)
    : sink_(sink),
      most_waiting_(static_cast<std::size_t>(settings.queue)),
      most_under_way_(static_cast<std::size_t>(settings.at_once)),
      counts_(counts),
      begin_(std::move(begin)),
      done_(std::move(done)) {
  counts_.away_since.store(0);
}

void ReportQueue::add(const std::shared_ptr<HeldReport>& report, SteadyTime now) {
  if (waiting_.size() < most_waiting_) {
    const auto first_suspect = std::find_if(waiting_.begin(), waiting_.end(),
                                            [](const Entry& entry) { return entry.failures >= most_failures; });
    waiting_.insert(first_suspect, Entry{report});
    return;
  }
  counts_.overflown.fetch_add(1, std::memory_order_relaxed);
  ++overflown_unsaid_;
  if (now >= next_overflow_) {
    log::warn("error_reports_lost",
              {{"service", name()}, {"reports", std::exchange(overflown_unsaid_, 0)}, {"reason", "its queue is full"}});
    next_overflow_ = now + lines_apart;
  }
  done_(*report);
}

void ReportQueue::watch(std::vector<pollfd>& fds) const {
  for (const Entry& entry : under_way_) entry.attempt->watch(fds);
}

void ReportQueue::add_files_under_way(std::set<std::string>& files) const {
  for (const Entry& entry : under_way_) {
    if (!entry.held->file.empty()) files.insert(entry.held->file);
  }
}

SteadyTime ReportQueue::next_look(SteadyTime now) const {
  SteadyTime next = now + 1h;
  for (const Entry& entry : under_way_) next = std::min(next, entry.attempt->next_look(now));
  const std::size_t places = failures_ > 0 ? 1 : most_under_way_;
  const bool begins = !waiting_.empty() && under_way_.size() < places && !(ends_ && failures_ > 0);
  return begins ? std::min(next, not_before_) : next;
}

void ReportQueue::advance(SteadyTime now) {
  for (auto entry = under_way_.begin(); entry != under_way_.end();) {
    const std::optional<ErrorVerdict> verdict = entry->attempt->go_on(now);
    if (!verdict) {
      ++entry;
      continue;
    }
    Entry over = std::move(*entry);
    entry = under_way_.erase(entry);
    heed(std::move(over), *verdict, now);
  }
  while (may_begin(now)) begin(now);
}

// Whether another attempt may begin.  A service that is away is tried with one report at a time.
bool ReportQueue::may_begin(SteadyTime now) const {
  if (waiting_.empty() || now < not_before_ || (ends_ && failures_ > 0)) return false;
  return under_way_.size() < (failures_ > 0 ? 1 : most_under_way_);
}

void ReportQueue::begin(SteadyTime now) {
  Entry entry = std::move(waiting_.front());
  waiting_.pop_front();
  try {
    entry.attempt = begin_(*entry.held, now);
    under_way_.push_back(std::move(entry));
  } catch (const std::exception& error) {
    ErrorVerdict verdict;
    verdict.reason = error.what();
    if (sink_ == ErrorSink::program) verdict.kind = ErrorVerdict::Kind::refused;
    heed(std::move(entry), verdict, now);
  }
}

void ReportQueue::heed(Entry entry, const ErrorVerdict& verdict, SteadyTime now) {
  entry.attempt.reset();
  not_before_ = std::max<SteadyTime>(not_before_, now + verdict.wait_at_least);
  const bool is_limit = verdict.has_answered && verdict.wait_at_least > 0ms;
  const bool is_suspect =
      verdict.kind == ErrorVerdict::Kind::again && verdict.was_sent && !is_limit && ++entry.failures > most_failures;
  if (is_suspect && entry.taken_before < taken_) return refuse(entry, verdict.reason, now);
  switch (verdict.kind) {
    case ErrorVerdict::Kind::again:
      return try_again(std::move(entry), verdict, now);
    case ErrorVerdict::Kind::refused:
      return refuse(entry, verdict.reason, now);
    case ErrorVerdict::Kind::taken:
      break;
  }
  note_taken(now);
  counts_.sent.fetch_add(1, std::memory_order_relaxed);
  done_(*entry.held);
}

void ReportQueue::note_taken(SteadyTime now) {
  if (away_since_) log::info("error_service_is_back", {{"service", name()}, {"away_for_s", (now - *away_since_) / 1s}});
  away_since_.reset();
  failures_ = 0;
  ++taken_;
  counts_.away_since.store(0);
}

void ReportQueue::note_not_taken() {
  if (counts_.away_since.load() == 0) counts_.away_since.store(static_cast<std::uint64_t>(epoch_seconds(wall_now())));
}

void ReportQueue::try_again(Entry entry, const ErrorVerdict& verdict, SteadyTime now) {
  note_not_taken();
  ++failures_;
  if (!away_since_) {
    away_since_ = now;
    reasons_.clear();
  }
  // Logs each reason once: a reason that an operator must fix may follow one that passes by itself.
  if (reasons_.size() < most_reasons && reasons_.insert(verdict.reason).second)
    log::warn("error_service_away", {{"service", name()}, {"reason", verdict.reason}});
  std::uniform_real_distribution<double> chance(0, 1);
  not_before_ = std::max<SteadyTime>(not_before_, now + backoff(failures_, chance(random_)));
  if (entry.failures < most_failures) {
    waiting_.push_front(std::move(entry));
    return;
  }
  // If the service takes other reports meanwhile, but never this one, the report itself is the reason.
  entry.taken_before = taken_;
  waiting_.push_back(std::move(entry));
}

// Each failure of the program is logged, since they may differ, and the operator can fix the program.
void ReportQueue::refuse(const Entry& entry, const std::string& reason, SteadyTime now) {
  note_not_taken();
  failures_ = 0;  // it answers, so the other reports are tried without a pause
  counts_.refused.fetch_add(1, std::memory_order_relaxed);
  ++refused_unsaid_;
  const ErrorReport& report = entry.held->report;
  if (sink_ == ErrorSink::program) {
    log::warn("error_program_failed", {{"jid", report.jid}, {"reason", reason}});
  } else if (now >= next_refusal_) {
    log::warn(
        "error_service_refuses",
        {{"service", name()}, {"reports", std::exchange(refused_unsaid_, 0)}, {"jid", report.jid}, {"reason", reason}});
    next_refusal_ = now + lines_apart;
  }
  done_(*entry.held);
}

}  // namespace brood
