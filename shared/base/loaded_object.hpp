#pragma once

#include <link.h>

#include <cstdint>
#include <optional>
#include <span>

namespace brood {

// A program or shared object in this process's memory, as its program headers describe it.  Linkers lay segments
// differently: between two of them there may be a gap, where other memory may lie; the first need not begin at address
// 0 of the file; several may be executable.  So nothing here takes an object for one range.
//
// All of it is async-signal-safe: no allocation, no lock.
struct LoadedObject {
  std::uint64_t bias = 0;  // address in memory minus address in the file
  std::span<const ElfW(Phdr)> headers;
};

// In whole pages, as the kernel maps it.
struct LoadedSegment {
  std::uint64_t begin = 0, end = 0;
  bool is_readable = false, is_code = false;

  bool contains(std::uint64_t address) const { return begin <= address && address < end; }
};

// The segment that a program header describes; nullopt: it describes none that is loaded.
std::optional<LoadedSegment> loaded_segment(const LoadedObject& object, const ElfW(Phdr) & header);

// The segment that `address` lies in; nullopt: in none, so perhaps in a gap between two.
std::optional<LoadedSegment> segment_at(const LoadedObject& object, std::uint64_t address);

// Its build id, of any length; empty if it has none.  Notes that do not lie within a readable segment are not read.
std::span<const std::uint8_t> build_id_of(const LoadedObject& object);

// The object of which the dynamic linker knows the bias and the dynamic section, if its ELF header lies at `header`.
// Nothing there is believed before it is checked, and `header` may be any address: nullopt if that memory cannot be
// read, or is not the header of an object with this dynamic section.
std::optional<LoadedObject> object_with_header(std::uint64_t header, std::uint64_t bias, std::uint64_t dynamic_section);

// The program itself, by the kernel's figures; nullopt if that bias and dynamic section are not the program's.
std::optional<LoadedObject> program_with(std::uint64_t bias, std::uint64_t dynamic_section);

}  // namespace brood
