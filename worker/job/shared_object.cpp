#include "worker/job/shared_object.hpp"

#include <elf.h>
#include <link.h>

#include <cstring>
#include <fstream>

namespace brood {
namespace {

#if defined(__x86_64__)
constexpr unsigned machine = EM_X86_64;
#elif defined(__aarch64__)
constexpr unsigned machine = EM_AARCH64;
#elif defined(__riscv)
constexpr unsigned machine = EM_RISCV;
#else
constexpr unsigned machine = EM_NONE;  // not checked
#endif
constexpr unsigned char word_size = sizeof(void*) == 8 ? ELFCLASS64 : ELFCLASS32;

constexpr const char* not_shared_object = "is not a shared object";
constexpr const char* cut_short = "is cut short";

// Whether a range lies within the file.  Its numbers come from the file, may be hostile, and must not wrap around.
bool ends_within(std::uint64_t size, std::uint64_t begin, std::uint64_t length) {
  return begin <= size && length <= size - begin;
}

}  // namespace

std::optional<std::string> flaw_of_shared_object(const std::string& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) return "cannot be read";
  const auto size = static_cast<std::uint64_t>(file.tellg());
  file.seekg(0);

  ElfW(Ehdr) header{};
  file.read(reinterpret_cast<char*>(&header), sizeof header);
  if (file.gcount() < SELFMAG || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return not_shared_object;
  if (!file) return cut_short;
  if (header.e_ident[EI_CLASS] != word_size || (machine != EM_NONE && header.e_machine != machine)) {
    return "is built for another machine";
  }
  if (header.e_type != ET_DYN) return not_shared_object;
  if (header.e_phentsize != sizeof(ElfW(Phdr))) return not_shared_object;

  const std::uint64_t sections_size = std::uint64_t{header.e_shnum} * header.e_shentsize;
  if (header.e_shoff != 0 && !ends_within(size, header.e_shoff, sections_size)) return cut_short;
  if (!ends_within(size, header.e_phoff, std::uint64_t{header.e_phnum} * sizeof(ElfW(Phdr)))) return cut_short;
  file.seekg(static_cast<std::streamoff>(header.e_phoff));
  for (int i = 0; i < header.e_phnum; ++i) {
    ElfW(Phdr) segment{};
    if (!file.read(reinterpret_cast<char*>(&segment), sizeof segment)) return cut_short;
    if (segment.p_type == PT_LOAD && !ends_within(size, segment.p_offset, segment.p_filesz)) return cut_short;
  }
  return std::nullopt;
}

}  // namespace brood
