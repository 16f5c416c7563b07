#include "shared/api/cancel.hpp"

#include <string>
#include <utility>
#include <vector>

#include "shared/api/entries.hpp"
#include "shared/job/payload.hpp"
#include "shared/store/scan.hpp"
#include "shared/store/sets/job_sets.hpp"
#include "shared/store/sets/set_entries.hpp"

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

// Removes a scheduled job together with its lock, if it has one.  Returns false if it is not there, or changes each
// time.
bool remove(ClientConnection& redis, std::string_view member) {
  for (int tries = 0; tries < 3; ++tries) {  // it may get another time meanwhile
    const Reply scores = redis.call(ask_scores(scheduled_set, {&member, 1}));
    const std::vector<EntryAsRead> entry = read_scores({&member, 1}, scores.view());
    if (entry.empty()) return false;
    if (redis.run(remove_entries(scheduled_set, entry)).view().integer() == 1) return true;
  }
  return false;
}

}  // namespace

bool cancel_scheduled(std::string_view jid, const std::function<bool(const Question&)>& conversation) {
  if (jid.empty()) return false;
  const std::string pattern = pattern_of_jid(jid);
  std::string position(scan_begins);
  bool removed = false;
  do {
    removed = conversation([&](ClientConnection& redis) {
      const Reply reply = redis.call(scan_set(scheduled_set, position, pattern, looked_at_once));
      SetScan page = read_set_scan(reply.view());
      position = std::move(page.next);
      for (const std::string_view member : page.members) {
        if (is_job(member, jid) && remove(redis, member)) return true;
      }
      return false;
    });
  } while (!removed && position != scan_begins);
  return removed;
}

bool cancel_scheduled_at(ClientConnection& redis, std::string_view jid, double time) {
  EntryCursor cursor(std::string(scheduled_set), JobSet::Order::lowest_first);
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
