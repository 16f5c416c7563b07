#include "worker/reporting/run_reporter.hpp"

#include <poll.h>
#include <sysexits.h>

#include <algorithm>
#include <csignal>
#include <exception>
#include <list>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "shared/base/log.hpp"
#include "shared/config/password_files.hpp"
#include "shared/config/redis_location.hpp"
#include "shared/errors/error_spool.hpp"
#include "shared/errors/error_storm.hpp"
#include "shared/json/json.hpp"
#include "shared/redis/tls_certificates.hpp"
#include "worker/reporting/program_attempt.hpp"
#include "worker/reporting/report_queue.hpp"
#include "worker/reporting/service_attempt.hpp"

namespace brood {

std::unique_ptr<ReportAttempt> begin_report(ErrorSink sink, const Config& config, const ErrorServices& services,
                                            const TlsCertificates* certificates, std::string_view version,
                                            const ErrorReport& report, SteadyTime now) {
  ErrorReport of_service = report;
  of_service.job.clear();  // the program alone gets the payload
  const auto post = [&](const HttpPost& to) { return std::make_unique<ServiceAttempt>(to, certificates, now); };
  switch (sink) {
    case ErrorSink::program:
      return std::make_unique<ProgramAttempt>(config.on_error.value(), report, now);
    case ErrorSink::sentry:
      return post(post_to_sentry(services.sentry.value(), of_service, version));
    case ErrorSink::honeybadger:
      return post(post_to_honeybadger(config.errors.honeybadger_endpoint, services.honeybadger_api_key.view(),
                                      of_service, version));
    case ErrorSink::webhook:
      return post(post_to_webhook(services.webhook.value(), services.webhook_secret.view(), of_service));
  }
  return nullptr;
}

namespace {

using namespace std::chrono_literals;

constexpr auto time_to_end = 2s;
constexpr auto lock_again = 100ms;    // another reporter may still read
constexpr auto between_reads = 50ms;  // many reports are read at once
constexpr std::chrono::milliseconds read_anyway = 5s, read_without_news = 200ms;
constexpr auto secrets_last = 1min;  // then they and the certificates are read again, since they may have been renewed
constexpr std::size_t most_read_at_once = 1'000;
constexpr auto longest_lock = 30s;  // of another reporter, with a wide margin
constexpr auto lines_of_unreadable_apart = 1min;

class ReportLoop {
 public:
  explicit ReportLoop(const Reporter& reporter)
      : reporter_(reporter),
        counts_(reporter.counts),
        spool_(std::in_place, reporter.spool),
        storm_(reporter.config.errors.storm_after) {
    for (ErrorSinkCounts& sink : counts_.sinks) sink.in_use.store(0);
    for (const ErrorSink sink : sinks_of(reporter.config)) {
      ErrorSinkCounts& counts = counts_.sinks[static_cast<std::size_t>(sink)];
      counts.in_use.store(1);
      queues_.emplace_back(
          sink, reporter.config.errors, counts,
          [this, sink](const HeldReport& held, SteadyTime now) {
            note_in_hand(held.file);
            return begin(sink, held.report, now);
          },
          [this](HeldReport& held) { done(held); });
    }
  }

  void run() {
    while (!ended(steady_now())) {
      wait(steady_now());
      const SteadyTime now = steady_now();
      if (now >= next_read_) read(now);
      for (const ErrorReport& digest : storm_.take_digests(now, ends_at_.has_value())) hold({.report = digest}, now);
      for (ReportQueue& queue : queues_) queue.advance(now);
      if (reads_) note_in_hand();
      log::flush();
    }
    if (reads_) spool_->note_end();
  }

 private:
  bool ended(SteadyTime now) const {
    if (!ends_at_) return false;
    if (!reads_ || now >= *ends_at_) return true;
    return has_read_all_ &&
           std::all_of(queues_.begin(), queues_.end(), [](const ReportQueue& queue) { return queue.has_ended(); });
  }

