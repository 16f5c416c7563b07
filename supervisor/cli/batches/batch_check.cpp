#include "supervisor/cli/batches/batch_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <utility>

#include "shared/job/batch_membership.hpp"
#include "shared/json/json_object.hpp"
#include "shared/json/json_writer.hpp"
#include "shared/store/marked_jobs.hpp"
#include "shared/store/places_of_jobs.hpp"
#include "shared/store/report/ruby_processes.hpp"
#include "shared/store/report/work_entries.hpp"
#include "supervisor/cli/batches/open_push.hpp"
#include "supervisor/cli/terminal/count_text.hpp"

namespace brood {
namespace {

using Kind = BatchFinding::Kind;
using Place = PlaceOfJobs::Kind;

constexpr std::size_t most_batches_checked = 10'000;  // in each shard
constexpr std::size_t most_bids_as_marks = 16;
constexpr std::uint32_t jobs_a_step = 1'000;
constexpr std::int64_t long_push_s = 3'600;

// The places at which one look has found jobs and callbacks of the checked batches.
struct Look {
  std::map<std::string, std::unordered_map<std::uint32_t, Place>, std::less<>> jobs;  // by bid and index
  std::map<std::string, Place, std::less<>> callbacks;                                // by jid
  bool is_whole = true;
  bool sees_ruby = false;  // whether Ruby processes run
};

// A job that is found elsewhere too is not dead: a job that is being retried by hand may be seen at both places.
template <typename Key, typename Map>
void note_place(Map& places, const Key& key, Place place) {
  const auto [known, is_new] = places.try_emplace(key, place);
  if (!is_new && known->second == Place::dead) known->second = place;
}

void note_payload(Look& look, std::string_view payload, Place place) {
  const auto named = batch_named_by(payload);
  if (!named) return;
  if (!named->bid.empty()) note_place(look.jobs[named->bid], named->index, place);
  if (!named->callback.empty()) note_place(look.callbacks, named->jid, place);
}

// The running jobs of Ruby processes lie in their memory.  In Redis only their heartbeats show them.
void note_ruby_jobs(Connection& redis, Look& look) {
  const std::vector<Reply> who = redis.pipeline(ask_who_may_be_ruby());
  const auto identities = who.size() < 2 ? std::nullopt : read_who_may_be_ruby(who[0].view(), who[1].view());
  if (!identities || identities->empty()) return;
  look.sees_ruby = true;
  const std::vector<Reply> replies = redis.pipeline(ask_work(*identities));
  for (const auto& process : read_work_entries(replies)) {
    for (const WorkEntry& entry : process) {
      try {
        const JsonObject work = JsonObject::parse(entry.work);
        if (const auto text = work.string("payload"))
          note_payload(look, *text, Place::in_flight);
        else if (const auto object = work.raw("payload"))
          note_payload(look, *object, Place::in_flight);
      } catch (const BadJson&) {
      }
    }
  }
}

Look look_at_all_places(Connection& redis, const std::vector<BatchRecord>& batches, const BatchCheck& check) {
  Look look;
  std::vector<std::string> quoted;
  std::vector<std::string_view> marks;
  if (batches.size() > most_bids_as_marks) {
    marks = {mark_of_batch_job, mark_of_batch_callback};
  } else {
    for (const BatchRecord& batch : batches) quoted.push_back('"' + batch.bid + '"');
    marks.assign(quoted.begin(), quoted.end());
  }
  const auto visit = [&](const RedisKey& key, Place place) {
    for (std::size_t first = 0;;) {
      if (check.until && steady_now() > *check.until) look.is_whole = false;
      if (!look.is_whole) return;
      const MarkedJobs page = read_marked_jobs(redis.run(marked_jobs(key, first, marks)).view());
      for (const MarkedJob& job : page.jobs) note_payload(look, job.payload, place);
      if (page.looked_at == 0) return;
      first += page.looked_at;
    }
  };
  for_each_place_of_jobs(redis, [&](const PlaceOfJobs& at) { visit(at.key, at.kind); });
  const PlaceOfJobs dead = place_of_dead_jobs();
  visit(dead.key, dead.kind);
  note_ruby_jobs(redis, look);
  return look;
}

// Considers only the jobs that existed before the look.
std::vector<std::uint32_t> unended_jobs(Connection& redis, const BatchRecord& batch) {
  std::vector<std::uint32_t> all;
  for (std::uint32_t first = 0; first < batch.total; first += jobs_a_step) {
    const auto count = static_cast<std::uint32_t>(std::min<std::int64_t>(jobs_a_step, batch.total - first));
    const Reply reply = redis.run(find_unended(batch.bid, first, count));
    const std::vector<std::uint32_t> page = read_unended(reply.view());
    all.insert(all.end(), page.begin(), page.end());
  }
  return all;
}

// The result of one look for one batch.
struct Seen {
  std::uint64_t waiting_steps = 0;               // in a flow, for other steps: they are not pushed yet
  std::map<Place, std::uint64_t> places;         // the number of waiting or running jobs by kind of place
  std::set<std::uint32_t> nowhere, dead;         // not counted as ended
  std::vector<BatchRecord::Callback> callbacks;  // pushed and not ended, wherever they are
  std::map<std::string, Place> callback_places;  // by jid; missing: nowhere
};

bool is_pushed(const BatchRecord& batch, const BatchRecord::Callback& callback) {
  return batch.fired.contains(callback.event) && !callback.has_ended;
}

bool is_waiting_step(const std::vector<FlowStep>& steps, std::uint32_t index) {
  return index < steps.size() && steps[index].state == FlowStep::State::waiting;
}

Seen what_is_seen(Connection& redis, const BatchRecord& before, const std::vector<FlowStep>& steps_before,
                  const Look& look) {
  Seen seen;
  const auto found = look.jobs.find(before.bid);
  for (const std::uint32_t index : unended_jobs(redis, before)) {
    const bool is_found = found != look.jobs.end() && found->second.contains(index);
    if (!is_found && is_waiting_step(steps_before, index))
      ++seen.waiting_steps;
    else if (!is_found)
      seen.nowhere.insert(index);
    else if (const Place place = found->second.at(index); place == Place::dead)
      seen.dead.insert(index);
    else
      ++seen.places[place];
  }
  const auto now = find_batch(redis, before.bid);
  if (!now) return seen;
  for (const BatchRecord::Callback& callback : now->callbacks) {
    // A callback that was pushed after the look began may have been missed.
    if (!is_pushed(*now, callback) || !before.fired.contains(callback.event)) continue;
    seen.callbacks.push_back(callback);
    if (const auto place = look.callbacks.find(callback.jid); place != look.callbacks.end())
      seen.callback_places[callback.jid] = place->second;
  }
  return seen;
}

bool wants_second_look(const Seen& seen) {
  return !seen.nowhere.empty() || !seen.dead.empty() || seen.callback_places.size() < seen.callbacks.size();
}

std::set<std::uint32_t> in_both(const std::set<std::uint32_t>& one, const std::set<std::uint32_t>& other) {
  std::set<std::uint32_t> both;
  std::set_intersection(one.begin(), one.end(), other.begin(), other.end(), std::inserter(both, both.end()));
  return both;
}

void count_as_dead(Connection& redis, const std::string& bid, const std::set<std::uint32_t>& jobs,
                   std::int64_t dead_timeout_s) {
  const std::string end = "dead " + std::to_string(kept_for(dead_timeout_s));
  std::string indices;
  std::size_t gathered = 0;
  const auto send = [&] {
    if (!indices.empty()) redis.run(end_jobs_in_batch(bid, std::exchange(indices, {}), end));
    gathered = 0;
  };
  for (const std::uint32_t index : jobs) {
    indices += (indices.empty() ? "" : ",") + std::to_string(index);
    if (++gathered == jobs_a_step) send();
  }
  send();
}

const char* name_of_place(Place place) {
  switch (place) {
    case Place::queue:
      return "in queues";
    case Place::in_flight:
      return "held by workers";
    case Place::schedule:
      return "scheduled";
    case Place::retry:
      return "waiting for a retry";
    case Place::dead:
      return "dead";
    case Place::quarantine:
      return "in quarantine or of a paused class";
    case Place::sequence:
      return "waiting for their sequences";
    case Place::flow:
      return "waiting for other steps";
  }
  return "somewhere";
}

const char* what_became_of_callback(Place place) {
  switch (place) {
    case Place::queue:
      return "waits in its queue";
    case Place::in_flight:
      return "is held by a worker";
    case Place::schedule:
      return "is scheduled";
    case Place::retry:
      return "has failed and waits for a retry";
    case Place::dead:
      return "is dead: retry it";
    case Place::quarantine:
      return "waits in quarantine, or for its paused class";
    case Place::sequence:
      return "waits for the jobs before it in its sequence";
    case Place::flow:
      return "waits for other steps of its flow";
  }
  return "waits";
}

std::string named(const BatchRecord::Callback& callback) {
  return fmt::format("the callback {} for {} ({})", callback.job_class, callback.event, callback.jid);
}

// ---- One batch

class Checked {
 public:
  Checked(Connection& redis, BatchRecord batch, const BatchCheck& check)
      : redis_(redis), batch_(std::move(batch)), check_(check) {}

