#include "shared/base/host_memory.hpp"

#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>

#include "shared/base/plain_number.hpp"

namespace brood {
namespace {

std::uint64_t physical_memory_bytes() {
  const long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
  return pages > 0 && size > 0 ? static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(size) : 0;
}

// Looks into every cgroup from the one `below` the root up to the root itself, which in a container has a limit too.
void lower_to_limits(std::uint64_t& least, const std::filesystem::path& root, const std::string& below,
                     const char* file) {
  std::filesystem::path cgroup = root;
  for (const auto& name : std::filesystem::path("." / std::filesystem::path(below))) {
    cgroup /= name;
    std::uint64_t limit = 0;  // "max" is no number
    if (std::ifstream(cgroup / file) >> plain(limit) && limit > 0) least = least > 0 ? std::min(least, limit) : limit;
  }
}

// hierarchy:controllers:path, as in 0::/system.slice/brood.service or 4:memory:/docker/4f2a
struct Membership {
  explicit Membership(const std::string& line) {
    const std::size_t first = line.find(':'), second = line.find(":/", first + 1);
    if (first == line.npos || second == line.npos) return;
    controllers = line.substr(first + 1, second - first - 1);
    below = line.substr(second + 2);
  }
  std::string controllers = "none", below;
};

// "oom_kill 3", among other lines.
std::optional<std::uint64_t> oom_kill_of(const std::filesystem::path& file) {
  std::ifstream counters(file);
  std::string name;
  for (std::uint64_t value = 0; counters >> name >> plain(value);) {
    if (name == "oom_kill") return value;
  }
  return std::nullopt;
}

}  // namespace

std::uint64_t host_memory_bytes(const CgroupPlaces& places) {
  std::uint64_t least = physical_memory_bytes();
  std::ifstream memberships(places.membership);
  for (std::string line; std::getline(memberships, line);) {
    const Membership own(line);
    if (own.controllers.empty()) lower_to_limits(least, places.root, own.below, "memory.max");
    if (own.controllers == "memory") lower_to_limits(least, places.root / "memory", own.below, "memory.limit_in_bytes");
  }
  return least;
}

std::uint64_t host_oom_kills(const CgroupPlaces& places) {
  std::optional<std::uint64_t> kills;
  std::ifstream memberships(places.membership);
  for (std::string line; std::getline(memberships, line) && !kills;) {
    const Membership own(line);
    if (own.controllers.empty()) kills = oom_kill_of(places.root / own.below / "memory.events");
    if (own.controllers == "memory") kills = oom_kill_of(places.root / "memory" / own.below / "memory.oom_control");
  }
  return kills ? *kills : oom_kill_of("/proc/vmstat").value_or(0);
}

namespace {

// Takes the hexadecimal number at the beginning of `text`, and the character behind it; 0 if there is none.
std::uint64_t take_hex(std::string_view& text) {
  std::uint64_t number = 0;
  const char* const end = std::from_chars(text.data(), text.data() + text.size(), number, 16).ptr;
  text.remove_prefix(std::min(static_cast<std::size_t>(end - text.data()) + 1, text.size()));
  return number;
}

std::string_view take_word(std::string_view& text) {
  const std::string_view word = text.substr(0, text.find(' '));
  text.remove_prefix(std::min(word.size() + 1, text.size()));
  return word;
}

}  // namespace

// "7f0000000000-7f0040000000 rw-s 00001000 fe:01 77   /run/brood/a.scoreboard"
std::vector<MemoryMapping> memory_mappings() {
  std::vector<MemoryMapping> found;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    std::string_view rest = line;
    const std::uint64_t begin = take_hex(rest), end = take_hex(rest);
    const std::string_view rights = take_word(rest);
    const std::uint64_t offset = take_hex(rest), major_number = take_hex(rest), minor_number = take_hex(rest);
    const auto inode = plain_number<ino_t>(take_word(rest));
    if (rights.size() != 4 || !inode || end <= begin) continue;
    rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
    found.push_back(
        {reinterpret_cast<char*>(begin), end - begin, rights[1] == 'w', rights[3] == 's', static_cast<off_t>(offset),
         makedev(static_cast<unsigned>(major_number), static_cast<unsigned>(minor_number)), *inode, std::string(rest)});
  }
  return found;
}

}  // namespace brood
