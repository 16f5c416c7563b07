// retries, scheduled, dead: the jobs of a sorted set.

#include <string>
#include <vector>

#include "supervisor/cli/arguments/command_line.hpp"
#include "supervisor/cli/arguments/verb.hpp"
#include "supervisor/cli/commands.hpp"
#include "supervisor/cli/jobs/set_order.hpp"

namespace brood {
namespace {

using SetVerb = VerbFor<SetOrder>;
using Names = std::vector<std::string_view>;

Names with_filters(Names names) {
  names.insert(names.end(), JobFilter::option_names().begin(), JobFilter::option_names().end());
  return names;
}

const std::string which = "JID...|--all|FILTERS";

const SetVerb list = {{"list", "[FILTERS]", "show them, one line each", with_filters({"--limit", "--page"})},
                      list_entries};
const SetVerb show = {{"show", "JID...", "show the details of one", {}}, show_entries};
const SetVerb run = {{"run", which, "put them on their queues now", with_filters({"--all", "--yes", "--dry-run"})},
                     run_entries};
const SetVerb kill = {{"kill", which, "move them to the dead set", with_filters({"--all", "--yes", "--dry-run"})},
                      kill_entries};
const SetVerb forget = {{"delete", which, "forget them", with_filters({"--all", "--yes", "--dry-run"})},
                        delete_entries};
const SetVerb clear = {{"clear", "", "delete all of them", {"--yes", "--dry-run"}}, clear_entries};
const SetVerb reschedule = {{"reschedule", "JID...", "change when they run", {"--in", "--at"}}, reschedule_entries};

constexpr const char* set_footer =
    R"(A unique beginning of JID is enough.  Filters combine; each but the ages may be given several times.
run, kill and delete of many, and clear, show the change and ask; without a terminal they need --yes.
Ctrl-C ends them after the current batch.

Exit status: 0; 64 usage; 69 Redis is not available; 75 no such job, not all is done, or you did not agree.)";

int obey(const SetKind& kind, const std::string& about, const std::vector<SetVerb>& verbs, const std::string& examples,
         const std::vector<std::string>& args) {
  SetOrder order;
  order.kind = &kind;
  CommandLine line(about + ": brood " + kind.command + " [VERB] [JID...] [OPTIONS]", "brood " + kind.command);
  const std::vector<Verb> says = only_verbs(verbs);
  order.filter.add_options(line);
  line.flag("--all", order.all, "All of them");
  line.option("--limit", order.limit, "N",
              "How many to list (default: 25, or as many as fit the terminal; all in JSON)");
  line.option("--page", order.page, "N", "Which page of that size (default: 1)");
  if (kind.command != "dead") {
    line.option("--in", order.in, "DURATION", "reschedule: this long from now: 30s, 10m, 1h30m");
    line.option("--at", order.at, "TIME", "reschedule: at this time, ISO 8601");
  }
  line.flag("--dry-run", order.dry_run, "Show what would be done, and change nothing");
  line.flag("--yes", order.yes, "Do not ask");
  line.flag("--json", order.json, "Answer in JSON, for programs");
  order.redis.add_options(line);
  line.footer(help_on(kind.command, says) + "\n" + set_footer + "\n\nExamples:\n" + examples);
  order.jids = line.parse(args);
  const std::size_t verb = take_verb(line, says, order.jids);
  if (order.limit == 0U || order.page == 0U) throw UsageError("--limit and --page begin at 1");
  order.filter.read();
  return verbs[verb].obey(order);
}

}  // namespace

int retries_command(const std::vector<std::string>& args) {
  static const SetKind kind{.command = "retries",
                            .one = "retry",
                            .many = "retries",
                            .time_title = "NEXT RUN",
                            .what_its_time_is = "next run",
                            .has_errors = true,
                            .open = &Api::retries,
                            .since = [](const SetEntry& entry) { return entry.failed_at; }};
  return obey(kind, "The failed jobs that will be retried", {list, show, run, kill, forget, clear, reschedule},
              "  brood retries --class ResizeImage --error SIGSEGV\n"
              "  brood retries kill --error SIGSEGV --older-than 1d\n"
              "  brood retries reschedule 4f1c --in 10m",
              args);
}

int scheduled_command(const std::vector<std::string>& args) {
  static const SetKind kind{.command = "scheduled",
                            .one = "scheduled job",
                            .many = "scheduled jobs",
                            .time_title = "DUE",
                            .what_its_time_is = "due",
                            .open = &Api::scheduled,
                            .since = [](const SetEntry& entry) { return entry.created_at; }};
  return obey(kind, "The jobs that are not yet due", {list, show, run, kill, forget, clear, reschedule},
              "  brood scheduled\n"
              "  brood scheduled run --class Report\n"
              "  brood scheduled reschedule 4f1c --at 2026-12-01T08:00:00Z",
              args);
}

int dead_command(const std::vector<std::string>& args) {
  static const SetKind kind{.command = "dead",
                            .one = "dead job",
                            .many = "dead jobs",
                            .time_title = "DIED",
                            .what_its_time_is = "died",
                            .has_errors = true,
                            .open = &Api::dead,
                            .order = JobSet::Order::highest_first,
                            .since = [](const SetEntry& entry) { return std::optional(entry.time()); }};
  return obey(kind, "The jobs that will not be retried", {list, show, run, forget, clear},
              "  brood dead --newer-than 1h\n"
              "  brood dead show 4f1c\n"
              "  brood dead run --class ResizeImage --error SIGSEGV",
              args);
}

}  // namespace brood
