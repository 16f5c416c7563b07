#include "worker/job/libraries_digest.hpp"

#include <elf.h>
#include <link.h>
#include <sys/stat.h>

#include <fmt/format.h>

#include <cstring>
#include <set>
#include <string>
#include <string_view>

namespace brood {
namespace {

// FNV-1a: the same on every host and in every release, which std::hash does not promise.
std::uint64_t hash_of(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return hash;
}

struct SearchedModule {
  std::uintptr_t address;
  std::string build_id;
};

std::string build_id_in(const char* notes, std::size_t size) {
  constexpr std::size_t word = 4;
  const auto padded = [](std::size_t length) { return (length + word - 1) / word * word; };
  while (size >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) note;
    std::memcpy(&note, notes, sizeof note);
    const std::size_t length = sizeof note + padded(note.n_namesz) + padded(note.n_descsz);
    if (length > size) break;
    if (note.n_type == NT_GNU_BUILD_ID)
      return {notes + sizeof note + padded(note.n_namesz), static_cast<std::size_t>(note.n_descsz)};
    notes += length;
    size -= length;
  }
  return "";
}

int look_at_module(dl_phdr_info* info, std::size_t, void* searched) {
  auto& wanted = *static_cast<SearchedModule*>(searched);
  const auto headers = [&](auto visit) {
    for (int i = 0; i < info->dlpi_phnum; ++i) visit(info->dlpi_phdr[i], info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
  };
  bool is_there = false;
  headers([&](const ElfW(Phdr) & header, std::uintptr_t begin) {
    is_there |= header.p_type == PT_LOAD && wanted.address >= begin && wanted.address < begin + header.p_memsz;
  });
  if (!is_there) return 0;
  headers([&](const ElfW(Phdr) & header, std::uintptr_t begin) {
    if (header.p_type == PT_NOTE && wanted.build_id.empty())
      wanted.build_id = build_id_in(reinterpret_cast<const char*>(begin), header.p_memsz);
  });
  return 1;
}

std::string name_of(const JobRegistry::Library& library) {
  SearchedModule module{reinterpret_cast<std::uintptr_t>(library.origin), ""};
  dl_iterate_phdr(look_at_module, &module);
  if (!module.build_id.empty()) return module.build_id;
  struct stat status {};
  if (stat(library.path.c_str(), &status) != 0) return library.path;
  return fmt::format("{} {} {}.{}", library.path, status.st_size, status.st_mtim.tv_sec, status.st_mtim.tv_nsec);
}

}  // namespace

// The order of the libraries does not matter.
std::uint64_t libraries_digest(const JobRegistry& registry) {
  std::set<std::string> names;
  for (const JobRegistry::Library& library : registry.libraries()) names.insert(name_of(library));
  if (names.empty()) return 0;
  std::string all;
  for (const std::string& name : names) all += std::to_string(name.size()) + ":" + name;
  return hash_of(all) | 1;
}

}  // namespace brood
