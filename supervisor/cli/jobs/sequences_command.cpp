#include <fmt/format.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "shared/base/log_line.hpp"
#include "shared/json/json_writer.hpp"
#include "supervisor/cli/access/shard_connections.hpp"
#include "supervisor/cli/arguments/command_line.hpp"
#include "supervisor/cli/commands.hpp"
#include "supervisor/cli/jobs/job_text.hpp"
#include "supervisor/cli/jobs/names_command.hpp"
#include "supervisor/cli/lists/job_json.hpp"
#include "supervisor/cli/lists/listing.hpp"
#include "supervisor/cli/lists/sequence_list.hpp"
#include "supervisor/cli/terminal/terminal.hpp"

namespace brood {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t most_shown = 1'000;

constexpr const char* sequences_footer =
    R"(A sequence is listed while it has jobs.  HOLDER is the job that runs, waits for its retry, or is the next in its
queue.  When it succeeds, dies or is deleted, the next one follows: "brood show JID" says where it is, and "brood
retries kill JID" lets the others go on.

Exit status: 0; 64 usage; 69 Redis is not available; 75 no job has this sequence, or none of these jobs waits.)";

ShardConnections connect_for_sequences(const RedisAccess& access) {
  return ShardConnections(access, {.connect = 3s, .command = 5s}, "brood-sequences");
}

int list_all(const NamesOrder& order) {
  refuse_arguments(order.names);
  ShardConnections shards = connect_for_sequences(order.redis);
  const std::vector<ListedSequence> sequences = list_sequences(shards);
  if (order.json) {
    JsonArray array;
    for (const ListedSequence& sequence : sequences) array.add(sequence.json());
    array.end();
    return exit_status::ok;
  }
  std::vector<Table::Column> columns = {{"NAME"}, {"HOLDER"}, {"SINCE"}, {"WAITING", Table::Align::right}};
  const bool has_shards = shards.size() > 1;
  if (has_shards) columns.insert(columns.begin(), {"SHARD"});
  Table table(std::move(columns));
  for (const ListedSequence& sequence : sequences) {
    std::vector<std::string> row = {log::printable(sequence.state.name), log::printable(sequence.state.holder),
                                    when_text(sequence.state.since), std::to_string(sequence.state.waiting)};
    if (has_shards) row.insert(row.begin(), sequence.shard);
    table.add(std::move(row));
  }
  print(table.empty() ? "No job has a sequence.\n" : table.text(Style::of_standard_output()));
  return exit_status::ok;
}

int no_such_sequence(const std::string& name) {
  fmt::print(stderr, "brood sequences: no job has the sequence {}\n", log::printable(name));
  return exit_status::try_again;
}

int show_one(const NamesOrder& order) {
  if (order.names.size() != 1) throw UsageError("give the name of one sequence");
  ShardConnections shards = connect_for_sequences(order.redis);
  const std::optional<ListedSequence> found = find_sequence(shards, order.names[0], most_shown);
  if (!found) return no_such_sequence(order.names[0]);
  if (order.json) {
    print_json(found->json(true) + "\n");
    return exit_status::ok;
  }
  std::string text =
      fmt::format("{}: held by {}, {} waiting\n", log::printable(found->state.name),
                  found->state.holder.empty() ? "no job" : log::printable(found->state.holder), found->state.waiting);
  Table table({{"JID"}, {"CLASS"}, {"QUEUE"}});
  for (const std::string& payload : found->waiting) {
    const WaitingJob job = waiting_job(payload);
    table.add({log::printable(job.jid), log::printable(job.job_class), log::printable(job.queue)});
  }
  print(text + (table.empty() ? "" : table.text(Style::of_standard_output())));
  return exit_status::ok;
}

int delete_jobs(const NamesOrder& order) {
  if (order.names.size() < 2) throw UsageError("give the name of a sequence, and the ids of jobs that wait for it");
  ShardConnections shards = connect_for_sequences(order.redis);
  const std::string& name = order.names[0];
  const std::size_t deleted = delete_waiting(shards, name, {order.names.begin() + 1, order.names.end()});
  if (order.json)
    print_json(JsonWriter().text("name", name).number("deleted", deleted).object() + "\n");
  else if (deleted > 0)
    print(fmt::format("{} deleted\n", deleted == 1 ? "1 job" : fmt::format("{} jobs", deleted)));
  else
    fmt::print(stderr, "brood sequences: none of these jobs waits for the sequence {}\n", log::printable(name));
  return deleted > 0 ? exit_status::ok : exit_status::try_again;
}

}  // namespace

int sequences_command(const std::vector<std::string>& args) {
  static const NamesCommand command = {
      "sequences",
      "Sequences: jobs that run one after the other",
      "[NAME] [JID...]",
      sequences_footer,
      {{{"list", "", "show the sequences that have jobs, and how many wait", {}}, list_all},
       {{"show", "NAME", "show one of them, and the jobs that wait, the next first", {}}, show_one},
       {{"delete", "NAME JID...", "delete jobs that wait for it", {}}, delete_jobs}}};
  return obey(command, args);
}

}  // namespace brood
