#include "tests/walk/job_book.hpp"

#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <fstream>
#include <sstream>

namespace brood::walk {
namespace {

bool is_tick(const std::string& text) { return text.find(R"("class":"WalkTick")") != std::string::npos; }

// The bound at that time: the largest one that holds, or, if `adds`, their sum.
int bound_at(const std::vector<Bound>& bounds, std::int64_t time, bool adds) {
  int most = 0;
  for (const Bound& bound : bounds) {
    if (bound.from <= time && time <= bound.until) most = adds ? most + bound.most : std::max(most, bound.most);
  }
  return most;
}

// Returns the first run that began although as many others as allowed were under way; nullptr if there is none.  A run
// that was cut off counts only with its beginning.
const WalkRun* beyond(std::vector<const WalkRun*> runs, const std::vector<Bound>& bounds, bool adds = false) {
  std::sort(runs.begin(), runs.end(), [](const auto* one, const auto* other) { return one->began < other->began; });
  for (const WalkRun* run : runs) {
    int count = 0;
    for (const WalkRun* other : runs) count += other == run || (other->began < run->began && run->began < other->ended);
    if (count > bound_at(bounds, run->began, adds)) return run;
  }
  return nullptr;
}

const std::vector<Bound> one_at_a_time{{0, INT64_MAX, 1}};
const std::vector<Bound> two_at_a_time{{0, INT64_MAX, 2}}, four_at_a_time{{0, INT64_MAX, 4}};

// A settled kill ends this run without a charge, or ends the job with it.
bool is_killed(const WalkRun& run, const WalkJob& job) {
  return run.end == 0 && std::any_of(job.kills.begin(), job.kills.end(), [&](const WalkJob::Kill& kill) {
           return kill.is_settled && run.began < kill.answered && run.is_last_before(kill.answered);
         });
}

}  // namespace

std::string jid_in(const std::string& payload) {
  const std::string mark = "\"jid\":\"";
  const std::size_t at = payload.find(mark);
  if (at == std::string::npos) return payload;
  return payload.substr(at + mark.size(), payload.find('"', at + mark.size()) - at - mark.size());
}

std::int64_t now_ns() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return std::int64_t{time.tv_sec} * second_ns + time.tv_nsec;
}

WalkJob& JobBook::add(WalkJob job) {
  const std::string jid = job.jid;
  return jobs_.insert_or_assign(jid, std::move(job)).first->second;
}

WalkJob* JobBook::find(const std::string& jid) {
  const auto found = jobs_.find(jid);
  return found == jobs_.end() ? nullptr : &found->second;
}

void JobBook::read() {
  lines_.clear();
  std::ifstream file(ledger_);
  for (std::string text; std::getline(file, text);) {
    LedgerLine line;
    std::istringstream words(text);
    words >> line.what >> line.id >> line.pid >> line.time >> line.first >> line.second >> line.third >> line.fourth;
    lines_.push_back(line);
  }
  add_announced();
}

// Adds the callbacks of batches, and the jobs that jobs have pushed into batches.  Whether a push has become a job is
// judged with its batch.
void JobBook::add_announced() {
  std::map<std::string, int> shard_of_batch;
  const std::string by_the_walk = "shard";
  for (const LedgerLine& line : lines_) {
    if (line.what == 'M') {
      const WalkJob* const maker = find(line.second);
      shard_of_batch[line.id] = maker != nullptr ? maker->shard : std::stoi(line.second.substr(by_the_walk.size()));
    }
    if ((line.what != 'K' && line.what != 'N') || jobs_.contains(line.id)) continue;
    WalkJob job;
    job.jid = line.id;
    job.job_class = line.what == 'K' ? "WalkCallback" : line.second;
    job.queue = line.what == 'K' ? "" : line.third;
    job.shard = shard_of_batch[line.first];
    job.asked = job.answered = line.time;
    if (line.what == 'N') job.bid = line.first;
    add(std::move(job));
  }
}

