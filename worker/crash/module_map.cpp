#include "worker/crash/module_map.hpp"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "shared/base/check.hpp"

namespace brood {
namespace {

struct Loads {
  unsigned long long loaded = 0, unloaded = 0;
};

Loads count_loads() {
  Loads loads;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* result) {
        *static_cast<Loads*>(result) = {info->dlpi_adds, info->dlpi_subs};
        return 1;  // every entry says the same
      },
      &loads);
  return loads;
}

// These run in signal handlers too: plain loops, no allocation.
void set_path(ModuleRecord& record, const char* path) {
  std::size_t i = 0;
  for (; i + 1 < sizeof record.path && path[i] != '\0'; ++i) record.path[i] = path[i];
  record.path[i] = '\0';
}

void read_build_id(ModuleRecord& record, const std::uint8_t* notes, std::size_t size) {
  const auto aligned = [](std::size_t n) { return (n + 3) & ~std::size_t{3}; };
  std::size_t at = 0;
  while (at + sizeof(ElfW(Nhdr)) <= size) {
    ElfW(Nhdr) note;
    std::memcpy(&note, notes + at, sizeof note);
    const std::size_t name = at + sizeof note, value = name + aligned(note.n_namesz);
    if (value > size || note.n_descsz > size - value) return;
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && std::memcmp(notes + name, "GNU", 4) == 0) {
      record.build_id_size = std::min<std::uint32_t>(note.n_descsz, sizeof record.build_id);
      std::memcpy(record.build_id, notes + value, record.build_id_size);
      return;
    }
    at = value + aligned(note.n_descsz);
  }
}

ModuleMap::Module describe_object(std::uint64_t bias, const ElfW(Phdr) * headers, std::size_t count) {
  ModuleMap::Module module{};
  ModuleRecord& record = module.record;
  record.bias = bias;
  record.begin = module.code_begin = UINT64_MAX;
  for (std::size_t i = 0; i < count; ++i) {
    if (headers[i].p_type != PT_LOAD) continue;
    const std::uint64_t begin = bias + headers[i].p_vaddr, end = begin + headers[i].p_memsz;
    record.begin = std::min(record.begin, begin);
    record.end = std::max(record.end, end);
    if ((headers[i].p_flags & PF_X) == 0) continue;
    module.code_begin = std::min(module.code_begin, begin);
    module.code_end = std::max(module.code_end, end);
  }
  for (std::size_t i = 0; i < count && record.build_id_size == 0; ++i) {
    const std::uint64_t begin = bias + headers[i].p_vaddr, size = headers[i].p_memsz;
    if (headers[i].p_type != PT_NOTE || begin < record.begin || begin > record.end || size > record.end - begin)
      continue;
    read_build_id(record, reinterpret_cast<const std::uint8_t*>(begin), size);
  }
  return module;
}

// The dynamic linker has no name for the program itself.
std::string path_of_program() {
  char path[sizeof(ModuleRecord::path)];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path);
  return length > 0 ? std::string(path, static_cast<std::size_t>(length)) : std::string();
}

std::vector<ModuleMap::Module> list_modules() {
  struct Listing {
    std::string program = path_of_program();
    std::vector<ModuleMap::Module> modules;
  } listing;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* result) {
        auto& into = *static_cast<Listing*>(result);
        const bool is_program = into.modules.empty();
        into.modules.push_back(describe_object(info->dlpi_addr, info->dlpi_phdr, info->dlpi_phnum));
        set_path(into.modules.back().record, is_program ? into.program.c_str() : info->dlpi_name);
        return 0;
      },
      &listing);
  return std::move(listing.modules);
}

}  // namespace

bool ModuleMap::refresh() {
  const Loads now = count_loads();
  if (modules_ != nullptr && now.loaded == loaded_ && now.unloaded == unloaded_) return false;

  const std::vector<Module> modules = list_modules();
  const std::size_t size = modules.size() * sizeof(Module);
  void* const memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "mmap");
  std::memcpy(memory, modules.data(), size);
  check("mprotect", mprotect(memory, size, PROT_READ));

  void* const old = const_cast<Module*>(modules_);
  const std::size_t old_size = count_ * sizeof(Module);
  modules_ = static_cast<const Module*>(memory);
  count_ = modules.size();
  loaded_ = now.loaded;
  unloaded_ = now.unloaded;
  if (old != nullptr) munmap(old, old_size);
  return true;
}

const ModuleMap::Module* ModuleMap::find(std::uint64_t address) const {
  for (std::size_t i = 0; i < count_; ++i) {
    if (modules_[i].record.begin <= address && address < modules_[i].record.end) return &modules_[i];
  }
  return nullptr;
}

bool ModuleMap::is_code(std::uint64_t address) const {
  if (const Module* known = find(address)) return known->code_begin <= address && address < known->code_end;
  ModuleRecord loaded_since;
  return describe(address, loaded_since);
}

bool ModuleMap::describe(std::uint64_t address, ModuleRecord& record) const {
  if (const Module* known = find(address)) {
    record = known->record;
    return true;
  }
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 35)
  // Takes no lock.
  dl_find_object found;
  if (_dl_find_object(reinterpret_cast<void*>(address), &found) != 0) return false;
  const auto* const header = static_cast<const ElfW(Ehdr)*>(found.dlfo_map_start);
  const auto* const headers =
      reinterpret_cast<const ElfW(Phdr)*>(static_cast<const char*>(found.dlfo_map_start) + header->e_phoff);
  record = describe_object(found.dlfo_link_map->l_addr, headers, header->e_phnum).record;
  set_path(record, found.dlfo_link_map->l_name);
  return true;
#else
  return false;
#endif
}

}  // namespace brood
