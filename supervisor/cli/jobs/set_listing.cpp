// list and show, for retries, scheduled and dead.

#include <algorithm>
#include <string>
#include <vector>

#include "supervisor/cli/access/api_access.hpp"
#include "supervisor/cli/arguments/command_line.hpp"
#include "supervisor/cli/jobs/job_text.hpp"
#include "supervisor/cli/jobs/set_entries.hpp"
#include "supervisor/cli/jobs/set_order.hpp"
#include "supervisor/cli/lists/job_json.hpp"
#include "supervisor/cli/lists/listing.hpp"
#include "supervisor/cli/terminal/count_text.hpp"
#include "supervisor/cli/terminal/terminal.hpp"

namespace brood {

std::string table_of(const SetKind& kind, const std::vector<SetEntry>& entries) {
  std::vector<Table::Column> columns = {{kind.time_title}, {"JID"}, {"QUEUE"}, {"CLASS"}, {"ARGS"}};
  if (kind.has_errors) columns.push_back({"ERROR"});
  const bool has_shards =
      std::any_of(entries.begin(), entries.end(), [](const SetEntry& entry) { return !entry.shard.empty(); });
  if (has_shards) columns.insert(columns.begin() + 1, {"SHARD"});
  Table table(std::move(columns));
  for (const SetEntry& entry : entries) {
    std::vector<std::string> row = {when_text(entry.time()),
                                    entry.jid,
                                    entry.queue,
                                    entry.is_job ? entry.display_class : "(no job)",
                                    entry.is_job ? entry.display_args() : entry.payload,
                                    error_text(entry)};
    if (has_shards) row.insert(row.begin() + 1, entry.shard);
    table.add(std::move(row));
  }
  return table.text(Style::of_standard_output());
}

int list_entries(const SetOrder& order) {
  if (!order.jids.empty()) throw UsageError("list takes filters; \"show JID\" shows one");
  Api api = open_api(order.redis);
  const JobSet set = (api.*order.kind->open)();
  Listing<SetEntry> listing(
      order.limit, order.page, order.json, [](const SetEntry& entry) { return job_json(entry); },
      [&](const std::vector<SetEntry>& entries) { return table_of(*order.kind, entries); });
  set.each([&](const SetEntry& entry) { return !order.takes(entry) || listing.add(entry); }, order.kind->order);
  listing.end(order.filter.is_empty()
                  ? there_are(set.size(), order.kind->one, order.kind->many)
                  : "of " + counted(set.size(), order.kind->one, order.kind->many) + " those that match");
  return exit_status::ok;
}

int show_entries(const SetOrder& order) {
  Api api = open_api(order.redis);
  const JobSet set = (api.*order.kind->open)();
  const FoundEntries found = find_entries(set, order.jids);
  JsonArray array;
  for (const SetEntry& entry : found.entries) {
    if (order.json)
      array.add(job_json(entry, true));
    else
      print(whole_text(entry, order.kind->what_its_time_is, Style::of_standard_output()));
  }
  if (order.json) array.end();
  return complain_of_missing(*order.kind, found) ? exit_status::try_again : exit_status::ok;
}

}  // namespace brood
