#pragma once

#include "shared/base/log.hpp"
#include "shared/config/config.hpp"

namespace brood {

// The log of a supervisor and its children, as configured.
class RunLog {
 public:
  explicit RunLog(const Config& config);

  // Throws std::system_error if the file cannot be opened.
  void open() const;
  // The same for a program that takes over.  Its workers must not lose their supervisor: if the file cannot be opened,
  // it goes on with the descriptor to which the program before wrote its log.
  void open_or_inherit(int left) const;

  // Uses another configuration from now on.
  void follow(const Config& config);

 private:
  log::Options options_;
};

}  // namespace brood
