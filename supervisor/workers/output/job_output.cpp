#include "supervisor/workers/output/job_output.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <utility>

#include "shared/base/check.hpp"
#include "shared/base/log.hpp"
#include "shared/scoreboard/job_end_mark.hpp"

namespace brood {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t most_read_at_once = 64 * 1024;
constexpr int most_reads_a_turn = 4;
constexpr std::size_t most_read_at_the_end = 1024 * 1024;
constexpr std::size_t most_lines_a_turn = 64, most_bytes_a_turn = 16 * 1024;
constexpr std::size_t most_last_lines = 1'000, most_last_bytes = 256 * 1024;
constexpr std::size_t fewest_last_lines = 50;  // logged of a dead worker even if the log is behind
constexpr auto patience_with_the_log = 1s;
constexpr auto pause_while_log_is_behind = 5ms;
constexpr auto pause_in_a_flood = 10ms;  // 6 MB a second, which costs the loop next to nothing
constexpr auto wait_for_newline = 1s;
constexpr auto report_interval = 1s;
constexpr std::size_t most_jobs_reported = 8;  // by name; naming each of many short jobs would itself be a flood

// The job that the worker runs or has run last; nullopt if there is none yet, or its record is unreadable.
std::optional<PrintingJob> printing_job(const SlotRecord& record) {
  SlotSnapshot seen = snapshot(record);
  if (!seen.text_is_whole || (seen.jid.empty() && seen.job_class.empty())) return std::nullopt;
  return PrintingJob{std::move(seen.jid), std::move(seen.job_class)};
}

}  // namespace

OutputPipe make_output_pipe() {
  int ends[2];
  check("pipe2", pipe2(ends, O_CLOEXEC));
  OutputPipe pipe{UniqueFd(ends[0]), UniqueFd(ends[1]), random_token()};
  check("fcntl", fcntl(pipe.supervisor_end.get(), F_SETFL, O_NONBLOCK));
  return pipe;
}

JobOutput::JobOutput(EventLoop& loop, UniqueFd pipe, std::string token, Source source)
    : loop_(loop),
      pipe_(std::move(pipe)),
      token_(std::move(token)),
      source_(std::move(source)),
      reads_(*source_.record),
      lines_(token_),
      allowance_(steady_now()),
      again_(loop, [this] { work(); }) {
  wait(steady_now());
}

void JobOutput::work() {
  const SteadyTime now = steady_now();
  if (attributed_ == 0) read_in_turn(now);
  keep_unfinished(now);
  log_in_turn(now);
  report_left_out(now);
  wait(now);
}

// Attributes what was read to a job.  A mark is written before a job begins, behind everything printed before.
//
// If the same job ran before and after the read, it printed what follows the last mark.  If one job replaced another
// meanwhile, a mark may still be unread, so look again.  If the record was unreadable both times, that proves nothing:
// two jobs in turn may have been writing it.
void JobOutput::read_in_turn(SteadyTime now) {
  flooded_ = false;
  bool can_be_read = false;
  std::optional<PrintingJob> job = printing_job(*source_.record);
  for (int reads = 0; reads < most_reads_a_turn; ++reads) {
    const bool nothing = read_some(now) == Read::nothing;
    if (nothing && reads == 0 && waiting_.empty() && left_out_unattributed_.lines == 0) return;
    std::optional<PrintingJob> job_now = printing_job(*source_.record);
    if (job_now == job && (job || nothing)) return attribute(job.value_or(latest_));
    can_be_read = can_be_read || job || job_now;
    job = std::move(job_now);
  }
  if (!can_be_read) attribute(latest_);  // a job has overwritten the record
  // Else jobs end faster than we look, and the next turn decides.
}

JobOutput::Read JobOutput::read_some(SteadyTime now) {
  reads_.begin();
  const Read read = read_and_keep(now);
  reads_.end(read == Read::output);
  return read;
}

JobOutput::Read JobOutput::read_and_keep(SteadyTime now) {
  char bytes[most_read_at_once];
  const ssize_t got = ended_ ? 0 : ::read(pipe_.get(), bytes, sizeof bytes);
  if (got <= 0) {
    ended_ = ended_ || got == 0 || (errno != EAGAIN && errno != EINTR);
    return Read::nothing;
  }
  lines_.add({bytes, static_cast<std::size_t>(got)});
  read_at_ = now;
  bool printed = false;
  while (const auto item = lines_.next()) {
    if (item->kind == OutputLines::Item::Kind::end_of_job) {
      attribute({std::string(item->jid), std::string(item->job_class)});
      printed = false;
    } else {
      keep(*item, now);
      printed = true;
    }
  }
  return printed || lines_.has_unfinished() ? Read::output : Read::marks;
}

void JobOutput::attribute(const PrintingJob& job) {
  latest_ = job;
  if (left_out_unattributed_.lines > 0) {
    LeftOut attributed = std::exchange(left_out_unattributed_, {});
    attributed.job = job;
    count_left_out(attributed);
  }
  for (; attributed_ < waiting_.size(); ++attributed_) waiting_[attributed_].job = job;
}

void JobOutput::keep(const OutputLines::Item& item, SteadyTime now) {
  if (!at_the_end_ && !allowance_.admit(item.text.size(), now)) {
    flooded_ = true;
    ++left_out_unattributed_.lines;
    left_out_unattributed_.bytes += item.text.size();
    return;
  }
  while (at_the_end_ && !waiting_.empty() &&
         (waiting_.size() >= most_last_lines || waiting_bytes_ + item.text.size() > most_last_bytes))
    leave_out_first();
  waiting_.push_back({std::string(item.text), item.kind == OutputLines::Item::Kind::part, {}});
  waiting_bytes_ += item.text.size();
}