std::vector<std::string> JobBook::running() const {
  std::vector<std::string> jids;
  const std::int64_t now = now_ns();
  for (const WalkRun& run : runs_of(lines_)) {
    if (run.end == 0 && now - run.began < second_ns && jobs_.contains(run.jid)) jids.push_back(run.jid);
  }
  return jids;
}

std::vector<WalkRun> JobBook::runs_of(const std::vector<LedgerLine>& lines) {
  std::vector<WalkRun> runs;
  std::map<std::pair<std::string, pid_t>, std::size_t> open;
  for (const LedgerLine& line : lines) {
    if (line.what == 'S') {
      for (WalkRun& before : runs) {
        if (before.jid == line.id && before.next_began == 0) before.next_began = line.time;
      }
      open[{line.id, line.pid}] = runs.size();
      runs.push_back({.jid = line.id,
                      .queue = line.second,
                      .bid = line.third,
                      .index = line.fourth.empty() ? -1 : std::stoi(line.fourth),
                      .pid = line.pid,
                      .began = line.time,
                      .retry_count = std::stoi("0" + line.first)});
    } else if (line.what == 'D' || line.what == 'F' || line.what == 'P') {
      const auto begun = open.find({line.id, line.pid});
      if (begun == open.end()) continue;
      runs[begun->second].ended = line.time;
      runs[begun->second].end = line.what;
      open.erase(begun);
    }
  }
  return runs;
}

