#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "supervisor/cli/lists/lock_list.hpp"
#include "supervisor/cli/terminal/count_text.hpp"
#include "supervisor/web/page/layout.hpp"
#include "supervisor/web/page/parts.hpp"
#include "supervisor/web/page/site.hpp"

namespace brood {
namespace {

constexpr std::size_t most_locks_on_page = 200;  // of each shard: each costs two commands

Url lock_url(SitePath path, const UniqueLock& lock) { return Url(path).with("key", lock.key).with("jid", lock.jid); }

Html release_button(const Call& call, const UniqueLock& lock, bool in_row) {
  return button(call, lock_url("/locks/release", lock), {"Release", Role::admin, true, in_row});
}

Html end_of_lock(const UniqueLock& lock) {
  if (!lock.expires_in_ms) return Html("<span class=\"dim\">with its job</span>");
  return Html("in {}", length_text(static_cast<double>(*lock.expires_in_ms) / 1000));
}

}  // namespace

// Does not look for their jobs: that would read every job.
HttpResponse show_locks(Call& call) {
  std::vector<UniqueLock> locks;
  bool is_cut = false;
  call.site.shards().each([&](ShardConnections::Shard& shard) {
    std::vector<UniqueLock> here = all_locks(shard.redis, most_locks_on_page);
    is_cut |= here.size() >= most_locks_on_page;
    for (UniqueLock& lock : here) locks.push_back(std::move(lock));
  });
  Page page{.title = "Locks", .body = {}};
  page.beside_title = Html("<p class=\"dim\">{}{} of unique jobs</p>", is_cut ? "at least " : "",
                           counted(locks.size(), "lock", "locks"));
  PageTable table("Locks, by their keys", {{"Key"}, {"Job"}, {"Held"}, {"Ends"}, {"Actions", PageTable::actions}});
  for (const UniqueLock& lock : locks)
    table.add({link(lock_url("/locks/one", lock), lock.key), code(lock.jid),
               Html("{}", lock.until == "running" ? "while it runs" : "by the job"), end_of_lock(lock),
               release_button(call, lock, true)});
  page.body += table.html(call, "No job holds a lock.");
  return page_response(call, std::move(page));
}

HttpResponse show_one_lock(Call& call) {
  const std::string key = call.query.value("key");
  std::vector<UniqueLock> found;
  call.site.shards().any([&](ShardConnections::Shard& shard) {
    if (auto lock = find_lock(shard.redis, key)) {
      found.push_back(std::move(*lock));
      find_jobs_of(shard.redis, found);
    }
    return !found.empty();
  });
  if (found.empty()) throw Refused(404, "No job holds this lock.");
  const UniqueLock& lock = found.front();
  Page page{.title = "Lock", .body = {}};
  page.beside_title = Html("<div class=\"bulk\">{}</div>", release_button(call, lock, false));
  Facts facts;
  facts.add("Key", code(lock.key));
  facts.add("Job", code(lock.jid));
  facts.add("Is there", lock.has_job ? badge(Tone::good, "yes") : badge(Tone::warn, "not found"));
  facts.add("Class", lock.has_job ? code(lock.job_class) : Html("–"));
  facts.add("Queue", lock.has_job ? link_by_name(Url("/queues/one").with("name", lock.queue), lock.queue) : Html("–"));
  facts.add("Until", lock.until.empty() ? "–" : lock.until);
  facts.add("Ends", end_of_lock(lock));
  page.body += facts.html();
  if (!lock.has_job)
    page.body += Html(
        "<p>A job that moves may be missed: look again. Supervisors release locks without a job once an hour, and {} "
        "does so now.</p>",
        code("brood locks check"));
  return page_response(call, std::move(page));
}

// Releases the lock only if its holder is the one that the page showed: it may have passed to another job.
HttpResponse release_one_lock(Call& call) {
  const std::string key = call.query.value("key"), jid = call.query.value("jid");
  const bool released = call.site.shards().any([&](ShardConnections::Shard& shard) {
    const auto lock = find_lock(shard.redis, key);
    return lock && lock->jid == jid && release_lock(shard.redis, *lock);
  });
  if (!released) throw Refused(409, "The job does not hold this lock any more.");
  return see_other(call, Url("/locks"), "The lock was released.");
}

}  // namespace brood
