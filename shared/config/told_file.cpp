#include "shared/config/told_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>

#include "shared/base/unique_fd.hpp"

namespace brood {

void write_told_file(const std::string& path, const std::string& text) {
  const std::string partial = path + "." + std::to_string(getpid());
  unlink(partial.c_str());
  const UniqueFd file(open(partial.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!file) return;
  const bool whole = write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
  if (!whole || rename(partial.c_str(), path.c_str()) != 0) unlink(partial.c_str());
}

}  // namespace brood
