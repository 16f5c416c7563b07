#include "supervisor/cli/run/certificates.hpp"

#include <algorithm>
#include <string>

#include "shared/config/password_files.hpp"
#include "shared/config/redis_location.hpp"
#include "shared/errors/error_services.hpp"

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

bool verifies_nothing(const TlsSettings& tls) { return tls.verify.kind == TlsVerify::Kind::none; }

void warn_of_unverified(Config& config) {
  constexpr const char* risk =
      " verify = \"none\" accepts any server: an attacker who redirects the connection can read and change everything";
  const bool is_redis = !uses_embedded_redis(config.redis) &&
                        std::ranges::any_of(locate_shards(config.redis), [](const RedisAddress& shard) {
                          return shard.tls && verifies_nothing(*shard.tls);
                        });
  if (is_redis) config.warnings.push_back(std::string("[redis.tls]") + risk);
  if (config.otlp.tls && verifies_nothing(*config.otlp.tls))
    config.warnings.push_back(std::string("[otlp.tls]") + risk);
  if (config.errors.tls && verifies_nothing(*config.errors.tls))
    config.warnings.push_back(std::string("[on_error.tls]") + risk);
}

void try_error_services(const Config& config) {
  const ErrorServices services = read_error_services(config.errors);
  for (const ErrorSink sink : sinks_of(config)) {
    if (uses_tls(config, services, sink)) TlsCertificates(with_paths(config.errors.tls.value_or(TlsSettings{})));
  }
}

}  // namespace

void read_credentials(Config& config) try {
  config.redis.certificates = certificates_for(config.redis);
  remember_shards(config.redis);
  warn_of_unverified(config);
  try_certificates(config.otlp);
  try_error_services(config);
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
