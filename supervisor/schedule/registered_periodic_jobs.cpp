#include "supervisor/schedule/registered_periodic_jobs.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <brood/detail/json_reader.hpp>
#include <utility>

#include "shared/base/log.hpp"
#include "shared/config/config.hpp"
#include "shared/config/config_file.hpp"
#include "shared/config/periodic_settings.hpp"
#include "shared/config/reading/setting.hpp"
#include "shared/job/ruby_spelling.hpp"
#include "shared/json/json_object.hpp"
#include "shared/periodic/zone.hpp"

namespace brood {
namespace {

const setting::Place in_library{"a job library's periodic job"};

// A job may have written the file.
std::string json_of(const JsonObject& told, const char* member, const char* otherwise) {
  try {
    return ruby_spelling(told.raw(member).value_or(otherwise), 1);
  } catch (const detail::BadJson& error) {
    throw BadJson(fmt::format("{}: {}", member, error.what()));
  }
}

std::chrono::seconds seconds_of(std::int64_t told, std::chrono::seconds most) {
  if (told < 0 || told > most.count())
    in_library.refuse(fmt::format("{}s is not between 0 and {}s", told, most.count()));
  return std::chrono::seconds(told);
}

PeriodicSettings read_registered_job(const JsonObject& told) {
  PeriodicSettings job;
  job.cron = told.string("cron").value_or("");
  job.rule = CronRule::parse(job.cron);
  job.zone = told.string("tz").value_or(job.zone);
  if (!Zone::find(job.zone)) in_library.refuse("this machine knows no time zone \"" + job.zone + "\"");
  job.job_class = setting::check_text(in_library, told.string("class").value_or(""));
  job.args = json_of(told, "args", "[]");
  if (job.args.front() != '[') in_library.refuse("its arguments are no array");
  job.queue = setting::check_name(in_library, told.string("queue").value_or(""));
  job.retry = json_of(told, "retry", "true");
  if (const auto word = told.string("catch_up")) job.catch_up = catch_up_of(*word);
  if (const auto seconds = told.integer("within")) job.within = seconds_of(*seconds, PeriodicSettings::longest_within);
  job.overlap = overlap_of(told.string("overlap").value_or("")).value_or(job.overlap);
  job.jitter = seconds_of(told.integer("jitter").value_or(0), PeriodicSettings::longest_jitter);
  const std::string members = json_of(told, "members", "{}");
  if (members.front() != '{') in_library.refuse("its members are no object");
  if (members.size() > 2) job.members = "," + members.substr(1, members.size() - 2);
  return job;
}

}  // namespace

PeriodicJobSettings read_registered_periodic(
    std::string_view lines, const std::function<void(const std::string&, const std::string&)>& refuse) {
  PeriodicJobSettings jobs;
  while (!lines.empty()) {
    const std::string_view line = lines.substr(0, lines.find('\n'));
    lines.remove_prefix(std::min(line.size() + 1, lines.size()));
    std::string name;
    try {
      const JsonObject told = JsonObject::parse(line);
      name = setting::check_name(in_library, told.string("name").value_or(""));
      jobs.insert_or_assign(name, read_registered_job(told));
    } catch (const BadJson& error) {
      refuse(name, error.what());
    } catch (const CronError& error) {
      refuse(name, error.what());
    } catch (const ConfigError& error) {
      refuse(name, error.what());
    }
  }
  return jobs;
}

bool RegisteredPeriodicJobs::look(std::uint32_t present, bool another_comes) {
  struct stat now {};
  if (stat(path_.c_str(), &now) != 0) {
    text_.clear();
    return !std::exchange(jobs_, {}).empty();
  }
  const bool same =
      now.st_ino == file_ && now.st_mtim.tv_sec == changed_.tv_sec && now.st_mtim.tv_nsec == changed_.tv_nsec;
  if (same) return false;
  file_ = now.st_ino;
  changed_ = now.st_mtim;
  try {
    std::string text = read_config_file(path_).text;
    if (generation_of_registered_periodic(text) > present) {
      file_ = 0;  // it is read again
      if (!another_comes) put_back_registered_periodic(path_, text_);
      return false;
    }
    if (text == text_) return false;
    text_ = std::move(text);
    const std::string_view lines = std::string_view(text_).substr(std::min(text_.find('\n') + 1, text_.size()));
    jobs_ = read_registered_periodic(lines, [](const std::string& name, const std::string& why) {
      log::error("periodic_job_refused", {{"name", name}, {"error", why}});
    });
  } catch (const ConfigError& error) {
    log::warn("periodic_jobs_unread", {{"error", error.what()}});
  }
  return true;
}

void RegisteredPeriodicJobs::remove_file() const { unlink(path_.c_str()); }

}  // namespace brood
