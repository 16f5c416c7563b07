#include "supervisor/schedule/registered_periodic_jobs.hpp"

#include <unistd.h>

#include <utility>

#include "shared/base/log.hpp"
#include "shared/config/config_file.hpp"
#include "shared/config/periodic_settings.hpp"
#include "shared/json/json_object.hpp"
#include "shared/store/periodic/periodic_rule.hpp"

namespace brood {
namespace {

// Checks everything: a job may have written the file.
PeriodicSettings read_registered_job(std::string_view line) {
  PeriodicSettings job = read_periodic_rule(line);
  job.source = PeriodicSettings::Source::library;
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
      name = JsonObject::parse(line).string("name").value_or("");
      check_periodic_name(name);
      jobs.insert_or_assign(name, read_registered_job(line));
    } catch (const BadJson& error) {
      refuse(name, error.what());
    } catch (const BadPeriodicRule& error) {
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
      file_ = 0;  // so that it is read again
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
