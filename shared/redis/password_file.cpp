#include "shared/redis/password_file.hpp"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include <string_view>

#include "shared/base/unique_fd.hpp"

namespace brood {

std::optional<Secret> read_password_file(const std::string& path) {
  char bytes[4096];
  const UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  const ssize_t count = file ? read(file.get(), bytes, sizeof bytes) : -1;
  if (count <= 0) return std::nullopt;
  std::string_view line(bytes, static_cast<std::size_t>(count));
  line = line.substr(0, line.find('\n'));
  if (line.ends_with('\r')) line.remove_suffix(1);
  Secret password(line);
  explicit_bzero(bytes, sizeof bytes);
  return password;
}

Secret password_now(const RedisAddress& address) {
  if (!address.password_file.empty()) {
    if (auto fresh = read_password_file(address.password_file); fresh && !fresh->empty()) return *std::move(fresh);
  }
  return address.password;
}

}  // namespace brood
