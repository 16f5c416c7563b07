#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "shared/redis/address.hpp"
#include "shared/redis/async_connection.hpp"
#include "shared/redis/find_server.hpp"
#include "supervisor/process/event_loop.hpp"

namespace brood {

// Hears from some sentinels that they have made another server the master.  What they say is only a reason to look: it
// is not believed.
class SentinelWatch {
 public:
  // `look` is called when a sentinel says so, and when a sentinel is heard again that was not heard for a while.
  SentinelWatch(EventLoop& loop, std::function<void()> look);
  ~SentinelWatch();

  // Listens to these sentinels of `address`; those that it hears already stay.
  void listen(const RedisAddress& address, const std::vector<Teller>& sentinels);
  void stop();
  bool hears() const;  // at least one

 private:
  struct Listener;
  void subscribe(Listener& listener);
  void look_whether_they_live();

  EventLoop& loop_;
  std::function<void()> look_;
  std::vector<std::unique_ptr<Listener>> listeners_;
  Timer next_ping_;
};

}  // namespace brood
