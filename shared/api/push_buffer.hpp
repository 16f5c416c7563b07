#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include <brood/client.hpp>

#include "shared/api/client_connection.hpp"
#include "shared/api/push_writer.hpp"
#include "shared/base/clock.hpp"

namespace brood {

// Pushes that wait for Redis to come back, in order.  All go in numbered batches of one destination each; a batch whose
// reply is missing is sent again as it was, before any other.
class PushBuffer {
 public:
  explicit PushBuffer(const BufferOptions& options);

  void set(const BufferOptions& options) { options_ = options; }
  std::size_t size() const { return waiting_.size() + refused_.size(); }

  // Pushes what waits, then these, or keeps them while Redis is away.  Throws BufferFull when there is no room for all
  // of them, and RedisError when Redis refuses them for good: then they are not kept.
  void push(ClientConnection& redis, std::vector<ClientPush> jobs);

  // Tries now to push all that is kept; false: Redis is away.  Throws RedisError when some was refused for good: it is
  // kept, and everything else pushed.
  bool drain(ClientConnection& redis);

  // Forgets a job that waits; false: there is none, or it may be in Redis already.
  bool take_back(std::string_view jid);
  void forget_all();

 private:
  enum class Sent {
    pushed,
    away,      // Redis is, or cannot write now: later it will
    refused,   // this batch
    shut_out,  // by a password or a right that is missing
  };
  Sent send_first_batch(ClientConnection& redis);
  std::size_t first_batch() const;
  void drop_first_batch();
  void set_first_batch_aside();
  bool push_waiting(ClientConnection& redis);
  [[noreturn]] void refuse_waiting(std::size_t all, std::size_t pushed);
  void keep(std::vector<ClientPush>& jobs, std::size_t from, std::size_t done);

  BufferOptions options_;
  std::string client_;
  std::uint64_t number_ = 1;  // of the next batch
  std::size_t in_doubt_ = 0;  // so many of the first are the batch of this number, which was sent
  std::deque<ClientPush> waiting_, refused_;
  std::string refusal_;  // what Redis said last when it refused some
  SteadyTime rests_until_{};
};

}  // namespace brood