  void wait(SteadyTime now) {
    SteadyTime next = std::min<SteadyTime>(next_read_, now + 1h);
    std::vector<pollfd> fds{{ends_at_ ? -1 : reporter_.lifeline, POLLIN, 0},
                            {reads_ && now >= heard_ + between_reads ? spool_->news() : -1, POLLIN, 0}};
    for (const ReportQueue& queue : queues_) {
      queue.watch(fds);
      next = std::min(next, queue.next_look(now));
    }
    if (const auto digest = storm_.next_digest()) next = std::min(next, *digest);
    if (ends_at_) next = std::min(next, *ends_at_);
    if (reads_ && fds[1].fd < 0 && spool_->news() >= 0) next = std::min<SteadyTime>(next, heard_ + between_reads);
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(std::max<SteadyTime::duration>(next - now, 0ns));
    ::poll(fds.data(), fds.size(), static_cast<int>(left.count()));
    if (fds[1].revents != 0) {
      heard_ = steady_now();
      next_read_ = heard_;
      spool_->hear_news();
    }
    if (fds[0].revents != 0) {
      ends_at_ = steady_now() + time_to_end;
      next_read_ = steady_now();
      for (ReportQueue& queue : queues_) queue.end();
    }
  }

  // Whether this reporter may read.  Only one does at a time, so that no report is sent twice.
  bool may_read(SteadyTime now) {
    if (!ends_at_ && !spool_->is_in_place()) open_anew();
    if (reads_) return true;
    if (!spool_->lock()) {
      next_read_ = now + lock_again;
      if (!asked_for_lock_) asked_for_lock_ = now;
      if (now >= *asked_for_lock_ + longest_lock && !std::exchange(lock_is_logged_, true))
        log::warn("error_reports_wait", {{"reason", "another process has locked " + reporter_.spool}});
      return false;
    }
    reads_ = true;
    asked_for_lock_.reset();
    lock_is_logged_ = false;
    in_hand_.clear();
    suspects_ = spool_->note_begin();
    counts_.forgotten.fetch_add(counts_.summed_unsent.exchange(0));
    return true;
  }

  // Makes the directory again: jobs can write there too, and so remove or rename it.
  void open_anew() {
    log::warn("error_reports_moved", {{"directory", reporter_.spool}, {"now", "it is made again"}});
    make_error_spool(reporter_.spool);
    spool_.emplace(reporter_.spool);
    reads_ = false;
  }

  void read(SteadyTime now) {
    if (!may_read(now)) return;
    next_read_ = now + (spool_->news() < 0 ? read_without_news : read_anyway);
    std::size_t fresh = 0;
    bool is_full = false;
    const std::size_t most = known_.size() + done_.size() + unreadable_.size() + most_read_at_once;
    for (std::string name : spool_->names(most)) {
      if (known_.contains(name)) continue;
      if (done_.contains(name)) {
        remove(name);
        continue;
      }
      is_full = held_bytes_ > most_spooled_bytes;  // writers keep to this, but jobs can write there too
      if (is_full) break;
      if (!unreadable_.contains(name)) ++fresh;
      if (suspects_.erase(name) > 0) {
        const auto renamed = spool_->note_killed_reader(name);
        if (!renamed) {
          log::error("error_report_forgotten",
                     {{"file", name}, {"reason", "the reporter was killed again and again while it had it"}});
          counts_.forgotten.fetch_add(1);
          continue;
        }
        name = *renamed;
      }
      take(name, now);
    }
    has_read_all_ = ends_at_ && fresh < most_read_at_once && !is_full;
    if (fresh >= most_read_at_once && !is_full) next_read_ = now;
    counts_.waiting_bytes.store(held_bytes_);
  }

  void take(const std::string& name, SteadyTime now) {
    note_in_hand(name);
    const auto text = spool_->read(name);
    if (!text) {
      if (unreadable_.insert(name).second) note_unreadable("it cannot be opened, and is tried again", now);
      return;
    }
    unreadable_.erase(name);
    try {
      const ErrorReport report = read_error_report(*text);
      if (storm_.sends(report, now)) return hold({.report = report, .file = name, .bytes = text->size()}, now);
      counts_.summed.fetch_add(1);
      counts_.summed_unsent.fetch_add(1);
    } catch (const BadJson& bad) {
      counts_.forgotten.fetch_add(1);
      note_unreadable(bad.what(), now);
    }
    remove(name);
  }

  // Notes the files in hand.  If this process is killed, the next one knows which reports may be the reason.
  void note_in_hand(const std::string& file = {}) {
    std::set<std::string> files;
    for (const ReportQueue& queue : queues_) queue.add_files_under_way(files);
    if (!file.empty()) files.insert(file);
    if (files == in_hand_) return;
    in_hand_ = std::move(files);
    spool_->note_in_hand(in_hand_);
  }

