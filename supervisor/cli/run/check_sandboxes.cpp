#include "supervisor/cli/run/check_sandboxes.hpp"

#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <system_error>
#include <vector>

#include "worker/sandbox/sandbox.hpp"

namespace brood {
namespace {

// A sandbox grants no rights: jobs may not do what this process may not.
void look_at_path(const std::string& job_class, const std::string& path, int wanted, Findings& found) {
  if (access(path.c_str(), wanted) == 0) return;
  const std::string why = errno == ENOENT ? "does not exist: its jobs will fail"
                                          : fmt::format("cannot be {}: {}", wanted == W_OK ? "written" : "read",
                                                        std::generic_category().message(errno));
  found.warnings.push_back(fmt::format("the sandbox of class {} names {}, which {}", job_class, path, why));
}

void look_at_paths(const std::string& job_class, const SandboxSettings& sandbox, Findings& found) {
  for (const std::string& path : sandbox.read.value_or(std::vector<std::string>{}))
    look_at_path(job_class, path, R_OK, found);
  for (const std::string& path : sandbox.write.value_or(std::vector<std::string>{}))
    look_at_path(job_class, path, W_OK, found);
}

void look_at_cgroups(const std::string& job_class, const SandboxSettings& sandbox, Findings& found) {
  std::vector<std::string> keys;
  if (sandbox.memory_bytes > 0) keys.emplace_back("memory");
  if (sandbox.cpu > 0) keys.emplace_back("cpu");
  if (sandbox.processes > 0) keys.emplace_back("processes");
  if (keys.empty()) return;
  found.warnings.push_back(fmt::format(
      "the sandbox of class {} needs a cgroup for {}: only the service itself can tell whether it has one{}", job_class,
      fmt::join(keys, ", "), sandbox.strict ? ", and does not start without" : ""));
}

// Asks the kernel only if a class has a sandbox.
std::vector<LackingSandbox> lacking_here(const Config& config, const JobCgroup* cgroup) {
  const bool any = std::any_of(config.classes.begin(), config.classes.end(),
                               [](const auto& known) { return known.second.sandbox.has_value(); });
  return any ? lacking_sandboxes(config, sandbox_offers(), cgroup) : std::vector<LackingSandbox>();
}

}  // namespace

Findings check_sandboxes(const Config& config) {
  Findings found;
  for (const LackingSandbox& one : lacking_here(config, nullptr)) {
    if (one.may_run())
      found.warnings.push_back(
          fmt::format("the sandbox of class {} lacks on this machine: {}", one.job_class, fmt::join(one.lacks, "; ")));
    else
      found.refusals.push_back(one.text());
  }
  for (const auto& [name, settings] : config.classes) {
    if (!settings.sandbox) continue;
    look_at_paths(name, *settings.sandbox, found);
    look_at_cgroups(name, *settings.sandbox, found);
  }
  return found;
}

std::string why_no_sandbox(const Config& config, pid_t supervisor) {
  const JobCgroup cgroup(0, supervisor);
  for (const LackingSandbox& one : lacking_here(config, &cgroup)) {
    if (!one.may_run()) return one.text();
  }
  return "";
}

}  // namespace brood
