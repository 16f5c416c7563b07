#include "supervisor/cli/run/private_directory.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <stdexcept>

#include "shared/base/check.hpp"

namespace brood {

void make_private_directory(const std::string& path) {
  // Only a directory that we made ourselves is closed to others: the configured one may be /tmp.
  if (std::filesystem::create_directories(path)) check("chmod", chmod(path.c_str(), 0700));
  struct stat about {};
  check("lstat", lstat(path.c_str(), &about));
  // systemd makes some of our directories links; another user's link in /tmp may lead anywhere.
  if (S_ISLNK(about.st_mode) && about.st_uid != geteuid() && about.st_uid != 0)
    throw std::runtime_error("the runtime directory " + path + " is another user's link; set RUNTIME_DIRECTORY");
  check("stat", stat(path.c_str(), &about));
  // A directory in /tmp that another user made first would give that user our scoreboard.
  if (about.st_uid != geteuid() && geteuid() != 0)
    throw std::runtime_error("the runtime directory " + path + " belongs to another user; set RUNTIME_DIRECTORY");
}

}  // namespace brood
