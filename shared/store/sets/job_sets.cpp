#include "shared/store/sets/job_sets.hpp"

#include <algorithm>
#include <utility>

#include "shared/store/keys.hpp"
#include "shared/store/scan.hpp"

namespace brood {

const std::string_view scheduled_set = keys::schedule.name(), retry_set = keys::retry.name(),
                       dead_set = keys::dead.name();

Command ask_set_size(std::string_view set_key) { return {"ZCARD", RedisKey(set_key)}; }

Command ask_entries_at(std::string_view set_key, std::string_view first, std::string_view last, bool highest_first) {
  return {highest_first ? "ZREVRANGE" : "ZRANGE", RedisKey(set_key), first, last, "WITHSCORES"};
}

Command ask_last_entry(std::string_view set_key) { return ask_entries_at(set_key, "-1", "-1", false); }

std::vector<EntryAsRead> read_entries_as_read(ReplyView reply) {
  std::vector<EntryAsRead> entries;
  entries.reserve(reply.size() / 2);
  for (std::size_t i = 0; i + 1 < reply.size(); i += 2) entries.push_back({reply[i].text(), reply[i + 1].text()});
  return entries;
}

Command ask_highest_members(std::string_view set_key, std::size_t most) {
  return {"ZREVRANGE", RedisKey(set_key), "0", std::to_string(most - 1)};
}

std::vector<std::string_view> read_members(ReplyView reply) {
  std::vector<std::string_view> members;
  for (std::size_t i = 0; reply.is_array() && i < reply.size(); ++i) members.push_back(reply[i].text());
  return members;
}

Command scan_set(std::string_view set_key, std::string_view position, std::string_view pattern, std::size_t count) {
  return {"ZSCAN", RedisKey(set_key), position, "MATCH", pattern, "COUNT", std::to_string(count)};
}

SetScan read_set_scan(ReplyView reply) {
  ScanPage page = read_scan(reply);
  SetScan scan{std::move(page.next), {}};
  for (std::size_t i = 0; i < page.found.size(); i += 2) scan.members.push_back(page.found[i].text());
  return scan;
}

Command ask_scores(std::string_view set_key, std::span<const std::string_view> members) {
  Command command{"ZMSCORE", RedisKey(set_key)};
  for (const std::string_view member : members) command.add(member);
  return command;
}

std::vector<EntryAsRead> read_scores(std::span<const std::string_view> members, ReplyView reply) {
  std::vector<EntryAsRead> entries;
  for (std::size_t i = 0; i < std::min(members.size(), reply.size()); ++i) {
    if (!reply[i].is_nil()) entries.push_back({members[i], reply[i].text()});
  }
  return entries;
}

Command drop_set(std::string_view set_key) { return {"UNLINK", RedisKey(set_key)}; }

}  // namespace brood
