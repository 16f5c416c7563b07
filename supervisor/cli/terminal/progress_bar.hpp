#pragma once

#include <cstddef>
#include <string>

#include "shared/base/clock.hpp"

namespace brood {

// One line on standard error, rewritten in place ten times a second and removed at the end.  Shows nothing if standard
// error is no terminal.
class ProgressBar {
 public:
  ProgressBar(std::string label, std::size_t total);
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  void show(std::size_t done);

 private:
  std::string label_;
  std::size_t total_;
  bool shown_, drawn_ = false;
  SteadyTime last_{};
};

}  // namespace brood
