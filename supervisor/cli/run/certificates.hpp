#pragma once

#include <memory>
#include <vector>

#include "shared/config/config.hpp"
#include "shared/redis/address.hpp"
#include "shared/redis/tls_certificates.hpp"

namespace brood {

// Reads the files that a connection to Redis needs, once for all users of this configuration: the files of passwords,
// and those of [redis.tls] if a shard uses TLS.  Tries the files of [otlp.tls] and the secrets of [on_error], which
// children of the supervisor use.  Adds a warning if a server's certificate is not verified.  Throws ConfigError.
void read_credentials(Config& config);

// The addresses of the shards for the supervisor's own connections.  These outlive a configuration, so they share
// certificates that are replaced by those of the present configuration.
class OwnConnections {
 public:
  // All shards of these settings, including empty places.  The first settings with TLS bring the certificates.
  std::vector<RedisAddress> addresses(const RedisSettings& settings);
  void follow(const RedisSettings& settings);

 private:
  std::shared_ptr<TlsCertificates> certificates_;  // null: no TLS
};

// Without empty places.
std::vector<RedisAddress> those_there(std::vector<RedisAddress> shards);

}  // namespace brood
