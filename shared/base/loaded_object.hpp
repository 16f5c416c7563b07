#pragma once

#include <link.h>

#include <cstdint>
#include <optional>
#include <span>

namespace brood {

// A program or shared object in this process's memory, as its program headers describe it.  An object is not one range
// of addresses.  Between two segments there may be a gap, where other memory may lie.  The first segment need not begin
// at address 0 of the file.  Several may be executable.
//
// All of it is async-signal-safe: no allocation, no lock.
struct LoadedObject {
  std::uint64_t bias = 0;  // address in memory minus address in the file
  std::span<const ElfW(Phdr)> headers;
};

// A segment of it, in whole pages, as the kernel maps it.
struct LoadedSegment {
  std::uint64_t begin = 0, end = 0;
  bool is_readable = false, is_code = false;

  bool contains(std::uint64_t address) const { return begin <= address && address < end; }
};

// The segment that a program header describes; nullopt if it describes no segment that is loaded.
std::optional<LoadedSegment> loaded_segment(const LoadedObject& object, const ElfW(Phdr) & header);

// The segment that `address` lies in; nullopt: in none, for example in a gap between two.
std::optional<LoadedSegment> segment_at(const LoadedObject& object, std::uint64_t address);

// The build id of an object, of any length; empty if it has none.  Notes outside of readable segments are not read.
std::span<const std::uint8_t> build_id_of(const LoadedObject& object);

// The object with this bias and dynamic section, as the dynamic linker knows them, if its ELF header lies at `header`.
// That may be any address, and all that lies there is checked.  nullopt if that memory cannot be read, or is not the
// header of an object with this dynamic section.
std::optional<LoadedObject> object_with_header(std::uint64_t header, std::uint64_t bias, std::uint64_t dynamic_section);

// The program itself, as the kernel describes it; nullopt if the bias and dynamic section are not the program's.
std::optional<LoadedObject> program_with(std::uint64_t bias, std::uint64_t dynamic_section);

}  // namespace brood
