#pragma once

#include <memory>
#include <vector>

#include "shared/config/config.hpp"
#include "shared/redis/address.hpp"
#include "shared/redis/tls_certificates.hpp"

namespace brood {

// Reads the files that say how to speak with Redis, once for all that goes by this configuration: those with passwords,
// and those of [redis.tls], if TLS is spoken with some shard.  Tries those of [otlp.tls], which a child of the
// supervisor uses.  Throws ConfigError.
void read_credentials(Config& config);

// Where the shards are for the supervisor's own connections.  They outlive a configuration, so they share certificates
// that follow those of the configuration that holds.
class OwnConnections {
 public:
  // All shards of these settings, also the empty places.  The first settings that speak TLS bring the certificates.
  std::vector<RedisAddress> addresses(const RedisSettings& settings);
  void follow(const RedisSettings& settings);

 private:
  std::shared_ptr<TlsCertificates> certificates_;  // none: no TLS
};

// Without the empty places.
std::vector<RedisAddress> those_there(std::vector<RedisAddress> shards);

}  // namespace brood
