#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "shared/base/log_line.hpp"
#include "shared/base/nearest.hpp"
#include "shared/base/units.hpp"
#include "shared/config/queue_order.hpp"
#include "shared/config/tenants.hpp"
#include "shared/json/json_writer.hpp"
#include "supervisor/cli/access/api_access.hpp"
#include "supervisor/cli/access/served_queues.hpp"
#include "supervisor/cli/access/shard_connections.hpp"
#include "supervisor/cli/arguments/command_line.hpp"
#include "supervisor/cli/arguments/confirmation.hpp"
#include "supervisor/cli/arguments/verb.hpp"
#include "supervisor/cli/commands.hpp"
#include "supervisor/cli/jobs/bulk_report.hpp"
#include "supervisor/cli/jobs/jid_search.hpp"
#include "supervisor/cli/jobs/job_filter.hpp"
#include "supervisor/cli/jobs/job_text.hpp"
#include "supervisor/cli/lists/job_json.hpp"
#include "supervisor/cli/lists/jobs_of_queue.hpp"
#include "supervisor/cli/lists/listing.hpp"
#include "supervisor/cli/terminal/count_text.hpp"
#include "supervisor/cli/terminal/interruption.hpp"
#include "supervisor/cli/terminal/progress_bar.hpp"
#include "supervisor/cli/terminal/terminal.hpp"

namespace brood {
namespace {

using namespace std::chrono_literals;

const ChangeWords deleting = {"deletes", "deleting", "deleted"};
const Nouns jobs = {"queues", "job", "jobs"};

struct QueuesOrder {
  RedisAccess redis;
  JobFilter filter;
  std::vector<std::string> words;
  bool yes = false, dry_run = false, json = false;
  std::optional<std::size_t> limit, page;

  bool takes(const JobRecord& job) const {
    return filter.takes(job, job.enqueued_at ? job.enqueued_at : job.created_at);
  }
};

std::string latency_text(double seconds) {
  const auto latency = std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000));
  return duration_text(latency < std::chrono::seconds(1) ? latency : std::chrono::floor<std::chrono::seconds>(latency));
}

const std::vector<std::string>& names_of(const QueuesOrder& order) {
  if (order.words.empty()) throw UsageError("the name of the queue is missing");
  return order.words;
}

ShardConnections connect_for_queues(const RedisAccess& access) {
  return ShardConnections(access, {.connect = 3s, .command = 5s}, "brood-queues");
}

// Throws UsageError for a queue that Redis does not know: a misspelled name must not look like an empty queue.
JobsOfQueue jobs_of_known_queue(Api& api, ShardConnections& shards, const std::string& name) {
  JobsOfQueue jobs(api, shards, name);
  const std::vector<QueueSummary> all = api.queue_summaries();
  const bool known = std::any_of(all.begin(), all.end(), [&](const QueueSummary& queue) { return queue.name == name; });
  if (!known && jobs.size() == 0) throw UsageError(fmt::format("there is no queue \"{}\"", log::printable(name)));
  return jobs;
}

ServedQueues served_queues(const RedisAccess& access) {
  ShardConnections shards = connect_for_queues(access);
  return ask_served_queues(shards);
}

std::string state_of(bool paused, bool served) {
  if (served) return paused ? "paused" : "";
  return paused ? "paused, and no process fetches from it" : "no process fetches from it";
}

int list_queues(const QueuesOrder& order) {
  refuse_arguments(order.words);
  Api api = open_api(order.redis);
  const std::vector<QueueSummary> queues = api.queue_summaries_by_base();
  const ServedQueues served = served_queues(order.redis);
  if (order.json) {
    JsonArray array;
    for (const QueueSummary& queue : queues) array.add(queue_json(queue, served));
    array.end();
    return exit_status::ok;
  }
  Table table({{"QUEUE"}, {"SIZE", Table::Align::right}, {"LATENCY", Table::Align::right}, {"STATE"}});
  for (const QueueSummary& queue : queues)
    table.add({queue.name, grouped(queue.size), latency_text(queue.latency),
               state_of(queue.paused, served.holds(queue.name))});
  print(table.empty() ? "There is no queue.\n" : table.text(Style::of_standard_output()));
  return exit_status::ok;
}

