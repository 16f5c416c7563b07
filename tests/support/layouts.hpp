#pragma once

#include <dlfcn.h>
#include <link.h>

#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

namespace brood {

// The libraries that CMake's brood_test_layout() makes of tests/unit/job_libraries/stack_site.cpp: one for each linker
// of this machine.
inline std::vector<std::string> layouts() {
  std::set<std::string> found;
  for (const auto& file : std::filesystem::directory_iterator(BROOD_BINARY_DIR "/tests/job_libraries")) {
    if (file.path().filename().string().starts_with("liblayout_")) found.insert(file.path());
  }
  BOOST_REQUIRE(!found.empty());
  return {found.begin(), found.end()};
}

// Loads such a library into this process.
class LoadedLayout {
 public:
  explicit LoadedLayout(const std::string& path) : handle_(dlopen(path.c_str(), RTLD_NOW)) {
    BOOST_REQUIRE_MESSAGE(handle_ != nullptr, dlerror());
    BOOST_REQUIRE(dlinfo(handle_, RTLD_DI_LINKMAP, &map_) == 0);
  }
  ~LoadedLayout() { dlclose(handle_); }
  LoadedLayout(const LoadedLayout&) = delete;
  LoadedLayout& operator=(const LoadedLayout&) = delete;

  const link_map& map() const { return *map_; }
  std::uint64_t bias() const { return map_->l_addr; }
  std::uint64_t dynamic_section() const { return reinterpret_cast<std::uint64_t>(map_->l_ld); }
  std::uint64_t address(const char* symbol) const { return reinterpret_cast<std::uint64_t>(dlsym(handle_, symbol)); }

  // The headers as the dynamic linker returns them.
  std::vector<ElfW(Phdr)> headers() const {
    struct Search {
      std::uint64_t dynamic_section;
      std::vector<ElfW(Phdr)> headers;
    } search{dynamic_section(), {}};
    dl_iterate_phdr(
        [](dl_phdr_info* info, std::size_t, void* result) {
          auto& wanted = *static_cast<Search*>(result);
          for (int i = 0; i < info->dlpi_phnum; ++i) {
            const ElfW(Phdr)& header = info->dlpi_phdr[i];
            if (header.p_type == PT_DYNAMIC && info->dlpi_addr + header.p_vaddr == wanted.dynamic_section)
              wanted.headers.assign(info->dlpi_phdr, info->dlpi_phdr + info->dlpi_phnum);
          }
          return 0;
        },
        &search);
    BOOST_REQUIRE(!search.headers.empty());
    return search.headers;
  }

 private:
  void* handle_;
  link_map* map_ = nullptr;
};

}  // namespace brood
