#include <optional>
#include <string>
#include <vector>

#include "shared/base/log.hpp"
#include "shared/store/in_flight/incarnation.hpp"
#include "shared/store/in_flight/recover_worker.hpp"
#include "shared/store/keys.hpp"
#include "shared/store/scan.hpp"
#include "shared/store/worker_field.hpp"

namespace brood {

int give_back_list_without_field(Channel& redis, const std::string& key) {
  const std::optional<InFlightList> list = keys::parse_in_flight_list(key);
  if (!list) return 0;
  const RedisKey hash = keys::in_flight_hash(list->identity);
  const Reply values = redis.call(ask_incarnation(list->identity, list->field));
  if (!values.view().is_array()) return 0;
  ScriptCall call{&scripts::recover_orphans, {hash, RedisKey(key), keys::queue(list->queue)}, {list->field}};
  std::vector<LetGo> let_go;
  append_held(let_go, read_holdings(values.view()[1]), list->identity);
  append(call, let_go);
  const Reply reply = redis.run(call);
  const int returned = static_cast<int>(reply.view().integer());
  if (returned > 0) log::info("in_flight_list_given_back", {{"list", key}, {"jobs", returned}});
  return returned;
}

namespace {

// One bad queue must not hold up the other lists.
int give_back_if_possible(Channel& redis, const std::string& key) {
  try {
    return give_back_list_without_field(redis, key);
  } catch (const UnexpectedReply& refused) {
    log::warn("in_flight_list_stays", {{"list", key}, {"error", refused.what()}});
    return 0;
  }
}

bool has_field(Channel& redis, const InFlightList& list) {
  const Reply reply = redis.call({"HEXISTS", keys::in_flight_hash(list.identity), list.field});
  return reply.view().is_integer() && reply.view().integer() != 0;
}

}  // namespace

bool OwnIncarnations::lives(const std::string& field) const {
  const std::optional<WorkerField> parsed = parse_worker_field(field);
  return living.contains(field) || (parsed && parsed->incarnation > last_assigned);
}

int give_back_lists_of(Channel& redis, const std::string& identity, const std::string& field) {
  int returned = 0;
  for_each_key(redis, keys::in_flight_list(identity, field, "*"), "list", [&](const std::string& key) {
    const std::optional<InFlightList> list = keys::parse_in_flight_list(key);
    if (list && list->identity == identity && list->field == field) returned += give_back_if_possible(redis, key);
  });
  return returned;
}

int give_back_lists_without_field(Channel& redis, const OwnerLives& owner_lives) {
  int returned = 0;
  for_each_key(redis, keys::in_flight_hash("*:*"), "list", [&](const std::string& key) {
    const std::optional<InFlightList> list = keys::parse_in_flight_list(key);
    if (list && !has_field(redis, *list) && !owner_lives(*list)) returned += give_back_if_possible(redis, key);
  });
  return returned;
}

}  // namespace brood
