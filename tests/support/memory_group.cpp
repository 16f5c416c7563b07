#include "tests/support/memory_group.hpp"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <utility>

#include "tests/support/eventually.hpp"

namespace brood {
namespace {

// The directory of this process's own group in the hierarchy that counts memory; empty when there is none.
std::string own_group() {
  std::ifstream memberships("/proc/self/cgroup");
  for (std::string line; std::getline(memberships, line);) {
    const std::size_t controllers = line.find(':') + 1, path = line.find(':', controllers) + 1;
    if (line.substr(controllers, path - 1 - controllers) == "memory")
      return "/sys/fs/cgroup/memory" + line.substr(path);
  }
  return "";
}

bool write(const std::string& file, const std::string& text) {
  std::ofstream out(file);
  out << text << std::flush;
  return out.good();
}

}  // namespace

std::optional<MemoryGroup> MemoryGroup::make(std::uint64_t bytes) {
  const std::string above = own_group();
  std::error_code refused;
  const std::string directory = above + "/brood-test-" + std::to_string(getpid());
  if (above.empty() || !std::filesystem::create_directory(directory, refused)) return std::nullopt;
  MemoryGroup group(directory);
  if (!write(directory + "/memory.limit_in_bytes", std::to_string(bytes))) return std::nullopt;
  return group;
}

MemoryGroup::MemoryGroup(MemoryGroup&& other) noexcept : directory_(std::exchange(other.directory_, {})) {}

MemoryGroup::~MemoryGroup() {
  if (!directory_.empty()) eventually([&] { return rmdir(directory_.c_str()) == 0; });
}

std::vector<std::string> MemoryGroup::prefix() const {
  return {"/bin/sh", "-c", "echo $$ > " + directory_ + R"(/cgroup.procs && exec "$0" "$@")"};
}

std::uint64_t MemoryGroup::kills() const {
  std::ifstream counters(directory_ + "/memory.oom_control");
  std::string name;
  for (std::uint64_t value = 0; counters >> name >> value;)
    if (name == "oom_kill") return value;
  return 0;
}

}  // namespace brood
