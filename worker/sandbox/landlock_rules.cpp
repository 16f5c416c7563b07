#include "worker/sandbox/landlock_rules.hpp"

namespace brood {
namespace {

using namespace landlock;

constexpr std::uint64_t reading = execute | read_file | read_dir;
constexpr std::uint64_t writing = write_file | remove_dir | remove_file | make_dir | make_reg | make_sock | make_fifo |
                                  make_sym | refer | truncate | ioctl_dev;
// No job of a sandbox makes devices.
constexpr std::uint64_t never = make_char | make_block;
constexpr std::uint64_t changing = write_file | truncate;
// Writing files in these directories reaches other processes and the kernel's settings.
bool is_the_kernels(const std::string& path) { return path == "/proc" || path == "/sys"; }

std::uint64_t known_to(int abi) {
  std::uint64_t known = refer - 1;
  if (abi >= 2) known |= refer;
  if (abi >= abi_of_truncate) known |= truncate;
  if (abi >= abi_of_ioctl) known |= ioctl_dev;
  return known;
}

// Files that programs need to start; files of the C library about time zones, languages and processors; and files about
// the process itself.
constexpr const char* needed_to_run[] = {"/usr",
                                         "/bin",
                                         "/sbin",
                                         "/lib",
                                         "/lib32",
                                         "/lib64",
                                         "/libx32",
                                         "/etc/ld.so.cache",
                                         "/etc/ld.so.preload",
                                         "/etc/alternatives",
                                         "/etc/localtime",
                                         "/etc/timezone",
                                         "/etc/locale.alias",
                                         "/proc/self",
                                         "/proc/cpuinfo",
                                         "/proc/meminfo",
                                         "/proc/stat",
                                         "/proc/sys/vm/overcommit_memory",
                                         "/sys/devices/system/cpu"};
constexpr const char* devices_to_read[] = {"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"};
constexpr const char* devices_to_write[] = {"/dev/null", "/dev/zero", "/dev/full"};

}  // namespace

LandlockRules landlock_rules(const SandboxSettings& settings, int abi, const std::vector<std::string>& code,
                             const std::vector<std::string>& top) {
  LandlockRules rules;
  if (abi < 1) return rules;
  const bool limits_writing = settings.write.has_value(), limits_reading = settings.read.has_value();
  rules.files = (never | (limits_writing ? writing : changing) | (limits_reading ? reading : 0)) & known_to(abi);
  if (!settings.network && abi >= abi_of_tcp) rules.network = bind_tcp | connect_tcp;
  if (abi >= abi_of_scopes) rules.scopes = abstract_unix_socket | signal;

  const auto allow = [&](const std::string& path, std::uint64_t access, bool required) {
    if ((access & rules.files) != 0) rules.beneath.push_back({path, access & rules.files, required});
  };
  if (!limits_writing) {
    for (const std::string& path : top) {
      if (!is_the_kernels(path)) allow(path, changing, false);
    }
  }
  for (const std::string& path : settings.write.value_or(std::vector<std::string>{}))
    allow(path, writing | reading, true);
  for (const std::string& path : settings.read.value_or(std::vector<std::string>{})) allow(path, reading, true);
  for (const std::string& path : code) allow(path, read_file | execute, false);
  for (const char* const path : needed_to_run) allow(path, reading, false);
  for (const char* const path : devices_to_read) allow(path, read_file, false);
  for (const char* const path : devices_to_write) allow(path, write_file | truncate | ioctl_dev, false);
  return rules;
}

void allow_reading(LandlockRules& rules, const std::vector<std::string>& paths) {
  const std::uint64_t access = (read_file | read_dir) & rules.files;
  for (const std::string& path : paths) {
    if (access != 0) rules.beneath.push_back({path, access, false});
  }
}

}  // namespace brood
