#pragma once

#include <cstdlib>
#include <functional>
#include <string>

namespace brood {

// Where environment variables are read: std::getenv, or a test's invention.  Null: not set.
using Environment = std::function<const char*(const char* name)>;
inline const char* process_environment(const char* name) { return std::getenv(name); }

// For scoreboards and control sockets: $RUNTIME_DIRECTORY, else $XDG_RUNTIME_DIR/brood, else /run/brood (root) or
// /tmp/brood-<uid>.  These functions name directories and make none.
std::string runtime_directory(const Environment& environment = process_environment);

// For what outlives a reboot: $STATE_DIRECTORY, else $XDG_STATE_HOME/brood, else /var/lib/brood (root) or
// ~/.local/state/brood.  Throws std::runtime_error when HOME is needed and not set.
std::string state_directory(const Environment& environment = process_environment);

// Where the embedded redis-server listens: every program of one user finds the same.
std::string embedded_socket_path(const Environment& environment = process_environment);

// The configuration of the whole machine, which programs without a --config option read when it is there.
inline constexpr const char* system_config_path = "/etc/brood/brood.toml";

}  // namespace brood
