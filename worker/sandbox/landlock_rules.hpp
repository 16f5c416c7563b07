#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "shared/config/sandbox_settings.hpp"

namespace brood {

// Rules for Landlock, the kernel's own sandbox: see landlock(7).  The numbers are those of linux/landlock.h; the one of
// Debian 12 has only some of them.
namespace landlock {

// Rights on files.  The comment gives the first ABI that has the right; without a comment it is 1.
enum Access : std::uint64_t {
  execute = 1 << 0,
  write_file = 1 << 1,
  read_file = 1 << 2,
  read_dir = 1 << 3,
  remove_dir = 1 << 4,
  remove_file = 1 << 5,
  make_char = 1 << 6,
  make_dir = 1 << 7,
  make_reg = 1 << 8,
  make_sock = 1 << 9,
  make_fifo = 1 << 10,
  make_block = 1 << 11,
  make_sym = 1 << 12,
  refer = 1 << 13,      // ABI 2: links and renames between directories
  truncate = 1 << 14,   // ABI 3
  ioctl_dev = 1 << 15,  // ABI 5
};
// The rights that a rule on a file may hold; the others are for directories.
constexpr std::uint64_t of_files = execute | write_file | read_file | truncate | ioctl_dev;

constexpr std::uint64_t bind_tcp = 1 << 0, connect_tcp = 1 << 1;         // ABI 4
constexpr std::uint64_t abstract_unix_socket = 1 << 0, signal = 1 << 1;  // ABI 6

constexpr int abi_of_truncate = 3, abi_of_tcp = 4, abi_of_ioctl = 5, abi_of_scopes = 6;

}  // namespace landlock

struct LandlockRules {
  // The accesses that are refused unless a rule allows them.
  std::uint64_t files = 0, network = 0;
  std::uint64_t scopes = 0;  // actions that are refused beyond the sandbox; no rule can allow them

  struct Beneath {
    std::string path;
    std::uint64_t access = 0;
    bool required = false;  // the settings name the path; other paths are left out if they do not exist
  };
  std::vector<Beneath> beneath;
};

// The rules for a kernel with this ABI; none for 0, a kernel without Landlock.  `code` are the files of the class's
// code.  `top` are the entries of the root directory: if the settings do not limit writing, all of them may be written
// except /proc and /sys.
LandlockRules landlock_rules(const SandboxSettings& settings, int abi, const std::vector<std::string>& code,
                             const std::vector<std::string>& top);

// Allows reading these files, and the content of these directories, in addition to the rules.
void allow_reading(LandlockRules& rules, const std::vector<std::string>& paths);

}  // namespace brood
