#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include <brood/client.hpp>

#include "shared/api/push/client_connection.hpp"
#include "shared/api/push/push_writer.hpp"
#include "shared/base/clock.hpp"

namespace brood {

// Pushes that wait for Redis to come back, in order.  They go out in numbered batches, each for one destination.  A
// batch whose reply is missing is sent again unchanged, before any other.
class PushBuffer {
 public:
  explicit PushBuffer(const BufferOptions& options);

  void set(const BufferOptions& options) { options_ = options; }
  std::size_t size() const { return waiting_.size() + refused_.size(); }

  // Pushes what waits, then these, or keeps them while Redis is away.  Throws BufferFull when there is no room for all
  // of them, and RedisError when Redis refuses them for good: then they are not kept.
  void push(ClientConnection& redis, std::vector<ClientPush> jobs);

  // The same if another shard may take them: if Redis takes no push now and has none of them, returns the reason, and
  // leaves them in `jobs`.
  std::optional<std::string> push_unless_away(ClientConnection& redis, std::vector<ClientPush>& jobs);

  // Tries once to push all that is kept; false when Redis is away.  Throws RedisError when Redis refused some of it for
  // good: that stays kept, and everything else is pushed.
  bool drain(ClientConnection& redis);

  // Forgets a waiting job; false when there is none, or when Redis may have it already.
  bool take_back(std::string_view jid);

 private:
  enum class Sent {
    pushed,
    away,      // Redis is away or cannot write now: try later
    refused,   // this batch
    shut_out,  // a password or a right is missing
  };
  Sent send_first_batch(ClientConnection& redis);
  std::size_t first_batch() const;
  ScriptCall first_batch_call() const;
  void drop_first_batch();
  void set_first_batch_aside();
  bool push_waiting(ClientConnection& redis);
  enum class Otherwise { keep, give_back };
  bool push_or(Otherwise otherwise, ClientConnection& redis, std::vector<ClientPush>& jobs);
  [[noreturn]] void refuse_waiting(std::size_t all, std::size_t pushed);
  void keep(std::vector<ClientPush>& jobs, std::size_t from, std::size_t done);

  BufferOptions options_;
  std::string client_;
  std::uint64_t number_ = 1;    // of the next batch
  std::size_t in_doubt_ = 0;    // how many of the first jobs are in that batch, once it was sent
  bool perhaps_there_ = false;  // Redis may have that batch: its reply was lost
  std::deque<ClientPush> waiting_, refused_;
  std::string refusal_;  // Redis' last refusal of some
  SteadyTime rests_until_{};
};

}  // namespace brood
