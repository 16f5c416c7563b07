#include "tests/support/build_id.hpp"

#include <elf.h>
#include <fmt/format.h>

#include <cstring>
#include <fstream>
#include <iterator>

namespace brood {

// Parsed by hand, so that tests compare brood's own reader with something else.
std::string build_id_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string content((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  constexpr std::string_view name("GNU", 4);
  for (std::size_t at = content.find(name); at != content.npos; at = content.find(name, at + 1)) {
    Elf64_Nhdr note{};
    if (at < sizeof note) continue;
    std::memcpy(&note, content.data() + at - sizeof note, sizeof note);
    if (note.n_namesz != name.size() || note.n_type != NT_GNU_BUILD_ID || note.n_descsz > 64) continue;
    std::string id;
    for (const unsigned char byte : content.substr(at + name.size(), note.n_descsz)) id += fmt::format("{:02x}", byte);
    return id;
  }
  return "";
}

}  // namespace brood
