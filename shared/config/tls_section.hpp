#pragma once

#include "shared/base/paths.hpp"
#include "shared/config/config_section.hpp"
#include "shared/redis/tls_settings.hpp"

namespace brood {

// [redis.tls], [otlp.tls].  Throws ConfigError.
void read_tls(const ConfigSection& section, TlsSettings& tls);

// The settings with their files as paths, where they name credentials: see credential.hpp.
TlsSettings with_paths(TlsSettings settings, const Environment& environment = process_environment);

}  // namespace brood
