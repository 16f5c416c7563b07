#include "worker/job/libraries_digest.hpp"

#include <link.h>
#include <sys/stat.h>

#include <fmt/format.h>

#include <set>
#include <span>
#include <string>
#include <string_view>

#include "shared/base/loaded_object.hpp"

namespace brood {
namespace {

// FNV-1a: it is the same on every host and in every release; std::hash need not be.
std::uint64_t hash_of(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return hash;
}

struct SearchedModule {
  std::uintptr_t address;
  std::string build_id;
};

int look_at_module(dl_phdr_info* info, std::size_t, void* searched) {
  auto& wanted = *static_cast<SearchedModule*>(searched);
  const LoadedObject object{info->dlpi_addr, {info->dlpi_phdr, info->dlpi_phnum}};
  if (!segment_at(object, wanted.address)) return 0;
  const std::span<const std::uint8_t> id = build_id_of(object);
  wanted.build_id.assign(id.begin(), id.end());
  return 1;
}

std::string name_of(const JobRegistry::Library& library) {
  SearchedModule module{reinterpret_cast<std::uintptr_t>(library.origin), ""};
  dl_iterate_phdr(look_at_module, &module);
  if (!module.build_id.empty()) return module.build_id;
  struct stat status {};
  if (stat(library.file.c_str(), &status) != 0) return library.path;
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