  const BatchRecord& batch() const { return batch_; }
  std::vector<BatchFinding> findings() && { return std::move(findings_); }

  void look_at_pushes() {
    if (batch_.open <= 0 || batch_.state == BatchState::cancelled) return;
    if (is_held_by_the_dead(batch_, look_for_pusher)) {
      add(Kind::push, pushers_text() + ", whose process is gone: the batch was cancelled").is_mended = true;
      cancel_with_children(redis_, batch_.bid);
      if (auto now = find_batch(redis_, batch_.bid)) batch_ = *std::move(now);
      return;
    }
    const bool is_old = std::any_of(batch_.pushers.begin(), batch_.pushers.end(), [](const std::string& text) {
      const auto pusher = parse_pusher(text);
      return pusher && look_for_pusher(*pusher) == PusherState::elsewhere &&
             epoch_seconds(wall_now()) - static_cast<double>(pusher->since) > long_push_s;
    });
    BatchFinding& finding = add(Kind::push, pushers_text());
    finding.needs_person = is_old || batch_.pushers.empty();
    if (finding.needs_person) finding.text += "; if that process is gone, cancel the batch";
  }

  void look_at_jobs(const Seen& first, const Seen* second) {
    const Seen& last = second != nullptr ? *second : first;
    std::string text;
    for (const auto& [place, count] : last.places)
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", grouped(count), name_of_place(place));
    if (last.waiting_steps > 0)
      text += fmt::format("{}{} waiting for other steps", text.empty() ? "" : ", ", grouped(last.waiting_steps));
    if (!text.empty()) add(Kind::jobs, "jobs that have not ended: " + text);
    if (second == nullptr) return;
    end_those(in_both(first.nowhere, second->nowhere), "nowhere any more");
    end_those(in_both(first.dead, second->dead), "in the dead set");
  }

