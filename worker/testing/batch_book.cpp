#include "worker/testing/batch_book.hpp"

#include <algorithm>
#include <deque>

#include "shared/base/clock.hpp"
#include "shared/job/batch_membership.hpp"
#include "shared/job/payload.hpp"

namespace brood::testing {
namespace {

constexpr std::array all_events{std::pair{BatchEvent::complete, std::string_view("complete")},
                                std::pair{BatchEvent::success, std::string_view("success")},
                                std::pair{BatchEvent::death, std::string_view("death")},
                                std::pair{BatchEvent::finished, std::string_view("finished")}};

// A callback as callback_value() writes it: "<queue> <unit of time> <jid> <payload without its last brace>".
struct KeptJob {
  std::string queue, jid, payload, time;
};

KeptJob read_kept(std::string_view text) {
  const auto take_word = [&] {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    return word;
  };
  KeptJob kept;
  kept.queue = take_word();
  kept.time = json_time(wall_now(), take_word() == "ms" ? TimeUnit::integer_milliseconds : TimeUnit::float_seconds);
  kept.jid = take_word();
  kept.payload = text;
  return kept;
}

ClientPush pushed_now(std::string_view text) {
  KeptJob kept = read_kept(text);
  ClientPush push;
  push.payload = kept.payload + ",\"enqueued_at\":" + kept.time + "}";
  push.jid = std::move(kept.jid);
  push.queue = std::move(kept.queue);
  return push;
}

}  // namespace

void BatchBook::Batch::set(std::size_t index, State state) {
  --counts[static_cast<std::size_t>(states[index])];
  ++counts[static_cast<std::size_t>(state)];
  states[index] = state;
}

BatchBook::Batch* BatchBook::find(std::string_view bid) {
  const auto found = std::find_if(all_.begin(), all_.end(), [&](const Batch& batch) { return batch.bid == bid; });
  return found == all_.end() ? nullptr : &*found;
}

const BatchBook::Batch* BatchBook::find(std::string_view bid) const { return const_cast<BatchBook*>(this)->find(bid); }

BatchAnswer BatchBook::open(const NewBatch& made) {
  if (find(made.push.bid) != nullptr) return BatchAnswer::exists;
  Batch batch;
  if (!made.parent.empty()) {
    Batch* const parent = find(made.parent);
    if (parent == nullptr) return BatchAnswer::no_parent;
    if (parent->is_cancelled) return BatchAnswer::parent_cancelled;
    if (parent->event(BatchEvent::finished).closed) return BatchAnswer::parent_ended;
    batch.depth = parent->depth + 1;
    if (batch.depth > deepest_batch) return BatchAnswer::too_deep;
    ++parent->kids;
  }
  batch.bid = made.push.bid;
  batch.description = made.description;
  batch.parent = made.parent;
  batch.open = 1;
  for (const auto& [event, name] : all_events) {
    for (const auto& [field, value] : made.callbacks) {
      if (field == callback_field(name, batch.event(event).callbacks.size() + 1))
        batch.event(event).callbacks.push_back(value);
    }
  }
  all_.push_back(std::move(batch));
  return BatchAnswer::ok;
}

BatchAnswer BatchBook::reopen(std::string_view bid) {
  Batch* const batch = find(bid);
  if (batch == nullptr) return BatchAnswer::none;
  if (batch->is_cancelled) return BatchAnswer::cancelled;
  if (batch->event(BatchEvent::finished).fired) return BatchAnswer::ended;
  ++batch->open;
  return BatchAnswer::ok;
}

BatchAnswer BatchBook::may_push(std::string_view bid) const {
  const Batch* const batch = find(bid);
  if (batch == nullptr) return BatchAnswer::none;
  if (batch->is_cancelled) return BatchAnswer::cancelled;
  if (batch->open == 0 && batch->event(BatchEvent::finished).closed) return BatchAnswer::ended;
  return BatchAnswer::ok;
}

BatchAnswer BatchBook::close(std::string_view bid, bool holds) {
  Batch* const batch = find(bid);
  if (batch == nullptr) return BatchAnswer::none;
  if (holds) {
    batch->open = std::max(batch->open - 1, 0);
    settle(batch);
  }
  return batch->is_cancelled ? BatchAnswer::cancelled : BatchAnswer::ok;
}

void BatchBook::cancel(std::string_view bid) {
  Batch* const batch = find(bid);
  if (batch == nullptr || (batch->event(BatchEvent::finished).closed && !batch->is_cancelled)) return;
  batch->is_cancelled = true;
  batch->open = 0;
  for (std::size_t i = 0; i < batch->steps.size(); ++i) {
    Step& step = batch->steps[i];
    if (!step.is_queued || !step.failed.empty()) continue;
    step.is_queued = false;
    batch->set(i, State::succeeded);
    keep_report(step, JobState::done, "JobDropped", "its batch was cancelled");
  }
  settle(batch);
}

bool BatchBook::is_cancelled(std::string_view bid) const {
  const Batch* const batch = find(bid);
  return batch != nullptr && batch->is_cancelled;
}

void BatchBook::add(const std::string& bid, ClientPush& job) {
  Batch& batch = *find(bid);
  job.payload = with_place_in_batch(job.payload, bid, static_cast<std::uint32_t>(batch.states.size()));
  batch.states.push_back(State::pending);
  ++batch.counts[0];
}

BatchAnswer BatchBook::add_steps(std::string_view bid, const std::vector<NewStep>& steps) {
  Batch* const batch = find(bid);
  if (batch == nullptr) return BatchAnswer::none;
  if (batch->is_cancelled) return BatchAnswer::cancelled;
  for (const NewStep& added : steps) {
    Step& step = batch->steps.emplace_back();
    step.name = added.name;
    step.kept = added.kept;
    step.before = added.before;
    step.after = added.after;
    step.if_failed = added.if_failed;
    step.keeps_report = !added.report.empty();
    batch->states.push_back(State::pending);
    ++batch->counts[0];
    if (step.before == 0) release(step);
  }
  return BatchAnswer::ok;
}

void BatchBook::end(std::string_view payload, JobEnding ending) {
  const auto job = batch_named_by(payload);
  if (!job) return;
  if (Batch* const batch = find(job->bid)) end_job(*batch, job->index, ending);
  if (Batch* const batch = find(job->callback)) end_callback(*batch, job->jid, ending);
}

bool BatchBook::skips(std::string_view payload) const {
  const auto job = batch_named_by(payload);
  return job && !job->bid.empty() && is_cancelled(job->bid);
}

// Notes how a job of the batch has ended.  A job that has succeeded keeps that state.
void BatchBook::end_job(Batch& batch, std::uint32_t index, JobEnding ending) {
  const State state = ending == JobEnding::done     ? State::succeeded
                      : ending == JobEnding::failed ? State::failing
                                                    : State::dead;
  if (index >= batch.states.size()) return;
  const State before = batch.states[index];
  if (before == State::succeeded || before == state) return;
  batch.set(index, state);
  if (state != State::failing && index < batch.steps.size() && !batch.is_cancelled) follow(batch, index);
  if (state == State::dead) batch.has_died = true;
  settle(&batch);
}

// Notes how a callback has ended.  A dead callback has ended for all events but success, which waits until the callback
// is retried.
void BatchBook::end_callback(Batch& batch, const std::string& jid, JobEnding ending) {
  const auto callback = batch.callbacks.find(jid);
  if (callback == batch.callbacks.end() || ending == JobEnding::failed) return;
  const BatchEvent event = callback->second;
  if (event == BatchEvent::success && ending != JobEnding::done) return;
  batch.callbacks.erase(callback);
  if (--batch.event(event).calls == 0 && close(batch, event)) settle(find(batch.parent));
}

bool BatchBook::close(Batch& batch, BatchEvent event) {
  if (std::exchange(batch.event(event).closed, true)) return false;
  Batch* const parent = find(batch.parent);
  if (parent == nullptr) return false;
  if (event == BatchEvent::death)
    parent->has_died = true;
  else
    ++parent->event(event).kids;
  return true;
}

bool BatchBook::fire(Batch& batch, BatchEvent event) {
  Event& fired = batch.event(event);
  if (std::exchange(fired.fired, true)) return false;
  for (const std::string& callback : fired.callbacks) {
    due_.push_back(pushed_now(callback));
    batch.callbacks.emplace(due_.back().jid, event);
  }
  fired.calls = fired.callbacks.size();
  return fired.calls == 0 && close(batch, event);
}

// Fires the due events of a batch, and those of its parents that become due by them.
void BatchBook::settle(Batch* batch) {
  while (batch != nullptr) {
    bool heard = false;
    const auto kids_closed = [&](BatchEvent event) { return batch->event(event).kids >= batch->kids; };
    if (batch->is_cancelled) {
      if (batch->pending() == 0 && kids_closed(BatchEvent::finished)) {
        heard = fire(*batch, BatchEvent::finished);
        heard |= close(*batch, BatchEvent::complete);
        if (batch->count(State::dead) == 0) heard |= close(*batch, BatchEvent::success);
      }
    } else if (batch->open == 0) {
      if (batch->has_died) heard |= fire(*batch, BatchEvent::death);
      if (batch->pending() == batch->count(State::failing) && kids_closed(BatchEvent::complete))
        heard |= fire(*batch, BatchEvent::complete);
      if (batch->pending() == 0 && batch->count(State::dead) == 0 && kids_closed(BatchEvent::success))
        heard |= fire(*batch, BatchEvent::success);
      if (batch->pending() == 0 && kids_closed(BatchEvent::finished)) heard |= fire(*batch, BatchEvent::finished);
    }
    batch = heard ? find(batch->parent) : nullptr;
  }
}

void BatchBook::release(Step& step) {
  step.is_queued = false;
  due_.push_back(pushed_now(step.kept));
}

void BatchBook::keep_report(Step& step, JobState state, std::string error_class, std::string message) {
  if (!step.keeps_report) return;
  step.report = JobReport{.jid = read_kept(step.kept).jid,
                          .state = state,
                          .error_class = std::move(error_class),
                          .error_message = std::move(message),
                          .ended_at = std::chrono::system_clock::now()};
}

std::string BatchBook::dead_record(const Step& step, const std::string& why) {
  const KeptJob kept = read_kept(step.kept);
  return kept.payload + R"(,"error_class":"DependencyFailed","error_message":")" + why + R"(","failed_at":)" +
         kept.time + R"(,"retry_count":0})";
}

// Updates the steps that wait for this one, and those that wait for them, as far as they end or become due by it.
void BatchBook::follow(Batch& batch, std::uint32_t ended) {
  std::deque<std::uint32_t> all{ended};
  for (; !all.empty(); all.pop_front()) {
    const std::uint32_t one = all.front();
    const std::string why = "the step " + batch.steps[one].name + " has died";
    for (const std::uint32_t of : batch.steps[one].after) {
      Step& step = batch.steps[of];
      if (!step.is_queued) continue;
      if (batch.states[one] != State::dead || step.if_failed == "run") {
        pass(batch, one, of);
      } else if (step.if_failed == "skip") {
        step.is_queued = false;
        batch.set(of, State::succeeded);
        keep_report(step, JobState::done, "StepSkipped", why);
        all.push_back(of);
      } else if (step.failed.empty()) {
        step.failed = dead_record(step, why);
        batch.set(of, State::dead);
        keep_report(step, JobState::dead, "DependencyFailed", why);
        all.push_back(of);
      }
    }
  }
}

// Notes that step `of` does not wait for step `one` any more.
void BatchBook::pass(Batch& batch, std::uint32_t one, std::uint32_t of) {
  Step& step = batch.steps[of];
  if (std::find(step.passed.begin(), step.passed.end(), one) != step.passed.end()) return;
  step.passed.push_back(one);
  if (--step.before > 0) return;
  if (!step.failed.empty()) batch.set(of, State::pending);
  step.failed.clear();
  step.report.reset();
  release(step);
}

std::vector<std::string> BatchBook::failed_steps() const {
  std::vector<std::string> records;
  for (const Batch& batch : all_) {
    for (const Step& step : batch.steps)
      if (!step.failed.empty()) records.push_back(step.failed);
  }
  return records;
}

std::optional<std::string> BatchBook::take_failed_step(std::string_view jid) {
  for (Batch& batch : all_) {
    for (Step& step : batch.steps) {
      if (step.failed.empty() || read_kept(step.kept).jid != jid) continue;
      step.is_queued = false;
      return std::exchange(step.failed, {});
    }
  }
  return std::nullopt;
}

std::optional<JobReport> BatchBook::report_of_step(std::string_view jid) const {
  for (const Batch& batch : all_) {
    for (const Step& step : batch.steps) {
      const bool waits = step.is_queued && step.failed.empty();
      if ((!waits && !step.report) || read_kept(step.kept).jid != jid) continue;
      return waits ? JobReport{.jid = std::string(jid), .state = JobState::queued} : step.report;
    }
  }
  return std::nullopt;
}

FakeBatch BatchBook::shown(const Batch& batch) {
  const auto fired = [&](BatchEvent event) { return batch.event(event).fired; };
  FakeBatch shown;
  shown.bid = batch.bid;
  shown.description = batch.description;
  shown.parent = batch.parent;
  shown.state = batch.is_cancelled           ? FakeBatch::State::cancelled
                : batch.open > 0             ? FakeBatch::State::open
                : fired(BatchEvent::success) ? FakeBatch::State::success
                : fired(BatchEvent::finished) && (batch.count(State::dead) > 0 || batch.has_died)
                    ? FakeBatch::State::finished
                : fired(BatchEvent::complete) || fired(BatchEvent::finished) ? FakeBatch::State::complete
                                                                             : FakeBatch::State::running;
  shown.total = batch.states.size();
  shown.succeeded = batch.count(State::succeeded);
  shown.pending = batch.pending();
  shown.failing = batch.count(State::failing);
  shown.dead = batch.count(State::dead);
  return shown;
}

std::vector<FakeBatch> BatchBook::batches() const {
  std::vector<FakeBatch> all;
  for (const Batch& batch : all_) all.push_back(shown(batch));
  return all;
}

}  // namespace brood::testing
