#pragma once

#include <iostream>
#include <string>

#include "shared/base/log_line.hpp"
#include "supervisor/process/shared_count.hpp"

namespace brood {

// Prints the warnings of `brood run --check`, and counts them together with those of child processes.
class CheckWarnings {
 public:
  // On a line of its own.
  void print(const std::string& sentence) const {
    std::cout << "warning: " << log::printable(sentence) << std::endl;
    ++count_.value();
  }
  // Behind what the line holds already.
  void append(const std::string& sentence) const {
    std::cout << "; warning: " << log::printable(sentence) << std::flush;
    ++count_.value();
  }

  bool any() const { return count_.value().load() != 0; }

 private:
  SharedCount count_;
};

}  // namespace brood
