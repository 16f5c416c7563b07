#include "shared/config/password_file.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "shared/base/check.hpp"
#include "shared/base/unique_fd.hpp"
#include "shared/config/redis_location.hpp"

namespace brood {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view prefix = "redis-password.";  // and the pid of the owner

void remove_those_of_the_dead(const std::string& directory) {
  std::error_code error;
  for (fs::directory_iterator entry(directory, error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename();
    if (!name.starts_with(prefix)) continue;
    pid_t pid = 0;
    std::from_chars(name.data() + prefix.size(), name.data() + name.size(), pid);
    if (pid > 0 && kill(pid, 0) != 0 && errno == ESRCH) unlink(entry->path().c_str());
  }
}

std::string password_to_share(const RedisSettings& settings) {
  if (!settings.share_with_jobs || settings.share_password_in_url || !settings.password_file.empty()) return "";
  return locate_redis(settings).password;
}

}  // namespace

PasswordFile::PasswordFile(const RedisSettings& settings, const std::string& directory) : owner_(getpid()) {
  const std::string password = password_to_share(settings);
  if (password.empty()) return;
  if (fs::create_directories(directory)) check("chmod", chmod(directory.c_str(), 0700));
  remove_those_of_the_dead(directory);
  const std::string path = fs::absolute(directory) / (std::string(prefix) + std::to_string(owner_));
  const std::string fresh = path + ".new";
  unlink(fresh.c_str());
  {
    const UniqueFd file(check("open", open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0400)));
    const std::string line = password + "\n";
    if (check("write", write(file.get(), line.data(), line.size())) != static_cast<ssize_t>(line.size()))
      throw std::system_error(ENOSPC, std::generic_category(), fresh);
  }
  check("rename", rename(fresh.c_str(), path.c_str()));
  path_ = path;
}

PasswordFile::~PasswordFile() {
  if (!path_.empty() && getpid() == owner_) unlink(path_.c_str());
}

}  // namespace brood