  void note_unreadable(const std::string& reason, SteadyTime now) {
    ++unreadable_unlogged_;
    if (now < next_unreadable_) return;
    log::warn("error_report_unreadable", {{"reports", std::exchange(unreadable_unlogged_, 0)}, {"reason", reason}});
    next_unreadable_ = now + lines_of_unreadable_apart;
  }

  // Removes a file.  If that fails, it is tried again at each look, and the report is not sent again.
  void remove(const std::string& name) {
    if (spool_->remove(name))
      done_.erase(name);
    else
      done_.insert(name);
  }

  void hold(HeldReport report, SteadyTime now) {
    const auto held = std::make_shared<HeldReport>(std::move(report));
    held->queues = static_cast<int>(queues_.size());
    if (!held->file.empty()) {
      known_.insert(held->file);
      held_bytes_ += held->bytes;
    }
    for (ReportQueue& queue : queues_) queue.add(held, now);
  }

  void done(HeldReport& held) {
    if (--held.queues > 0) return;
    if (held.report.digest) counts_.summed_unsent.fetch_sub(held.report.digest->failures);
    if (held.file.empty()) return;
    remove(held.file);
    known_.erase(held.file);
    held_bytes_ -= held.bytes;
    counts_.waiting_bytes.store(held_bytes_);
  }

  std::unique_ptr<ReportAttempt> begin(ErrorSink sink, const ErrorReport& report, SteadyTime now) {
    const Config& config = reporter_.config;
    if (sink == ErrorSink::program) return begin_report(sink, config, {}, nullptr, reporter_.version, report, now);
    if (!services_ || now >= services_read_ + secrets_last) read_services(now);
    const TlsCertificates* const certificates = uses_tls(config, *services_, sink) ? &read_certificates(now) : nullptr;
    return begin_report(sink, config, *services_, certificates, reporter_.version, report, now);
  }

  // Reads the secrets of the services.  While a file is missing, its last content is used.
  void read_services(SteadyTime now) {
    services_read_ = now;
    try {
      services_ = read_error_services(reporter_.config.errors);
    } catch (const ConfigError&) {
      if (!services_) throw;
    }
  }

  // Reads the certificates anew.  The former ones are kept for a while, since a report under way may use them.
  const TlsCertificates& read_certificates(SteadyTime now) {
    if (certificates_.empty() || now >= certificates_read_ + secrets_last) {
      certificates_.emplace_back(with_paths(reporter_.config.errors.tls.value_or(TlsSettings{})));
      certificates_read_ = now;
      if (certificates_.size() > 2) certificates_.pop_front();
    }
    return certificates_.back();
  }

  const Reporter& reporter_;
  ErrorCounts& counts_;
  std::optional<ErrorSpoolReader> spool_;  // always there
  ErrorStorm storm_;
  std::list<ReportQueue> queues_;
  std::set<std::string> known_;       // files whose reports are in a queue
  std::set<std::string> done_;        // files that could not be removed
  std::set<std::string> unreadable_;  // could not be opened at the last look; they are tried again at the next
  std::set<std::string> in_hand_;     // files being read or sent, as they were noted last
  std::set<std::string> suspects_;    // those that a killed reporter had in hand
  std::size_t held_bytes_ = 0;        // of these
  std::optional<ErrorServices> services_;
  std::list<TlsCertificates> certificates_;
  SteadyTime services_read_{}, certificates_read_{}, next_read_{}, heard_{};
  SteadyTime next_unreadable_{};
  std::uint64_t unreadable_unlogged_ = 0;
  std::optional<SteadyTime> asked_for_lock_;
  bool lock_is_logged_ = false;
  bool reads_ = false, has_read_all_ = false;
  std::optional<SteadyTime> ends_at_;
};

}  // namespace

int run_reporter(const Reporter& reporter) try {
  signal(SIGPIPE, SIG_IGN);
  signal(SIGTERM, SIG_IGN);  // only the end of the lifeline makes it send the rest and end
  if (reporter.config.on_error) tell_jobs_of_redis(reporter.config.redis);
  ReportLoop(reporter).run();
  log::flush();
  return EX_OK;
} catch (const std::exception& error) {
  log::error("errors_not_reported", {{"reason", error.what()}});
  log::flush();
  return EX_SOFTWARE;
}

}  // namespace brood