// Takes text without a newline, such as a prompt or a job's last output, once it has waited long enough for more.
void JobOutput::keep_unfinished(SteadyTime now) {
  if (!lines_.has_unfinished() || (!ended_ && now - read_at_ < wait_for_newline)) return;
  const bool job_goes_on = !ended_ && printing_job(*source_.record) == latest_;
  while (lines_.has_unfinished())
    keep(lines_.take_unfinished(job_goes_on ? OutputLines::Item::Kind::part : OutputLines::Item::Kind::line), now);
  attribute(latest_);
}

void JobOutput::log_in_turn(SteadyTime now) {
  std::size_t lines = 0, bytes = 0;
  while (attributed_ > 0 && lines < most_lines_a_turn && bytes < most_bytes_a_turn) {
    if (log::behind()) {
      if (!log_behind_since_) log_behind_since_ = now;
      if (now - *log_behind_since_ < patience_with_the_log) return;
      while (!waiting_.empty()) leave_out_first();
      flooded_ = true;
      return;
    }
    log_behind_since_.reset();
    ++lines;
    bytes += waiting_.front().text.size();
    log_first();
  }
}

void JobOutput::log_first() {
  const Line& line = waiting_.front();
  if (line.continued) {
    log::info("job_output", {{"slot", source_.slot},
                             {"worker_pid", source_.worker},
                             {"jid", line.job.jid},
                             {"class", line.job.job_class},
                             {"continued", true},
                             {"text", line.text}});
  } else {
    log::info("job_output", {{"slot", source_.slot},
                             {"worker_pid", source_.worker},
                             {"jid", line.job.jid},
                             {"class", line.job.job_class},
                             {"text", line.text}});
  }
  forget_first();
}

void JobOutput::leave_out_first() {
  const Line& line = waiting_.front();
  if (attributed_ > 0) {
    count_left_out({line.job, 1, line.text.size(), 0});
  } else {
    ++left_out_unattributed_.lines;
    left_out_unattributed_.bytes += line.text.size();
  }
  forget_first();
}

void JobOutput::count_left_out(const LeftOut& more) {
  if (left_out_.empty() || left_out_.back().job != more.job) {
    if (left_out_.size() < most_jobs_reported) {
      left_out_.push_back(more);
      return;
    }
    left_out_.back().job = more.job;
    ++left_out_.back().other_jobs;
  }
  left_out_.back().lines += more.lines;
  left_out_.back().bytes += more.bytes;
}

void JobOutput::forget_first() {
  waiting_bytes_ -= waiting_.front().text.size();
  waiting_.pop_front();
  if (attributed_ > 0) --attributed_;
}

void JobOutput::report_left_out(SteadyTime now) {
  if (left_out_.empty() || (!at_the_end_ && now - reported_at_ < report_interval)) return;
  for (const LeftOut& left_out : left_out_) {
    if (left_out.other_jobs > 0) {
      log::warn("job_output_dropped", {{"slot", source_.slot},
                                       {"worker_pid", source_.worker},
                                       {"jobs", left_out.other_jobs + 1},
                                       {"lines", left_out.lines},
                                       {"bytes", left_out.bytes}});
    } else {
      log::warn("job_output_dropped", {{"slot", source_.slot},
                                       {"worker_pid", source_.worker},
                                       {"jid", left_out.job.jid},
                                       {"class", left_out.job.job_class},
                                       {"lines", left_out.lines},
                                       {"bytes", left_out.bytes}});
    }
  }
  left_out_.clear();
  reported_at_ = now;
}

// Watches the pipe only while no line waits: otherwise a full pipe would wake the loop again and again.
void JobOutput::wait(SteadyTime now) {
  const bool watches = waiting_.empty() && !flooded_ && !ended_;
  if (!watches) {
    watch_.reset();
  } else if (!watch_) {
    watch_ = std::make_unique<FdWatch>(loop_, pipe_.get(), FdWatch::readable, [this](int) { work(); });
  }
  if (!waiting_.empty()) {
    again_.start_in(log_behind_since_ ? pause_while_log_is_behind : 0ms);
  } else if (flooded_ && !ended_) {
    again_.start_in(pause_in_a_flood);
  } else if (!left_out_.empty() || left_out_unattributed_.lines > 0) {
    again_.start_in(std::max<std::chrono::nanoseconds>(reported_at_ + report_interval - now, 0ms));
  } else if (lines_.has_unfinished()) {
    again_.start_in(wait_for_newline);
  } else {
    again_.stop();
  }
}

void JobOutput::drain_and_close() {
  const SteadyTime now = steady_now();
  watch_.reset();
  again_.stop();
  at_the_end_ = true;
  std::size_t chunks = most_read_at_the_end / most_read_at_once;
  while (chunks-- > 0 && read_some(now) != Read::nothing) {
  }
  attribute(printing_job(*source_.record).value_or(latest_));
  while (lines_.has_unfinished()) keep(lines_.take_unfinished(OutputLines::Item::Kind::line), now);
  attribute(latest_);
  while (!waiting_.empty()) {
    if (log::behind() && waiting_.size() > fewest_last_lines) {
      leave_out_first();
    } else {
      log_first();
    }
  }
  report_left_out(now);
  pipe_.reset();
}

}  // namespace brood
