#include "tests/walk/walk.hpp"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <fstream>
#include <iostream>
#include <set>
#include <sstream>
#include <thread>

#include "shared/base/identity.hpp"
#include "tests/support/enqueue.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/faults.hpp"

namespace brood::walk {

using namespace std::chrono_literals;

namespace {

// The jobs that are pushed, each as often as its weight says.
enum Kind {
  plain,
  apart,
  heavy,
  fails,
  fails_apart,
  crashes,
  crashes_apart,
  slow,
  patient,
  unique,
  unique_to_start,
  alone,
  limited,
  limited_apart,
  items,
  items_apart,
  no_class,
  no_json
};
const std::vector<int> weight_of_kind{14, 5, 8, 5, 3, 4, 2, 1, 3, 16, 4, 12, 6, 3, 4, 3, 1, 1};

std::string class_in(const std::string& payload) {
  const std::string mark = "\"class\":\"";
  const std::size_t at = payload.find(mark);
  if (at == std::string::npos) return "";
  return payload.substr(at + mark.size(), payload.find('"', at + mark.size()) - at - mark.size());
}

bool holds(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace

Walk::Walk(const WalkOptions& options)
    : options_(options),
      dice_(options.seed),
      shard_count_(dice_.one_in(3) ? 2 : 1),
      has_two_fleets_(dice_.one_in(3)),
      has_preload_(dice_.one_in(2)),
      clients_keep_(dice_.one_in(2)),
      config_(draw_config(dice_, shard_count_)),
      site_(shard_count_, has_two_fleets_, has_preload_, clients_keep_, options.planted),
      book_(site_.ledger) {}

void Walk::note(const std::string& what) {
  actions_.push_back(fmt::format("{:8.3f} {}", static_cast<double>(now_ns() - began_) / second_ns, what));
  if (options_.verbose) std::cout << actions_.back() << std::endl;
}

Fleet& Walk::some_fleet() {
  return site_.fleets[static_cast<std::size_t>(dice_.roll(0, static_cast<int>(site_.fleets.size()) - 1))];
}

Shard& Walk::some_shard(int& index) {
  index = dice_.roll(0, shard_count_ - 1);
  return site_.shards[static_cast<std::size_t>(index)];
}

std::string Walk::command(int shard, std::vector<std::string> words) {
  words.insert(words.end(), {"--redis", site_.shards[static_cast<std::size_t>(shard)].server.url()});
  const CommandResult result = run_brood(words);
  return result.output + result.errors;
}

bool Walk::run() {
  note("the first configuration:\n" + config_.text);
  for (Fleet& fleet : site_.fleets) fleet.start(config_);
  for (int i = 0; i < options_.actions; ++i) {
    act();
    std::this_thread::sleep_for(std::chrono::milliseconds(dice_.roll(0, 150)));
    for (Fleet& fleet : site_.fleets) fleet.follow_restarts();
  }
  let_go();
  const bool rests = come_to_rest();
  book_.read();
  if (rests) check_status();
  const std::vector<Whereabouts> left = site_.whereabouts();
  stop_all();
  std::vector<Bound> queue_caps, class_caps;
  for (const Fleet& fleet : site_.fleets) {
    queue_caps.insert(queue_caps.end(), fleet.queue_caps().begin(), fleet.queue_caps().end());
    class_caps.insert(class_caps.end(), fleet.class_caps().begin(), fleet.class_caps().end());
  }
  for (Finding& finding : book_.judge(left, excuses_, queue_caps, class_caps)) findings_.push_back(std::move(finding));
  if (rests) {
    for (const std::string& what : site_.leftovers()) find("", what);
  }
  return findings_.empty();
}

void Walk::act() {
  const int what = dice_.weighted({40, 4, 1, 5, 3, 2, 3, 2, 3, 3, 3, 2, 3, 1, 1});
  switch (what) {
    case 0:
      return push();
    case 1:
      return hup(false);
    case 2:
      return hup(true);
    case 3:
      return kill_helper();
    case 4:
      return end_supervisor();
    case 5:
      return quiet_or_resume();
    case 6:
      return pause();
    case 7:
      return unpause(false);
    case 8:
      return restart_redis();
    case 9:
      return lose_reply();
    case 10:
      return change_job();
    case 11:
      note("retries are due");
      return site_.make_due("retry");
    case 12:
      note("what is scheduled is due");
      return site_.make_due("schedule");
    case 13: {
      Fleet& fleet = some_fleet();
      if (fleet.state() != Fleet::State::running) return;
      note("fleet " + fleet.name() + " is upgraded in place");
      return fleet.take_over();
    }
    default: {
      const int ms = dice_.roll(200, 1500);
      note(fmt::format("nothing for {} ms", ms));
      std::this_thread::sleep_for(std::chrono::milliseconds(ms));
    }
  }
}

void Walk::push() {
  if (dice_.one_in(5)) return push_burst();
  const int count = dice_.one_in(4) ? dice_.roll(5, 25) : dice_.roll(1, 4);
  std::string said;
  for (int i = 0; i < count; ++i) {
    const WalkJob job = drawn_job();
    said += fmt::format(" {}={}", job.job_class, job.jid);
  }
  note("push" + said);
}

// Jobs that do nothing, so that workers fetch many at once, and some that crash among them; or so many of a limiter
// that the last ones come too late; or some that wait for a place of their class.
void Walk::push_burst() {
  int index = 0;
  Shard& shard = some_shard(index);
  const std::string queue = dice_.pick(all_queues);
  const int kind = dice_.roll(0, 3);
  const bool is_limited = kind == 1, is_heavy = kind == 2;
  const int count = is_limited ? 30 : is_heavy ? 10 : dice_.roll(20, 80), crash_each = dice_.roll(8, 40);
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
  note(fmt::format("push of {} jobs to {} of shard {}: {} to {}", count, queue, index, jobs.front().jid,
                   jobs.back().jid));
  const bool was_kept = shard.client->buffered() > 0;
  for (WalkJob& job : jobs) {
    job.answer = answer;
    job.was_kept = was_kept;
    job.answered = now_ns();
    book_.add(std::move(job));
  }
}

// Draws a job and pushes it.
WalkJob Walk::drawn_job() {
  const Kind kind = static_cast<Kind>(dice_.weighted(weight_of_kind));
  WalkJob job;
  job.jid = fmt::format("w{:07}", pushed_++);
  job.shard = dice_.roll(0, shard_count_ - 1);
  job.queue = dice_.pick(all_queues);
  const int ms = dice_.one_in(3) ? dice_.roll(20, 300) : dice_.roll(0, 10);
  const int times = dice_.roll(0, 4), key = dice_.roll(1, 3);
  std::vector<std::pair<std::string, std::string>> members;
  std::string retry = "true";
  std::optional<int> delay;
  if (dice_.one_in(6)) delay = dice_.roll(1, 3'000);
  const bool may_wait_long = kind == alone || kind == limited || kind == limited_apart;
  if (dice_.one_in(may_wait_long ? 3 : 6)) {
    const int expires = may_wait_long ? 1 : dice_.roll(1, 4);
    job.expires_in_ns = expires * second_ns;
    members.emplace_back("expires_in", std::to_string(expires));
  }
  job.is_scheduled = delay.has_value();
  const auto be = [&](const char* job_class, std::string args) {
    job.job_class = job_class;
    job.args = std::move(args);
  };
  const auto be_unique = [&](const char* job_class, const char* until, const std::vector<std::string>& conflicts) {
    be(job_class, fmt::format("[{},{},{},{}]", key, pushed_, ms, dice_.one_in(3) ? 1 : 0));
    job.queue = key == 3 ? "capped" : "default";
    job.lock = fmt::format("{}/{}/{}/{}", job_class, job.shard, job.queue, key);
    members.emplace_back("unique_until", fmt::format("\"{}\"", until));
    members.emplace_back("unique_by", fmt::format("[{}]", key));
    job.on_conflict = dice_.pick(conflicts);
    if (job.on_conflict == "extend") members.emplace_back("unique_for", "3600");
    members.emplace_back("on_conflict", "\"" + job.on_conflict + "\"");
    retry = dice_.one_in(2) ? "0" : "2";
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
      retry = dice_.one_in(5) ? "false" : std::to_string(dice_.roll(0, 3));
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
      job.items = dice_.roll(1, 12);
      be(kind == items ? "WalkItems" : "WalkItemsApart", fmt::format("[{},{}]", job.items, dice_.roll(0, 50)));
      break;
    case no_class:
      be("WalkUnknown", "[]");
      job.has_class = false;
      job.expires_in_ns.reset();  // nothing would tell of it
      members.clear();
      retry = "0";
      break;
    case no_json:
      job.is_text = true;
      job.job_class = "no job";
      job.jid = "no-json-" + job.jid;
      break;
  }
  send(job, members, retry, delay);
  book_.add(job);
  return job;
}

void Walk::send(WalkJob& job, const std::vector<std::pair<std::string, std::string>>& members, std::string retry,
                std::optional<int> delay_ms) {
  Shard& shard = site_.shards[static_cast<std::size_t>(job.shard)];
  job.asked = now_ns();
  if (job.is_text) {
    shard.server.command({"LPUSH", "queue:" + job.queue, job.jid});
    job.answer = WalkJob::Answer::accepted;
    job.answered = now_ns();
    return;
  }
  Push push{.job_class = job.job_class, .args = job.args, .queue = job.queue, .jid = job.jid, .members = members};
  push.retry = retry == "true"    ? YesNoOrCount(true)
               : retry == "false" ? YesNoOrCount(false)
                                  : YesNoOrCount(std::stoi(retry));
  if (delay_ms) push.at = std::chrono::system_clock::now() + std::chrono::milliseconds(*delay_ms);
  try {
    job.answer = shard.client->push(push).empty() ? WalkJob::Answer::refused : WalkJob::Answer::accepted;
    // A client that keeps a push learns only later whether another job holds the lock.
    job.was_kept = shard.client->buffered() > 0;
    if (!job.lock.empty() && job.was_kept) job.answer = WalkJob::Answer::unknown;
  } catch (const RedisError&) {
    job.answer = WalkJob::Answer::unknown;
  }
  job.answered = now_ns();
}

void Walk::hup(bool bad) {
  config_ = draw_config(dice_, shard_count_);
  library_is_bad_ = bad;
  site_.use_library(bad);
  note(std::string(bad ? "HUP with a bad library" : "HUP") + ", configuration:\n" + config_.text);
  for (Fleet& fleet : site_.fleets) {
    if (fleet.state() == Fleet::State::running) fleet.hup(config_);
  }
}

void Walk::kill_helper() {
  const std::vector<std::string> wanted{
      "brood: worker", "brood: worker", "brood: recovery", "brood: template", "brood: fork", "brood: job", ""};
  const std::string title = dice_.pick(wanted);
  const int choice = dice_.roll(0, 1'000);
  Fleet& fleet = some_fleet();
  std::vector<Helper> helpers = fleet.helpers();
  if (std::any_of(helpers.begin(), helpers.end(),
                  [&](const Helper& helper) { return helper.title.starts_with(title); }))
    std::erase_if(helpers, [&](const Helper& helper) { return !helper.title.starts_with(title); });
  if (helpers.empty()) return;
  const Helper& victim = helpers[static_cast<std::size_t>(choice) % helpers.size()];
  if (::kill(victim.pid, SIGKILL) != 0) return;
  ++excuses_.kills;
  note(fmt::format("kill -9 {} of fleet {}, {}", victim.pid, fleet.name(), victim.title));
}

void Walk::end_supervisor() {
  const int how = dice_.roll(0, 5), pause = dice_.roll(0, 500);
  Fleet& fleet = some_fleet();
  if (fleet.state() == Fleet::State::ended) {
    note("fleet " + fleet.name() + " starts");
    return fleet.start(config_);
  }
  if (how <= 2) {
    note("kill -9 the supervisor of fleet " + fleet.name());
    fleet.kill9();
  } else if (how == 3) {
    note("kill -9 the supervisor of fleet " + fleet.name() + " and all its workers");
    excuses_.lost_batches += 32 * fleet.config().workers;
    excuses_.kills += fleet.config().workers;
    fleet.kill9_with_workers();
  } else {
    note("fleet " + fleet.name() + " stops");
    const std::optional<int> status = fleet.stop();
    if (status != 0) find("", fmt::format("fleet {} ended with status {}", fleet.name(), status.value_or(-1)));
  }
  if (pause < 250 && has_two_fleets_) return;  // it starts later
  std::this_thread::sleep_for(std::chrono::milliseconds(pause));
  note("fleet " + fleet.name() + " starts");
  fleet.start(config_);
}

void Walk::quiet_or_resume() {
  Fleet& fleet = some_fleet();
  if (fleet.state() == Fleet::State::running) {
    note("fleet " + fleet.name() + " is quiet");
    fleet.quiet();
  } else if (fleet.state() == Fleet::State::quiet) {
    note("fleet " + fleet.name() + " resumes");
    fleet.resume();
  }
}

void Walk::pause() {
  Pause pause;
  Shard& shard = some_shard(pause.shard);
  pause.is_class = dice_.one_in(3);
  const std::vector<std::string> classes{"WalkPlain", "WalkHeavy", "WalkUnique", "WalkAlone"};
  pause.queue = pause.is_class ? dice_.pick(classes) : dice_.pick(all_queues);
  for (const Pause& open : open_pauses_) {
    if (open.shard == pause.shard && open.queue == pause.queue) return;
  }
  note(fmt::format("{} {} of shard {} is paused", pause.is_class ? "class" : "queue", pause.queue, pause.shard));
  if (pause.is_class)
    command(pause.shard, {"classes", "pause", pause.queue});
  else
    shard.server.command({"SADD", "paused", pause.queue});
  pause.from = now_ns() + 4 * second_ns;  // workers follow within two
  open_pauses_.push_back(pause);
}

void Walk::unpause(bool all) {
  while (!open_pauses_.empty()) {
    Pause pause = open_pauses_.front();
    open_pauses_.erase(open_pauses_.begin());
    pause.until = now_ns();
    note(fmt::format("{} {} of shard {} goes on", pause.is_class ? "class" : "queue", pause.queue, pause.shard));
    if (pause.is_class)
      command(pause.shard, {"classes", "unpause", pause.queue});
    else
      site_.shards[static_cast<std::size_t>(pause.shard)].server.command({"SREM", "paused", pause.queue});
    if (pause.from < pause.until) book_.note_pause(pause);
    if (!all) return;
  }
}

void Walk::restart_redis() {
  int index = 0;
  Shard& shard = some_shard(index);
  const int away = dice_.one_in(3) ? dice_.roll(100, 1'500) : 0;
  note(fmt::format("Redis of shard {} is killed, and is away for {} ms", index, away));
  shard.server.kill9();
  std::this_thread::sleep_for(std::chrono::milliseconds(away));
  shard.server.restart();
}

// Cuts off the next answer or request of any connection.  Half of the time a push follows at once, so that it is likely
// the walk's own client that loses the answer.
void Walk::lose_reply() {
  int index = 0;
  Shard& shard = some_shard(index);
  const bool of_push = dice_.one_in(2);
  const auto bytes = static_cast<std::size_t>(of_push ? 0 : std::max(0, dice_.roll(-200, 600)));
  switch (of_push ? 3 : dice_.roll(0, 3)) {
    case 0:
      note(fmt::format("all connections to shard {} are reset", index));
      return shard.proxy.reset_connections();
    case 1:
      note(fmt::format("a request to shard {} is lost after {} bytes", index, bytes));
      return shard.proxy.cut_requests_after(bytes);
    default:
      note(fmt::format("a reply of shard {} is lost after {} bytes", index, bytes));
      shard.proxy.cut_replies_after(bytes);
  }
  if (of_push) push();
}

// A command changes a job that waits.
void Walk::change_job() {
  const std::vector<std::string> sets{"queue", "queue", "retry", "retry", "schedule", "dead"};
  const std::vector<std::string> verbs{"run", "kill", "delete"};
  const std::string set = dice_.pick(sets), queue = dice_.pick(all_queues);
  std::string verb = set == "queue" ? "delete" : dice_.pick(verbs);
  if (set == "dead" && verb == "kill") verb = "run";
  const int choice = dice_.roll(0, 1'000);
  int index = 0;
  some_shard(index);
  std::vector<Whereabouts> waiting = site_.whereabouts();
  std::erase_if(waiting, [&](const Whereabouts& place) {
    return place.shard != index || place.key != (set == "queue" ? "queue:" + queue : set) ||
           place.payload.find("\"jid\":\"w") == std::string::npos;
  });
  if (waiting.empty()) return;
  const std::string& payload = waiting[static_cast<std::size_t>(choice) % waiting.size()].payload;
  const std::string jid = payload.substr(payload.find("\"jid\":\"w") + 7, 8);
  WalkJob* const job = book_.find(jid);
  if (job == nullptr) return;
  std::vector<std::string> words{set == "queue"      ? "queues"
                                 : set == "retry"    ? "retries"
                                 : set == "schedule" ? "scheduled"
                                                     : "dead",
                                 verb};
  if (set == "queue") words.push_back(queue);
  words.insert(words.end(), {jid, "--yes", "--json"});
  job->was_touched = true;
  const std::string said = command(index, words);
  if (verb == "delete" && holds(said, "\"done\":1")) job->deleted = now_ns();
  note(fmt::format("brood {} {} {}: {}", words[0], verb, jid, said.substr(0, said.find('\n'))));
}

// Lifts all pauses, and lets running fleets serve every queue with the good library, so that each job can end.
void Walk::let_go() {
  note("all is let go");
  site_.use_library(false);
  config_ = last_config(dice_, shard_count_);
  for (Shard& shard : site_.shards) {
    shard.proxy.reset_connections();
    if (shard.client->drain(10s) > 0) find("", "a client could not push what it had kept");
  }
  unpause(true);
  for (Fleet& fleet : site_.fleets) {
    if (fleet.state() == Fleet::State::quiet) fleet.resume();
    if (fleet.state() == Fleet::State::ended)
      fleet.start(config_);
    else
      fleet.hup(config_);
  }
}

// Waits until no job is left but in `dead`; returns false if none has moved for more than a minute.
bool Walk::come_to_rest() {
  std::size_t before = SIZE_MAX;
  // Brood itself leaves some things to a look that comes once a minute.  A planted bug need not be waited for.
  const auto patience = options_.planted.empty() ? 80s : 25s;
  const auto began = std::chrono::steady_clock::now();
  auto moved = began;
  std::string last;
  for (;;) {
    site_.make_due("retry");
    site_.make_due("schedule");
    std::string all;
    std::set<std::pair<int, std::string>> laid_aside;  // in which shard, of which class
    std::size_t left = 0;
    for (const Whereabouts& place : site_.whereabouts()) {
      if (place.key == "dead") continue;
      ++left;
      all += place.key + place.payload;
      if (place.key == "brood:quarantined") laid_aside.insert({place.shard, class_in(place.payload)});
    }
    if (left == 0) return true;
    // A worker that has not heard of the end of a pause may lay a job aside until some worker looks, once a minute.
    for (const auto& [shard, job_class] : laid_aside) {
      const bool is_quarantined =
          site_.shards[static_cast<std::size_t>(shard)].server.hget("brood:quarantine", job_class).has_value();
      command(shard, is_quarantined ? std::vector<std::string>{"quarantine", "release", job_class}
                                    : std::vector<std::string>{"classes", "unpause", job_class});
    }
    const auto now = std::chrono::steady_clock::now();
    if (all != last) moved = now;
    last = std::move(all);
    before = left;
    if (now - moved > patience || now - began > 2 * patience) {
      find("", fmt::format("{} jobs do not move", before));
      return false;
    }
    std::this_thread::sleep_for(100ms);
  }
}

void Walk::check_status() {
  for (Fleet& fleet : site_.fleets) {
    const CommandResult status =
        run_brood({"status", "--json", "--redis", site_.shards[0].server.url()}, fleet.process().environment());
    for (std::size_t at = status.output.find(":-"); at != std::string::npos; at = status.output.find(":-", at + 1)) {
      if (at + 2 < status.output.size() && std::isdigit(static_cast<unsigned char>(status.output[at + 2])) != 0)
        find("", "a number of the status is negative: " + status.output.substr(at > 60 ? at - 60 : 0, 90));
    }
  }
}

void Walk::stop_all() {
  for (Fleet& fleet : site_.fleets) {
    if (fleet.state() == Fleet::State::ended) continue;
    const std::optional<int> status = fleet.stop();
    if (status != 0) find("", fmt::format("fleet {} ended with status {}", fleet.name(), status.value_or(-1)));
  }
}

std::string Walk::findings() const {
  std::string text;
  for (std::size_t i = 0; i < std::min<std::size_t>(findings_.size(), 3); ++i)
    text += fmt::format("  {} {}\n", findings_[i].jid, findings_[i].what.substr(0, 150));
  return text;
}

void Walk::keep_logs(const std::string& directory) const {
  for (const Fleet& fleet : site_.fleets)
    std::ofstream(fmt::format("{}/walk-{}-{}.log", directory, options_.seed, fleet.name())) << fleet.log();
}

std::string Walk::report() const {
  std::ostringstream text;
  text << fmt::format("seed {}: {} shards, {} fleets{}\n", options_.seed, shard_count_, site_.fleets.size(),
                      options_.planted.empty() ? "" : ", planted " + options_.planted);
  const std::size_t most = 200;
  for (std::size_t i = 0; i < actions_.size(); ++i) {
    if (i == 0 || actions_.size() - i <= most) text << actions_[i] << "\n";
  }
  std::size_t shown = 0;
  for (const Finding& finding : findings_) {
    text << "FOUND " << finding.jid << (finding.jid.empty() ? "" : ": ") << finding.what << "\n";
    if (finding.jid.empty() || ++shown > 8) continue;
    text << book_.history(finding.jid, began_);
    for (const Fleet& fleet : site_.fleets) {
      std::istringstream log(fleet.log());
      for (std::string line; std::getline(log, line);) {
        if (holds(line, finding.jid)) text << "  " << fleet.name() << " " << line.substr(0, 400) << "\n";
      }
    }
  }
  for (const Fleet& fleet : site_.fleets) {
    const std::string log = fleet.log();
    constexpr std::size_t tail = 6'000;
    text << "the log of fleet " << fleet.name() << " ends:\n" << log.substr(log.size() > tail ? log.size() - tail : 0);
  }
  return text.str();
}

}  // namespace brood::walk
