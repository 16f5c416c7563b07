#include "supervisor/cli/bench/bench_directory.hpp"

#include <stdlib.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

namespace brood {

BenchDirectory::BenchDirectory(const std::string& parent) : path_(parent + "/brood-bench-XXXXXX") {
  if (mkdtemp(path_.data()) == nullptr) throw std::system_error(errno, std::generic_category(), "mkdtemp " + path_);
}

BenchDirectory::~BenchDirectory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string memory_directory() {
  constexpr const char* shared_memory = "/dev/shm";
  return access(shared_memory, W_OK | X_OK) == 0 ? shared_memory : "/tmp";
}

}  // namespace brood
