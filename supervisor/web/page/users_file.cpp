#include "supervisor/web/page/users_file.hpp"

namespace brood {
namespace {

bool is_same_time(const timespec& one, const timespec& other) {
  return one.tv_sec == other.tv_sec && one.tv_nsec == other.tv_nsec;
}

bool is_same_file(const struct stat& one, const struct stat& other) {
  return one.st_dev == other.st_dev && one.st_ino == other.st_ino && one.st_size == other.st_size &&
         is_same_time(one.st_mtim, other.st_mtim) && is_same_time(one.st_ctim, other.st_ctim);
}

}  // namespace

std::optional<Users> UsersFile::read_if_changed() {
  struct stat now {};
  if (stat(path_.c_str(), &now) != 0) now = {};
  if (was_read_ && is_same_file(now, read_)) return std::nullopt;
  read_ = now;
  was_read_ = true;
  return Users::read(path_);
}

}  // namespace brood