std::vector<Finding> JobBook::judge(const std::vector<Whereabouts>& left, const Excuses& excuses,
                                    const Caps& caps) const {
  std::vector<Finding> findings;
  const auto find = [&](const std::string& jid, std::string what) { findings.push_back({jid, std::move(what)}); };
  const std::vector<WalkRun> runs = runs_of(lines_);

  std::map<std::string, std::vector<const WalkRun*>> runs_of_job, unique, sequences, tenants;
  std::vector<const WalkRun*> capped, heavy, limited;
  std::map<std::string, std::map<char, int>> counts;
  std::map<std::string, std::map<int, int>> items;
  for (const LedgerLine& line : lines_) {
    ++counts[line.id][line.what];
    if (line.what == 'I') ++items[line.id][std::stoi("0" + line.first)];
  }
  for (const WalkRun& run : runs) {
    const auto known = jobs_.find(run.jid);
    if (known == jobs_.end()) continue;
    const WalkJob& job = known->second;
    runs_of_job[run.jid].push_back(&run);
    if (!job.unique_key.empty()) unique[job.unique_key].push_back(&run);
    if (!job.sequence.empty()) sequences[job.sequence].push_back(&run);
    if (job.queue == "capped") capped.push_back(&run);
    if (job.job_class == "WalkHeavy") heavy.push_back(&run);
    // By the queue as fetched: a command may have moved the job.
    if (run.queue.starts_with("shared~")) tenants[run.queue].push_back(&run);
    if (job.job_class.starts_with("WalkLimited")) limited.push_back(&run);
  }

  std::map<std::string, std::vector<const Whereabouts*>> places;
  for (const Whereabouts& place : left) {
    if (is_tick(place.payload)) continue;  // there may always be another one
    const std::string jid = jid_in(place.payload);
    if (!jobs_.contains(jid)) find(jid, "the walk did not push what lies in " + place.key + ": " + place.payload);
    places[jid].push_back(&place);
  }
  int runs_again = 0, overcharged = 0, undercharged = 0, dead_without_cause = 0;
  std::string again, over, under, without_cause;
  for (const auto& entry : jobs_) {
    const std::string& jid = entry.first;
    const WalkJob& job = entry.second;
    const auto count = [&, at = counts.find(jid)](char what) {
      if (at == counts.end()) return 0;
      const auto found = at->second.find(what);
      return found == at->second.end() ? 0 : found->second;
    };
    const auto own = runs_of_job.find(jid);
    const std::vector<const WalkRun*> none;
    const std::vector<const WalkRun*>& own_runs = own == runs_of_job.end() ? none : own->second;
    const auto placed = places.find(jid);
    const bool is_placed = placed != places.end();
    bool is_dead = false;
    if (is_placed) {
      if (placed->second.size() > 1) find(jid, fmt::format("it lies in {} places", placed->second.size()));
      for (const Whereabouts* place : placed->second) {
        is_dead |= place->key == "dead";
        if (place->key != "dead") find(jid, "it is left in " + place->key);
        if (place->shard != job.shard) find(jid, "it lies in another shard");
        if (place->key == "dead" && !job.is_text && !job.was_touched &&
            place->payload.find("\"error_class\":\"") == std::string::npos)
          find(jid, "it is dead and does not say why");
      }
    }

    if (job.answer == WalkJob::Answer::refused) {
      if (!own_runs.empty() || is_placed) find(jid, "its push was refused, and it is there");
      continue;
    }

    // A job is lost if its push was accepted, it has not ended, and it is nowhere.
    const bool waited = own_runs.empty() || own_runs.back()->end != 'D';  // when it was last seen
    const bool was_replaced =
        !job.lock.empty() && waited && std::any_of(jobs_.begin(), jobs_.end(), [&](const auto& other) {
          return other.second.lock == job.lock && other.second.on_conflict == "replace" &&
                 other.second.answered > job.asked && other.second.answer != WalkJob::Answer::refused;
        });
    const bool was_dropped = job.on_conflict == "drop" && job.job_class == "WalkAlone" && waited;
    const bool was_discarded = std::any_of(job.kills.begin(), job.kills.end(),
                                           [](const WalkJob::Kill& kill) { return kill.outcome == "discard"; });
    const bool has_ended = count('D') > 0 || count('C') > 0 || count('X') > 0 || is_dead || job.deleted > 0 ||
                           was_replaced || was_discarded || was_dropped ||
                           (job.stores_nothing && (count('F') > 0 || count('Z') > 0));
    if (!has_ended && !is_placed && job.answer == WalkJob::Answer::accepted) find(jid, "it is lost");

    // A job must not run again after its end.
    const WalkRun* done = nullptr;
    for (const WalkRun* run : own_runs) {
      if (done != nullptr) {
        ++runs_again;
        again += " " + jid;
      } else if (run->end == 'D') {
        done = run;
      }
      if (job.deleted > 0 && run->began > job.deleted) find(jid, "it ran after a command had deleted it");
    }
    // A command may run an expired job of the dead.
    if (count('D') > 0 && (count('X') > 0 || is_dead) && !job.was_touched) {
      ++runs_again;
      again += " " + jid;
    }
    for (const WalkJob::Kill& kill : job.kills) {
      if (!kill.is_settled || kill.outcome == "retry" || job.moved > kill.asked) continue;
      const bool ran = std::any_of(own_runs.begin(), own_runs.end(), [&](const WalkRun* run) {
        return run->began > kill.answered || run->ended > kill.answered;
      });
      if (ran) find(jid, "it ran after it had been killed for good");
      if (kill.outcome == "discard" && is_placed) find(jid, "it was discarded, and is there");
    }
    if (count('C') > 0 && job.cancel_asked == 0) find(jid, "it was cancelled by no command");
    if (count('E') > 0) find(jid, "its encrypted argument did not come as it was pushed");
    if (beyond(own_runs, one_at_a_time) != nullptr) find(jid, "two runs of it overlapped");

    // A job is charged for each run that failed or was cut off, and for nothing else.
    int unsuccessful = 0, failed = 0, most_over = 0, most_under = 0;
    for (const WalkRun* run : own_runs) {
      most_over = std::max(most_over, run->retry_count - unsuccessful);
      most_under = std::max(most_under, failed - run->retry_count);
      unsuccessful += run->end == 'F' || (run->end == 0 && !is_killed(*run, job));
      failed += run->end == 'F';
    }
    if (job.was_touched) most_under = 0;
    if (most_over > 0) over += " " + jid;
    if (most_under > 0) under += " " + jid;
    overcharged += most_over;
    undercharged += most_under;
    if (is_dead && unsuccessful == 0 && count('X') == 0 && job.kills.empty() && !job.was_touched && !job.is_text &&
        job.has_class && job.after.empty()) {
      ++dead_without_cause;
      without_cause += " " + jid;
    }

    // A job must not begin after its expiry.
    if (job.expires_in_ns && !job.is_scheduled && !job.was_touched && !job.was_kept && !excuses.redis_was_slow) {
      const bool is_limited = job.job_class.starts_with("WalkLimited");
      for (const LedgerLine& line : lines_) {
        if (line.id != jid || line.what != (is_limited ? 'B' : 'S')) continue;
        const std::int64_t late = line.time - job.answered - *job.expires_in_ns;
        if (late > second_ns + 2 * excuses.longest_stall_ns)
          find(jid, fmt::format("it began {} ms too late", late / 1'000'000));
      }
    }
    if (count('X') > 0 && !job.expires_in_ns) find(jid, "it expired, and cannot expire");

    if (job.items > 0 && job.cancelled > 0) {
      // The job ends at its next save, or when it begins again.
      const auto begins = std::find_if(own_runs.begin(), own_runs.end(),
                                       [&](const WalkRun* run) { return run->began > job.cancelled; });
      for (const LedgerLine& line : lines_) {
        if (line.id != jid || line.what != 'I') continue;
        if (begins != own_runs.end() && line.time > (*begins)->began)
          find(jid, fmt::format("item {} was done in a run that began after it was cancelled", line.first));
      }
    } else if (job.items > 0 && count('D') > 0) {
      const auto& own_items = items[jid];
      for (int item = 0; item < job.items; ++item) {
        if (!own_items.contains(item))
          find(jid, fmt::format("item {} was left out", item));
        else if (own_runs.size() == 1 && own_items.at(item) > 1)
          find(jid, fmt::format("item {} was done twice", item));
      }
    }
  }
  for (const WalkRun& run : runs) {
    if (!jobs_.contains(run.jid) && run.queue != "low") find(run.jid, "it ran, and the walk did not push it");
  }
  for (const Pause& pause : pauses_) {
    for (const WalkRun& run : runs) {
      const auto job = jobs_.find(run.jid);
      if (job == jobs_.end() || job->second.shard != pause.shard) continue;
      const bool is_meant = pause.is_class ? job->second.job_class == pause.queue : job->second.queue == pause.queue;
      if (is_meant && job->second.asked > pause.from && run.began > pause.from && run.began < pause.until)
        find(run.jid, "it began while " + pause.queue + " was paused");
    }
  }

  if (runs_again > excuses.kills + excuses.lost_batches)
    find("", fmt::format("{} runs after the end of their jobs, and {} kills:{}", runs_again, excuses.kills, again));
  if (overcharged > excuses.kills)
    find("", fmt::format("{} charges of jobs that had not begun, and {} kills:{}", overcharged, excuses.kills, over));
  if (undercharged > excuses.kills + excuses.lost_batches)
    find("", fmt::format("{} failures that were not charged, and {} kills:{}", undercharged, excuses.kills, under));
  if (dead_without_cause > excuses.kills)
    find("", fmt::format("{} jobs are dead that neither failed nor crashed:{}", dead_without_cause, without_cause));

  for (const auto& [key, group] : unique) {
    if (const WalkRun* run = beyond(group, one_at_a_time)) find(run->jid, "it ran beside another one like it: " + key);
  }
  for (const auto& [name, group] : sequences) {
    if (const WalkRun* run = beyond(group, one_at_a_time))
      find(run->jid, "it ran beside another one of the sequence " + name);
  }
  judge_order(runs_of_job, findings);
  const bool adds = excuses.shards_change;
  if (const WalkRun* run = beyond(limited, adds ? four_at_a_time : two_at_a_time))
    find(run->jid, "it ran beyond the limit of two");
  if (const WalkRun* run = beyond(capped, caps.of_queue, adds))
    find(run->jid, fmt::format("it ran beyond the cap of its queue, {}", bound_at(caps.of_queue, run->began, adds)));
  if (const WalkRun* run = beyond(heavy, caps.of_class, adds))
    find(run->jid, fmt::format("it ran beyond the cap of its class, {}", bound_at(caps.of_class, run->began, adds)));
  for (const auto& [tenant, group] : tenants) {
    if (const WalkRun* run = beyond(group, caps.of_tenant, adds))
      find(run->jid, fmt::format("it ran beyond the cap of its tenant {}, {}", tenant,
                                 bound_at(caps.of_tenant, run->began, adds)));
  }
  return findings;
}

