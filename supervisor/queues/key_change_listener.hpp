#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "shared/base/clock.hpp"
#include "shared/redis/async_connection.hpp"
#include "supervisor/process/event_loop.hpp"

namespace brood {

// Learns at once when one of a few keys changes (client-side caching).
//
// Redis remembers that one connection has read a key, and reports the first change of the key to another, subscribed
// connection.  So a changed key is read again, but at most once in 10 ms.  If Redis refuses any of this, that is logged
// once and tried again later.
class KeyChangeListener {
 public:
  // The function to call for each key when it may have changed.
  using Keys = std::map<std::string, std::function<void()>, std::less<>>;

  // Uses connections of its own, to the address that `redis` is connected to.  Calls `hears` with true when reports
  // begin, and then treats each key as changed; with false when reports end and the caller must poll.
  KeyChangeListener(EventLoop& loop, AsyncConnection& redis, Keys keys, std::function<void(bool)> hears,
                    std::chrono::nanoseconds between_attempts = std::chrono::minutes(1));
  ~KeyChangeListener();
  KeyChangeListener(const KeyChangeListener&) = delete;
  KeyChangeListener& operator=(const KeyChangeListener&) = delete;

  // Call this to begin, and again whenever Redis is back, perhaps at another address.
  void listen();

  // Ends the reports and closes its connections.
  void stop();

  bool hears() const { return hears_; }

  // While reports come: Redis also reports the first change of each key that is read on this connection.
  AsyncConnection& reader() { return *reader_; }
  // `others` is called with the changed keys, without a prefix, that are not among `keys`; with an empty list if any
  // may have changed.
  void hear_of_others(std::function<void(const std::vector<std::string>& names)> others) {
    others_ = std::move(others);
  }

 private:
  void subscribe();
  void track();
  void note(ReplyView changed);
  void read_when_allowed();
  void read();
  void tell(const std::set<std::string>& keys);
  void begin_to_hear();
  void end_hearing();
  void give_up_for_a_while(const std::string& why);
  std::set<std::string> all_keys() const;

  EventLoop& loop_;
  AsyncConnection& redis_;
  const Keys keys_;
  const std::function<void(bool)> told_;
  std::function<void(const std::vector<std::string>&)> others_;
  const std::chrono::nanoseconds between_attempts_;

  std::unique_ptr<AsyncConnection> listener_, reader_;
  std::optional<std::string> listener_id_;  // once it is subscribed
  bool hears_ = false, reading_ = false;
  std::set<std::string> changed_;  // not read since
  SteadyTime last_read_{};
  Timer next_read_, listen_again_;
  bool said_refused_ = false;
};

}  // namespace brood
