#include "shared/store/in_flight/lock_list.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <utility>

#include "shared/base/log.hpp"
#include "shared/json/json_object.hpp"
#include "shared/store/in_flight/running_lock.hpp"
#include "shared/store/keys.hpp"
#include "shared/store/marked_jobs.hpp"
#include "shared/store/places_of_jobs.hpp"
#include "shared/store/report/ruby_processes.hpp"
#include "shared/store/report/work_entries.hpp"
#include "shared/store/scan.hpp"
#include "shared/store/script.hpp"

namespace brood {

namespace scripts {
extern const Script release_lock;
}

namespace {

using namespace std::chrono_literals;

constexpr std::string_view mark_of_unique = "\"unique_";
constexpr int looks_for_job = 3;
constexpr std::size_t most_at_once = 500;
// A Ruby process publishes its running jobs every 10 s.
constexpr std::chrono::milliseconds until_ruby_has_told{12'000};
constexpr int most_pages_counted = 20;  // of a thousand keys: some milliseconds of Redis

std::string text_of(ReplyView reply) { return reply.is_string() ? std::string(reply.text()) : std::string(); }

// Returns nullopt if the lock is no longer held.
std::optional<UniqueLock> read_lock(const std::string& name, ReplyView holder, ReplyView left) {
  UniqueLock lock;
  lock.key = name;
  lock.holder = text_of(holder);
  if (left.is_integer() && left.integer() >= 0) lock.expires_in_ms = left.integer();
  lock.jid = lock.holder;
  if (const auto running = parse_running_holder(lock.holder)) {
    lock.jid = running->jid;
    lock.until = "running";
  }
  return lock.holder.empty() ? std::nullopt : std::optional(std::move(lock));
}

// Adds those that are held, asked for in one round trip.
void add_locks(Channel& redis, const std::vector<std::string>& names, std::vector<UniqueLock>& locks) {
  std::vector<Command> commands;
  for (const std::string& name : names) {
    commands.push_back({"GET", RedisKey(name)});
    commands.push_back({"PTTL", RedisKey(name)});
  }
  const std::vector<Reply> told = redis.call_patiently(commands, {.longest = 10s});
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (auto lock = read_lock(names[i], told[2 * i].view(), told[2 * i + 1].view())) locks.push_back(std::move(*lock));
  }
}

void add_locks(Channel& redis, const RedisKey& pattern, std::size_t most, std::vector<UniqueLock>& locks) {
  std::vector<std::string> names;
  const auto read_names = [&] {
    if (!names.empty()) add_locks(redis, std::exchange(names, {}), locks);
  };
  for_each_key_while(redis, pattern, "string", [&](const std::string& name) {
    if (locks.size() >= most) return false;
    names.push_back(name);
    if (names.size() >= std::min(most_at_once, most - locks.size())) read_names();
    return true;
  });
  read_names();
}

using LocksByJid = std::multimap<std::string, UniqueLock*, std::less<>>;

void note_job(const LocksByJid& wanted, const std::string& payload) {
  try {
    const JsonObject job = JsonObject::parse(payload);
    const auto [first, last] = wanted.equal_range(job.string("jid").value_or(""));
    for (auto lock = first; lock != last; ++lock) {
      lock->second->has_job = true;
      lock->second->job_class = job.string("class").value_or("");
      lock->second->queue = job.string("queue").value_or("");
      if (lock->second->until.empty()) lock->second->until = job.string("unique_until").value_or("done");
    }
  } catch (const BadJson&) {  // no job of ours
  }
}

AskRedis asking(Channel& redis) {
  return [&](const std::vector<Command>& commands) {
    std::vector<Reply> replies;
    for (const Command& command : commands) replies.push_back(redis.call(command));
    return replies;
  };
}

// A job that a Ruby process runs lies in no list or set: only its process publishes it.
void note_work_of(Channel& redis, const RubyProcess& process, const LocksByJid& wanted) {
  const std::vector<Reply> replies = asking(redis)(ask_work({process.identity}));
  for (const std::vector<WorkEntry>& entries : read_work_entries(replies)) {
    for (const WorkEntry& entry : entries) {
      try {
        const JsonObject work = JsonObject::parse(entry.work);
        note_job(wanted, work.string("payload").value_or(std::string(work.raw("payload").value_or(""))));
      } catch (const BadJson&) {  // no work entry
      }
    }
  }
}

}  // namespace

std::vector<UniqueLock> all_locks(Channel& redis, std::size_t most) {
  std::vector<UniqueLock> locks;
  add_locks(redis, keys::unique_lock("*"), most, locks);
  add_locks(redis, keys::running_lock("*"), most, locks);
  std::sort(locks.begin(), locks.end(), [](const UniqueLock& a, const UniqueLock& b) { return a.key < b.key; });
  locks.erase(
      std::unique(locks.begin(), locks.end(), [](const UniqueLock& a, const UniqueLock& b) { return a.key == b.key; }),
      locks.end());  // a SCAN may show a key twice
  return locks;
}

std::optional<LockCounts> count_locks(Channel& redis) {
  const RedisKey pattern = keys::unique_lock("*"), running_pattern = keys::running_lock("*");
  LockCounts counts;
  for (const auto& [key, count] : {std::pair{&pattern, &counts.unique}, std::pair{&running_pattern, &counts.running}}) {
    std::string position(scan_begins);
    int pages = 0;
    do {
      if (++pages > most_pages_counted) return std::nullopt;
      const Reply reply = redis.call({"SCAN", position, "MATCH", *key, "COUNT", "1000"});
      ScanPage page = read_scan(reply.view());
      position = std::move(page.next);
      *count += page.found.size();
    } while (position != scan_begins);
  }
  return counts;
}

std::optional<UniqueLock> find_lock(Channel& redis, const std::string& key) {
  if (!key.starts_with(keys::unique_lock("").name()) && !key.starts_with(keys::running_lock("").name()))
    return std::nullopt;
  std::vector<UniqueLock> found;
  add_locks(redis, {key}, found);
  return found.empty() ? std::nullopt : std::optional(std::move(found.front()));
}

std::size_t find_jobs_of(Channel& redis, std::vector<UniqueLock>& locks) {
  LocksByJid wanted;
  for (UniqueLock& lock : locks) wanted.emplace(lock.jid, &lock);
  std::size_t looked_at = 0;
  const auto look = [&](const RedisKey& key) {
    for (std::size_t first = 0;;) {
      const MarkedJobs page = read_marked_jobs(redis.run(marked_jobs(key, first, {mark_of_unique})).view());
      for (const MarkedJob& job : page.jobs) note_job(wanted, job.payload);
      if (page.looked_at == 0) return;
      first += page.looked_at;
      looked_at += page.looked_at;
    }
  };
  // Looks at Ruby's running jobs first: one that fails meanwhile is then found in a set.
  for (const RubyProcess& process : ruby_processes(asking(redis))) note_work_of(redis, process, wanted);
  for_each_place_of_jobs(redis, [&](const PlaceOfJobs& at) { look(at.key); });
  return looked_at;
}

bool release_lock(Channel& redis, const UniqueLock& lock) {
  return redis.run({&scripts::release_lock, {RedisKey(lock.key)}, {lock.holder}}).view().integer() == 1;
}

std::vector<UniqueLock> let_go_of_abandoned_locks(Channel& redis, const WaitFor& wait) {
  std::vector<UniqueLock> suspects = all_locks(redis), let_go;
  const auto is_settled = [](const UniqueLock& lock) { return lock.has_job || parse_running_holder(lock.holder); };
  for (int i = 0; i < looks_for_job; ++i) {
    std::erase_if(suspects, is_settled);
    if (suspects.empty()) return let_go;
    const bool is_last = i + 1 == looks_for_job;
    if (is_last && !ruby_processes(asking(redis)).empty()) wait(until_ruby_has_told);
    find_jobs_of(redis, suspects);
  }
  std::erase_if(suspects, is_settled);
  for (UniqueLock& lock : suspects) {
    if (!release_lock(redis, lock)) continue;
    log::warn("abandoned_lock_let_go", {{"key", lock.key}, {"jid", lock.jid}});
    let_go.push_back(std::move(lock));
  }
  return let_go;
}

}  // namespace brood
