#include "worker/crash/module_map.hpp"

#include <dlfcn.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "shared/base/check.hpp"
#include "shared/base/loaded_object.hpp"

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
        return 1;  // every entry has the same number
      },
      &loads);
  return loads;
}

// The functions from here on also run in signal handlers.  They use plain loops and allocate nothing.
void set_path(ModuleRecord& record, const char* path) {
  std::size_t i = 0;
  for (; i + 1 < sizeof record.path && path[i] != '\0'; ++i) record.path[i] = path[i];
  record.path[i] = '\0';
}

// Makes the whole record except the addresses at which the object is mapped.
ModuleRecord describe_object(const LoadedObject& object, const char* path) {
  ModuleRecord record{};
  record.bias = object.bias;
  const std::span<const std::uint8_t> id = build_id_of(object);
  record.build_id_size = static_cast<std::uint32_t>(std::min(id.size(), sizeof record.build_id));
  if (!id.empty()) std::memcpy(record.build_id, id.data(), record.build_id_size);
  set_path(record, path);
  return record;
}

// The dynamic linker has no name for the program itself.
std::string path_of_program() {
  char path[sizeof(ModuleRecord::path)];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path);
  return length > 0 ? std::string(path, static_cast<std::size_t>(length)) : std::string();
}

// Returns the path of an object's file.  A library that was loaded from a descriptor has a name below /proc; the kernel
// knows the file's own path.
std::string path_of_object(const std::string& name) {
  constexpr std::string_view kernels = "/proc/", of_descriptors = "/fd/", gone = " (deleted)";
  const std::size_t at = name.find(of_descriptors);
  if (!name.starts_with(kernels) || at == name.npos) return name;
  std::error_code error;
  const std::string path = std::filesystem::read_symlink("/proc/self" + name.substr(at), error);
  if (error) return name;
  return path.ends_with(gone) ? path.substr(0, path.size() - gone.size()) : path;
}

struct Listing {
  std::string program = path_of_program();
  std::vector<ModuleRecord> modules;
  std::vector<ModuleMap::Segment> segments;
};

Listing list_modules() {
  Listing listing;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* result) {
        auto& into = *static_cast<Listing*>(result);
        const LoadedObject object{info->dlpi_addr, {info->dlpi_phdr, info->dlpi_phnum}};
        const bool is_program = into.modules.empty();
        const auto number = static_cast<std::uint32_t>(into.modules.size());
        const std::string path = is_program ? into.program : path_of_object(info->dlpi_name);
        into.modules.push_back(describe_object(object, path.c_str()));
        for (const ElfW(Phdr) & header : object.headers) {
          if (const auto segment = loaded_segment(object, header))
            into.segments.push_back({segment->begin, segment->end, number, segment->is_code});
        }
        return 0;
      },
      &listing);
  return listing;
}

#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 35)
// Finds the object of an address that was loaded after the last refresh().  dl_iterate_phdr() takes a lock, but
// _dl_find_object() does not.  The latter does not give the program headers.  Its dlfo_map_start is the address of the
// ELF header only for an object without gaps between its segments.
struct FoundObject {
  dl_find_object found{};
  std::optional<LoadedObject> object;

  explicit FoundObject(std::uint64_t address) {
    if (_dl_find_object(reinterpret_cast<void*>(address), &found) != 0) found.dlfo_link_map = nullptr;
    if (found.dlfo_link_map == nullptr) return;
    const link_map& map = *found.dlfo_link_map;
    const auto dynamic_section = reinterpret_cast<std::uint64_t>(map.l_ld);
    object = program_with(map.l_addr, dynamic_section);
    for (const std::uint64_t header : {reinterpret_cast<std::uint64_t>(found.dlfo_map_start), map.l_addr}) {
      if (!object) object = object_with_header(header, map.l_addr, dynamic_section);
    }
  }
};
#endif

}  // namespace

bool ModuleMap::refresh() {
  const Loads now = count_loads();
  if (modules_ != nullptr && now.loaded == loaded_ && now.unloaded == unloaded_) return false;

  const Listing listing = list_modules();
  const std::size_t size_of_modules = listing.modules.size() * sizeof(ModuleRecord);
  const std::size_t size = size_of_modules + listing.segments.size() * sizeof(Segment);
  void* const memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "mmap");
  void* const segments = static_cast<char*>(memory) + size_of_modules;
  std::memcpy(memory, listing.modules.data(), size_of_modules);
  std::memcpy(segments, listing.segments.data(), size - size_of_modules);
  check("mprotect", mprotect(memory, size, PROT_READ));

  void* const old = const_cast<ModuleRecord*>(modules_);
  const std::size_t old_size = size_;
  modules_ = static_cast<const ModuleRecord*>(memory);
  segments_ = static_cast<const Segment*>(segments);
  count_ = listing.segments.size();
  size_ = size;
  loaded_ = now.loaded;
  unloaded_ = now.unloaded;
  if (old != nullptr) munmap(old, old_size);
  return true;
}

const ModuleMap::Segment* ModuleMap::find(std::uint64_t address) const {
  for (std::size_t i = 0; i < count_; ++i) {
    if (segments_[i].begin <= address && address < segments_[i].end) return &segments_[i];
  }
  return nullptr;
}

bool ModuleMap::is_code(std::uint64_t address) const {
  if (const Segment* known = find(address)) return known->is_code;
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 35)
  const FoundObject since(address);
  if (!since.object) return since.found.dlfo_link_map != nullptr;
  const auto segment = segment_at(*since.object, address);
  return segment && segment->is_code;
#else
  return false;
#endif
}

bool ModuleMap::describe(std::uint64_t address, ModuleRecord& record) const {
  if (const Segment* known = find(address)) {
    record = modules_[known->module];
    record.begin = known->begin;
    record.end = known->end;
    return true;
  }
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 35)
  const FoundObject since(address);
  if (since.found.dlfo_link_map == nullptr) return false;
  const link_map& map = *since.found.dlfo_link_map;
  const auto segment = since.object ? segment_at(*since.object, address) : std::nullopt;
  if (since.object && !segment) return false;
  record = describe_object(since.object.value_or(LoadedObject{map.l_addr, {}}), map.l_name);
  record.begin = segment ? segment->begin : reinterpret_cast<std::uint64_t>(since.found.dlfo_map_start);
  record.end = segment ? segment->end : reinterpret_cast<std::uint64_t>(since.found.dlfo_map_end);
  return true;
#else
  return false;
#endif
}

}  // namespace brood
