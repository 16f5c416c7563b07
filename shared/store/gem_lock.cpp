#include "shared/store/gem_lock.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>

#include "shared/base/contains_text.hpp"
#include "shared/base/paths.hpp"
#include "shared/json/json_object.hpp"
#include "shared/store/keys.hpp"

namespace brood {
namespace {

constexpr const char* serving_variable = "BROOD_SIDEKIQ_UNIQUE_JOBS";
constexpr std::string_view digest_begins = "uniquejobs:";  // the gem's default lock_prefix
constexpr std::size_t md5_digits = 32, sha3_256_digits = 64;

std::atomic<bool>& serves() {
  static std::atomic<bool> serves = [] {
    const char* const said = process_environment(serving_variable);
    return said != nullptr && std::string_view(said) == "1";
  }();
  return serves;
}

// The check keeps a payload from naming any other key.  The key of a running job's lock does not pass: it has a suffix.
bool is_gem_digest(std::string_view text) {
  if (!text.starts_with(digest_begins)) return false;
  text.remove_prefix(digest_begins.size());
  return (text.size() == md5_digits || text.size() == sha3_256_digits) &&
         std::all_of(text.begin(), text.end(), [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

GemLock::Until until_of(std::string_view lock) {
  constexpr std::array until_begin{"until_executing", "while_enqueued", "until_and_while_executing"};
  if (std::find(until_begin.begin(), until_begin.end(), lock) != until_begin.end()) return GemLock::Until::begin;
  return lock == "until_expired" ? GemLock::Until::expiry : GemLock::Until::end;
}

bool may_name_one(std::string_view payload) {
  return gem_locks_are_served() && contains_text(payload, mark_of_gem_lock);
}

template <typename Job>
std::optional<GemLock> gem_lock_in(const Job& job) {
  GemLock lock{job.string("lock_digest").value_or(""), job.string("jid").value_or(""),
               until_of(job.string("lock").value_or(""))};
  return !lock.jid.empty() && is_gem_digest(lock.digest) ? std::optional(std::move(lock)) : std::nullopt;
}

}  // namespace

bool gem_locks_are_served() { return serves(); }

void serve_gem_locks(bool served) { serves() = served; }

void tell_to_serve_gem_locks(bool served) {
  serve_gem_locks(served);
  if (served) {
    setenv(serving_variable, "1", 1);
  } else {
    unsetenv(serving_variable);
  }
}

std::optional<GemLock> gem_lock_named_by(std::string_view payload) {
  if (!may_name_one(payload)) return std::nullopt;
  try {
    return gem_lock_in(JsonObject::parse(payload));
  } catch (const BadJson&) {  // holds nothing
    return std::nullopt;
  }
}

std::optional<GemLock> gem_lock_named_by(const Payload& job) {
  return may_name_one(job.text()) ? gem_lock_in(job) : std::nullopt;
}

void append_held(std::vector<LetGo>& all, const GemLock& lock, std::size_t entry) {
  all.push_back({entry, "gem_holders", keys::gem_lock_holders(lock.digest), lock.jid});
  all.push_back({entry, "gem_text", keys::gem_lock(lock.digest), ""});
  all.push_back({entry, "gem_text", keys::gem_lock_info(lock.digest), ""});
  all.push_back({entry, "gem_primed", keys::gem_lock_primed(lock.digest), ""});
  all.push_back({entry, "gem_index", keys::gem_locks, lock.digest});
  if (lock.until == GemLock::Until::expiry) all.push_back({entry, "gem_index", keys::gem_expiring_locks, lock.digest});
}

}  // namespace brood