// A job and the place where it waits.
struct PlacedJobRecord {
  JobRecord job;
  std::string where;
};

// Shows where the jobs wait, unless all of them wait in `queue` itself.
std::string table_of_jobs(const std::vector<PlacedJobRecord>& some, const std::string& queue) {
  const bool has_shards =
      std::any_of(some.begin(), some.end(), [](const PlacedJobRecord& one) { return !one.job.shard.empty(); });
  const bool has_places =
      std::any_of(some.begin(), some.end(), [&](const PlacedJobRecord& one) { return one.where != queue; });
  std::vector<Table::Column> columns = {{"ENQUEUED"}, {"JID"}, {"CLASS"}, {"ARGS"}};
  if (has_places) columns.insert(columns.begin(), {"WAITS IN"});
  if (has_shards) columns.insert(columns.begin(), {"SHARD"});
  Table table(std::move(columns));
  for (const auto& [job, where] : some) {
    std::vector<std::string> row = {job.enqueued_at ? when_text(*job.enqueued_at) : "", job.jid,
                                    job.is_job ? job.display_class : "(no job)",
                                    job.is_job ? job.display_args() : job.payload};
    if (has_places) row.insert(row.begin(), where);
    if (has_shards) row.insert(row.begin(), job.shard);
    table.add(std::move(row));
  }
  return table.text(Style::of_standard_output());
}

struct FoundJobs {
  std::vector<JobRecord> jobs;
  bool some_missing = false;
};

FoundJobs find_jobs(const JobsOfQueue& jobs, const std::string& queue, const std::vector<std::string>& jids) {
  JidSearch<JobRecord> search(jids);
  jobs.each([&](const JobRecord& job, const std::string&) {
    search.offer(job);
    return true;
  });
  for (const std::string& word : search.not_found())
    fmt::print(stderr, "brood queues: there is no job \"{}\" in {}\n", log::printable(word), log::printable(queue));
  return {search.jobs(), !search.not_found().empty()};
}

// Lists the tenants that "images~*" stands for.
int list_tenants(const QueuesOrder& order, const std::string& entry) {
  Api api = open_api(order.redis);
  const ServedQueues served = served_queues(order.redis);
  const std::vector<QueueSummary> tenants = api.tenants(entry);
  Listing<QueueSummary> listing(
      order.limit, order.page, order.json, [&](const QueueSummary& queue) { return queue_json(queue, served); },
      [&](const std::vector<QueueSummary>& some) {
        Table table({{"QUEUE"}, {"SIZE", Table::Align::right}, {"LATENCY", Table::Align::right}, {"STATE"}});
        for (const QueueSummary& queue : some)
          table.add({queue.name, grouped(queue.size), latency_text(queue.latency),
                     state_of(queue.paused, served.holds(queue.name))});
        return table.text(Style::of_standard_output());
      });
  for (const QueueSummary& queue : tenants) {
    if (!listing.add(queue)) break;
  }
  listing.end(there_are(tenants.size(), "tenant", "tenants"));
  return exit_status::ok;
}

int show_queue(const QueuesOrder& order) {
  if (is_tenants(names_of(order).front())) return list_tenants(order, order.words.front());
  Api api = open_api(order.redis);
  ShardConnections shards = connect_for_queues(order.redis);
  const std::string& name = names_of(order).front();
  const JobsOfQueue jobs = jobs_of_known_queue(api, shards, name);
  if (order.words.size() > 1) {
    const FoundJobs found = find_jobs(jobs, name, {order.words.begin() + 1, order.words.end()});
    JsonArray array;
    for (const JobRecord& job : found.jobs) {
      if (order.json)
        array.add(job_json(job, true));
      else
        print(whole_text(job, Style::of_standard_output()));
    }
    if (order.json) array.end();
    return found.some_missing ? exit_status::try_again : exit_status::ok;
  }
  Listing<PlacedJobRecord> listing(
      order.limit, order.page, order.json, [](const PlacedJobRecord& one) { return job_json(one.job); },
      [&](const std::vector<PlacedJobRecord>& some) { return table_of_jobs(some, name); });
  jobs.each([&](const JobRecord& job, const std::string& where) {
    return !order.takes(job) || listing.add({job, where});
  });
  if (order.json) {
    listing.end("");
    return exit_status::ok;
  }
  listing.end(order.filter.is_empty() ? there_are(jobs.size(), "job", "jobs")
                                      : "of " + counted(jobs.size(), "job", "jobs") + " those that match");
  return exit_status::ok;
}

