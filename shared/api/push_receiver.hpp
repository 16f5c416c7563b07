#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include <brood/push.hpp>

#include "shared/api/push_writer.hpp"

namespace brood {

// Takes what every Client of this process would send, in place of Redis: what <brood/testing.hpp> is made of.  Called
// from any thread, and never while a Client has locked itself: it may use the same one.
class BROOD_API PushReceiver {
 public:
  virtual ~PushReceiver();

  // What it throws comes out of the push.
  virtual void push(std::vector<ClientPush> jobs) = 0;
  // A scheduled job; with its time in epoch seconds, only one of that time.
  virtual bool cancel(std::string_view jid, std::optional<double> time) = 0;
  // Returns when the job was first cancelled.
  virtual std::int64_t cancel_iteration(std::string_view jid, std::int64_t now_epoch_seconds) = 0;
};

// The one that was added last gets the pushes until it is removed, in whatever order.
BROOD_API void add_push_receiver(std::shared_ptr<PushReceiver> receiver);
BROOD_API void remove_push_receiver(const PushReceiver& receiver);

// nullptr: pushes go to Redis, and asking costs one read of memory.
std::shared_ptr<PushReceiver> push_receiver();

}  // namespace brood
