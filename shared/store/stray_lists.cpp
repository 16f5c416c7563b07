#include <string>
#include <vector>

#include "shared/log.hpp"
#include "shared/store/keys.hpp"
#include "shared/store/recovery.hpp"

namespace brood {

int give_back_list_without_field(Channel& redis, const std::string& key) {
  const std::optional<keys::InFlightList> list = keys::parse_in_flight_list(key);
  if (!list) return 0;
  const Reply reply = send(redis, {&scripts::recover_orphans,
                                   {keys::in_flight_hash(list->identity), key, keys::queue(list->queue)},
                                   {list->field}});
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

}  // namespace

int give_back_lists_without_field(Channel& redis) {
  int returned = 0;
  std::string cursor = "0";
  do {
    const Reply reply = redis.call({"SCAN", cursor, "MATCH", "brood:inflight:*:*", "COUNT", "1000", "TYPE", "list"});
    cursor = reply.view()[0].text();
    const ReplyView found = reply.view()[1];
    for (std::size_t i = 0; i < found.size(); ++i)
      returned += give_back_if_possible(redis, std::string(found[i].text()));
  } while (cursor != "0");
  return returned;
}

}  // namespace brood
