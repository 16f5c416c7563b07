#include "supervisor/workers/generation/kept_libraries.hpp"

#include <fcntl.h>

#include <climits>
#include <cstdlib>
#include <tuple>
#include <utility>

namespace brood {
namespace {

bool is_same_file(const struct stat& a, const struct stat& b) {
  return std::tie(a.st_dev, a.st_ino) == std::tie(b.st_dev, b.st_ino);
}

bool leads_to(const std::string& path, const struct stat& file) {
  struct stat found {};
  return stat(path.c_str(), &found) == 0 && is_same_file(found, file);
}

std::string without_links(const std::string& path) {
  char resolved[PATH_MAX];
  return realpath(path.c_str(), resolved) == nullptr ? path : resolved;
}

// Opens with a high number, at which no child has another descriptor: one that finds this path in the stack of a crash
// and opens it finds this library or nothing.
UniqueFd open_high(const std::string& path) {
  UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd) return fd;
  UniqueFd high(fcntl(fd.get(), F_DUPFD_CLOEXEC, 500));
  return high ? std::move(high) : std::move(fd);
}

}  // namespace

KeptLibraries::KeptLibraries(const std::vector<std::string>& paths) {
  for (const std::string& path : paths) {
    File file{.path = path, .whole_path = without_links(path), .fd = open_high(path)};
    if (file.fd && fstat(file.fd.get(), &file.status) != 0) file.fd.reset();
    files_.push_back(std::move(file));
  }
}

std::vector<std::string> KeptLibraries::paths() const {
  std::vector<std::string> paths;
  for (const File& file : files_) {
    if (!file.fd || leads_to(file.path, file.status))
      paths.push_back(file.path);
    else if (leads_to(file.whole_path, file.status))
      paths.push_back(file.whole_path);
    else
      paths.push_back("/proc/self/fd/" + std::to_string(file.fd.get()));
  }
  return paths;
}

std::string KeptLibraries::flaw() const {
  for (const File& file : files_) {
    struct stat now {};
    if (!file.fd || fstat(file.fd.get(), &now) != 0) return file.path + " could not be opened when it was first loaded";
    const bool same = now.st_size == file.status.st_size && now.st_mtim.tv_sec == file.status.st_mtim.tv_sec &&
                      now.st_mtim.tv_nsec == file.status.st_mtim.tv_nsec;
    if (!same) return file.path + " was written over: replace libraries by rename";
  }
  return "";
}

std::vector<int> KeptLibraries::descriptors() const {
  std::vector<int> descriptors;
  for (const File& file : files_) {
    if (file.fd) descriptors.push_back(file.fd.get());
  }
  return descriptors;
}

}  // namespace brood
