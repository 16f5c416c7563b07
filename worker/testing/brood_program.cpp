#include "worker/testing/brood_program.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <stdexcept>

#include "shared/config/executable.hpp"

namespace brood::testing {
namespace {

bool can_be_executed(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(path, ignored) && access(path.c_str(), X_OK) == 0;
}

std::string required(const std::string& path, const std::string& who) {
  if (can_be_executed(path)) return path;
  throw std::invalid_argument("a Supervised cannot execute \"" + path + "\", which " + who + " names");
}

// Returns the path of the brood under the PREFIX of this library, which is PREFIX/lib/libbrood-testing.so.1 or
// PREFIX/lib/x86_64-linux-gnu/libbrood-testing.so.1.  Empty: there is no brood.
std::string beside_this_library() {
  Dl_info library{};
  if (dladdr(reinterpret_cast<void*>(&find_brood), &library) == 0 || library.dli_fname == nullptr) return "";
  std::error_code unresolved;
  std::filesystem::path folder = std::filesystem::weakly_canonical(library.dli_fname, unresolved).parent_path();
  for (int up = 0; up < 2; ++up) {
    folder = folder.parent_path();
    if (const std::string path = folder / "bin/brood"; can_be_executed(path)) return path;
  }
  return "";
}

}  // namespace

std::string find_brood(const std::string& wanted) {
  if (!wanted.empty()) return required(executable_path(wanted), "its option `program`");
  if (const char* named = std::getenv("BROOD_PROGRAM"); named != nullptr && *named != '\0')
    return required(executable_path(named), "BROOD_PROGRAM");
  if (std::string path = beside_this_library(); !path.empty()) return path;
  if (std::string path = executable_path("brood"); can_be_executed(path)) return path;
  throw std::invalid_argument(
      "a Supervised needs the program brood, which is neither in PATH nor installed beside libbrood-testing; "
      "BROOD_PROGRAM or the option `program` may name it");
}

}  // namespace brood::testing
