#include "shared/base/paths.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <system_error>

namespace brood {
namespace {

std::optional<std::string> variable(const Environment& environment, const char* name) {
  const char* value = environment(name);
  if (value == nullptr || *value == '\0') return std::nullopt;
  return value;
}

// systemd joins several directories of one unit with colons; the first is ours.
std::optional<std::string> given_by_systemd(const Environment& environment, const char* name) {
  const auto value = variable(environment, name);
  return value ? std::optional(value->substr(0, value->find(':'))) : std::nullopt;
}

}  // namespace

std::string runtime_directory(const Environment& environment) {
  if (const auto given = given_by_systemd(environment, "RUNTIME_DIRECTORY")) return *given;
  if (const auto base = variable(environment, "XDG_RUNTIME_DIR")) return *base + "/brood";
  return geteuid() == 0 ? "/run/brood" : "/tmp/brood-" + std::to_string(geteuid());
}

std::string state_directory(const Environment& environment) {
  if (const auto given = given_by_systemd(environment, "STATE_DIRECTORY")) return *given;
  if (const auto base = variable(environment, "XDG_STATE_HOME")) return *base + "/brood";
  if (geteuid() == 0) return "/var/lib/brood";
  const auto home = variable(environment, "HOME");
  if (!home)
    throw std::runtime_error("no place for the state directory: STATE_DIRECTORY, XDG_STATE_HOME and HOME are not set");
  return *home + "/.local/state/brood";
}

std::string embedded_socket_path(const Environment& environment) {
  return state_directory(environment) + "/redis.sock";
}

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
    // A deploy has removed the directory.  Absolute paths can still be found.
  }
}

}  // namespace brood::working_directory
