#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "shared/redis/address.hpp"
#include "shared/redis/async_connection.hpp"
#include "shared/redis/find_server.hpp"
#include "supervisor/process/event_loop.hpp"

namespace brood {

// Receives messages of some sentinels that another server is the master.  A message is not trusted: it is only a reason
// to search.
class SentinelWatch {
 public:
  // `look` is called at each such message, and when a sentinel is connected again after a while.
  SentinelWatch(EventLoop& loop, std::function<void()> look);
  ~SentinelWatch();

  // Listens to these sentinels of `address`; existing connections to them stay.
  void listen(const RedisAddress& address, const std::vector<Teller>& sentinels);
  void stop();
  bool hears() const;  // Whether at least one sentinel is connected.

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