void warn_of_unknown(const std::string& name, const std::vector<QueueSummary>& known, const ServedQueues& served) {
  std::vector<std::string> names(served.names.begin(), served.names.end());
  std::erase_if(names, is_pattern);
  for (const QueueSummary& queue : known) names.push_back(queue.name);
  const auto meant = nearest(name, names);
  fmt::print(stderr,
             "brood queues: there is no queue \"{}\" yet: nothing was pushed to it, and no process fetches from it{}\n",
             log::printable(name), meant ? fmt::format("; did you mean \"{}\"?", log::printable(*meant)) : "");
}

int set_paused(const QueuesOrder& order, bool paused) {
  Api api = open_api(order.redis);
  std::vector<Queue> queues;
  for (const std::string& name : names_of(order)) queues.push_back(api.queue(name));
  const std::vector<QueueSummary> known = api.queue_summaries();
  const ServedQueues served = served_queues(order.redis);
  JsonArray array;
  for (Queue& queue : queues) {
    paused ? queue.pause() : queue.unpause();
    // A queue may be paused before anything was ever pushed to it, but the name may also be misspelled, so we warn.
    const bool is_known =
        !served.known ||
        served.names.contains(queue.name()) ||  // by this exact name: a pattern could match a misspelled one
        std::any_of(known.begin(), known.end(), [&](const QueueSummary& one) {
          return one.name == queue.name() || (is_tenants(queue.name()) && matches(queue.name(), one.name));
        });
    if (!is_known) warn_of_unknown(queue.name(), known, served);
    if (order.json)
      array.add(JsonWriter().text("name", queue.name()).truth("paused", paused).object());
    else
      print(fmt::format("{}: {}\n", log::printable(queue.name()), paused ? "paused; running jobs go on" : "goes on"));
  }
  if (order.json) array.end();
  return exit_status::ok;
}

int pause_queues(const QueuesOrder& order) { return set_paused(order, true); }
int unpause_queues(const QueuesOrder& order) { return set_paused(order, false); }

int say_dry_run(const QueuesOrder& order, std::size_t wanted, std::size_t total) {
  print(order.json ? JsonWriter().truth("dry_run", true).number("wanted", wanted).number("total", total).object() + "\n"
                   : fmt::format("{} of {} would be deleted; nothing was done.\n", grouped(wanted),
                                 counted(total, "job", "jobs")));
  return exit_status::ok;
}

int delete_named(const QueuesOrder& order, JobsOfQueue& all) {
  const FoundJobs found = find_jobs(all, order.words.front(), {order.words.begin() + 1, order.words.end()});
  if (order.dry_run) return say_dry_run(order, found.jobs.size(), all.size());
  BulkResult result;
  result.looked_at = result.wanted = found.jobs.size();
  for (const JobRecord& job : found.jobs) ++(all.remove(job) ? result.done : result.gone);
  const int status = report(result, jobs, deleting, order.json);
  return found.some_missing ? exit_status::try_again : status;
}

int delete_jobs(const QueuesOrder& order) {
  Api api = open_api(order.redis);
  ShardConnections shards = connect_for_queues(order.redis);
  const std::string& name = names_of(order).front();
  JobsOfQueue all = jobs_of_known_queue(api, shards, name);
  const bool named = order.words.size() > 1;
  if (named != order.filter.is_empty())
    throw UsageError(named ? "ids and filters exclude each other; --jid is a filter"
                           : "choose jobs: JID..., or filters such as --class; \"clear\" deletes all");
  if (named) return delete_named(order, all);
  const std::size_t total = all.size();
  BulkResult result;
  {
    ProgressBar bar("counting", total);
    all.each([&](const JobRecord& job, const std::string&) {
      bar.show(++result.looked_at);
      result.wanted += order.takes(job);
      return true;
    });
  }
  if (order.dry_run) return say_dry_run(order, result.wanted, total);
  if (result.wanted == 0) return report(result, jobs, deleting, order.json);
  const std::string what = fmt::format("deletes {} of {} of {}", grouped(result.wanted), counted(total, "job", "jobs"),
                                       log::printable(name));
  if (!confirmed(what, order.yes)) return exit_status::try_again;
  note_interruption();
  {
    ProgressBar bar("deleting", total);
    result = all.remove_if([&](const JobRecord& job) { return order.takes(job); },
                           [&](std::size_t done, std::size_t) {
                             bar.show(done);
                             return !interrupted();
                           });
  }
  return report(result, jobs, deleting, order.json);
}

