#include "supervisor/cli/watch/redis_eye.hpp"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

#include "shared/base/check.hpp"
#include "shared/base/unique_fd.hpp"
#include "shared/store/in_flight/crash_book.hpp"

namespace brood::watch {

using namespace std::chrono_literals;

// The thread keeps it too: it may outlive the eye.
struct RedisEye::Shared {
  std::function<RedisAddress()> locate;
  std::chrono::milliseconds interval;
  UniqueFd news, still_wanted, wanted;  // `still_wanted` comes to its end when `wanted` is closed

  std::mutex mutex;
  std::condition_variable changed;
  std::optional<RedisLook> look;
  bool told_to_stop = false, stopped = false;
};

namespace {

constexpr auto longest_stop = 300ms;

// What one conversation after the other remembers.
struct Conversation {
  std::unique_ptr<Connection> redis;
  std::string crash_mark;
  std::vector<Crash> crashes;
};

std::vector<Crash> crashes_of(Conversation& conversation) {
  try {
    const std::string mark = latest_crash_mark(*conversation.redis);
    if (mark != conversation.crash_mark) {
      conversation.crashes = ask_crashes(*conversation.redis);
      conversation.crash_mark = mark;
    }
  } catch (const UnexpectedReply&) {
    conversation.crashes.clear();
  }
  return conversation.crashes;
}

RedisLook look_at(Conversation& conversation, const std::function<RedisAddress()>& locate, int still_wanted) {
  RedisLook look;
  try {
    if (!conversation.redis) {
      conversation.redis = std::make_unique<Connection>(locate(), Connection::Timeouts{.connect = 3s, .command = 3s},
                                                        "brood-status-watch");
      conversation.redis->give_up_on_eof_of(still_wanted);
    }
    const SteadyTime began = steady_now();
    RedisStatus status = ask_redis_without_crashes(*conversation.redis);
    status.crashes = crashes_of(conversation);
    look.status = std::move(status);
    look.took = std::chrono::duration_cast<std::chrono::microseconds>(steady_now() - began);
  } catch (const std::exception& error) {
    look.error = error.what();
    conversation = {};
  }
  look.at = steady_now();
  look.wall = wall_now();
  return look;
}

}  // namespace

RedisEye::RedisEye(std::function<RedisAddress()> locate, std::chrono::milliseconds interval)
    : shared_(std::make_shared<Shared>()) {
  shared_->locate = std::move(locate);
  shared_->interval = interval;
  shared_->news.reset(check("eventfd", eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)));
  std::array<int, 2> ends{};
  check("pipe2", pipe2(ends.data(), O_CLOEXEC));
  shared_->still_wanted.reset(ends[0]);
  shared_->wanted.reset(ends[1]);
  std::thread([shared = shared_] {
    Conversation conversation;
    for (;;) {
      RedisLook look = look_at(conversation, shared->locate, shared->still_wanted.get());
      const auto rest = std::max<std::chrono::microseconds>(shared->interval, 9 * look.took);
      std::unique_lock lock(shared->mutex);
      shared->look = std::move(look);
      eventfd_write(shared->news.get(), 1);
      if (shared->changed.wait_for(lock, rest, [&] { return shared->told_to_stop; })) break;
    }
    conversation = {};
    const std::lock_guard lock(shared->mutex);
    shared->stopped = true;
    shared->changed.notify_all();
  }).detach();
}

RedisEye::~RedisEye() { stop(); }

int RedisEye::fd() const { return shared_->news.get(); }

std::optional<RedisLook> RedisEye::take() {
  const std::lock_guard lock(shared_->mutex);
  eventfd_t count = 0;
  eventfd_read(shared_->news.get(), &count);
  return std::exchange(shared_->look, std::nullopt);
}

bool RedisEye::stop() {
  std::unique_lock lock(shared_->mutex);
  shared_->told_to_stop = true;
  shared_->wanted.reset();
  shared_->changed.notify_all();
  return shared_->changed.wait_for(lock, longest_stop, [&] { return shared_->stopped; });
}

}  // namespace brood::watch
