#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "shared/api/opening.hpp"
#include "shared/base/log_line.hpp"
#include "shared/json/json_writer.hpp"
#include "supervisor/cli/access/api_access.hpp"
#include "supervisor/cli/arguments/command_line.hpp"
#include "supervisor/cli/commands.hpp"
#include "supervisor/cli/jobs/job_text.hpp"
#include "supervisor/cli/lists/job_json.hpp"
#include "supervisor/cli/terminal/terminal.hpp"

namespace brood {
namespace {

constexpr const char* cancel_footer =
    R"(A job that is not yet due leaves the schedule.  An iterable job that has begun, of brood or of a Ruby Sidekiq, ends at
its next save, some 5 s later, or when it next begins; its on_cancel runs.  It is found by its saved state: for a job
that waits for its first run, or has not saved yet, use --iterable.

Exit status: 0 the job is cancelled; 69 Redis is not available; 75 no such job is scheduled or known to iterate.)";

struct Cancel {
  std::string jid;
  bool iterable = false, json = false;
  RedisAccess redis;
};

Cancel parse_cancel(const std::vector<std::string>& args) {
  Cancel cancel;
  CommandLine line("Cancels a scheduled or an iterable job: brood cancel JID [OPTIONS]", "brood cancel");
  line.flag("--iterable", cancel.iterable, "It is an iterable job that has not saved yet");
  line.flag("--json", cancel.json, "Answer in JSON, for programs");
  cancel.redis.add_options(line);
  line.footer(cancel_footer);
  const std::vector<std::string> words = line.parse(args);
  if (words.empty() || words[0].empty()) throw UsageError("the id of the job is missing");
  if (words.size() > 1) refuse_arguments({words[1]});
  cancel.jid = words[0];
  return cancel;
}

void say_scheduled(const Cancel& cancel, const SetEntry& entry) {
  if (cancel.json) {
    print_json(JsonWriter().text("jid", cancel.jid).text("was", "scheduled").json("job", job_json(entry)).object() +
               "\n");
  } else {
    print(fmt::format("cancelled {} {}, which was due {}\n", log::printable(entry.display_class),
                      log::printable(cancel.jid), when_text(entry.time())));
  }
}

void say_iterating(const Cancel& cancel, const IterationRecord& before, Time cancelled_at) {
  if (cancel.json) {
    const auto cancelled = std::chrono::floor<std::chrono::seconds>(cancelled_at.time_since_epoch());
    print_json(JsonWriter()
                   .text("jid", cancel.jid)
                   .text("was", "iterating")
                   .number("executions", before.executions)
                   .json("cursor", is_json(before.cursor) ? before.cursor : "null")
                   .number("cancelled_at", cancelled.count())
                   .truth("is_new", !before.cancelled_at)
                   .object() +
               "\n");
    return;
  }
  const std::string jid = log::printable(cancel.jid);
  const std::string runs = before.executions == 1 ? "1 run" : fmt::format("{} runs", before.executions);
  print(fmt::format("{}{}: it ends at its next save, or when it next begins\n",
                    before.cancelled_at ? jid + " was cancelled " + when_text(cancelled_at) : "cancelled " + jid,
                    before.executions > 0 ? ", which has begun " + runs : ""));
}

// Removes the job from the schedule; nullopt if it is not there.
std::optional<SetEntry> unschedule(Api& api, const std::string& jid) {
  JobSet scheduled = api.scheduled();
  std::optional<SetEntry> entry = scheduled.find(jid);
  if (entry && !scheduled.remove(*entry)) entry.reset();
  return entry;
}

bool runs_now(Api& api, const std::string& jid) {
  const std::vector<Work> work = api.work();
  return std::any_of(work.begin(), work.end(), [&](const Work& one) { return one.job.jid == jid; });
}

}  // namespace

int cancel_command(const std::vector<std::string>& args) {
  const Cancel cancel = parse_cancel(args);
  Api api = open_api(cancel.redis);
  const std::optional<IterationRecord> iteration = api.iteration(cancel.jid);
  // An iteration that has begun may wait in the schedule for its next run.  It is cancelled, not removed, because its
  // on_cancel must be called.
  if (!iteration || iteration->executions == 0) {
    if (const auto entry = unschedule(api, cancel.jid)) {
      say_scheduled(cancel, *entry);
      return exit_status::ok;
    }
  }
  if (iteration || cancel.iterable) {
    const Time when = detail::Opening::client(cancel.redis.known()).cancel_iteration(cancel.jid);
    say_iterating(cancel, iteration.value_or(IterationRecord{}), when);
    return exit_status::ok;
  }
  if (cancel.json) print("null\n");
  fmt::print(stderr, "brood cancel: no job {} is scheduled or known to iterate{}\n", log::printable(cancel.jid),
             runs_now(api, cancel.jid)
                 ? "; it runs now: --iterable cancels it if it is an iterable job, and \"brood kill\" ends any"
                 : "");
  return exit_status::try_again;
}

}  // namespace brood
