#include "supervisor/cli/run/check_sandboxes.hpp"

#include <fmt/ranges.h>
#include <sysexits.h>

#include <algorithm>
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

void warn_of_cgroups(const std::string& job_class, const SandboxSettings& sandbox) {
  std::vector<std::string> keys;
  if (sandbox.memory_bytes > 0) keys.emplace_back("memory");
  if (sandbox.cpu > 0) keys.emplace_back("cpu");
  if (sandbox.processes > 0) keys.emplace_back("processes");
  if (keys.empty()) return;
  std::cout << "warning: the sandbox of class " << job_class << " needs a cgroup for "
            << fmt::format("{}", fmt::join(keys, ", ")) << ": only the service itself can tell whether it has one"
            << (sandbox.strict ? ", and does not start without" : "") << std::endl;
}

// Asks the kernel only where some class has a sandbox.
std::vector<LackingSandbox> lacking_here(const Config& config, const JobCgroup* cgroup) {
  const bool any = std::any_of(config.classes.begin(), config.classes.end(),
                               [](const auto& known) { return known.second.sandbox.has_value(); });
  return any ? lacking_sandboxes(config, sandbox_offers(), cgroup) : std::vector<LackingSandbox>();
}

}  // namespace

int check_sandboxes(const Config& config) {
  int status = EX_OK;
  for (const LackingSandbox& one : lacking_here(config, nullptr)) {
    if (one.may_run()) {
      std::cout << "warning: the sandbox of class " << log::printable(one.job_class)
                << " lacks on this machine: " << log::printable(fmt::format("{}", fmt::join(one.lacks, "; ")))
                << std::endl;
      continue;
    }
    std::cerr << "brood: " << log::printable(one.text()) << std::endl;
    status = EX_CONFIG;
  }
  for (const auto& [name, settings] : config.classes) {
    if (!settings.sandbox) continue;
    warn_of_missing_paths(name, *settings.sandbox);
    warn_of_cgroups(name, *settings.sandbox);
  }
  return status;
}

std::string why_no_sandbox(const Config& config, pid_t supervisor) {
  const JobCgroup cgroup(0, supervisor);
  for (const LackingSandbox& one : lacking_here(config, &cgroup)) {
    if (!one.may_run()) return one.text();
  }
  return "";
}

}  // namespace brood
