#pragma once

#include <string>

#include "shared/config/config.hpp"
#include "worker/job/job_registry.hpp"

namespace brood {

// The options of a class.  [classes.NAME] comes first, then its code, then the settings for all classes.
class ClassRules {
 public:
  // `for_all` are the settings of the worker's capsule.
  ClassRules(const Config& config, const WorkerSettings& for_all, const JobRegistry& registry)
      : config_(config), for_all_(for_all), registry_(registry) {}

  // Whether there is code for the class: in a library, or a program.
  bool has_code(const std::string& job_class) const;
  // Whether each job runs in a process of its own.
  bool is_isolated(const std::string& job_class) const;
  const SandboxSettings* sandbox(const std::string& job_class) const;  // nullptr: none
  bool any_has_sandbox() const;
  // The fate of a worker in which a job of the class leaves threads behind.
  LeftThreads threads(const std::string& job_class) const;
  // The fate of a job of the class that has expired before it began.  If has_on_expired(), a hook of the class runs
  // first.
  ExpiredJobs expired(const std::string& job_class) const;
  bool encrypts(const std::string& job_class) const;  // clients encrypt its last argument
  bool has_on_expired(const std::string& job_class) const;

 private:
  const ClassSettings* configured(const std::string& job_class) const;

  const Config& config_;
  const WorkerSettings& for_all_;
  const JobRegistry& registry_;
};

}  // namespace brood
