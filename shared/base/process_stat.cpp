#include "shared/base/process_stat.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <fstream>
#include <iterator>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>

#include "shared/base/plain_number.hpp"
#include "shared/base/unique_fd.hpp"

namespace brood {

std::optional<ProcessStat> ProcessStat::read(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string line;
  std::getline(file, line, '\0');
  return parse(line);
}

std::optional<ProcessStat> ProcessStat::parse(const std::string& line) {
  const std::size_t end_of_name = line.rfind(')');
  if (end_of_name == line.npos) return std::nullopt;
  std::istringstream rest(line.substr(end_of_name + 1));
  ProcessStat stat;
  stat.fields_.assign(std::istream_iterator<std::string>(rest), {});
  if (stat.fields_.size() < 2) return std::nullopt;
  return stat;
}

std::uint64_t ProcessStat::number(std::size_t field) const {
  constexpr std::size_t first = 3;
  const std::size_t i = field - first;
  return i < fields_.size() ? leading_number<std::uint64_t>(fields_[i]) : 0;
}

namespace {

constexpr std::size_t most_processes_scanned = 4096;

// Reads as much of a file as fits.
std::string content(const char* path, std::size_t most) {
  std::string text(most, '\0');
  const UniqueFd file(::open(path, O_RDONLY | O_CLOEXEC));
  std::size_t size = 0;
  while (file && size < most) {
    const ssize_t got = ::read(file.get(), text.data() + size, most - size);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    size += static_cast<std::size_t>(got);
  }
  text.resize(size);
  return text;
}

// Reads pids with a space behind each.  A pid that is cut off, and so has no space, does not count.
std::vector<pid_t> parse_pids(std::string_view text) {
  std::vector<pid_t> pids;
  for (std::size_t space; (space = text.find(' ')) != text.npos; text.remove_prefix(space + 1)) {
    pid_t pid = 0;
    if (std::from_chars(text.data(), text.data() + space, pid).ec == std::errc() && pid > 0) pids.push_back(pid);
  }
  return pids;
}

// For kernels without CONFIG_PROC_CHILDREN.
std::vector<pid_t> children_by_scan(std::size_t most) {
  std::vector<pid_t> children;
  const std::unique_ptr<DIR, int (*)(DIR*)> proc(opendir("/proc"), closedir);
  const pid_t self = getpid();
  std::size_t scanned = 0;
  while (const dirent* entry = proc ? readdir(proc.get()) : nullptr) {
    if (entry->d_name[0] < '1' || entry->d_name[0] > '9') continue;
    if (++scanned > most_processes_scanned || children.size() >= most) break;
    const pid_t pid = leading_number<pid_t>(entry->d_name);
    const auto stat = ProcessStat::read(pid);
    if (stat && stat->parent() == self) children.push_back(pid);
  }
  return children;
}

}  // namespace

std::vector<pid_t> own_children(std::size_t most) {
  const std::string list = "/proc/self/task/" + std::to_string(getpid()) + "/children";
  constexpr std::size_t longest_pid = 8;  // seven digits and a space
  if (access(list.c_str(), R_OK) != 0) return children_by_scan(most);
  std::vector<pid_t> children = parse_pids(content(list.c_str(), most * longest_pid));
  if (children.size() > most) children.resize(most);
  return children;
}

}  // namespace brood
