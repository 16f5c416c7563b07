#include "worker/run/job_title.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "shared/base/process_title.hpp"

namespace brood {

std::string shown_class(std::string_view job_class) {
  constexpr std::size_t longest = 100;
  std::string shown(job_class.substr(0, longest));
  std::replace_if(
      shown.begin(), shown.end(), [](unsigned char c) { return c <= 0x20 || c >= 0x7f; }, '?');
  return shown;
}

void JobTitle::show(std::string_view job_class, std::time_t now) {
  if (now == second_ && job_class == job_class_) return set_title_tail(tail_);
  job_class_ = job_class;
  if (now != second_) {
    std::tm local{};
    localtime_r(&now, &local);
    since_ = fmt::format("{:02}:{:02}:{:02}", local.tm_hour, local.tm_min, local.tm_sec);
    second_ = now;
  }
  tail_.assign(" ").append(shown_class(job_class)).append(" since ").append(since_);
  set_title_tail(tail_);
}

void JobTitle::begin(const JobRun& run) {
  show(run.job.display_class(), std::chrono::system_clock::to_time_t(run.started_at));
}

void JobTitle::settled(const JobRun&) { set_title_tail(""); }

}  // namespace brood
