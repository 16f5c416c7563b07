#include "shared/api/cancel.hpp"

#include <string>

#include "shared/api/entries.hpp"
#include "shared/api/entry_cursor.hpp"
#include "shared/job/payload.hpp"
#include "shared/store/keys.hpp"

namespace brood {
namespace {

constexpr std::size_t looked_at_once = 250;  // half a millisecond of Redis

// Two spellings of one time differ by less than this: today a double resolves a quarter of a microsecond.
constexpr double spelling = 1e-6;

bool is_job(std::string_view member, std::string_view jid) {
  try {
    return Payload::parse(member).jid() == jid;
  } catch (const BadPayload&) {
    return false;
  }
}

bool remove(ClientConnection& redis, std::string_view member) {
  return redis.call({"ZREM", keys::schedule, member}).view().integer() == 1;
}

}  // namespace

bool cancel_scheduled(std::string_view jid, const std::function<bool(const Question&)>& conversation) {
  if (jid.empty()) return false;
  const std::string pattern = pattern_of_jid(jid);
  std::string position = "0";
  bool removed = false;
  do {
    removed = conversation([&](ClientConnection& redis) {
      const Reply page =
          redis.call({"ZSCAN", keys::schedule, position, "MATCH", pattern, "COUNT", std::to_string(looked_at_once)});
      position = page.view()[0].text();
      const ReplyView members_and_scores = page.view()[1];
      for (std::size_t i = 0; i < members_and_scores.size(); i += 2) {
        const std::string_view member = members_and_scores[i].text();
        if (is_job(member, jid) && remove(redis, member)) return true;
      }
      return false;
    });
  } while (!removed && position != "0");
  return removed;
}

bool cancel_scheduled_at(ClientConnection& redis, std::string_view jid, double time) {
  EntryCursor cursor(std::string(keys::schedule), JobSet::Order::lowest_first);
  cursor.start_at(time - spelling);
  for (;;) {
    const std::vector<SetEntry> page = cursor.next(redis);
    for (const SetEntry& entry : page) {
      if (entry.score > time + spelling) return false;
      if (entry.jid == jid && !jid.empty()) return remove(redis, entry.payload);
    }
    if (page.empty()) return false;
  }
}

}  // namespace brood
