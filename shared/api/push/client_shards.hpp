#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "shared/api/push/known_redis.hpp"
#include "shared/api/push/per_process.hpp"
#include "shared/api/push/push_sender.hpp"

namespace brood {

// The destinations of one Client's pushes: its only Redis, or the shards, of which shard_choice.hpp chooses; drained
// shards get none.  Each shard has a connection and a buffer of its own, so that several threads may push to several
// shards at the same time.
class ClientShards {
 public:
  explicit ClientShards(const KnownRedis& known);
  ~ClientShards();  // tries to push the kept jobs; all shards share the time of one
  ClientShards(const ClientShards&) = delete;
  ClientShards& operator=(const ClientShards&) = delete;

  // Call it before the first push.
  void keep_while_away(const BufferOptions& options);

  // Throws RedisError, whose message has the number of pushed jobs.
  void push(std::vector<ClientPush> jobs, std::size_t batch_size);

  // A job that is pushed once, however often it is sent with its jid; it is not kept while Redis is away.
  void push_once(ClientPush job);

  // The time unit of the oldest Sidekiq release that runs where these jobs will go.  With several shards this is an
  // estimate, since middleware has not seen the jobs yet.
  TimeUnit times_of_fleet(const std::vector<Push>& jobs, std::size_t batch_size);
  // Asks a Redis that answers for its time, unless one was asked a moment ago.
  void ask_time();

  std::size_t buffered() const;
  // Tries once; false when some Redis is away.
  bool drain(std::chrono::milliseconds longest);

  // For jobs that belong together on one shard.  choose(): one that answers, in a job its own.  at(): gives `talk` sole
  // use of that shard's part.
  std::size_t choose();
  std::size_t count() const { return shards_.size(); }
  template <typename Talk>
  auto at(std::size_t shard, Talk talk) {
    return shards_.at(shard)->sender.use(talk);
  }

  // Gives `talk` sole use of each shard's part, of one after the other.  The exception of the first one that is away is
  // thrown at the end.
  template <typename Talk>
  void each(Talk talk) {
    std::exception_ptr trouble;
    for (const auto& shard : shards_) {
      try {
        talk(shard->sender);
      } catch (const RedisError&) {
        if (!trouble) trouble = std::current_exception();
      }
    }
    if (trouble) std::rethrow_exception(trouble);
  }
  // As each(), until one returns true.
  template <typename Ask>
  bool any(Ask ask) {
    bool found = false;
    try {
      each([&](PerProcess<PushSender>& sender) { found = found || ask(sender); });
    } catch (const RedisError&) {
      if (!found) throw;
    }
    return found;
  }

 private:
  struct Shard {
    Shard(ClientShards& shards, const RedisAddress& address, bool is_one_of_several);
    void rest(SteadyTime since);
    std::string name;
    std::atomic<SteadyTime::rep> rests_until{
        0};  // 0: it answered when last asked.  No lock: a fork might leave it locked
    mutable PerProcess<PushSender> sender;
  };

  std::optional<std::size_t> own() const;  // the shard of the job that pushes now, among those that take pushes
  std::vector<std::size_t> order(std::size_t next);  // of those
  std::size_t shard_for(std::string_view key) const;
  void require_takers() const;
  bool answers(Shard& shard);  // false while it rests, too
  void push_to_any(std::vector<ClientPush>& slice, std::size_t batch_size);
  std::optional<std::string> try_one(Shard& shard, std::vector<ClientPush>& slice, std::size_t batch_size);
  void push_to_one(Shard& shard, std::vector<ClientPush> jobs, std::size_t batch_size);

  std::optional<BufferOptions> buffer_;
  std::vector<std::unique_ptr<Shard>> shards_;
  std::vector<Shard*> takers_;      // those that are not drained
  std::vector<std::string> names_;  // theirs
  const std::function<std::string()> own_shard_;
  std::atomic<std::size_t> next_{0};
};

}  // namespace brood
