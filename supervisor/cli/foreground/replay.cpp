#include <fmt/format.h>

#include <array>
#include <brood/api.hpp>
#include <cstdio>
#include <optional>

#include "shared/base/log_line.hpp"
#include "supervisor/cli/access/api_access.hpp"
#include "supervisor/cli/arguments/command_line.hpp"
#include "supervisor/cli/commands.hpp"
#include "supervisor/cli/foreground/foreground.hpp"
#include "supervisor/cli/jobs/jid_search.hpp"
#include "supervisor/cli/jobs/job_text.hpp"
#include "supervisor/cli/jobs/set_entries.hpp"
#include "supervisor/cli/terminal/terminal.hpp"

namespace brood {
namespace {

constexpr const char* replay_examples = R"(Examples:
  brood replay 3f1c -r ./libjobs.so                 a beginning of the id is enough
  brood replay 3f1c -r ./libjobs.so --gdb
  brood replay 3f1c -r ./libjobs.so --queue images  one that waits in a queue

The job stays where it is, and Redis is only read.

)";

struct FoundJob {
  JobRecord job;
  std::string place;  // "retry", "queue images"
};

template <typename Job>
std::optional<FoundJob> only_one(const std::vector<Job>& jobs, const std::string& place) {
  if (jobs.empty()) return std::nullopt;
  // Several jobs may have one id: the first one listed counts.
  return FoundJob{jobs.front(), place};
}

std::optional<FoundJob> find_in_queue(const Queue& queue, const std::string& word) {
  JidSearch<JobRecord> search({word});
  queue.each([&](const JobRecord& job) {
    search.offer(job);
    return true;
  });
  return only_one(search.jobs(), "queue " + queue.name());
}

std::optional<FoundJob> find_job(Api& api, const std::string& word, const std::optional<std::string>& queue) {
  if (queue) return find_in_queue(api.queue(*queue), word);
  for (const JobSet& set : std::array{api.retries(), api.dead(), api.scheduled()}) {
    if (auto found = only_one(find_entries(set, {word}).entries, set.name())) return found;
  }
  return std::nullopt;
}

void show(const FoundJob& found) {
  const JobRecord& job = found.job;
  const Style style(log::standard_error_takes_colour());
  fmt::print(stderr, "brood replay: {} {} from {}\n  args  {}\n", log::printable(job.display_class),
             style.bold(log::printable(job.jid)), log::printable(found.place), log::printable(job.display_args()));
  if (!job.error_class.empty() || !job.error_message.empty())
    fmt::print(stderr, "  last  {}: {}{}\n", log::printable(job.error_class), log::printable(job.error_message),
               job.failed_at ? ", " + when_text(job.retried_at.value_or(*job.failed_at)) : "");
}

}  // namespace

int replay_command(const std::vector<std::string>& args) {
  RedisAccess redis;
  Foreground foreground;
  foreground.command = "replay";
  std::optional<std::string> queue;
  CommandLine line(
      "Performs a job of retry, dead or schedule in this terminal, and leaves it there: brood replay JID [OPTIONS]",
      "brood replay");
  foreground.add_options(line);
  line.option("-q,--queue", queue, "NAME", "Search this queue instead");
  redis.add_options(line);
  line.footer(std::string(replay_examples) + foreground_footer);

  const std::vector<std::string> words = line.parse(args);
  if (words.empty()) throw UsageError("the id of the job is missing");
  if (words.size() > 1) refuse_arguments({words[1]});
  foreground.enter_debugger(args);
  std::optional<FoundJob> found;
  {
    Api api = open_api(redis);
    found = find_job(api, words.front(), queue);
  }
  if (!found) {
    fmt::print(stderr, "brood replay: there is no job \"{}\" in {}\n", log::printable(words.front()),
               queue ? "queue " + log::printable(*queue) : "retry, dead or schedule");
    return exit_status::try_again;
  }
  show(*found);
  return foreground.perform(foreground.configuration(redis.config, redis.url), found->job.payload,
                            queue.value_or(found->job.queue));
}

}  // namespace brood
