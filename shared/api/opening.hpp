#pragma once

#include <brood/api.hpp>
#include <brood/client.hpp>
#include <string>

#include "shared/api/push/known_redis.hpp"
#include "shared/redis/connection.hpp"

namespace brood::detail {

// How the command line opens what no URL can tell: the shards that its options mean.
struct Opening {
  static Client client(const KnownRedis& known);
  static Api api(const KnownRedis& known);
  // How long the Api waits for a Redis that does not answer; before it asks the first.
  static void limit_waits(Api& api, const Connection::Timeouts& timeouts);
  // Who holds the lock of this job; empty: nobody.
  static std::string holder(Client& client, const Push& push) { return client.holder_of(push); }
  // As Client::push() of a job with a jid, but however often it is called with that jid, for a day: the job is pushed
  // once.  Where there are several shards, the jid says which one has it, unless `shard_by` does.
  static std::string push_once(Client& client, Push job);
};

}  // namespace brood::detail
