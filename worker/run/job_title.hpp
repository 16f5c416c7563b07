#pragma once

#include <ctime>
#include <string>
#include <string_view>

#include "worker/run/job_run.hpp"

namespace brood {

// The title of a busy worker in `ps`: `brood: worker 2 images ResizeImage since 12:03:04`.
class JobTitle : public Stage {
 public:
  void begin(const JobRun& run) override;
  void settled(const JobRun& run) override;
  void show(std::string_view job_class, std::time_t now);

 private:
  std::string job_class_, tail_;
  std::string since_;  // of `second_`
  std::time_t second_ = -1;
};

// A class as a terminal may show it, cut to 100 bytes.  Pure.
std::string shown_class(std::string_view job_class);

}  // namespace brood
