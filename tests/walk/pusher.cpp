#include "tests/walk/pusher.hpp"

#include <fmt/format.h>

namespace brood::walk {
namespace {

const std::vector<int> weight_of_kind{14, 5, 8, 5, 3, 4, 2, 1, 3, 16, 4, 12, 6, 3, 4, 3, 6, 1, 1};

}  // namespace

void Pusher::push() {
  if (scene_.dice.one_in(5)) return push_burst();
  const int count = scene_.dice.one_in(4) ? scene_.dice.roll(5, 25) : scene_.dice.roll(1, 4);
  std::string said;
  for (int i = 0; i < count; ++i) {
    const WalkJob job = push_one(static_cast<Kind>(scene_.dice.weighted(weight_of_kind)), false);
    said += fmt::format(" {}={}", job.job_class, job.jid);
  }
  scene_.note("push" + said);
}

std::string Pusher::push_long(Kind kind) {
  const WalkJob job = push_one(kind, true);
  scene_.note(fmt::format("push {}={}", job.job_class, job.jid));
  return job.jid;
}

// Pushes a burst of one kind: jobs that do nothing, so that workers fetch many at once, with some that crash among
// them; so many jobs of a limiter that the last ones expire; jobs that wait for a place of their class.
void Pusher::push_burst() {
  int index = 0;
  Shard& shard = scene_.some_shard(index);
  const std::string queue = scene_.dice.pick(all_queues);
  const int kind = scene_.dice.roll(0, 3);
  const bool is_limited = kind == 1, is_heavy = kind == 2;
  const int count = is_limited ? 30 : is_heavy ? 10 : scene_.dice.roll(20, 80), crash_each = scene_.dice.roll(8, 40);
  std::vector<Push> pushes;
  std::vector<WalkJob> jobs;
  for (int i = 0; i < count; ++i) {
    const bool crashes_once = i % crash_each == crash_each - 1;
    WalkJob job;
    job.jid = fmt::format("w{:07}", pushed_++);
    job.job_class = crashes_once ? "WalkCrashes" : "WalkPlain";
    job.args = crashes_once ? "[1,0]" : "[0]";
    if (is_limited) {
      job.job_class = "WalkLimited";
      job.args = "[250]";
      job.expires_in_ns = second_ns;
    }
    if (is_heavy) {
      job.job_class = "WalkHeavy";
      job.args = "[150]";
    }
    job.queue = queue;
    job.shard = index;
    job.asked = now_ns();
    pushes.push_back({.job_class = job.job_class, .args = job.args, .queue = queue, .jid = job.jid});
    if (is_limited) pushes.back().members.emplace_back("expires_in", "1");
    jobs.push_back(std::move(job));
  }
  WalkJob::Answer answer = WalkJob::Answer::accepted;
  try {
    shard.client->push_bulk(std::move(pushes));
  } catch (const RedisError&) {
    answer = WalkJob::Answer::unknown;
  }
  scene_.note(fmt::format("push of {} jobs to {} of shard {}: {} to {}", count, queue, index, jobs.front().jid,
                          jobs.back().jid));
  const bool was_kept = shard.client->buffered() > 0;
  for (WalkJob& job : jobs) {
    job.answer = answer;
    job.was_kept = was_kept;
    job.answered = now_ns();
    scene_.book.add(std::move(job));
  }
}

WalkJob Pusher::push_one(Kind kind, bool is_long) {
  Drawn drawn = draw(kind, scene_.dice.roll(0, scene_.shape.all_shards() - 1), is_long);
  send(drawn);
  scene_.book.add(drawn.job);
  return drawn.job;
}

Pusher::Drawn Pusher::draw(Kind kind, int shard, bool is_long) {
  WalkJob job;
  job.jid = fmt::format("w{:07}", pushed_++);
  job.shard = shard;
  job.queue = scene_.dice.pick(all_queues);
  const int ms = is_long                 ? scene_.dice.roll(300, 900)
                 : scene_.dice.one_in(3) ? scene_.dice.roll(20, 300)
                                         : scene_.dice.roll(0, 10);
  const int times = scene_.dice.roll(0, 4), key = scene_.dice.roll(1, 3);
  std::vector<std::pair<std::string, std::string>> members;
  std::string retry = "true";
  std::optional<int> delay;
  if (scene_.dice.one_in(6)) delay = scene_.dice.roll(1, 3'000);
  const bool may_wait_long = kind == alone || kind == limited || kind == limited_apart;
  if (scene_.dice.one_in(may_wait_long ? 3 : 6)) {
    const int expires = may_wait_long ? 1 : scene_.dice.roll(1, 4);
    job.expires_in_ns = expires * second_ns;
    members.emplace_back("expires_in", std::to_string(expires));
  }
  job.is_scheduled = delay.has_value();
  const auto be = [&](const char* job_class, std::string args) {
    job.job_class = job_class;
    job.args = std::move(args);
  };
  const auto be_unique = [&](const char* job_class, const char* until, const std::vector<std::string>& conflicts) {
    be(job_class, fmt::format("[{},{},{},{}]", key, pushed_, ms, scene_.dice.one_in(3) ? 1 : 0));
    job.queue = key == 3 ? "capped" : "default";
    job.lock = fmt::format("{}/{}/{}/{}", job_class, job.shard, job.queue, key);
    members.emplace_back("unique_until", fmt::format("\"{}\"", until));
    members.emplace_back("unique_by", fmt::format("[{}]", key));
    job.on_conflict = scene_.dice.pick(conflicts);
    if (job.on_conflict == "extend") members.emplace_back("unique_for", "3600");
    members.emplace_back("on_conflict", "\"" + job.on_conflict + "\"");
    retry = scene_.dice.one_in(2) ? "0" : "2";
  };
  switch (kind) {
    case plain:
      be("WalkPlain", fmt::format("[{}]", ms));
      break;
    case apart:
      be("WalkApart", fmt::format("[{}]", ms));
      break;
    case heavy:
      be("WalkHeavy", fmt::format("[{}]", 20 + ms));
      break;
    case fails:
    case fails_apart:
      be(kind == fails ? "WalkFails" : "WalkFailsApart", fmt::format("[{},{}]", times, ms));
      retry = scene_.dice.one_in(5) ? "false" : std::to_string(scene_.dice.roll(0, 3));
      job.stores_nothing = retry == "false";
      break;
    case crashes:
    case crashes_apart:
      be(kind == crashes ? "WalkCrashes" : "WalkCrashesApart", fmt::format("[{},{}]", times, ms));
      break;
    case slow:
      be("WalkSlow", "[]");
      break;
    case patient:
      be("WalkPatient", fmt::format("[{}]", 5 * ms));
      break;
    case unique:
      be_unique("WalkUnique", "done", {"drop", "after", "replace", "extend"});
      job.unique_key = job.lock;
      break;
    case unique_to_start:
      be_unique("WalkUniqueToStart", "start", {"drop", "after", "replace", "extend"});
      break;
    case alone:
      be_unique("WalkAlone", "running", {"drop", "after"});
      job.unique_key = job.lock;
      break;
    case limited:
      be("WalkLimited", fmt::format("[{}]", 50 + ms));
      break;
    case limited_apart:
      be("WalkLimitedApart", fmt::format("[{}]", 50 + ms));
      break;
    case items:
    case items_apart:
      job.items = is_long ? 12 : scene_.dice.roll(1, 12);
      be(kind == items ? "WalkItems" : "WalkItemsApart",
         fmt::format("[{},{}]", job.items, is_long ? 60 : scene_.dice.roll(0, 50)));
      break;
    case secret:  // fails, or crashes, at its first attempts
      be("WalkSecret", fmt::format("[{},{},{},\"{}{}\"]", times, scene_.dice.roll(0, 1), ms, secret_mark, job.jid));
      members.emplace_back("encrypt", "true");
      break;
    case no_class:
      be("WalkUnknown", "[]");
      job.has_class = false;
      job.expires_in_ns.reset();  // no line would show that it expired
      members.clear();
      retry = "0";
      break;
    case no_json:
      job.is_text = true;
      job.job_class = "no job";
      job.jid = "no-json-" + job.jid;
      break;
    case branch:
    case branch_apart:
      be(kind == branch ? "WalkBranch" : "WalkBranchApart",
         fmt::format("[{},{},{}]", scene_.dice.roll(0, 2), scene_.dice.roll(0, 1'000'000), ms));
      break;
    case reopens:
      be("WalkReopen", fmt::format("[{}]", scene_.dice.roll(0, 1'000'000)));
      break;
  }
  // Decided without the dice, so that the other draws of a seed stay the same.
  const bool may_be_in_order = job.lock.empty() && !job.is_text && kind < branch && kind != no_class;
  if (may_be_in_order && pushed_ % 3 == 0) {
    const std::string name = fmt::format("s{}", pushed_ % 2);
    job.sequence = fmt::format("{}/{}/{}", job.shard, job.queue, name);
    job.lets_pass = pushed_ % 12 == 0;
    members.emplace_back("sequence", fmt::format("\"{}/{}\"", job.queue, name));
    if (job.lets_pass) members.emplace_back("if_failed", "\"pass\"");
  }
  Push push{.job_class = job.job_class, .args = job.args, .queue = job.queue, .jid = job.jid, .members = members};
  push.retry = retry == "true"    ? YesNoOrCount(true)
               : retry == "false" ? YesNoOrCount(false)
                                  : YesNoOrCount(std::stoi(retry));
  if (delay) push.at = std::chrono::system_clock::now() + std::chrono::milliseconds(*delay);
  return {std::move(job), std::move(push)};
}

void Pusher::send(Drawn& drawn) {
  WalkJob& job = drawn.job;
  Shard& shard = scene_.site.shards[static_cast<std::size_t>(job.shard)];
  job.asked = now_ns();
  if (job.is_text) {
    const bool is_full = shard.server.command({"LPUSH", "queue:" + job.queue, job.jid}).view().is_error();
    job.answer = is_full ? WalkJob::Answer::refused : WalkJob::Answer::accepted;
    job.answered = now_ns();
    return;
  }
  try {
    job.answer = shard.client->push(drawn.push).empty() ? WalkJob::Answer::refused : WalkJob::Answer::accepted;
    // If the client keeps its pushes, it is known only later whether another job holds the lock.
    job.was_kept = shard.client->buffered() > 0;
    if (!job.lock.empty() && job.was_kept) job.answer = WalkJob::Answer::unknown;
  } catch (const RedisError&) {
    job.answer = WalkJob::Answer::unknown;
  }
  job.answered = now_ns();
}

}  // namespace brood::walk
