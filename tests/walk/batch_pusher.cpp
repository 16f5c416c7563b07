#include "tests/walk/batch_pusher.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include <brood/flow.hpp>

#include "tests/walk/ledger.hpp"

namespace brood::walk {
namespace {

const std::vector<std::pair<BatchEvent, std::string>> all_events{{BatchEvent::complete, "complete"},
                                                                 {BatchEvent::success, "success"},
                                                                 {BatchEvent::death, "death"},
                                                                 {BatchEvent::finished, "finished"}};

// In the order of Pusher::Kind.
const std::vector<int> weight_in_batch{14, 4, 2, 7, 3, 4, 2, 1, 2, 2, 1, 2, 2, 1, 3, 1, 2, 1, 0, 3, 1, 2};
const std::vector<int> weight_in_flow{8, 3, 2, 6, 2, 3, 1, 0, 2, 0, 0, 0, 2, 1, 2, 1, 2, 1, 0, 2, 0, 1};
constexpr int deepest = 3;

struct FillingFails {};

}  // namespace

void BatchPusher::append(const std::string& what, const std::string& id, const std::string& more) {
  append_to_ledger(scene_.site.ledger.c_str(), what, id, more);
}

void BatchPusher::push() {
  int shard = 0;
  scene_.some_shard(shard);
  if (scene_.dice.one_in(3))
    push_flow(shard, "");
  else
    push_batch(shard, "", 1);
}

template <typename Batches>
void BatchPusher::add_callbacks(Batches& batch) {
  const std::string bid = batch.bid();
  for (const auto& [event, name] : all_events) {
    const int count = scene_.dice.roll(0, 2);
    for (int i = 0; i < count; ++i) {
      Push push{.job_class = "WalkCallback", .queue = scene_.dice.pick(all_queues)};
      push.args = fmt::format("[{},{}]", scene_.dice.one_in(5) ? 1 : 0, scene_.dice.roll(0, 20));
      push.jid = fmt::format("wc{}{}{}", bid, name[0], i);
      append("K", push.jid, bid + " " + name);
      batch.on(event, push);
    }
  }
}

template <typename Function>
void BatchPusher::note_push(int shard, const std::string& bid, Function pushes) {
  std::string how = "ok";
  try {
    pushes();
  } catch (const FillingFails&) {
    how = "thrown";
  } catch (const BatchClosed&) {
    how = "closed";
  } catch (const RedisError&) {
    how = "failed";
  }
  append("R", bid, how);
  if (how == "thrown" || how == "failed") unreturned_.insert({shard, bid});
  scene_.note(fmt::format("push into batch {} of shard {}: {}", bid, shard, how));
}

void BatchPusher::push_batch(int shard, const std::string& parent, int depth) {
  Batch batch(*scene_.site.shards[static_cast<std::size_t>(shard)].client, {.description = "walk", .parent = parent});
  const std::string bid = batch.bid();
  append("M", bid, fmt::format("{} shard{}", parent.empty() ? "-" : parent, shard));
  add_callbacks(batch);
  const bool fails = scene_.dice.one_in(10);
  note_push(shard, bid, [&] {
    batch.push([&](BatchJobs& jobs) {
      fill(jobs, shard, bid, depth);
      if (fails) throw FillingFails();
      append("V", bid, "");
    });
  });
  pushed_.push_back({shard, std::move(batch)});
}

void BatchPusher::fill(BatchJobs& jobs, int shard, const std::string& bid, int depth) {
  const int most = scene_.dice.one_in(3) ? 40 : 8;
  const int count = scene_.dice.one_in(12) ? 0 : scene_.dice.roll(1, most);
  for (int i = 0; i < count; ++i) {
    if (depth < deepest && scene_.dice.one_in(15)) {
      if (scene_.dice.one_in(3))
        push_flow(shard, bid);
      else
        push_batch(shard, bid, depth + 1);
    }
    Pusher::Drawn drawn = pusher_.draw(static_cast<Pusher::Kind>(scene_.dice.weighted(weight_in_batch)), shard, false);
    if (drawn.job.on_conflict == "replace") continue;  // not in a batch
    drawn.job.bid = bid;
    drawn.job.asked = drawn.job.answered = now_ns();
    scene_.book.add(drawn.job);
    append("N", drawn.job.jid, fmt::format("{} {} {}", bid, drawn.job.job_class, drawn.job.queue));
    jobs.push(drawn.push);
    if (scene_.dice.one_in(10)) std::this_thread::sleep_for(std::chrono::milliseconds(scene_.dice.roll(1, 20)));
  }
}

// A chain, a diamond, a fan, or steps that wait for any of those before them.
void BatchPusher::push_flow(int shard, const std::string& parent) {
  Flow flow(*scene_.site.shards[static_cast<std::size_t>(shard)].client, {.description = "walk", .parent = parent});
  const std::string bid = flow.bid();
  append("M", bid, fmt::format("{} shard{}", parent.empty() ? "-" : parent, shard));
  add_callbacks(flow);
  const int shape = scene_.dice.roll(0, 3), count = scene_.dice.roll(shape == 1 ? 3 : 1, 9);
  const std::vector<std::string> policies{"fail", "run", "skip"};
  std::vector<Pusher::Drawn> steps;
  std::vector<StepOptions> options;
  for (int i = 0; i < count; ++i) {
    Pusher::Drawn drawn = pusher_.draw(static_cast<Pusher::Kind>(scene_.dice.weighted(weight_in_flow)), shard, false);
    drawn.push.at.reset();
    drawn.job.bid = bid;
    drawn.job.is_scheduled = true;  // since it is pushed later
    drawn.job.if_failed = scene_.dice.pick(policies);
    StepOptions its;
    its.if_failed = drawn.job.if_failed == "run"    ? IfFailed::run
                    : drawn.job.if_failed == "skip" ? IfFailed::skip
                                                    : IfFailed::fail;
    for (int before = 0; before < i; ++before) {
      const bool waits = shape == 0   ? before == i - 1
                         : shape == 1 ? (before == 0 ? i < count - 1 : i == count - 1)
                         : shape == 2 ? before == 0
                                      : scene_.dice.one_in(3);
      if (!waits) continue;
      its.after.emplace_back(fmt::format("step{}", before));
      drawn.job.after.push_back(steps[static_cast<std::size_t>(before)].job.jid);
    }
    steps.push_back(std::move(drawn));
    options.push_back(std::move(its));
  }
  for (std::size_t i = steps.size(); i-- > 0;) {  // names may be defined later
    Pusher::Drawn& step = steps[i];
    step.job.asked = step.job.answered = now_ns();
    scene_.book.add(step.job);
    append("N", step.job.jid, fmt::format("{} {} {}", bid, step.job.job_class, step.job.queue));
    flow.add(fmt::format("step{}", i), step.push, options[i]);
  }
  append("V", bid, "");
  note_push(shard, bid, [&] { flow.push(); });
}

void BatchPusher::reopen() {
  if (pushed_.empty()) return;
  Pushed& pushed = pushed_[static_cast<std::size_t>(scene_.dice.roll(0, 1'000)) % pushed_.size()];
  const std::string bid = pushed.batch.bid();
  note_push(pushed.shard, bid,
            [&] { pushed.batch.push([&](BatchJobs& jobs) { fill(jobs, pushed.shard, bid, deepest); }); });
}

std::string BatchPusher::cancel_by_command(int shard, const std::string& bid) {
  cancelled_.insert(bid);
  return scene_.command(shard, {"batches", "cancel", bid, "--json"});
}

void BatchPusher::cancel() {
  const bool by_command = scene_.dice.one_in(2);
  const int choice = scene_.dice.roll(0, 1'000);
  if (!by_command) {
    if (pushed_.empty()) return;
    Pushed& pushed = pushed_[static_cast<std::size_t>(choice) % pushed_.size()];
    cancelled_.insert(pushed.batch.bid());
    std::string said = "done";
    try {
      pushed.batch.cancel();
    } catch (const RedisError& error) {
      said = error.what();
    }
    return scene_.note(fmt::format("batch {} is cancelled: {}", pushed.batch.bid(), said));
  }
  const std::vector<FoundBatch> all = scene_.site.batches();
  if (all.empty()) return;
  const FoundBatch& one = all[static_cast<std::size_t>(choice) % all.size()];
  const std::string said = cancel_by_command(one.shard, one.record.bid);
  scene_.note(fmt::format("brood batches cancel {}: {}", one.record.bid, said.substr(0, said.find('\n'))));
}

void BatchPusher::cancel_unreturned() {
  for (const auto& [shard, bid] : unreturned_) {
    const std::string said = cancel_by_command(shard, bid);
    scene_.note(fmt::format("brood batches cancel {}: {}", bid, said.substr(0, said.find('\n'))));
  }
}

}  // namespace brood::walk
