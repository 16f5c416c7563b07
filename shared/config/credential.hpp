#pragma once

#include <string>

#include "shared/base/paths.hpp"
#include "shared/redis/tls_settings.hpp"

namespace brood {

// The file that a setting means: itself, or for "credential:redis" the file `redis` of the credentials that systemd has
// passed to this service ($CREDENTIALS_DIRECTORY).  In a program that is no service, such as `brood status`, those of
// brood.service.
std::string credential_path(const std::string& path, const Environment& environment = process_environment);

// The same for the files of these.
TlsSettings with_paths(TlsSettings settings, const Environment& environment = process_environment);

inline bool names_credential(const std::string& path) { return path.starts_with("credential:"); }

}  // namespace brood
