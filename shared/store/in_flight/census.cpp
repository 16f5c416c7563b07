#include "shared/store/in_flight/census.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "shared/job/payload.hpp"
#include "shared/store/identity_record.hpp"
#include "shared/store/in_flight/recover_worker.hpp"
#include "shared/store/keys.hpp"
#include "shared/store/scan.hpp"

namespace brood {
namespace {

using Holders = std::map<std::string, InFlightHolder>;

InFlightHolder& holder_of(Holders& holders, const std::string& name) {
  InFlightHolder& holder = holders[name];
  holder.name = name;
  return holder;
}

void add_recorded(Connection& redis, Holders& holders) {
  const Reply reply = redis.call({"HGETALL", keys::brood_processes});
  for (std::size_t i = 0; i + 1 < reply.view().size(); i += 2) {
    InFlightHolder& holder = holder_of(holders, std::string(reply.view()[i].text()));
    holder.identity = parse_identity_record(holder.name, std::string(reply.view()[i + 1].text()));
  }
}

void add_list(InFlightHolder& holder, InFlightHolder::List list) {
  const auto same = [&](const InFlightHolder::List& known) { return known.key == list.key; };
  if (std::none_of(holder.lists.begin(), holder.lists.end(), same)) holder.lists.push_back(std::move(list));
}

void add_by_key(Connection& redis, Holders& holders) {
  const std::size_t before_identity = keys::in_flight_hash("").name().size();
  for_each_key(redis, keys::in_flight_hash("*"), "", [&](const std::string& key) {
    if (const auto list = keys::parse_in_flight_list(key))
      add_list(holder_of(holders, list->identity), {.key = key, .field = list->field, .queue = list->queue});
    else
      holder_of(holders, key.substr(before_identity));
  });
}

void add_fields(InFlightHolder& holder, ReplyView hash) {
  if (!hash.is_array()) return;  // of another type
  for (std::size_t i = 0; i + 1 < hash.size(); i += 2) {
    const std::string field(hash[i].text());
    for (InFlightHolder::List& list : holder.lists) list.has_field |= list.field == field;
    const auto settle = parse_last_settle(hash[i + 1].text());
    if (!settle || settle->queue.empty()) continue;
    add_list(holder, {.key = keys::in_flight_list(holder.name, field, settle->queue).name(),
                      .field = field,
                      .queue = settle->queue,
                      .has_field = true});
  }
}

std::optional<WallTime> enqueued_at(ReplyView payload) {
  if (!payload.is_string()) return std::nullopt;
  try {
    const Payload job = Payload::parse(payload.text());
    const auto at = job.time("enqueued_at");
    return at ? at : job.time("created_at");
  } catch (const BadPayload&) {
    return std::nullopt;
  }
}

void count_jobs(Connection& redis, Holders& holders) {
  std::vector<Command> commands;
  for (const auto& [name, holder] : holders) {
    for (const InFlightHolder::List& list : holder.lists) {
      commands.push_back({"LLEN", RedisKey(list.key)});
      commands.push_back({"LINDEX", RedisKey(list.key), "-1"});
    }
  }
  const std::vector<Reply> replies = redis.pipeline(commands);
  std::size_t next = 0;
  for (auto& [name, holder] : holders) {
    for (InFlightHolder::List& list : holder.lists) {
      const ReplyView length = replies[next++].view(), oldest = replies[next++].view();
      if (!length.is_integer()) continue;  // a tombstone
      list.jobs = length.integer();
      list.enqueued_at = enqueued_at(oldest);
    }
    std::erase_if(holder.lists, [](const InFlightHolder::List& list) { return list.jobs == 0; });
  }
}

std::vector<InFlightHolder> ask_of(Connection& redis, Holders holders) {
  std::vector<Command> commands;
  for (const auto& [name, holder] : holders) {
    commands.push_back({"EXISTS", keys::heartbeat(name)});
    commands.push_back({"HGET", keys::heartbeat(name), keys::beat_token_field});
    commands.push_back({"HGETALL", keys::in_flight_hash(name)});
  }
  const std::vector<Reply> replies = redis.pipeline(commands);
  std::size_t next = 0;
  for (auto& [name, holder] : holders) {
    // A refusal, by an access list, say, does not prove that the heartbeat is missing.
    const ReplyView beats = replies[next++].view();
    holder.has_heartbeat = !beats.is_integer() || beats.integer() != 0;
    if (const ReplyView token = replies[next++].view(); token.is_string()) holder.beat_token = token.text();
    add_fields(holder, replies[next++].view());
  }
  count_jobs(redis, holders);
  std::vector<InFlightHolder> all;
  for (auto& [name, holder] : holders) all.push_back(std::move(holder));
  return all;
}

std::vector<InFlightHolder> census(Connection& redis, bool thorough) {
  Holders holders;
  add_recorded(redis, holders);
  if (thorough) add_by_key(redis, holders);
  return ask_of(redis, std::move(holders));
}

}  // namespace

std::int64_t InFlightHolder::jobs() const {
  return std::accumulate(lists.begin(), lists.end(), std::int64_t{0},
                         [](std::int64_t sum, const List& list) { return sum + list.jobs; });
}

std::vector<InFlightHolder> in_flight_census(Connection& redis) { return census(redis, false); }

std::vector<InFlightHolder> in_flight_of(Connection& redis, const std::vector<std::string>& identities) {
  Holders holders;
  for (const std::string& identity : identities) holder_of(holders, identity);
  return ask_of(redis, std::move(holders));
}

std::vector<InFlightHolder> thorough_in_flight_census(Connection& redis) { return census(redis, true); }

}  // namespace brood
