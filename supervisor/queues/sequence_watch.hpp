#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>

#include "shared/base/clock.hpp"
#include "shared/redis/async_connection.hpp"
#include "supervisor/process/event_loop.hpp"

namespace brood {

// Passes on sequences whose holder is gone: Sidekiq's Web UI deletes and kills jobs without notifying brood.
//
// One supervisor of all that serve this Redis looks once a minute.  It looks only at sequences that jobs wait for and
// that have had the same holder for that long.  A holder is gone if two looks in a row find it neither in flight nor in
// a queue or set.  A look searches page by page, and first where holders usually are.
//
// Jobs may also wait for a sequence without a holder, if a field of brood:sequences was deleted.  One supervisor looks
// for these every ten minutes, over all keys, page by page.  Such a sequence is passed on if two looks find no job of
// it elsewhere.
class SequenceWatch {
 public:
  struct Pace {
    std::chrono::nanoseconds between_looks = std::chrono::seconds(60);
    std::chrono::nanoseconds between_pages = std::chrono::milliseconds(10);
    std::chrono::nanoseconds held_for = std::chrono::seconds(60);          // before a holder is looked for
    std::chrono::nanoseconds between_searches = std::chrono::minutes(10);  // for sequences without a holder
  };
  SequenceWatch(EventLoop& loop, AsyncConnection& redis, std::string identity, Pace pace);
  SequenceWatch(EventLoop& loop, AsyncConnection& redis, std::string identity)
      : SequenceWatch(loop, redis, std::move(identity), Pace()) {}
  ~SequenceWatch();
  SequenceWatch(const SequenceWatch&) = delete;
  SequenceWatch& operator=(const SequenceWatch&) = delete;

  void start();  // Redis is usable
  void stop();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace brood
