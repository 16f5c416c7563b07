// run, kill, delete, clear and reschedule, for retries, scheduled and dead.

#include <fmt/format.h>

#include <functional>
#include <optional>

#include "shared/base/log_line.hpp"
#include "shared/base/units.hpp"
#include "shared/json/json_writer.hpp"
#include "supervisor/cli/access/api_access.hpp"
#include "supervisor/cli/arguments/command_line.hpp"
#include "supervisor/cli/arguments/confirmation.hpp"
#include "supervisor/cli/jobs/bulk_report.hpp"
#include "supervisor/cli/jobs/job_text.hpp"
#include "supervisor/cli/jobs/set_entries.hpp"
#include "supervisor/cli/jobs/set_order.hpp"
#include "supervisor/cli/lists/job_json.hpp"
#include "supervisor/cli/terminal/count_text.hpp"
#include "supervisor/cli/terminal/interruption.hpp"
#include "supervisor/cli/terminal/iso_time.hpp"
#include "supervisor/cli/terminal/progress_bar.hpp"
#include "supervisor/cli/terminal/terminal.hpp"

namespace brood {
namespace {

constexpr std::size_t shown_of_a_dry_run = 5;

// One kind of change: how to apply it to one entry, and to many.
struct Change {
  ChangeWords words;
  std::function<bool(JobSet&, const SetEntry&)> one;
  std::function<BulkResult(JobSet&, const JobSet::Condition&, const Progress&)> many;
  std::size_t keeps = 0;  // the size limit of the set that the entries are moved to; 0: none
};

// The entries that a command line means, before anything changes.
struct Census {
  std::size_t total = 0, wanted = 0;
  std::vector<SetEntry> first;  // a few to show
};

Census count(const JobSet& set, const SetOrder& order) {
  Census census{.total = set.size(), .wanted = 0, .first = {}};
  ProgressBar bar("counting", census.total);
  std::size_t looked_at = 0;
  set.each([&](const SetEntry& entry) {
    bar.show(++looked_at);
    if (order.takes(entry)) {
      ++census.wanted;
      if (census.first.size() < shown_of_a_dry_run) census.first.push_back(entry);
    }
    // Without a condition all entries are wanted, so only the few to show are read.
    return !order.filter.is_empty() || census.first.size() < shown_of_a_dry_run;
  });
  if (order.filter.is_empty()) census.wanted = census.total;
  return census;
}

std::string of_the_total(const SetKind& kind, std::size_t wanted, std::size_t total) {
  return fmt::format("{} of {}", grouped(wanted), counted(total, kind.one, kind.many));
}

int dry_run(const SetOrder& order, const Change& change, const std::vector<SetEntry>& first, std::size_t wanted,
            std::size_t total) {
  if (order.json) {
    print_json(JsonWriter()
                   .truth("dry_run", true)
                   .number("wanted", wanted)
                   .number("total", total)
                   .each("jobs", first, [](const SetEntry& entry) { return job_json(entry); })
                   .object() +
               "\n");
    return exit_status::ok;
  }
  if (!first.empty()) print(table_of(*order.kind, first));
  print(fmt::format("{} would be {}{}; nothing was done.\n", of_the_total(*order.kind, wanted, total),
                    change.words.done, wanted > first.size() ? ", these among them" : ""));
  return exit_status::ok;
}

int change_named(const SetOrder& order, const Change& change, JobSet& set) {
  const FoundEntries found = find_entries(set, order.jids);
  if (order.dry_run) return dry_run(order, change, found.entries, found.entries.size(), set.size());
  BulkResult result;
  result.looked_at = result.wanted = found.entries.size();
  for (const SetEntry& entry : found.entries) try {
      ++(change.one(set, entry) ? result.done : result.gone);
    } catch (const JobStays& why) {
      ++result.stuck;
      fmt::print(stderr, "brood {}: {}: {}\n", order.kind->command, log::printable(entry.jid), why.what());
    }
  const int status = report(result, {order.kind->command, order.kind->one, order.kind->many}, change.words, order.json);
  return complain_of_missing(*order.kind, found) ? exit_status::try_again : status;
}

int change_many(const SetOrder& order, const Change& change, JobSet& set) {
  const Census census = count(set, order);
  if (order.dry_run) return dry_run(order, change, census.first, census.wanted, census.total);
  const Nouns nouns{order.kind->command, order.kind->one, order.kind->many};
  if (census.wanted == 0) {
    BulkResult nothing;
    nothing.looked_at = census.total;
    return report(nothing, nouns, change.words, order.json);
  }
  std::string sentence = change.words.does + " " + of_the_total(*order.kind, census.wanted, census.total);
  if (change.keeps != 0 && census.wanted > change.keeps)
    sentence += fmt::format(", and deletes all but the latest {} of the dead", grouped(change.keeps));
  if (!confirmed(sentence, order.yes)) return exit_status::try_again;
  note_interruption();
  BulkResult result;
  {
    ProgressBar bar(change.words.doing, census.total);
    result = change.many(
        set, [&](const SetEntry& entry) { return order.takes(entry); },
        [&](std::size_t done, std::size_t) {
          bar.show(done);
          return !interrupted();
        });
  }
  return report(result, nouns, change.words, order.json);
}

int change_entries(const SetOrder& order, const Change& change) {
  const bool by_filter = order.all || !order.filter.is_empty();
  if (!order.jids.empty() && by_filter) throw UsageError("ids and filters exclude each other; --jid is a filter");
  if (order.all && !order.filter.is_empty()) throw UsageError("--all and filters exclude each other");
  if (order.jids.empty() && !by_filter) throw UsageError("choose jobs: JID..., filters such as --class, or --all");
  Api api = open_api(order.redis);
  JobSet set = (api.*order.kind->open)();
  return order.jids.empty() ? change_many(order, change, set) : change_named(order, change, set);
}

Time due(const SetOrder& order) {
  if (order.in.empty() == order.at.empty()) throw UsageError("give a time: --in or --at");
  if (!order.in.empty()) {
    const auto delay = parse_duration(order.in);
    if (!delay)
      throw UsageError("--in must be a duration such as \"30s\", \"10m\" or \"1h30m\", not \"" +
                       log::printable(order.in) + "\"");
    return std::chrono::system_clock::now() + *delay;
  }
  const auto time = parse_iso_time(order.at);
  if (!time)
    throw UsageError("--at must be a time such as \"2026-12-01T08:00:00Z\", not \"" + log::printable(order.at) + "\"");
  return std::chrono::time_point_cast<Time::duration>(*time);
}

}  // namespace

int run_entries(const SetOrder& order) {
  return change_entries(
      order, {{"enqueues", "enqueueing", "enqueued"},
              [](JobSet& set, const SetEntry& entry) { return set.run(entry); },
              [](JobSet& set, const auto& wanted, const Progress& progress) { return set.run_all(wanted, progress); },
              0});
}

int kill_entries(const SetOrder& order) {
  const std::int64_t most = order.redis.configuration().dead_max_jobs;
  return change_entries(
      order, {{"moves to the dead set", "killing", "moved to the dead set"},
              [](JobSet& set, const SetEntry& entry) { return set.kill(entry); },
              [](JobSet& set, const auto& wanted, const Progress& progress) { return set.kill_all(wanted, progress); },
              most == no_limit_of_dead ? 0 : static_cast<std::size_t>(most)});
}

int delete_entries(const SetOrder& order) {
  return change_entries(order, {{"deletes", "deleting", "deleted"},
                                [](JobSet& set, const SetEntry& entry) { return set.remove(entry); },
                                [](JobSet& set, const auto& wanted, const Progress& progress) {
                                  return set.remove_if(wanted, progress);
                                }});
}

int clear_entries(const SetOrder& order) {
  refuse_arguments(order.jids);
  Api api = open_api(order.redis);
  JobSet set = (api.*order.kind->open)();
  BulkResult result;
  result.looked_at = result.wanted = set.size();
  if (order.dry_run)
    return dry_run(order, {{"deletes", "deleting", "deleted"}, {}, {}, 0}, {}, result.wanted, result.wanted);
  const std::string what = counted(result.wanted, order.kind->one, order.kind->many);
  if (result.wanted > 0 && !confirmed("deletes all of " + what, order.yes)) return exit_status::try_again;
  result.looked_at = result.wanted = result.done = set.clear();
  return report(result, {order.kind->command, order.kind->one, order.kind->many}, {"deletes", "deleting", "deleted"},
                order.json);
}

int reschedule_entries(const SetOrder& order) {
  const Time time = due(order);
  Api api = open_api(order.redis);
  JobSet set = (api.*order.kind->open)();
  const FoundEntries found = find_entries(set, order.jids);
  BulkResult result;
  result.looked_at = result.wanted = found.entries.size();
  for (const SetEntry& entry : found.entries) ++(set.reschedule(entry, time) ? result.done : result.gone);
  const std::string done = fmt::format("to run {} ({})", when_text(time), iso_time(WallTime(time.time_since_epoch())));
  const int status =
      report(result, {order.kind->command, order.kind->one, order.kind->many}, {"", "", done}, order.json);
  return complain_of_missing(*order.kind, found) ? exit_status::try_again : status;
}

}  // namespace brood
