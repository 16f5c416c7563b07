#include "supervisor/exit_status.hpp"

#include <fmt/format.h>

#include "shared/signal_names.hpp"

namespace brood {

std::string ExitStatus::describe() const {
  return exited ? fmt::format("exited with {}", value) : "killed by " + signal_name(value);
}

}  // namespace brood
