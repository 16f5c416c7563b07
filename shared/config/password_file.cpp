#include "shared/config/password_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "shared/base/check.hpp"
#include "shared/config/redis_location.hpp"

namespace brood {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view prefix = "redis-password.";  // and the pid of the owner, who has locked it

void remove_those_of_the_dead(const std::string& directory, const std::string& ours) {
  std::error_code error;
  for (fs::directory_iterator entry(directory, error), end; !error && entry != end; entry.increment(error)) {
    const fs::path& path = entry->path();
    if (!path.filename().string().starts_with(prefix) || path == ours) continue;
    const UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    if (file && flock(file.get(), LOCK_EX | LOCK_NB) == 0) unlink(path.c_str());
  }
}

Secret password_to_share(const RedisSettings& settings) {
  if (!settings.share_with_jobs || settings.share_password_in_url || !settings.password_file.empty()) return {};
  return locate_redis(settings).password;
}

}  // namespace

PasswordFile::PasswordFile(const RedisSettings& settings, const std::string& directory) : owner_(getpid()) {
  const Secret password = password_to_share(settings);
  if (password.empty()) return;
  if (fs::create_directories(directory)) check("chmod", chmod(directory.c_str(), 0700));
  const std::string path = fs::absolute(directory) / (std::string(prefix) + std::to_string(owner_));
  const std::string fresh = fs::absolute(directory) / ("." + std::string(prefix) + std::to_string(owner_));
  remove_those_of_the_dead(fs::absolute(directory), path);
  unlink(fresh.c_str());
  locked_.reset(check("open", open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0400)));
  check("flock", flock(locked_.get(), LOCK_EX | LOCK_NB));
  const std::string_view text = password.view();
  if (check("write", write(locked_.get(), text.data(), text.size())) != static_cast<ssize_t>(text.size()))
    throw std::system_error(ENOSPC, std::generic_category(), fresh);
  check("rename", rename(fresh.c_str(), path.c_str()));
  path_ = path;
}

PasswordFile::~PasswordFile() {
  if (!path_.empty() && getpid() == owner_) unlink(path_.c_str());
}

}  // namespace brood
