#pragma once

#include <brood/api.hpp>
#include <brood/client.hpp>
#include <string>

#include "shared/api/known_redis.hpp"

namespace brood::detail {

// How the command line opens what no URL can tell: the shards that its options mean.
struct Opening {
  static Client client(const KnownRedis& known);
  static Api api(const KnownRedis& known);
  // Who holds the lock of this job; empty: nobody.
  static std::string holder(Client& client, const Push& push) { return client.holder_of(push); }
};

}  // namespace brood::detail
