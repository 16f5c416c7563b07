#include "tests/support/temporary_directory.hpp"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <system_error>

namespace brood {

TemporaryDirectory::TemporaryDirectory() : path_("/tmp/brood-test-XXXXXX"), maker_(getpid()) {
  // Below /tmp and not TMPDIR: the path of a Unix socket may have at most 107 bytes.
  if (mkdtemp(path_.data()) == nullptr) throw std::system_error(errno, std::generic_category(), "mkdtemp");
}

TemporaryDirectory::~TemporaryDirectory() {
  if (getpid() != maker_) return;
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string TemporaryDirectory::write(const std::string& name, const std::string& content) const {
  const std::string file = *this / name;
  std::filesystem::create_directories(std::filesystem::path(file).parent_path());
  std::ofstream stream(file, std::ios::binary);
  stream << content;
  stream.close();
  if (!stream) throw std::runtime_error("cannot write " + file);
  return file;
}

}  // namespace brood
