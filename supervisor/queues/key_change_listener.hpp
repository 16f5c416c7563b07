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

// Hears at once when somebody changes one of a few keys.  Redis remembers that one connection has read a key, and at
// the first change after that tells another connection, which is subscribed to such news.  So a key that has changed is
// read again, but no more than once in 10 ms.  Where Redis refuses any of this, that is logged once, and tried again
// later.
class KeyChangeListener {
 public:
  // What is to be done when a key may have changed.
  using Keys = std::map<std::string, std::function<void()>, std::less<>>;

  // Uses connections of its own, to the address that `redis` is connected to.  `hears` is called with true when changes
  // begin to be heard, whereupon each key counts as changed; and with false when they are no longer heard, and somebody
  // else must look.
  KeyChangeListener(EventLoop& loop, AsyncConnection& redis, Keys keys, std::function<void(bool)> hears,
                    std::chrono::nanoseconds between_attempts = std::chrono::minutes(1));
  ~KeyChangeListener();
  KeyChangeListener(const KeyChangeListener&) = delete;
  KeyChangeListener& operator=(const KeyChangeListener&) = delete;

  // Call this to begin, and again whenever Redis is back, perhaps elsewhere.
  void listen();

  // Hears no more, and closes its connections.
  void stop();

  bool hears() const { return hears_; }

  // While it hears: what is read on this connection is remembered by Redis too, until it changes for the first time.
  AsyncConnection& reader() { return *reader_; }
  // Called with the keys, without a prefix, that have changed and are none of `keys`; with none at all when any may
  // have.
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
  std::set<std::string> changed_;  // and not read since
  SteadyTime last_read_{};
  Timer next_read_, listen_again_;
  bool said_refused_ = false;
};

}  // namespace brood
