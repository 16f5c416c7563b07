#include "supervisor/control/descent.hpp"

#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

#include <fmt/format.h>

#include "shared/base/process_stat.hpp"

namespace brood {
namespace {

// No ordinary program is so many generations away from its worker; one that is only wants to keep us busy.
constexpr int most_generations = 256;
// An ancestor that ends while we look leaves its children to another one.
constexpr int most_looks = 3;

// Whether `pid` is in the tree below `self`.
Descent seek_below(pid_t self, pid_t pid, const Family& family) {
  for (int looks = 0; looks < most_looks; ++looks) {
    bool all_were_seen = true;
    std::vector<pid_t> tree{self};
    for (std::size_t i = 0; i < tree.size(); ++i) {
      const auto children = family.children_of(tree[i]);
      if (!children) all_were_seen = false;
      for (const pid_t child : children.value_or(std::vector<pid_t>())) {
        if (tree[i] == self && family.is_foreign(child)) continue;
        if (child == pid) return Descent::descendant;
        tree.push_back(child);
      }
    }
    if (all_were_seen) return Descent::stranger;
  }
  return Descent::unknown;
}

}  // namespace

Descent descent_of(pid_t pid, pid_t self, const Family& family) {
  if (pid <= 0 || pid == self) return Descent::stranger;
  for (int looks = 0; looks < most_looks; ++looks) {
    pid_t at = pid;
    for (int generation = 0; generation < most_generations; ++generation) {
      const Ancestor seen = family.look(at);
      if (seen.sight == Ancestor::Sight::hidden) return seek_below(self, at, family);
      if (seen.sight == Ancestor::Sight::of_another) return Descent::stranger;
      if (seen.sight == Ancestor::Sight::gone) break;
      if (seen.parent == self) return family.is_foreign(at) ? Descent::stranger : Descent::descendant;
      if (seen.parent <= 1) return Descent::stranger;
      at = seen.parent;
    }
  }
  return Descent::unknown;
}

Ancestor look_at(pid_t pid) {
  if (const auto stat = ProcessStat::read(pid)) return {Ancestor::Sight::seen, stat->parent()};
  if (kill(pid, 0) == 0) return {Ancestor::Sight::hidden, 0};
  return {errno == EPERM ? Ancestor::Sight::of_another : Ancestor::Sight::gone, 0};
}

// The children of each thread of `pid`.  The kernel lists children here even when they hide.
std::optional<std::vector<pid_t>> children_in_proc(pid_t pid) {
  std::vector<pid_t> children;
  std::error_code refused;
  for (const auto& thread : std::filesystem::directory_iterator(fmt::format("/proc/{}/task", pid), refused)) {
    std::ifstream file(thread.path() / "children");
    if (!file) return std::nullopt;
    for (pid_t child = 0; file >> child;) children.push_back(child);
  }
  if (refused) return std::nullopt;
  return children;
}

}  // namespace brood
