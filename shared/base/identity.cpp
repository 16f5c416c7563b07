#include "shared/base/identity.hpp"

#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <optional>

#include <fmt/format.h>

#include "shared/base/check.hpp"
#include "shared/base/process_stat.hpp"

namespace brood {
namespace {

// Web pages of Sidekiq print these names raw, and our keys are cut at colons: anything else becomes '-'.
std::string sanitised(std::string text) {
  for (char& c : text) {
    const bool safe = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                      std::string_view("_.@/-").find(c) != std::string_view::npos;
    if (!safe) c = '-';
  }
  if (text.size() > 64) text.resize(64);
  return text.empty() ? "localhost" : text;
}

std::string host_name() {
  if (const char* dyno = std::getenv("DYNO"); dyno && *dyno) return sanitised(dyno);
  std::array<char, 256> name{};
  check("gethostname", gethostname(name.data(), name.size() - 1));
  return sanitised(name.data());
}

std::string twelve_hex_digits() {
  std::array<unsigned char, 6> bytes{};
  check("getrandom", getrandom(bytes.data(), bytes.size(), 0));
  return fmt::format("{:02x}", fmt::join(bytes, ""));
}

std::string first_line_of(const char* path) {
  std::string line;
  std::getline(std::ifstream(path) >> std::ws, line);
  return line;
}

std::string pid_namespace_of_this_process() {
  std::array<char, 64> target{};
  const ssize_t length = readlink("/proc/self/ns/pid", target.data(), target.size());
  return length > 0 ? std::string(target.data(), static_cast<std::size_t>(length)) : "";
}

}  // namespace

Identity Identity::of_this_process() {
  Identity self;
  self.hostname = host_name();
  self.pid = getpid();
  self.name = fmt::format("{}:{}:{}", self.hostname, self.pid, twelve_hex_digits());
  self.boot_id = first_line_of("/proc/sys/kernel/random/boot_id");
  self.pid_namespace = pid_namespace_of_this_process();
  self.start_time = process_start_time(self.pid);
  self.user = geteuid();
  return self;
}

bool Identity::same_boot(const Identity& other) const {
  return !boot_id.empty() && boot_id == other.boot_id && !pid_namespace.empty() && pid_namespace == other.pid_namespace;
}

std::uint64_t process_start_time(pid_t pid) {
  if (pid <= 0) return 0;
  const auto stat = ProcessStat::read(pid);
  return stat && stat->state() != 'Z' && stat->state() != 'X' ? stat->start_time() : 0;
}

namespace {

bool is_hidden(pid_t pid, const std::optional<uid_t>& user) {
  if (access(fmt::format("/proc/{}/stat", pid).c_str(), R_OK) == 0) return false;
  HiddenProcess process;
  if (kill(pid, 0) != 0) process.error = errno;
  if (process.error == EPERM) {
    // The kernel lets every process open a pidfd.  So EPERM here means that a job's seccomp filter refuses both calls.
    const int fd = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
    process.asking_is_refused = fd < 0 && errno == EPERM;
    if (fd >= 0) close(fd);
  }
  return may_be_hidden(process, user, geteuid());
}

bool lives(pid_t pid, std::uint64_t start_time, const std::optional<uid_t>& user) {
  if (start_time == 0 || pid <= 0) return false;
  return process_start_time(pid) == start_time || is_hidden(pid, user);
}

}  // namespace

bool may_be_hidden(const HiddenProcess& process, const std::optional<uid_t>& user, uid_t own_user) {
  if (process.error == 0) return true;
  if (process.error != EPERM) return false;
  return process.asking_is_refused || !user || *user != own_user;
}

bool process_lives(pid_t pid, std::uint64_t start_time) { return lives(pid, start_time, geteuid()); }

bool supervisor_lives(const Identity& identity) { return lives(identity.pid, identity.start_time, identity.user); }

bool pid_is_taken(pid_t pid) { return pid > 0 && (process_start_time(pid) != 0 || is_hidden(pid, geteuid())); }

}  // namespace brood
