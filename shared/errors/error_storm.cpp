#include "shared/errors/error_storm.hpp"

#include <algorithm>

namespace brood {
namespace {

constexpr std::size_t largest_crash_in_digest = 10'000;
const std::pair<std::string, std::string> of_several;

// The id of a digest, from the id of its last failure: always the same for the same failure.
std::string id_of_digest(const std::string& id) {
  std::string turned(id.rbegin(), id.rend());
  return turned;
}

}  // namespace

bool ErrorStorm::sends(const ErrorReport& report, SteadyTime now) {
  if (after_ == 0) return true;
  Kind kind{report.job_class, report.error_class};
  if (minutes_.size() + 1 >= most_kinds && !minutes_.contains(kind)) kind = of_several;
  Minute& minute = minutes_[kind];
  if (minute.ends == SteadyTime{} || (now >= minute.ends && minute.summed == 0)) {
    minute.ends = now + ErrorStorm::minute;
    minute.sent = 0;
  }
  if (minute.sent < after_) {
    ++minute.sent;
    return true;
  }
  if (minute.summed++ == 0) minute.since = report.at;
  minute.last = report;
  minute.last.job.clear();  // it may be large
  if (minute.last.crash.size() > largest_crash_in_digest) minute.last.crash.clear();
  return false;
}

std::vector<ErrorReport> ErrorStorm::take_digests(SteadyTime now, bool everything) {
  std::vector<ErrorReport> digests;
  for (auto one = minutes_.begin(); one != minutes_.end();) {
    Minute& minute = one->second;
    if (now < minute.ends && !everything) {
      ++one;
      continue;
    }
    if (minute.summed > 0) {
      ErrorReport& digest = digests.emplace_back(std::move(minute.last));
      digest.digest = {minute.summed, minute.since, digest.at, one->first == of_several};
      digest.id = id_of_digest(digest.id);
    }
    one = minutes_.erase(one);
  }
  return digests;
}

std::optional<SteadyTime> ErrorStorm::next_digest() const {
  std::optional<SteadyTime> next;
  for (const auto& [kind, minute] : minutes_) {
    if (!next || minute.ends < *next) next = minute.ends;
  }
  return next;
}

}  // namespace brood
