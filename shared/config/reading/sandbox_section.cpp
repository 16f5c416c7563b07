#include "shared/config/reading/sandbox_section.hpp"

#include <optional>
#include <string>
#include <vector>

namespace brood {
namespace {

constexpr double most_processors = 4096;
constexpr int most_processes = 1'000'000;

void read_paths(const ConfigSection& section, const std::string& key, std::optional<std::vector<std::string>>& paths) {
  if (section.has(key)) paths.emplace();
  section.texts(key, [&](const setting::Place& at, const std::string& path) {
    if (!path.starts_with('/')) at.refuse("must be an absolute path, not \"" + path + "\"");
    paths->push_back(setting::check_no_nul(at, path));
  });
}

}  // namespace

SandboxSettings read_sandbox(const ConfigSection& section) {
  SandboxSettings sandbox;
  section.boolean("network", sandbox.network);
  read_paths(section, "write", sandbox.write);
  read_paths(section, "read", sandbox.read);
  section.size("memory", sandbox.memory_bytes);
  section.number("cpu", sandbox.cpu, 0, most_processors);
  section.count("processes", sandbox.processes, 0, most_processes);
  section.boolean("strict", sandbox.strict);
  return sandbox;
}

}  // namespace brood
