#include <fmt/format.h>
#include <unistd.h>

#include <brood/client.hpp>
#include <charconv>
#include <optional>
#include <stdexcept>

#include "shared/api/opening.hpp"
#include "shared/api/push/client_connection.hpp"
#include "shared/api/push/push_writer.hpp"
#include "shared/base/clock.hpp"
#include "shared/base/log_line.hpp"
#include "shared/base/redis_clock.hpp"
#include "shared/base/units.hpp"
#include "shared/job/job_report.hpp"
#include "shared/json/json_writer.hpp"
#include "shared/redis/connection.hpp"
#include "supervisor/cli/access/redis_access.hpp"
#include "supervisor/cli/access/served_queues.hpp"
#include "supervisor/cli/access/shard_connections.hpp"
#include "supervisor/cli/arguments/command_line.hpp"
#include "supervisor/cli/commands.hpp"
#include "supervisor/cli/jobs/bulk.hpp"
#include "supervisor/cli/jobs/class_checks.hpp"
#include "supervisor/cli/jobs/job_arguments.hpp"
#include "supervisor/cli/lists/job_json.hpp"
#include "supervisor/cli/terminal/count_text.hpp"
#include "supervisor/cli/terminal/iso_time.hpp"
#include "supervisor/cli/terminal/terminal.hpp"

namespace brood {
namespace {

using namespace std::chrono_literals;

constexpr const char* enqueue_examples = R"(Examples:
  brood enqueue ResizeImage cat.png 320                   args: ["cat.png", 320]
  brood enqueue ResizeImage cat.png 320 -q images --in 10m --retry 3
  brood enqueue Zip --string 007 true                     args: ["007", "true"]
  brood enqueue ResizeImage --args '["cat.png", 320]'
  brood enqueue Clean --at 2026-12-01T08:00:00Z
  brood enqueue Count words.txt --wait=30s                prints its result
  brood enqueue --bulk jobs.ndjson                        a line each: {"class":"Zip","args":["a"]}

An argument that parses as JSON is that value, else a string.  Put words that begin with "-" after "--".
Class and arguments are checked by what workers publish, and the class's options hold where none is given here: see
"brood classes show CLASS".)";

constexpr const char* kept_while_waiting = "1h";
constexpr const char* without_timeout = "0s";
constexpr int job_died = 1;

struct EnqueueArguments {
  RedisAccess redis;
  JobArguments arguments;
  std::optional<std::string> queue, in, at, retry, timeout, expires_in, jid, bulk, spread, shard_by;
  std::optional<std::string> unique_for, unique_until, on_conflict, keep_result, wait, sequence, if_failed;
  std::vector<std::string> tags;
  bool encrypt = false;
  bool unique = false;
  bool unchecked = false;
  bool json = false;
};

YesNoOrCount read_retry(const std::string& text) {
  if (text == "true") return true;
  if (text == "false") return false;
  int count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc{} || end != text.data() + text.size() || count < 0 || count > 1'000'000) {
    throw UsageError(fmt::format("--retry must be true, false or a number of retries, not \"{}\"",
                                 log::printable(text.substr(0, 80))));
  }
  return count;
}

std::chrono::milliseconds read_duration(const char* option, const std::string& text) {
  if (const auto duration = parse_duration(text)) return *duration;
  throw UsageError(fmt::format("{} must be a duration such as \"30s\", \"10m\" or \"1h30m\", not \"{}\"", option,
                               log::printable(text.substr(0, 80))));
}

// Sets how long the job is unique, if options ask for that.
void add_uniqueness(const EnqueueArguments& options, Push& push) {
  if (!options.unique && !options.unique_for && !options.unique_until && !options.on_conflict) return;
  if (options.unique_for)
    push.members.emplace_back("unique_for", detail::json_seconds(read_duration("--unique-for", *options.unique_for)));
  push.members.emplace_back("unique_until", detail::json_text(std::string_view(options.unique_until.value_or("done"))));
  if (options.on_conflict)
    push.members.emplace_back("on_conflict", detail::json_text(std::string_view(*options.on_conflict)));
}

// When the job is due; nullopt if at once, or if the time is past.
std::optional<WallTime> due(const EnqueueArguments& options) {
  if (options.in && options.at) throw UsageError("--in and --at exclude each other");
  if (options.in) {
    const std::chrono::milliseconds delay = read_duration("--in", *options.in);
    if (delay.count() == 0) return std::nullopt;
    for (const RedisAddress& shard : options.redis.shards()) {
      if (!redis_time_is_fresh()) ClientConnection(shard).ask_time();
    }
    return redis_now() + delay;
  }
  if (!options.at) return std::nullopt;
  const auto time = parse_iso_time(*options.at);
  if (!time)
    throw UsageError(
        fmt::format("--at must be a time such as \"2026-12-01T08:00:00Z\", not \"{}\"", log::printable(*options.at)));
  return *time > redis_now() ? time : std::nullopt;
}

