#include "supervisor/cli/jobs/job_filter.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "shared/base/log_line.hpp"
#include "shared/base/units.hpp"
#include "shared/job/page_text.hpp"
#include "supervisor/cli/arguments/command_line.hpp"

namespace brood {
namespace {

std::optional<std::chrono::milliseconds> read_age(const std::string& option, const std::string& text) {
  if (text.empty()) return std::nullopt;
  const auto age = parse_duration(text);
  if (!age)
    throw UsageError(fmt::format("{} must be a duration such as \"30m\", \"1h\" or \"7d\", not \"{}\"", option,
                                 log::printable(text.substr(0, 80))));
  return age;
}

template <typename Matches>
bool any(const std::vector<std::string>& wanted, Matches matches) {
  return wanted.empty() || std::any_of(wanted.begin(), wanted.end(), matches);
}

}  // namespace

const std::vector<std::string_view>& JobFilter::option_names() {
  static const std::vector<std::string_view> names = {"--class", "--queue", "--error",      "--tag",
                                                      "--jid",   "--match", "--older-than", "--newer-than"};
  return names;
}

void JobFilter::add_options(CommandLine& line) {
  const auto add = [&](const char* name, std::vector<std::string>& into, const char* help, const char* type) {
    line.option(name, into, type, help);
  };
  add("--class", classes, "Jobs of this class; repeatable, like those below", "CLASS");
  add("--queue", queues, "Jobs of this queue", "NAME");
  add("--error", errors, "Jobs that failed with an error of this class", "CLASS");
  add("--tag", tags, "Jobs with this tag", "TAG");
  add("--jid", jids, "The job with this id", "JID");
  add("--match", matches, "Jobs whose payload holds this text", "TEXT");
  line.option("--older-than", older_text_, "DURATION",
              "Jobs that failed, died, or were enqueued before that time: 1h, 7d");
  line.option("--newer-than", newer_text_, "DURATION", "Jobs that did so since then");
}

void JobFilter::read() {
  older_than_ = read_age("--older-than", older_text_);
  newer_than_ = read_age("--newer-than", newer_text_);
  now_ = std::chrono::system_clock::now();
}

bool JobFilter::is_empty() const {
  return classes.empty() && queues.empty() && errors.empty() && tags.empty() && jids.empty() && matches.empty() &&
         !older_than_ && !newer_than_;
}

bool JobFilter::takes(const JobRecord& job, std::optional<Time> since) const {
  const auto is = [](const std::string& text) { return [&](const std::string& wanted) { return wanted == text; }; };
  const auto is_class = [&](const std::string& wanted) {
    return wanted == job.job_class || wanted == job.display_class;
  };
  const auto is_error = [&](const std::string& wanted) { return from_page_text(wanted) == job.error_class; };
  const auto is_tag = [&](const std::string& wanted) {
    return std::find(job.tags.begin(), job.tags.end(), wanted) != job.tags.end();
  };
  const auto is_held = [&](const std::string& wanted) {
    return job.payload.find(wanted) != std::string::npos || job.payload.find(page_text(wanted)) != std::string::npos;
  };
  if ((older_than_ || newer_than_) && !since) return false;
  if (older_than_ && !(now_ - *since > *older_than_)) return false;
  if (newer_than_ && !(now_ - *since < *newer_than_)) return false;
  return any(classes, is_class) && any(queues, is(job.queue)) && any(errors, is_error) && any(jids, is(job.jid)) &&
         any(tags, is_tag) && any(matches, is_held);
}

}  // namespace brood