int clear_queues(const QueuesOrder& order) {
  Api api = open_api(order.redis);
  ShardConnections shards = connect_for_queues(order.redis);
  std::vector<JobsOfQueue> all;
  std::vector<std::string> names;
  BulkResult result;
  for (const std::string& name : names_of(order)) {
    all.push_back(jobs_of_known_queue(api, shards, name));
    for (const Queue& list : all.back().lists()) names.push_back(log::printable(list.name()));
    result.wanted += all.back().size();
  }
  result.looked_at = result.wanted;
  if (order.dry_run) return say_dry_run(order, result.wanted, result.wanted);
  const std::string what =
      fmt::format("deletes {} and all {}", fmt::join(names, ", "), counted(result.wanted, "job", "jobs"));
  if (!confirmed(what, order.yes)) return exit_status::try_again;
  for (JobsOfQueue& queue : all) result.done += queue.clear();
  result.looked_at = result.wanted = result.done;  // jobs may have come and gone while the question was open
  return report(result, jobs, deleting, order.json);
}

const std::vector<VerbFor<QueuesOrder>>& queue_verbs() {
  const auto with_filters = [](std::vector<std::string_view> names) {
    names.insert(names.end(), JobFilter::option_names().begin(), JobFilter::option_names().end());
    return names;
  };
  static const std::vector<VerbFor<QueuesOrder>> all = {
      {{"list", "", "show them, and how long their next jobs have waited", {}}, list_queues},
      {{"show", "NAME [JID...|FILTERS]",
        "show the jobs of one, the newest first, or details of some; of \"images~*\" its tenants, the fullest first",
        with_filters({"--limit", "--page"})},
       show_queue},
      {{"pause", "NAME...", "stop fetching from them", {}}, pause_queues},
      {{"unpause", "NAME...", "let them go on", {}}, unpause_queues},
      {{"delete", "NAME JID...|FILTERS", "delete some jobs of one", with_filters({"--yes", "--dry-run"})}, delete_jobs},
      {{"clear", "NAME...", "delete them and all their jobs", {"--yes", "--dry-run"}}, clear_queues},
  };
  return all;
}

constexpr const char* queues_footer = R"(A unique beginning of JID is enough.  Filters combine.

Exit status: 0; 64 usage; 69 Redis is not available; 75 no such job, not all is done, or you did not agree.

Examples:
  brood queues
  brood queues pause images
  brood queues delete images --class ResizeImage --older-than 1d)";

}  // namespace

int queues_command(const std::vector<std::string>& args) {
  QueuesOrder order;
  CommandLine line("The queues and their jobs: brood queues [VERB] [NAME] [JID...] [OPTIONS]", "brood queues");
  const std::vector<Verb> says = only_verbs(queue_verbs());
  order.filter.add_options(line);
  line.option("--limit", order.limit, "N",
              "How many jobs to show (default: 25, or as many as fit the terminal; all in JSON)");
  line.option("--page", order.page, "N", "Which page of that size (default: 1)");
  line.flag("--dry-run", order.dry_run, "Show what would be done, and change nothing");
  line.flag("--yes", order.yes, "Do not ask");
  line.flag("--json", order.json, "Answer in JSON, for programs");
  order.redis.add_options(line);
  line.footer(help_on("queues", says) + "\n" + queues_footer);
  order.words = line.parse(args);
  const std::size_t verb = take_verb(line, says, order.words);
  if (order.limit == 0U || order.page == 0U) throw UsageError("--limit and --page begin at 1");
  order.filter.read();
  return queue_verbs()[verb].obey(order);
}

}  // namespace brood
