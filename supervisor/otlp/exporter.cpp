#include "supervisor/otlp/exporter.hpp"

#include <poll.h>
#include <sys/file.h>
#include <sysexits.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <deque>
#include <optional>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <system_error>

#include "shared/base/log.hpp"
#include "shared/config/password_files.hpp"
#include "shared/http/http_call.hpp"
#include "shared/http/retry_pause.hpp"
#include "shared/otlp/span_pipe.hpp"
#include "supervisor/otlp/export_verdict.hpp"
#include "supervisor/otlp/request_headers.hpp"

namespace brood {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t longest_queue = 2'048, longest_batch = 512;
constexpr auto longest_wait = 1s;     // of a span, for others to join it
constexpr auto between_reads = 20ms;  // many spans are read at once; meanwhile the pipe holds them
constexpr auto open_again = 100ms;    // another exporter may still have the pipe
constexpr auto time_to_end = 2s;
constexpr auto refusals_apart = 1min;     // in the log
constexpr std::size_t most_reasons = 8;   // of one outage, in the log
constexpr auto certificates_last = 1min;  // then their files are read again: they may have been renewed
constexpr std::size_t most_read_at_once = std::size_t{1} << 20;

class ExportLoop {
 public:
  explicit ExportLoop(const Exporter& exporter)
      : exporter_(exporter), endpoint_(HttpEndpoint::parse(exporter.settings.endpoint)) {}

  void run() {
    while (!ended(steady_now())) {
      wait(steady_now());
      const SteadyTime now = steady_now();
      if (now >= next_read_ || ends_at_) read(now);
      if (request_) {
        if (const auto end = request_->go_on(now)) heed(verdict_of(*end), now);
      } else if (is_due(now)) {
        send(now);
      }
    }
    const std::uint64_t left = queue_.size() + sent_;
    if (left > 0) exporter_.counts->overflown.fetch_add(left);
  }

 private:
  bool ended(SteadyTime now) const {
    if (!ends_at_) return false;
    return now >= *ends_at_ || (queue_.empty() && sent_ == 0);
  }

  void wait(SteadyTime now) {
    SteadyTime next = now + 1h;
    std::array<pollfd, 3> fds{{{ends_at_ ? -1 : exporter_.lifeline, POLLIN, 0}, {-1, POLLIN, 0}, {-1, 0, 0}}};
    if (!pipe_ || now < next_read_)
      next = std::min(next, next_read_);
    else
      fds[1].fd = pipe_.get();
    if (request_) {
      next = std::min(next, request_->deadline());
      if (request_->fd() < 0) next = now;
      fds[2].fd = request_->fd();
      fds[2].events = request_->events();
    } else if (const auto due = when_due()) {
      next = std::min(next, *due);
    }
    if (ends_at_) next = std::min(next, *ends_at_);
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(std::max<SteadyTime::duration>(next - now, 0ns));
    ::poll(fds.data(), fds.size(), static_cast<int>(left.count()));
    if (fds[0].revents != 0) ends_at_ = steady_now() + time_to_end;
  }

  // Only one exporter may read at a time: two would tear records apart.
  bool has_pipe(SteadyTime now) {
    if (pipe_) return true;
    next_read_ = now + open_again;
    UniqueFd pipe = open_span_pipe(exporter_.pipe);
    if (!pipe) {
      if (!said_no_pipe_) log::error("spans_not_read", {{"reason", std::generic_category().message(errno)}});
      said_no_pipe_ = true;
      return false;
    }
    if (flock(pipe.get(), LOCK_EX | LOCK_NB) != 0) return false;
    pipe_ = std::move(pipe);
    return true;
  }

  // Workers write whole records.  So once the pipe is empty, no record is torn, and the next exporter may read.
  void read(SteadyTime now) {
    if (reading_is_over_ || !has_pipe(now)) return;
    next_read_ = now + between_reads;
    std::array<char, 65'536> bytes;
    for (std::size_t all = 0; all < most_read_at_once;) {
      const ssize_t size = ::read(pipe_.get(), bytes.data(), bytes.size());
      if (size < 0 && errno == EINTR) continue;
      if (size <= 0) {
        if (ends_at_) stop_reading();
        return;
      }
      all += static_cast<std::size_t>(size);
      records_.add({bytes.data(), static_cast<std::size_t>(size)});
      while (auto span = records_.next()) keep(std::move(*span), now);
    }
  }

  void stop_reading() {
    reading_is_over_ = true;
    pipe_.reset();
    next_read_ = SteadyTime::max();
  }

  void keep(RunSpan span, SteadyTime now) {
    if (queue_.size() == longest_queue) {
      exporter_.counts->overflown.fetch_add(1, std::memory_order_relaxed);
      return;
    }
    if (queue_.empty()) oldest_ = now;
    queue_.push_back(std::move(span));
  }

