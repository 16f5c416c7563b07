#include "supervisor/cli/run/certificates.hpp"

#include "shared/config/password_files.hpp"
#include "shared/config/redis_location.hpp"

namespace brood {
namespace {

std::shared_ptr<TlsCertificates> certificates_for(const RedisSettings& settings) {
  if (uses_embedded_redis(settings)) return nullptr;
  for (const RedisAddress& shard : locate_shards(settings)) {
    if (shard.tls) return std::make_shared<TlsCertificates>(*shard.tls);
  }
  return nullptr;
}

void try_certificates(const OtlpSettings& otlp) {
  if (otlp.endpoint.starts_with("https:")) TlsCertificates(with_paths(otlp.tls.value_or(TlsSettings{})));
}

}  // namespace

void read_credentials(Config& config) try {
  config.redis.certificates = certificates_for(config.redis);
  remember_shards(config.redis);
  try_certificates(config.otlp);
} catch (const TlsError& error) {
  throw ConfigError(error.what());
} catch (const AddressError& error) {
  throw ConfigError(error.what());
}

std::vector<RedisAddress> OwnConnections::addresses(const RedisSettings& settings) {
  std::vector<RedisAddress> shards = locate_shards(settings);
  if (!settings.certificates) return shards;
  if (!certificates_) certificates_ = std::make_shared<TlsCertificates>(*settings.certificates);
  for (RedisAddress& shard : shards) shard.certificates = certificates_;
  return shards;
}

void OwnConnections::follow(const RedisSettings& settings) {
  if (certificates_ && settings.certificates) certificates_->follow(*settings.certificates);
}

std::vector<RedisAddress> those_there(std::vector<RedisAddress> shards) {
  std::erase_if(shards, [](const RedisAddress& shard) { return shard.is_empty_place; });
  return shards;
}

}  // namespace brood