Push push_of(const EnqueueArguments& options, const std::vector<std::string>& words) {
  if (words.empty()) throw UsageError("the class of the job is missing");
  Push push;
  push.job_class = words[0];
  push.args = options.arguments.json({words.begin() + 1, words.end()});
  if (options.queue) push.queue = *options.queue;
  if (options.retry) push.retry = read_retry(*options.retry);
  if (options.jid) push.jid = *options.jid;
  push.shard_by = options.shard_by.value_or("");
  if (!options.tags.empty()) push.members.emplace_back("tags", detail::json_array(options.tags));
  if (options.timeout)
    push.members.emplace_back("timeout", detail::json_seconds(read_duration("--timeout", *options.timeout)));
  if (options.encrypt) push.members.emplace_back("encrypt", "true");
  if (options.keep_result || options.wait) {
    const auto kept = read_duration("--keep-result", options.keep_result.value_or(kept_while_waiting));
    if (options.wait && kept.count() == 0)
      throw UsageError("--wait needs the result: give --keep-result a time, or leave it out");
    push.members.emplace_back("keep_result", detail::json_seconds(kept));
  }
  if (options.expires_in)
    push.members.emplace_back("expires_in", detail::json_seconds(read_duration("--expires-in", *options.expires_in)));
  if (options.if_failed && !options.sequence) throw UsageError("--if-failed needs --sequence");
  if (options.sequence) push.members.emplace_back("sequence", detail::json_text(std::string_view(*options.sequence)));
  if (options.if_failed)
    push.members.emplace_back("if_failed", detail::json_text(std::string_view(*options.if_failed)));
  add_uniqueness(options, push);
  if (const auto time = due(options))
    push.at = std::chrono::time_point_cast<std::chrono::system_clock::duration>(*time);
  return push;
}

// Reports that another job holds its lock.
int report_refused(const EnqueueArguments& options, const Push& push, const std::string& holder) {
  if (options.json)
    print_json(refused_push_json(push, holder) + "\n");
  else
    fmt::print(stderr, "brood enqueue: not pushed: {} holds the lock of this one\n",
               holder.empty() ? "another job" : "job " + log::printable(holder));
  return exit_status::try_again;
}

std::string report(const Push& push, const std::string& jid) {
  if (!isatty(STDOUT_FILENO)) return jid + "\n";
  const std::string when = push.at ? fmt::format("scheduled for {}", iso_time(WallTime(*push.at))) : "enqueued";
  return fmt::format("{} {}, queue {}: {}\n", log::printable(push.job_class), when, log::printable(push.queue),
                     Style::of_standard_output().bold(log::printable(jid)));
}

// `--wait` without a time waits without limit.
std::vector<std::string> with_wait_given(std::vector<std::string> args) {
  for (std::string& word : args) {
    if (word == "--") break;
    if (word == "--wait") word = std::string("--wait=") + without_timeout;
  }
  return args;
}

int wait_for_end(const EnqueueArguments& options, Client& client, const std::string& jid) {
  const auto longest = read_duration("--wait", *options.wait);
  std::optional<JobReport> report;
  do {
    report = client.wait(jid, longest.count() > 0 ? longest : std::chrono::milliseconds(1h));
  } while (!report && longest.count() == 0);
  if (!report) {
    fmt::print(stderr, "brood enqueue: job {} has not ended within {}\n", log::printable(jid), *options.wait);
    return exit_status::try_again;
  }
  const bool died = report->state == JobState::dead;
  if (options.json)
    print_json(report_json(*report) + "\n");
  else if (!died)
    print_json(report->result.text + "\n");
  if (!report->error_class.empty())
    fmt::print(stderr, "brood enqueue: job {} {}: {}: {}\n", log::printable(jid), died ? "is dead" : "did not run",
               log::printable(report->error_class), log::printable(report->error_message));
  return died ? job_died : exit_status::ok;
}

// Warns if no process fetches from the queue.  Ignores errors: the job is pushed already.
void warn_of_unserved(const EnqueueArguments& options, const std::string& queue) try {
  ShardConnections shards(options.redis, {.connect = 1s, .command = 1s}, "brood-enqueue");
  const ServedQueues served = ask_served_queues(shards);
  if (served.holds(queue) || (!served.somebody_beats && isatty(STDERR_FILENO) != 1)) return;
  fmt::print(stderr, "brood enqueue: {} from queue \"{}\" now\n",
             served.somebody_beats ? "no process fetches" : "no process runs that fetches", log::printable(queue));
} catch (const std::exception&) {
}

