#pragma once

#include <brood/api.hpp>
#include <brood/client.hpp>
#include <string>

#include "shared/api/push/client_shards.hpp"
#include "shared/api/push/known_redis.hpp"
#include "shared/api/push/push_writer.hpp"
#include "shared/redis/connection.hpp"

namespace brood::detail {

// Access for the command line, which has shards from its options and not from a URL.
struct Opening {
  static Client client(const KnownRedis& known);
  static Api api(const KnownRedis& known);
  // How long the Api waits for a Redis that does not answer; before it asks the first.
  static void limit_waits(Api& api, const Connection::Timeouts& timeouts);
  // Returns the jid of the job that holds the lock of this job; empty: none.
  static std::string holder(Client& client, const Push& push) { return client.holder_of(push); }
  // As Client::push() of a job with a jid.  Further calls with that jid within a day push nothing.  With several
  // shards the jid chooses the shard, unless `shard_by` does.
  static std::string push_once(Client& client, Push job);

  // A batch sends its jobs as a push does: by its time, the client's middleware and checks, and its shards.
  static PushWriter writer(Client& client);
  // Returns nullopt if a middleware has stopped the push.
  static std::optional<ClientPush> prepare(Client& client, PushWriter& writer, Push job);
  static ClientShards& shards(Client& client);  // throws RedisError if no address of Redis is known
  static WallTime now(Client& client);
};

}  // namespace brood::detail
