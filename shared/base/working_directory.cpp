#include "shared/base/working_directory.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace brood::working_directory {
namespace {

std::string remembered;

bool leads_here(const std::string& path) {
  struct stat there {
  }, here{};
  return stat(path.c_str(), &there) == 0 && stat(".", &here) == 0 && there.st_dev == here.st_dev &&
         there.st_ino == here.st_ino;
}

std::string current() {
  std::error_code gone;
  return std::filesystem::current_path(gone).string();
}

}  // namespace

void remember() {
  const char* const of_shell = std::getenv("PWD");
  remembered = of_shell != nullptr && *of_shell == '/' && leads_here(of_shell) ? of_shell : current();
}

const std::string& name() { return remembered; }

std::string absolute(const std::string& path) {
  if (path.starts_with('/')) return path;
  const std::string directory = remembered.empty() ? current() : remembered;
  return directory.empty() ? path : directory + "/" + path;
}

void enter() {
  if (!remembered.empty() && chdir(remembered.c_str()) != 0) {
    // The deploy has taken the directory away.  Paths that are not relative can still be found.
  }
}

}  // namespace brood::working_directory
