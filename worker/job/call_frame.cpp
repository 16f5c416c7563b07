#include "worker/job/call_frame.hpp"

#include <algorithm>
#include <cmath>
#include <exception>
#include <new>
#include <utility>
#include <vector>

#include "shared/base/log.hpp"
#include "shared/job/active_job.hpp"
#include "shared/json/json.hpp"
#include "worker/job/library_text.hpp"

namespace brood {
namespace {

constexpr std::size_t most_shown_of_note = 100;  // characters

// Reads a limit that a library defines, which may have any values.
std::optional<Limit> read_limit(const abi::Limit& given) {
  if (!abi::has(given, &abi::Limit::difference) || given.kind >= limit_kinds) return std::nullopt;
  Limit limit;
  limit.name = read_text(given.name, "");
  limit.kind = static_cast<LimitKind>(given.kind);
  limit.amount = given.amount;
  limit.interval = std::chrono::milliseconds(given.interval_ms);
  limit.wanted = given.wanted;
  limit.known_for = std::chrono::seconds(given.known_for_s);
  limit.defined_ago =
      std::clamp(std::chrono::milliseconds(given.defined_ago_ms), std::chrono::milliseconds(0), longest_defined);
  return limit;
}

}  // namespace

CallFrame::CallFrame(const Payload& job, std::string_view queue, const JobHost* host) : job_(job), host_(host) {
  call_.size = sizeof call_;
  call_.job_class = text_of(job.code_class());
  call_.jid = text_of(job.jid());
  call_.queue = text_of(queue);
  call_.args = text_of(job.args_in_clear());
  if (job.is_active_job()) unwrap();
  call_.payload = text_of(job.text());
  // retry_count is 0 after the first failure.
  const auto retry_count = job.integer("retry_count");
  call_.earlier_attempts = retry_count ? std::clamp<std::int64_t>(*retry_count, 0, 1'000'000'000) + 1 : 0;
  call_.host = this;
  call_.stopping = [](void* frame) { return static_cast<CallFrame*>(frame)->stopping() ? 1 : 0; };
  call_.log = [](void* frame, std::uint32_t level, abi::Text message) {
    static_cast<CallFrame*>(frame)->write(level, message);
  };
  call_.time_left_ms = [](void* frame) { return static_cast<CallFrame*>(frame)->time_left_ms(); };
  call_.set_time_left = [](void* frame, std::int64_t ms) { static_cast<CallFrame*>(frame)->set_time_left(ms); };
  call_.log_with = [](void* frame, abi::Text name, abi::Text value) {
    static_cast<CallFrame*>(frame)->log_with(name, value);
  };
  call_.result_of = [](void* frame, abi::Text step, abi::Text* json) {
    return static_cast<const CallFrame*>(frame)->result_of(step, *json) ? 1 : 0;
  };
  call_.result = [](void* frame, abi::Text json) { static_cast<CallFrame*>(frame)->keep_result(json); };
  call_.progress = [](void* frame, std::int64_t done, std::int64_t total, abi::Text note) {
    static_cast<CallFrame*>(frame)->note_progress(done, total, note);
  };
  if (host != nullptr) call_.capsule = text_of(host->capsule);
  if (job.raw("bid")) bid_ = job.string("bid").value_or("");
  call_.bid = text_of(bid_);
  call_.batch_cancelled = [](void* frame) {
    const auto& self = *static_cast<const CallFrame*>(frame);
    return !self.bid_.empty() && self.host_ != nullptr && self.host_->batch_cancelled &&
                   self.host_->batch_cancelled(self.bid_)
               ? 1
               : 0;
  };
  if (host_ != nullptr && host_->iterations) offer_iterations();
  if (host_ != nullptr && host_->limits) offer_limits();
}

void CallFrame::unwrap() try {
  std::string arguments = active_job_arguments(job_.args_in_clear());
  unwrapped_ = Secret(arguments);
  wipe(arguments);
  call_.args = text_of(unwrapped_.view());
} catch (const BadActiveJob& error) {
  unfit_ = error.what();
}

void CallFrame::offer_iterations() {
  iterations_.size = sizeof iterations_;
  iterations_.max_runtime_ms = host_->iterations->max_runtime.count();
  iterations_.interrupt = [](void* frame) { return iterations_of(frame).interrupt() ? 1 : 0; };
  iterations_.load = [](void* frame, abi::IterationState* state) {
    return static_cast<CallFrame*>(frame)->load_iteration(*state);
  };
  iterations_.save = [](void* frame, const abi::IterationState* state) { return save_iteration(frame, *state); };
  iterations_.end = [](void* frame) { iterations_of(frame).end(); };
  call_.iterations = &iterations_;
}
void CallFrame::offer_limits() {
  limits_.size = sizeof limits_;
  limits_.take = [](void* frame, const abi::Limit* const* limits, std::size_t count, std::int64_t wait_ms,
                    abi::LimitRefusal* refusal) {
    return static_cast<CallFrame*>(frame)->take_limits(limits, count, wait_ms, *refusal);
  };
  limits_.give_back = [](void* frame, const abi::Limit* const* limits, std::size_t count) {
    static_cast<CallFrame*>(frame)->give_back_limits(limits, count);
  };
  call_.limits = &limits_;
}
bool CallFrame::stopping() const { return host_ != nullptr && host_->stopping && host_->stopping(); }

std::int64_t CallFrame::time_left_ms() const {
  const auto left = host_ != nullptr && host_->time_left ? host_->time_left() : std::nullopt;
  return left ? std::max<std::int64_t>(left->count(), 0) : -1;
}
void CallFrame::set_time_left(std::int64_t ms) const {
  if (host_ == nullptr || !host_->set_time_left) return;
  host_->set_time_left(std::clamp(std::chrono::milliseconds(ms), std::chrono::milliseconds(0), longest_timeout));
}

void CallFrame::write(std::uint32_t level, const abi::Text& message) const {
  if (host_ != nullptr && host_->say) return host_->say(read_text(message, ""));
  const auto known = static_cast<log::Level>(std::min<std::uint32_t>(level, abi::log_error));
  if (!log::enabled(known)) return;
  log::write(known, "job_says", {{"job", job_class()}, {"jid", jid()}, {"message", read_text(message, "")}});
}

// Leaves the fact out if there is no memory for it.
void CallFrame::log_with(const abi::Text& name, const abi::Text& value) const {
  if (host_ == nullptr || !host_->log_with || name.data == nullptr) return;
  try {
    host_->log_with({name.data, name.size},
                    value.data == nullptr ? std::string_view() : std::string_view(value.data, value.size));
  } catch (const std::bad_alloc&) {
  }
}

void CallFrame::keep_result(const abi::Text& json) const {
  if (host_ == nullptr || !host_->keep_result || json.data == nullptr) return;
  const std::string_view text(json.data, json.size);
  if (text.size() > abi::longest_result || !is_json(text)) {  // a library made by our headers has refused it
    log::error("result_not_kept", {{"jid", jid()}, {"bytes", text.size()}, {"at_most", abi::longest_result}});
    return;
  }
  try {
    host_->keep_result(std::string(text));
  } catch (const std::bad_alloc&) {
    log::error("result_not_kept", {{"jid", jid()}, {"reason", "out of memory"}});
  }
}

// If there is no memory for the note, the progress is not shown.
void CallFrame::note_progress(std::int64_t done, std::int64_t total, const abi::Text& note) const {
  if (host_ == nullptr || !host_->note_progress) return;
  try {
    host_->note_progress(
        {std::max<std::int64_t>(done, 0), std::max<std::int64_t>(total, 0),
         utf8_prefix(note.data == nullptr ? std::string_view() : std::string_view(note.data, note.size),
                     most_shown_of_note)});
  } catch (const std::bad_alloc&) {
  }
}

const IterationHost& CallFrame::iterations_of(const void* frame) {
  return *static_cast<const CallFrame*>(frame)->host_->iterations;
}

std::uint32_t CallFrame::load_iteration(abi::IterationState& state) const {
  try {
    const std::optional<IterationState> known = iterations_of(this).load();
    if (!known) return abi::iteration_away;
    text_ = known->cursor;
    state.executions = known->executions;
    state.run_seconds = known->run_seconds;
    state.cursor = text_of(text_);
    state.cancelled = known->cancelled ? 1 : 0;
    return abi::iteration_loaded;
  } catch (const std::exception& error) {
    text_ = error.what();
    state.cursor = text_of(text_);
    return abi::iteration_none;
  }
}

std::uint32_t CallFrame::take_limits(const abi::Limit* const* limits, std::size_t count, std::int64_t wait_ms,
                                     abi::LimitRefusal& refusal) const {
  LimitResult result;
  try {
    std::vector<Limit> wanted;
    for (std::size_t i = 0; i < count && i <= most_limits_together; ++i) {
      const std::optional<Limit> limit = read_limit(*limits[i]);
      result.why = limit ? why_no_limit(*limit) : "this worker does not know such a limiter";
      if (!result.why.empty()) break;
      const bool twice =
          std::any_of(wanted.begin(), wanted.end(), [&](const Limit& one) { return one.name == limit->name; });
      if (twice) result.why = "the limiter " + limit->name + " is taken twice at once; say used(2)";
      wanted.push_back(*limit);
    }
    if (count > most_limits_together) result.why = "at most 16 limiters are taken together";
    if (result.why.empty()) {
      result = host_->limits->take(wanted, std::clamp(std::chrono::milliseconds(wait_ms), std::chrono::milliseconds(0),
                                                      longest_wait_for_limits));
    } else {
      result.kind = LimitResult::Kind::refused;
    }
  } catch (const std::exception& error) {
    result.kind = LimitResult::Kind::refused;
    result.why = error.what();
  }
  text_ = std::move(result.why);
  refusal.which = result.which;
  refusal.why = text_of(text_);
  return static_cast<std::uint32_t>(result.kind);
}

bool CallFrame::result_of(const abi::Text& step, abi::Text& json) const {
  if (host_ == nullptr || !host_->result_of || bid_.empty()) return false;
  std::optional<std::string> result = host_->result_of(bid_, read_text(step, ""));
  if (!result) return false;
  text_ = *std::move(result);
  json = text_of(text_);
  return true;
}

void CallFrame::give_back_limits(const abi::Limit* const* limits, std::size_t count) const {
  try {
    std::vector<LimitUse> uses;
    for (std::size_t i = 0; i < std::min(count, most_limits_together); ++i) {
      const std::optional<Limit> limit = read_limit(*limits[i]);
      if (!limit || !is_limit_name(limit->name)) continue;  // such a limit was never taken
      uses.push_back({limit->name, limit->kind, std::max(limits[i]->difference, -most_of_interval)});
    }
    host_->limits->give_back(uses);
  } catch (const std::exception& error) {  // they end with the settle of this job
    log::warn("limits_not_given_back", {{"jid", jid()}, {"reason", error.what()}});
  }
}

// If there is no memory now, a later call saves the state.
int CallFrame::save_iteration(void* frame, const abi::IterationState& state) {
  if (state.cursor.size > abi::longest_cursor) {
    // A library that was built with our headers has refused it before its job began.
    log::error("iteration_too_large", {{"jid", static_cast<CallFrame*>(frame)->jid()},
                                       {"bytes", state.cursor.size},
                                       {"at_most", abi::longest_cursor},
                                       {"kept", "what was saved before"}});
    return 0;
  }
  try {
    return iterations_of(frame).save(
               {.executions = state.executions,
                .cursor = state.cursor.size == 0 ? std::string() : std::string(state.cursor.data, state.cursor.size),
                .run_seconds = std::isfinite(state.run_seconds) ? state.run_seconds : 0})
               ? 1
               : 0;
  } catch (const std::bad_alloc&) {
    return 0;
  }
}

FailureFrame::FailureFrame(const Failure& failure) {
  failure_.size = sizeof failure_;
  failure_.error_class = text_of(failure.error_class);
  failure_.message = text_of(failure.message);
  failure_.crashed = failure.crash || !failure.crash_json.empty() ? 1 : 0;  // a timeout also ends the worker
}

}  // namespace brood
