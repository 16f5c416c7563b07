#include <fmt/format.h>

#include <chrono>
#include <string>
#include <vector>

#include "shared/base/clock.hpp"
#include "shared/base/log_line.hpp"
#include "shared/base/plain_number.hpp"
#include "shared/json/json_object.hpp"
#include "shared/store/report/work_entries.hpp"
#include "supervisor/cli/access/redis_access.hpp"
#include "supervisor/cli/access/shard_connections.hpp"
#include "supervisor/cli/arguments/command_line.hpp"
#include "supervisor/cli/commands.hpp"
#include "supervisor/cli/jobs/job_text.hpp"
#include "supervisor/cli/lists/class_list.hpp"
#include "supervisor/cli/lists/shown_job.hpp"
#include "supervisor/cli/terminal/count_text.hpp"
#include "supervisor/cli/terminal/terminal.hpp"

namespace brood {
namespace {

using namespace std::chrono_literals;

constexpr int not_here = 1;

constexpr const char* show_footer =
    R"(A job that has ended is known for as long as its keep_result says; one without it is unknown then.

Exit status: 0; 1 no such job is here; 64 usage; 69 Redis is not available.)";

std::string moment(double epoch_seconds) {
  return when_text(Time(std::chrono::duration_cast<Time::duration>(std::chrono::duration<double>(epoch_seconds))));
}

void add(std::string& text, const Style& style, std::string_view name, const std::string& value) {
  if (!value.empty()) text += fmt::format("  {} {}\n", style.dim(fmt::format("{:<9}", name)), log::printable(value));
}

std::string with_whom(const ShownJob::Holder& holder) {
  return fmt::format("worker {} of pid {} on {}{}", holder.slot, holder.pid, holder.host,
                     holder.since ? ", began " + moment(static_cast<double>(*holder.since)) : "");
}

std::string text_of(const ShownJob& job, const Style& style) {
  const JobReport& report = job.report;
  std::string text =
      fmt::format("{}  {}\n", style.bold(log::printable(report.jid)), log::printable(to_string(report.state)));
  if (job.placed) {
    const JsonObject payload = JsonObject::parse(job.placed->payload);
    add(text, style, "Class", payload.string("class").value_or(""));
    add(text, style, "Queue", job.placed->queue.empty() ? payload.string("queue").value_or("") : job.placed->queue);
    if (report.state == JobState::scheduled || report.state == JobState::retrying)
      add(text, style, "Due", moment(leading_number<double>(job.placed->score_text)));
  }
  if (job.pause) add(text, style, "Waits", "for its class, which is " + pause_text(job.pause->second));
  if (job.placed && job.placed->place == PlacedJob::Place::flow)
    add(text, style, "Waits",
        fmt::format("for {} of batch {}",
                    counted(static_cast<std::uint64_t>(job.placed->waits_for), "other step", "other steps"),
                    job.placed->bid));
  add(text, style, "Shard", job.shard);
  if (job.holder) {
    add(text, style, "With", with_whom(*job.holder));
    if (job.holder->progress) add(text, style, "Progress", progress_text(*job.holder->progress));
  }
  if (report.ended_at) add(text, style, "Ended", when_text(Time(*report.ended_at)));
  if (report.elapsed.count() > 0)
    add(text, style, "Took", fmt::format("{:.3f}s", std::chrono::duration<double>(report.elapsed).count()));
  if (report.result.text != "null") add(text, style, "Result", report.result.text);
  if (!report.error_class.empty()) add(text, style, "Error", report.error_class + ": " + report.error_message);
  return text;
}

}  // namespace

int show_command(const std::vector<std::string>& args) {
  bool json = false;
  RedisAccess redis;
  CommandLine line("Shows where a job is, or how it ended: brood show JID [OPTIONS]", "brood show");
  line.flag("--json", json, "Answer in JSON, for programs");
  redis.add_options(line);
  line.footer(show_footer);
  const std::vector<std::string> words = line.parse(args);
  if (words.empty() || words[0].empty()) throw UsageError("the id of the job is missing");
  if (words.size() > 1) refuse_arguments({words[1]});

  ShardConnections shards(redis, {.connect = 3s, .command = 10s}, "brood-show");
  const ShownJob job = look_for_job(shards, words[0]);
  const bool is_known = job.report.state != JobState::unknown;
  if (json)
    print_json(shown_job_json(job) + "\n");
  else if (is_known)
    print(text_of(job, Style::of_standard_output()));
  else
    fmt::print(stderr,
               "brood show: no job {} is here: it is done, was deleted or has expired without a report, or was never "
               "pushed here\n",
               log::printable(words[0]));
  return is_known ? exit_status::ok : not_here;
}

}  // namespace brood