  void look_at_callbacks(const Seen& first, const Seen* second) {
    const Seen& last = second != nullptr ? *second : first;
    for (const BatchRecord::Callback& callback : last.callbacks) {
      if (const auto at = last.callback_places.find(callback.jid); at != last.callback_places.end()) {
        add(Kind::callback, named(callback) + " " + what_became_of_callback(at->second)).needs_person =
            at->second == Place::dead;
      } else if (second != nullptr && is_missing_in(first, callback)) {
        end_callback(callback);
      }
    }
  }

  void look_at_children() {
    if (batch_.kids == 0 || batch_.closed.contains("finished")) return;
    for (const std::string& bid : batch_.children) {
      const auto child = find_batch(redis_, bid);
      if (!child)
        add(Kind::child, fmt::format("the batch {} below it has expired: cancel this one, or delete it", bid))
            .needs_person = true;
      else if (!child->closed.contains("finished"))
        add(Kind::child, fmt::format("the batch {} below it has not ended ({})", bid, to_string(child->state)));
    }
  }

  void say_not_looked_through() {
    add(Kind::jobs, "there are too many jobs to look through here: run `brood batches check " + batch_.bid + "`")
        .needs_person = true;
  }

 private:
  BatchFinding& add(Kind kind, std::string text) {
    findings_.push_back({kind, std::move(text)});
    return findings_.back();
  }

  std::string pushers_text() const {
    std::string text = "a push has not returned";
    for (const std::string& one : batch_.pushers) text += ", " + pusher_text(one);
    return text;
  }

  void end_those(const std::set<std::uint32_t>& jobs, const char* where) {
    if (jobs.empty()) return;
    const std::string text = fmt::format("{} {}", counted(jobs.size(), "job is", "jobs are"), where);
    count_as_dead(redis_, batch_.bid, jobs, check_.dead_timeout_s);
    add(Kind::missing, text + (jobs.size() == 1 ? ": it counts as dead now" : ": they count as dead now")).is_mended =
        true;
  }

  static bool is_missing_in(const Seen& seen, const BatchRecord::Callback& callback) {
    return !seen.callback_places.contains(callback.jid) &&
           std::any_of(seen.callbacks.begin(), seen.callbacks.end(),
                       [&](const BatchRecord::Callback& one) { return one.jid == callback.jid; });
  }

  void end_callback(const BatchRecord::Callback& callback) {
    if (callback.event == "success") {
      BatchFinding& finding = add(Kind::callback, named(callback) + " is nowhere any more");
      finding.needs_person = !batch_.parent.empty();
      if (finding.needs_person) finding.text += ", and its parent waits for it: delete this batch to let that go on";
      return;
    }
    redis_.run(
        end_callback_in_batch(batch_.bid, callback.jid, "dead " + std::to_string(kept_for(check_.dead_timeout_s))));
    add(Kind::callback, named(callback) + " is nowhere any more: it counts as ended now").is_mended = true;
  }

