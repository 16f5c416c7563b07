#include "shared/config/config_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "shared/base/log_line.hpp"
#include "shared/base/paths.hpp"
#include "shared/base/unique_fd.hpp"

namespace brood {
namespace {

constexpr std::size_t largest_file = 1 << 20;

}  // namespace

ConfigFile read_config_file(const std::string& path) {
  // O_NONBLOCK: opening a FIFO must not wait for its writer.
  const UniqueFd fd(open(working_directory::absolute(path).c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  struct stat status {};
  if (!fd || fstat(fd.get(), &status) != 0) setting::Place{path}.refuse(std::strerror(errno));
  if (S_ISDIR(status.st_mode)) setting::Place{path}.refuse("is a directory, not a file");
  if (!S_ISREG(status.st_mode)) setting::Place{path}.refuse("is not a regular file");

  ConfigFile file{{}, status.st_mode};
  char chunk[64 * 1024];
  for (ssize_t n; (n = read(fd.get(), chunk, sizeof chunk)) != 0;) {
    if (n < 0) setting::Place{path}.refuse(std::strerror(errno));
    file.text.append(chunk, static_cast<std::size_t>(n));
    if (file.text.size() > largest_file) setting::Place{path}.refuse("is larger than 1 MB");
  }
  return file;
}

}  // namespace brood

namespace brood::setting {

void Place::refuse(const std::string& why) const { throw ConfigError(log::printable(name + ": " + why)); }

}  // namespace brood::setting
