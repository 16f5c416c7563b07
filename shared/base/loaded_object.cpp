#include "shared/base/loaded_object.hpp"

#include <elf.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace brood {
namespace {

constexpr std::uint64_t signal_set_size = 8;  // the kernel's

std::uint64_t page_size() { return static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)); }

// Whether the page of `address` can be read.  Asks the kernel to change the signal mask by an invalid operation (~0):
// it reads the set first.
bool can_be_read(std::uint64_t address) {
  const std::uint64_t within_one_page = address & ~(signal_set_size - 1);
  if (within_one_page == 0) return false;
  const int saved = errno;
  const bool readable =
      syscall(SYS_rt_sigprocmask, ~0, within_one_page, nullptr, signal_set_size) == -1 && errno == EINVAL;
  errno = saved;
  return readable;
}

bool has_dynamic_section(const LoadedObject& object, std::uint64_t address) {
  return std::any_of(object.headers.begin(), object.headers.end(), [&](const ElfW(Phdr) & one) {
    return one.p_type == PT_DYNAMIC && object.bias + one.p_vaddr == address;
  });
}

bool is_header_of_this_machine(const ElfW(Ehdr) & header) {
  constexpr unsigned char own_class = sizeof(void*) == 8 ? ELFCLASS64 : ELFCLASS32;
  return std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_ident[EI_CLASS] == own_class &&
         header.e_phentsize == sizeof(ElfW(Phdr)) && header.e_phnum != PN_XNUM;
}

// The build id among notes.  The notes of a segment that is aligned to 8 bytes are padded to 8.
std::span<const std::uint8_t> build_id_in(std::span<const std::uint8_t> notes, std::size_t alignment) {
  const auto padded = [&](std::size_t size) { return (size + alignment - 1) & ~(alignment - 1); };
  std::size_t at = 0;
  while (at <= notes.size() && notes.size() - at >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) note;
    std::memcpy(&note, notes.data() + at, sizeof note);
    const std::size_t name = at + sizeof note, value = padded(name + note.n_namesz);
    if (value > notes.size() || note.n_descsz > notes.size() - value) break;
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && std::memcmp(notes.data() + name, "GNU", 4) == 0)
      return notes.subspan(value, note.n_descsz);
    at = padded(value + note.n_descsz);
  }
  return {};
}

}  // namespace

std::optional<LoadedSegment> loaded_segment(const LoadedObject& object, const ElfW(Phdr) & header) {
  if (header.p_type != PT_LOAD || header.p_memsz == 0) return std::nullopt;
  const std::uint64_t page = page_size(), begin = object.bias + header.p_vaddr;
  return LoadedSegment{.begin = begin & ~(page - 1),
                       .end = (begin + header.p_memsz + page - 1) & ~(page - 1),
                       .is_readable = (header.p_flags & PF_R) != 0,
                       .is_code = (header.p_flags & PF_X) != 0};
}

std::optional<LoadedSegment> segment_at(const LoadedObject& object, std::uint64_t address) {
  for (const ElfW(Phdr) & header : object.headers) {
    const auto segment = loaded_segment(object, header);
    if (segment && segment->contains(address)) return segment;
  }
  return std::nullopt;
}

std::span<const std::uint8_t> build_id_of(const LoadedObject& object) {
  for (const ElfW(Phdr) & header : object.headers) {
    if (header.p_type != PT_NOTE) continue;
    const std::uint64_t begin = object.bias + header.p_vaddr;
    const auto segment = segment_at(object, begin);
    if (!segment || !segment->is_readable || header.p_filesz > segment->end - begin) continue;
    const auto id =
        build_id_in({reinterpret_cast<const std::uint8_t*>(begin), header.p_filesz}, header.p_align == 8 ? 8 : 4);
    if (!id.empty()) return id;
  }
  return {};
}

std::optional<LoadedObject> object_with_header(std::uint64_t at, std::uint64_t bias, std::uint64_t dynamic_section) {
  const std::uint64_t page = page_size();
  if (at % page != 0 || !can_be_read(at)) return std::nullopt;  // a file is mapped from its first page on
  const auto& header = *reinterpret_cast<const ElfW(Ehdr)*>(at);
  if (!is_header_of_this_machine(header)) return std::nullopt;
  // Only the first page is known to be mapped.  Linkers write the program headers right behind the header.
  const std::uint64_t size = std::uint64_t{header.e_phnum} * sizeof(ElfW(Phdr));
  if (header.e_phoff % alignof(ElfW(Phdr)) != 0 || header.e_phoff > page || size > page - header.e_phoff)
    return std::nullopt;
  const LoadedObject object{bias, {reinterpret_cast<const ElfW(Phdr)*>(at + header.e_phoff), header.e_phnum}};
  if (!has_dynamic_section(object, dynamic_section) || !segment_at(object, at)) return std::nullopt;
  return object;
}

std::optional<LoadedObject> program_with(std::uint64_t bias, std::uint64_t dynamic_section) {
  const auto* const headers = reinterpret_cast<const ElfW(Phdr)*>(getauxval(AT_PHDR));
  if (headers == nullptr || getauxval(AT_PHENT) != sizeof(ElfW(Phdr))) return std::nullopt;
  const LoadedObject program{bias, {headers, getauxval(AT_PHNUM)}};
  return has_dynamic_section(program, dynamic_section) ? std::optional(program) : std::nullopt;
}

}  // namespace brood
