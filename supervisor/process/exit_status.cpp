#include "supervisor/process/exit_status.hpp"

#include <fmt/format.h>

#include "shared/base/signal_names.hpp"

namespace brood {

std::string ExitStatus::describe() const {
  return exited ? fmt::format("exited with {}", value) : "killed by " + signal_name(value);
}

}  // namespace brood