  Connection& redis_;
  BatchRecord batch_;
  const BatchCheck& check_;
  std::vector<BatchFinding> findings_;
};

bool has_something_to_wait_for(const BatchRecord& batch) {
  return !has_ended(batch) || std::any_of(batch.callbacks.begin(), batch.callbacks.end(),
                                          [&](const auto& callback) { return is_pushed(batch, callback); });
}

std::vector<BatchRecord> batches_to_check(ShardConnections::Shard& shard, const std::optional<std::string>& bid) {
  std::vector<BatchRecord> all;
  if (bid) {
    auto batch = find_batch(shard.redis, *bid);
    if (!batch) return {};
    const bool has_children = batch->kids > 0;
    all.push_back(*std::move(batch));
    const BatchesBelow below = has_children ? batches_below(shard.redis, *bid, most_batches_checked) : BatchesBelow();
    for (const BatchBelow& one : below.batches) {
      if (one.batch) all.push_back(*one.batch);
    }
  } else {
    for (ListedBatch& listed : list_batches_of(shard, most_batches_checked)) all.push_back(std::move(listed.batch));
  }
  std::erase_if(all, [](const BatchRecord& batch) { return !has_something_to_wait_for(batch); });
  return all;
}

// The result of one look at all places for each batch; empty: the look took too long.
std::vector<Seen> see_all(Connection& redis, const std::vector<BatchRecord>& batches, const BatchCheck& check,
                          bool& sees_ruby) {
  std::vector<std::vector<FlowStep>> steps;  // from before the look
  for (const BatchRecord& batch : batches) steps.push_back(steps_of(redis, batch));
  const Look look = look_at_all_places(redis, batches, check);
  sees_ruby = look.sees_ruby;
  std::vector<Seen> seen;
  for (std::size_t i = 0; i < batches.size() && look.is_whole; ++i)
    seen.push_back(what_is_seen(redis, batches[i], steps[i], look));
  return seen;
}

void check_shard(ShardConnections::Shard& shard, const std::optional<std::string>& bid, const BatchCheck& check,
                 std::vector<CheckedBatch>& into) {
  Connection& redis = shard.redis;
  std::vector<Checked> checked;
  std::vector<BatchRecord> before;
  for (BatchRecord& batch : batches_to_check(shard, bid)) {
    checked.emplace_back(redis, std::move(batch), check);
    checked.back().look_at_pushes();
    before.push_back(checked.back().batch());
  }
  if (checked.empty()) return;
  bool sees_ruby = false;
  const std::vector<Seen> first = see_all(redis, before, check, sees_ruby);
  std::vector<Seen> second;
  if (std::any_of(first.begin(), first.end(), wants_second_look)) {
    std::this_thread::sleep_for(sees_ruby ? check.pause_beside_ruby : check.pause);
    second = see_all(redis, before, check, sees_ruby);
  }
  for (std::size_t i = 0; i < checked.size(); ++i) {
    if (first.empty()) {
      checked[i].say_not_looked_through();
      continue;
    }
    const Seen* const seen_again = second.empty() ? nullptr : &second[i];
    checked[i].look_at_jobs(first[i], seen_again);
    checked[i].look_at_callbacks(first[i], seen_again);
    checked[i].look_at_children();
  }
  for (Checked& one : checked) {
    auto now = find_batch(redis, one.batch().bid);
    ListedBatch listed{now ? *std::move(now) : one.batch(), shard.address.shard, {}};
    std::vector<BatchFinding> findings = std::move(one).findings();
    if (!findings.empty()) into.push_back({std::move(listed), std::move(findings)});
  }
}

const char* name_of(Kind kind) {
  switch (kind) {
    case Kind::push:
      return "push";
    case Kind::jobs:
      return "jobs";
    case Kind::missing:
      return "missing";
    case Kind::callback:
      return "callback";
    case Kind::child:
      break;
  }
  return "child";
}

}  // namespace

std::vector<CheckedBatch> check_batches(ShardConnections& shards, const std::optional<std::string>& bid,
                                        const BatchCheck& check) {
  std::vector<CheckedBatch> checked;
  shards.each([&](ShardConnections::Shard& shard) { check_shard(shard, bid, check, checked); });
  return checked;
}

bool needs_person(const std::vector<CheckedBatch>& checked) {
  return std::any_of(checked.begin(), checked.end(), [](const CheckedBatch& one) {
    return std::any_of(one.findings.begin(), one.findings.end(),
                       [](const BatchFinding& finding) { return finding.needs_person; });
  });
}

std::string checked_batch_json(const CheckedBatch& checked) {
  const BatchRecord& batch = checked.batch.batch;
  JsonWriter json;
  json.text("bid", batch.bid).text("description", batch.description).text("state", to_string(batch.state));
  json.each("findings", checked.findings, [](const BatchFinding& finding) {
    return JsonWriter()
        .text("kind", name_of(finding.kind))
        .text("text", finding.text)
        .truth("mended", finding.is_mended)
        .truth("needs_person", finding.needs_person)
        .object();
  });
  return json.object();
}

}  // namespace brood