// A job of a sequence begins once all jobs that were pushed before it have ended; or have failed, if they let others
// pass. Commands may move a job, or run dead ones again.
void JobBook::judge_order(const std::map<std::string, std::vector<const WalkRun*>>& runs_of_job,
                          std::vector<Finding>& findings) const {
  std::map<std::string, std::vector<const WalkJob*>> sequences;
  for (const auto& [jid, job] : jobs_) {
    const bool has_place =
        !job.sequence.empty() && !job.is_scheduled && !job.was_kept && !job.was_touched && job.bid.empty();
    if (has_place && runs_of_job.contains(jid)) sequences[job.sequence].push_back(&job);
  }
  for (const auto& [name, jobs] : sequences) {
    for (const WalkJob* const job : jobs) {
      const WalkRun& first = *runs_of_job.at(job->jid).front();
      for (const WalkJob* const before : jobs) {
        if (before->answer != WalkJob::Answer::accepted || before->answered >= job->asked) continue;
        const std::vector<const WalkRun*>& runs = runs_of_job.at(before->jid);
        const WalkRun& last = before->lets_pass ? *runs.front() : *runs.back();
        if (last.began > first.began)
          findings.push_back(
              {job->jid, fmt::format("it began before {}, which comes before it in {}", before->jid, name)});
      }
    }
  }
}