  std::optional<SteadyTime> when_due() const {
    if (sent_ > 0) return not_before_;
    if (queue_.empty()) return std::nullopt;
    const bool waits = queue_.size() < longest_batch && !ends_at_;
    return std::max(not_before_, waits ? oldest_ + longest_wait : SteadyTime{});
  }
  bool is_due(SteadyTime now) const {
    const auto due = when_due();
    return due && now >= *due;
  }

  void send(SteadyTime now) {
    if (sent_ == 0) {
      SpanRequest request(exporter_.settings, exporter_.source);
      while (!queue_.empty() && request.spans() < longest_batch) {
        request.add(queue_.front());
        queue_.pop_front();
      }
      sent_ = request.spans();
      body_ = request.body();
      oldest_ = now;
    }
    try {
      // Read for each request: a token may have been renewed.
      const std::string& file = exporter_.settings.headers_file;
      const std::string headers = file.empty() ? "" : read_headers(file);
      const HttpPost post{
          .endpoint = endpoint_, .target = endpoint_.path + "/v1/traces", .headers = headers, .body = body_};
      request_.emplace(post, endpoint_.is_tls ? &certificates(now) : nullptr, "[otlp.tls]", now);
    } catch (const std::runtime_error& error) {
      ExportVerdict verdict;
      verdict.reason = error.what();
      heed(verdict, now);
    }
  }

  // Throws TlsError.
  const TlsCertificates& certificates(SteadyTime now) {
    if (!certificates_ || now >= certificates_read_ + certificates_last) {
      certificates_.emplace(with_paths(exporter_.settings.tls.value_or(TlsSettings{})));
      certificates_read_ = now;
    }
    return *certificates_;
  }

  static ExportVerdict verdict_of(const HttpEnd& end) {
    if (end.trouble.empty()) return judge_answer(end.answer);
    ExportVerdict verdict;
    verdict.reason = end.trouble;
    return verdict;
  }

  void heed(const ExportVerdict& verdict, SteadyTime now) {
    request_.reset();
    if (verdict.kind == ExportVerdict::Kind::again) return back_off(verdict, now);
    if (failures_ > 0) log::info("collector_is_back", {{"away_for_s", (now - away_since_) / 1s}});
    failures_ = 0;
    not_before_ = now;
    const std::uint64_t refused =
        verdict.kind == ExportVerdict::Kind::refused ? sent_ : std::min<std::uint64_t>(sent_, verdict.refused);
    exporter_.counts->refused.fetch_add(refused, std::memory_order_relaxed);
    exporter_.counts->exported.fetch_add(sent_ - refused, std::memory_order_relaxed);
    if (refused > 0 && now >= next_refusal_) {
      log::warn("collector_refuses_spans", {{"spans", refused}, {"reason", verdict.reason}});
      next_refusal_ = now + refusals_apart;
    }
    sent_ = 0;
    body_.clear();
  }

  // Does not try again once the lifeline has ended.
  void back_off(const ExportVerdict& verdict, SteadyTime now) {
    if (failures_++ == 0) {
      away_since_ = now;
      reasons_.clear();
    }
    // Each reason once: one that an operator must fix may follow one that passes by itself.
    if (reasons_.size() < most_reasons && reasons_.insert(verdict.reason).second)
      log::warn("collector_away", {{"endpoint", exporter_.settings.endpoint}, {"reason", verdict.reason}});
    if (ends_at_) ends_at_ = now;
    std::uniform_real_distribution<double> chance(0, 1);
    not_before_ = now + std::max<std::chrono::milliseconds>(backoff(failures_, chance(random_)), verdict.wait_at_least);
  }

  const Exporter& exporter_;
  const HttpEndpoint endpoint_;
  UniqueFd pipe_;
  bool said_no_pipe_ = false, reading_is_over_ = false;
  SpanRecords records_;
  std::deque<RunSpan> queue_;
  SteadyTime oldest_{};   // of the oldest span in the queue
  std::size_t sent_ = 0;  // spans in `body_`; 0: nothing is being sent
  std::string body_;      // kept until the collector has answered
  std::optional<TlsCertificates> certificates_;
  SteadyTime certificates_read_{};
  std::optional<HttpCall> request_;
  int failures_ = 0;               // in a row
  std::set<std::string> reasons_;  // of the failures, as logged
  SteadyTime away_since_{}, not_before_{}, next_read_{}, next_refusal_{};
  std::optional<SteadyTime> ends_at_;
  std::minstd_rand random_{std::random_device{}()};
};

}  // namespace

int run_exporter(const Exporter& exporter) try {
  signal(SIGPIPE, SIG_IGN);
  signal(SIGTERM, SIG_IGN);  // only the end of the lifeline makes it send the rest and end
  ExportLoop(exporter).run();
  log::flush();
  return EX_OK;
} catch (const std::exception& error) {
  log::error("spans_not_exported", {{"reason", error.what()}});
  log::flush();
  return EX_SOFTWARE;
}

}  // namespace brood
