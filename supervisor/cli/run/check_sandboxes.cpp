#include "supervisor/cli/run/check_sandboxes.hpp"

#include <fmt/ranges.h>
#include <sysexits.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iostream>
#include <string>
#include <system_error>
#include <vector>

#include "shared/base/log_line.hpp"
#include "worker/sandbox/sandbox.hpp"

namespace brood {
namespace {

// A sandbox gives no rights: what this process may not do its jobs may not.
void warn_of_path(const std::string& job_class, const std::string& path, int wanted) {
  if (access(path.c_str(), wanted) == 0) return;
  const int error = errno;
  std::cout << "warning: the sandbox of class " << job_class << " names " << log::printable(path) << ", ";
  if (error == ENOENT)
    std::cout << "which is not there: its jobs will fail" << std::endl;
  else
    std::cout << "which cannot be " << (wanted == W_OK ? "written" : "read") << ": "
              << std::generic_category().message(error) << std::endl;
}

void warn_of_paths(const std::string& job_class, const SandboxSettings& sandbox) {
  for (const std::string& path : sandbox.read.value_or(std::vector<std::string>{})) warn_of_path(job_class, path, R_OK);
  for (const std::string& path : sandbox.write.value_or(std::vector<std::string>{}))
    warn_of_path(job_class, path, W_OK);
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
    warn_of_paths(name, *settings.sandbox);
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