int enqueue_bulk(const EnqueueArguments& options, const std::vector<std::string>& words) {
  if (!words.empty() || options.queue || options.in || options.at || options.retry || options.arguments.array ||
      options.jid || options.arguments.all_strings || options.timeout || options.expires_in || options.encrypt ||
      options.keep_result || options.wait || options.unique || options.unique_for || options.unique_until ||
      options.on_conflict || options.sequence || options.if_failed || !options.tags.empty()) {
    throw UsageError("--bulk takes class, args, queue, at and all else from each line");
  }
  std::optional<std::chrono::milliseconds> spread;
  if (options.spread) spread = read_duration("--spread", *options.spread);
  if (spread && spread->count() == 0) throw UsageError("--spread must be longer than 0");
  Client client = detail::Opening::client(options.redis.known());
  ClassChecks classes(options.redis, "brood enqueue", options.unchecked);
  const PushedLines lines =
      push_lines(client, *options.bulk, {spread, options.shard_by.value_or(""), options.unchecked, &classes});
  JsonWriter counts;
  counts.number("pushed", lines.pushed).number("refused", lines.refused);
  if (lines.unfit > 0) counts.number("unfit", lines.unfit);
  print(options.json ? counts.object() + "\n"
                     : fmt::format("{} {} pushed\n", lines.pushed, lines.pushed == 1 ? "job" : "jobs"));
  if (lines.unfit > 0)
    fmt::print(stderr, "brood enqueue: {} not pushed\n",
               counted(lines.unfit, "line was refused and is", "lines were refused and are"));
  if (lines.refused == 0) return lines.unfit == 0 ? exit_status::ok : exit_status::usage;
  fmt::print(stderr, "brood enqueue: {} (the same class, queue and arguments, or the same values in unique_by)\n",
             locks_held_by_others(lines.refused));
  return exit_status::try_again;
}

}  // namespace

int enqueue_command(const std::vector<std::string>& args) {
  EnqueueArguments options;
  CommandLine line("Puts a job on its queue, now or later: brood enqueue CLASS [ARGUMENT...] [OPTIONS]",
                   "brood enqueue");
  line.option("-q,--queue", options.queue, "NAME", "Queue (default: the class's, else default)");
  line.option("--in", options.in, "DURATION", "Run it after this time: 30s, 10m, 1h30m");
  line.option("--at", options.at, "TIME", "Run it at this time, ISO 8601; without a zone it is local time");
  line.option("--retry", options.retry, "N",
              "How often to retry it: a number, true or false (default: as the class, else true)");
  line.option("--timeout", options.timeout, "DURATION", "How long it may run: 30s, 10m; 0 is no limit");
  line.option("--expires-in", options.expires_in, "DURATION",
              "Drop it if it has not begun within this time after it was enqueued, or was due");
  line.option("--keep-result", options.keep_result, "DURATION",
              "Keep its result, or why it died, for this time after its end: see \"brood show\"");
  line.option("--wait", options.wait, "[=DURATION]",
              "Wait until it has ended, and print its result; implies --keep-result 1h");
  line.flag("--encrypt", options.encrypt, "Encrypt its last argument, with the keys of [encryption.keys]");
  line.flag("--unique", options.unique,
            "Push it unless there is another unique job with the same class, queue and arguments");
  line.option("--unique-for", options.unique_for, "DURATION", "Likewise, and for this time at most");
  line.option("--unique-until", options.unique_until, "WHEN",
              "Likewise, until its start, until it is done (default), or while it is running");
  line.option("--on-conflict", options.on_conflict, "WHAT",
              "Likewise; if there is another: drop (default), replace it, extend its lock, or run after it");
  line.option("--sequence", options.sequence, "NAME",
              "Run it after the jobs that were pushed before it with this name, and before those behind it");
  line.option("--if-failed", options.if_failed, "WHAT",
              "Likewise; while it waits for a retry, those behind it wait (default) or pass");
  line.option("--tag", options.tags, "TAG", "A label that is shown with it; may be repeated");
  options.arguments.add_options(line);
  line.option("--jid", options.jid, "JID", "Job id (default: 24 random hex digits)");
  line.option("--bulk", options.bulk, "FILE", "Push every line of a file, a JSON object each; - for standard input");
  line.flag("--unchecked", options.unchecked,
            "Push what does not fit its class too, and members that neither brood nor Sidekiq knows");
  line.option("--spread", options.spread, "DURATION",
              "Run those of --bulk at random times within this time, 5s at least");
  line.option("--shard-by", options.shard_by, "TEXT",
              "With several shards: all jobs of one text go to the same shard (default: the next that answers)");
  line.flag("--json", options.json, "Answer in JSON");
  options.redis.add_options(line);
  line.footer(enqueue_examples);

  const std::vector<std::string> words = line.parse(with_wait_given(args));
  try {
    if (options.bulk) return enqueue_bulk(options, words);
    if (options.spread) throw UsageError("--spread needs --bulk");
    if (options.wait) read_duration("--wait", *options.wait);
    Push push = push_of(options, words);
    spell_as_ruby(push);
    ClassChecks(options.redis, "brood enqueue", options.unchecked)
        .go_by(push, {options.queue.has_value(), options.retry.has_value()});
    Client client = detail::Opening::client(options.redis.known());
    const std::string jid = client.push(push);
    if (jid.empty()) return report_refused(options, push, detail::Opening::holder(client, push));
    if (options.wait) {
      warn_of_unserved(options, push.queue);
      return wait_for_end(options, client, jid);
    }
    if (options.json)
      print_json(push_json(push, jid) + "\n");
    else
      print(report(push, jid));
    if (!options.json) warn_of_unserved(options, push.queue);
    return exit_status::ok;
  } catch (const std::invalid_argument& error) {
    throw UsageError(log::printable(error.what()));
  }
}

}  // namespace brood
