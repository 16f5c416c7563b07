#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "shared/config/periodic_settings.hpp"

namespace brood {

using PeriodicJobSettings = std::map<std::string, PeriodicSettings>;

// Reads the registrations of job libraries, one line of JSON each.  Skips an unusable one, and calls `refuse` with its
// name and the reason.
PeriodicJobSettings read_registered_periodic(
    std::string_view lines, const std::function<void(const std::string& name, const std::string& why)>& refuse);

// The periodic jobs that the workers of a supervisor have registered, in a file: see
// shared/config/periodic_settings.hpp.
class RegisteredPeriodicJobs {
 public:
  explicit RegisteredPeriodicJobs(std::string path) : path_(std::move(path)) {}

  // Returns whether the jobs have changed.
  //
  // Registrations of a generation later than the present one are not in force yet: it may be rolled back.  If no other
  // generation is coming, it was rolled back; then its file is replaced by what was in force before.
  bool look(std::uint32_t present, bool another_comes);
  const PeriodicJobSettings& jobs() const { return jobs_; }
  void remove_file() const;

 private:
  const std::string path_;
  timespec changed_{};
  ino_t file_ = 0;
  std::string text_;  // the file's text when its jobs came into force
  PeriodicJobSettings jobs_;
};

}  // namespace brood
