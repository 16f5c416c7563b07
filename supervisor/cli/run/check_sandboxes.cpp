#include "supervisor/cli/run/check_sandboxes.hpp"

#include <fmt/ranges.h>
#include <sysexits.h>

#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include "shared/base/log_line.hpp"
#include "worker/sandbox/sandbox.hpp"

namespace brood {
namespace {

void warn_of_missing_paths(const std::string& job_class, const SandboxSettings& sandbox) {
  for (const auto* paths : {&sandbox.read, &sandbox.write}) {
    for (const std::string& path : paths->value_or(std::vector<std::string>{})) {
      if (std::error_code error; !std::filesystem::exists(path, error))
        std::cout << "warning: the sandbox of class " << job_class << " names " << log::printable(path)
                  << ", which is not there: its jobs will fail" << std::endl;
    }
  }
}

}  // namespace

int check_sandboxes(const Config& config) {
  for (const LackingSandbox& one : lacking_sandboxes(config, nullptr)) {
    const std::string text =
        fmt::format("the sandbox of class {} lacks on this machine: {}", one.job_class, fmt::join(one.lacks, "; "));
    if (one.strict) {
      std::cerr << "brood: " << log::printable(text) << ", and it is strict" << std::endl;
      return EX_CONFIG;
    }
    std::cout << "warning: " << log::printable(text) << std::endl;
  }
  for (const auto& [name, settings] : config.classes) {
    if (settings.sandbox) warn_of_missing_paths(name, *settings.sandbox);
  }
  return EX_OK;
}

}  // namespace brood
