#include "shared/base/changeable_path.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <filesystem>
#include <system_error>

namespace brood {
namespace {

bool is_changeable(const std::string& path, uid_t user) {
  struct stat about {};
  struct statvfs mount {};
  if (stat(path.c_str(), &about) != 0) return false;
  if (statvfs(path.c_str(), &mount) == 0 && (mount.f_flag & ST_RDONLY) != 0) return false;
  if (about.st_uid == user) return true;
  // In a directory such as /tmp each may remove only what is its own.
  if (S_ISDIR(about.st_mode) && (about.st_mode & S_ISVTX) != 0) return false;
  return faccessat(AT_FDCWD, path.c_str(), W_OK, AT_EACCESS) == 0;
}

}  // namespace

std::string changeable_part_of(const std::string& path, uid_t user) {
  std::error_code missing;
  // A link may be replaced where it lies, and what it leads to as well.
  const std::filesystem::path named = std::filesystem::absolute(path, missing);
  const std::filesystem::path meant = std::filesystem::canonical(path, missing);
  if (missing) return "";
  for (std::filesystem::path part = meant;; part = part.parent_path()) {
    if (is_changeable(part, user)) return part;
    if (part == part.root_path()) break;
  }
  for (std::filesystem::path part = named.parent_path(); part != part.root_path(); part = part.parent_path()) {
    if (is_changeable(part, user)) return part;
  }
  return "";
}

}  // namespace brood
