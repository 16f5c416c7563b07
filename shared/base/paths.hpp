#pragma once

#include <sys/types.h>

#include <cstdlib>
#include <functional>
#include <string>

namespace brood {

// Reads an environment variable: std::getenv, or a function of a test.  Null: not set.
using Environment = std::function<const char*(const char* name)>;
inline const char* process_environment(const char* name) { return std::getenv(name); }

// The directory for scoreboards and control sockets: $RUNTIME_DIRECTORY, else $XDG_RUNTIME_DIR/brood, else /run/brood
// (root) or /tmp/brood-<uid>.  These functions name directories and make none.
std::string runtime_directory(const Environment& environment = process_environment);

// The directory for files that outlive a reboot: $STATE_DIRECTORY, else $XDG_STATE_HOME/brood, else /var/lib/brood
// (root) or ~/.local/state/brood.  Throws std::runtime_error when HOME is needed and not set.
std::string state_directory(const Environment& environment = process_environment);

// The socket of the embedded redis-server: the same for all programs of one user.
std::string embedded_socket_path(const Environment& environment = process_environment);

// The configuration of the whole machine, which programs without a --config option read when it is there.
inline constexpr const char* system_config_path = "/etc/brood/brood.toml";

// The part of an absolute or relative `path` that `user` may change, so that another file is found there: the file
// itself or a directory above it that the user owns, or that is open to this process for writing.  Empty if there is
// none, or no such file.  A mount that is read-only here cannot be changed.
std::string changeable_part_of(const std::string& path, uid_t user);

// The directory in which this program was started, by the name that the shell had for it: $PWD, if that led there.  A
// deploy may let that name lead elsewhere later, to another release.
namespace working_directory {

// Call it at the beginning of a program.
void remember();

// Empty if remember() was not called, or there was none.
const std::string& name();

// `path` seen from that directory, whether or not it exists.  If the directory is not known, a relative path stays
// relative.
std::string absolute(const std::string& path);

// Changes into the directory that the name leads to now.  If there is none, the process stays where it is.
void enter();

}  // namespace working_directory

}  // namespace brood
