#include "supervisor/restart/canary.hpp"

#include <algorithm>

namespace brood {
namespace {

using namespace std::chrono_literals;

// The least number of bad seconds that can be blamed on the new code; fewer are a burst.  Failures need more seconds
// than crashes: an unavailable service fails jobs, while crashes of workers seldom have a cause outside.
constexpr double least_seconds(Canary::Way way) { return way == Canary::Way::crashed ? 2 : 4; }

constexpr double least_odds_ratio = 2;
constexpr double least_difference = 0.005;  // compared to the last runs of the old workers
constexpr double doubt = 0.1;               // a chance that deserves another look
constexpr int looks_until_quiet = 2;
constexpr std::size_t most_seconds = 60;
constexpr std::uint64_t most_runs = 10'000'000;  // in a second; a job wrote any larger number

std::uint64_t grown(std::uint64_t was, std::uint64_t is) { return is > was && is - was <= most_runs ? is - was : 0; }

RunTally tally(const Canary::Totals& totals, std::size_t index) {
  return index < totals.size() ? totals[index] : RunTally{};
}

// Haldane's correction: half a run more of each kind avoids a division by zero.
double odds(const ClusteredRuns& runs) { return (runs.bad() + 0.5) / (runs.runs() - runs.bad() + 0.5); }

// Treats runs as independent, without their design effect.
bool is_worse(const ClusteredRuns& before, const ClusteredRuns& after, double chance) {
  return after.bad() * before.runs() > before.bad() * after.runs() &&
         fisher_tail(before.bad(), before.runs(), after.bad(), after.runs()) < chance;
}

}  // namespace

void Canary::Counts::add(const RunTally& was, const RunTally& is) {
  const std::uint64_t runs = grown(was.runs, is.runs);
  crashed.add(runs, grown(was.crashed, is.crashed));
  failed.add(runs, grown(was.failed, is.failed));
}

Canary::Counts Canary::OfClass::before() const {
  Counts sum;
  for (const Counts& minute : minutes) {
    sum.crashed += minute.crashed;
    sum.failed += minute.failed;
  }
  return sum;
}

Canary::Counts Canary::OfClass::lately(std::size_t least_seconds, double least_runs) const {
  Counts sum;
  for (std::size_t i = 0; i < seconds.size() && (i < least_seconds || sum.failed.runs() < least_runs); ++i) {
    sum.crashed += seconds[i].crashed;
    sum.failed += seconds[i].failed;
  }
  return sum;
}

void Canary::note(const Totals& present, const Totals& coming, SteadyTime now) {
  alarm_.reset();
  const bool new_minute = !minute_began_ || now - *minute_began_ >= 1min;
  if (new_minute) {
    minute_began_ = now;
    for (auto& [index, of_class] : classes_) {
      of_class.minutes.emplace_front();
      if (of_class.minutes.size() > minutes_remembered) of_class.minutes.pop_back();
    }
  }
  // Runs from before our first look may be as old as the scoreboard, so they do not count.
  if (!std::exchange(seeded_, true)) seen_present_ = present;
  bool ran = false;
  for (std::size_t i = 0; i < std::max(present.size(), coming.size()); ++i) {
    const RunTally was = tally(seen_present_, i), is = tally(present, i);
    const RunTally coming_was = tally(seen_coming_, i), coming_is = under_way_ ? tally(coming, i) : coming_was;
    if (was.runs == is.runs && coming_was.runs == coming_is.runs) continue;
    const int job_class = static_cast<int>(i);
    OfClass& of_class = classes_[job_class];
    if (of_class.minutes.empty()) of_class.minutes.emplace_front();
    of_class.minutes.front().add(was, is);
    if (was.runs != is.runs) {
      of_class.seconds.emplace_front().add(was, is);
      if (of_class.seconds.size() > most_seconds) of_class.seconds.pop_back();
    }
    const double crashed = of_class.after.crashed.bad_intervals(), failed = of_class.after.failed.bad_intervals();
    ran |= coming_is.runs != coming_was.runs;
    of_class.after.add(coming_was, coming_is);
    judge(job_class, Way::crashed, crashed);
    judge(job_class, Way::failed, failed);
  }
  looks_without_a_run_ = ran ? 0 : looks_without_a_run_ + 1;
  seen_present_ = present;
  if (under_way_) seen_coming_ = coming;
}

void Canary::judge(int job_class, Way way, double bad_intervals_before) {
  const OfClass& of_class = classes_.at(job_class);
  const ClusteredRuns &after = of_class.after.of(way), before = of_class.before().of(way);
  if (after.bad_intervals() <= bad_intervals_before) return;
  const double allowed = bound(job_class, way, after.bad_intervals());
  if (alarm_ || after.bad_intervals() < least_seconds(way)) return;
  if (odds(after) < least_odds_ratio * odds(before)) return;
  // If a class also went wrong in its last runs by the old workers, the new workers are not to blame.
  const ClusteredRuns last = of_class.lately(3, 50).of(way), lately = of_class.lately(10, 200).of(way);
  if (odds(after) < least_odds_ratio * odds(last) || !is_worse(lately, after, least_difference)) return;
  const double chance = chance_of(before, after);
  if (chance > allowed) return;
  alarm_ = Alarm{.job_class = job_class,
                 .way = way,
                 .bad_before = before.bad(),
                 .runs_before = before.runs(),
                 .bad_after = after.bad(),
                 .runs_after = after.runs(),
                 .certainty = 1 - chance * false_alarms / allowed};
}

double Canary::bound(int job_class, Way way, double looks) {
  const int trouble = troubles_.try_emplace({job_class, way}, static_cast<int>(troubles_.size()) + 1).first->second;
  return false_alarms / (looks * (looks + 1) * trouble * (trouble + 1));
}

void Canary::begin(const Totals& coming) {
  under_way_ = true;
  seen_coming_ = coming;
  troubles_.clear();
  alarm_.reset();
  for (auto& [index, of_class] : classes_) of_class.after = {};
}

void Canary::end(bool adopted) {
  if (!std::exchange(under_way_, false)) {
    if (adopted) classes_.clear(), seeded_ = false;
    return;
  }
  for (auto& [index, of_class] : classes_) {
    if (adopted) of_class.minutes = {of_class.after};
    if (adopted) of_class.seconds = {of_class.after};
    of_class.after = {};
  }
  if (adopted) seen_present_ = seen_coming_;
  alarm_.reset();
}

bool Canary::may_end(const std::set<int>& running, const Totals& coming) const {
  bool something = false, in_trouble = false, enough = true, quiet = running.empty();
  for (const auto& [index, of_class] : classes_) {
    const Counts before = of_class.before();
    const auto i = static_cast<std::size_t>(index);
    const auto unseen = static_cast<double>(grown(tally(seen_coming_, i).runs, tally(coming, i).runs));
    const double runs = of_class.after.failed.runs() + unseen;
    if (before.failed.runs() == 0 || (runs == 0 && !running.contains(index))) continue;
    something = true;
    quiet &= unseen == 0;
    in_trouble |= of_class.after.failed.bad() > 0 || of_class.after.crashed.bad() > 0;
    enough &= of_class.after.failed.runs() >= enough_runs && !is_worse(before.failed, of_class.after.failed, doubt) &&
              !is_worse(before.crashed, of_class.after.crashed, doubt);
  }
  if (!something || enough) return true;
  return quiet && !in_trouble && looks_without_a_run_ >= looks_until_quiet;
}

}  // namespace brood
