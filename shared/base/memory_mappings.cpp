#include "shared/base/memory_mappings.hpp"

#include <sys/sysmacros.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <fstream>
#include <string>
#include <string_view>

#include "shared/base/plain_number.hpp"

namespace brood {
namespace {

// Takes the number, in hexadecimal, that `text` begins with, and the character behind it.  0 where there is none.
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
