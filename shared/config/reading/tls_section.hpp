#pragma once

#include "shared/config/reading/config_section.hpp"
#include "shared/redis/tls_settings.hpp"

namespace brood {

// [redis.tls], [otlp.tls].  Throws ConfigError.
void read_tls(const ConfigSection& section, TlsSettings& tls);

}  // namespace brood
