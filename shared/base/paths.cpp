#include "shared/base/paths.hpp"

#include <unistd.h>

#include <optional>
#include <stdexcept>

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

}  // namespace brood