std::string JobBook::history(const std::string& jid, std::int64_t since) const {
  const auto seconds = [&](std::int64_t time) { return static_cast<double>(time - since) / second_ns; };
  std::string text;
  if (const auto found = jobs_.find(jid); found != jobs_.end()) {
    const WalkJob& job = found->second;
    const char* const answers[] = {"accepted", "refused", "unknown"};
    text += fmt::format("  {:.3f}-{:.3f} pushed: {} {} to {} of shard {}, {}{}{}{}\n", seconds(job.asked),
                        seconds(job.answered), job.job_class, job.args, job.queue, job.shard,
                        answers[static_cast<int>(job.answer)], job.is_scheduled ? ", scheduled" : "",
                        job.expires_in_ns ? fmt::format(", expires in {} ms", *job.expires_in_ns / 1'000'000) : "",
                        job.lock.empty() ? "" : ", lock " + job.lock + " " + job.on_conflict);
    if (!job.bid.empty()) text += "  of batch " + job.bid + "\n";
    if (!job.after.empty()) text += fmt::format("  after {}, else {}\n", fmt::join(job.after, " "), job.if_failed);
    if (job.deleted > 0) text += fmt::format("  {:.3f} deleted by a command\n", seconds(job.deleted));
    if (job.was_touched) text += "  a command moved it\n";
    for (const WalkJob::Kill& kill : job.kills)
      text += fmt::format("  {:.3f}-{:.3f} killed: {}{}\n", seconds(kill.asked), seconds(kill.answered), kill.outcome,
                          kill.is_settled ? "" : ", not settled yet");
    if (job.cancelled > 0)
      text += fmt::format("  {:.3f}-{:.3f} cancelled\n", seconds(job.cancel_asked), seconds(job.cancelled));
  }
  for (const LedgerLine& line : lines_) {
    if (line.id == jid || line.first == jid)
      text += fmt::format("  {:.3f} {} {} pid={} {} {} {} {}\n", seconds(line.time), line.what, line.id, line.pid,
                          line.first, line.second, line.third, line.fourth);
  }
  return text;
}

}  // namespace brood::walk
