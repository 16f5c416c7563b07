#include "supervisor/watch/redis_sampler.hpp"

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

// Also owned by the thread, which may outlive the sampler.
struct RedisSampler::Shared {
  Locate locate;
  std::chrono::milliseconds interval;
  UniqueFd news, still_wanted, wanted;  // `still_wanted` ends when `wanted` is closed

  std::mutex mutex;
  std::condition_variable changed;
  std::optional<RedisLook> look;
  bool told_to_stop = false, stopped = false;
};

namespace {

constexpr auto longest_stop = 300ms;

// The state of one shard from look to look.
struct Conversation {
  std::string shard;
  std::unique_ptr<Connection> redis;
  std::string crash_mark;
  std::vector<Crash> crashes;
  std::string error = {};    // why it does not answer
  RedisStatus counted = {};  // its last counters: sums must not fall while it is away
  SteadyTime rests_until{};  // not asked before this: a shard that is away holds up the others only now and then
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

std::vector<Conversation> begin_conversations(const RedisSampler::Locate& locate, int still_wanted) {
  std::vector<Conversation> all;
  for (RedisAddress& address : locate()) {
    std::string shard = address.shard;
    auto redis = std::make_unique<Connection>(std::move(address), Connection::Timeouts{.connect = 3s, .command = 3s},
                                              "brood-status-watch");
    redis->give_up_on_eof_of(still_wanted);
    all.push_back({std::move(shard), std::move(redis), "", {}});
  }
  return all;
}

RedisStatus status_of(Conversation& conversation) {
  RedisStatus status = ask_redis_without_crashes(*conversation.redis);
  status.crashes = crashes_of(conversation);
  if (conversation.shard.empty()) return status;
  for (ProcessStatus& process : status.processes) process.shards = {conversation.shard};
  return status;
}

// Adds the shards up; those that do not answer with their last counters.  Throws if none answers.
RedisStatus sum_of_shards(std::vector<Conversation>& conversations, RedisLook& look) {
  std::vector<RedisStatus> answers, away;
  for (Conversation& one : conversations) {
    const SteadyTime began = steady_now();
    try {
      if (began >= one.rests_until) {
        answers.push_back(status_of(one));
        one.counted.processed = answers.back().processed;
        one.counted.failed = answers.back().failed;
        one.error.clear();
      }
    } catch (const std::exception& error) {
      one.error = error.what();
      one.crash_mark.clear();
      one.redis->disconnect();
      one.rests_until = steady_now() + 9 * (steady_now() - began);
    }
    if (one.error.empty()) continue;
    look.away += (look.away.empty() ? "" : ", ") + one.shard;
    away.push_back(one.counted);
  }
  if (answers.empty())
    throw ConnectionLost("shard " + conversations.front().shard + ": " + conversations.front().error);
  answers.insert(answers.end(), away.begin(), away.end());
  return sum_of(answers);
}

RedisLook look_at(std::vector<Conversation>& conversations, const RedisSampler::Locate& locate, int still_wanted) {
  RedisLook look;
  try {
    if (conversations.empty()) conversations = begin_conversations(locate, still_wanted);
    const SteadyTime began = steady_now();
    look.status = conversations.size() == 1 ? status_of(conversations.front()) : sum_of_shards(conversations, look);
    look.took = std::chrono::duration_cast<std::chrono::microseconds>(steady_now() - began);
  } catch (const std::exception& error) {
    look.error = error.what();
    conversations.clear();
  }
  look.at = steady_now();
  look.wall = wall_now();
  return look;
}

}  // namespace

RedisSampler::RedisSampler(Locate locate, std::chrono::milliseconds interval) : shared_(std::make_shared<Shared>()) {
  shared_->locate = std::move(locate);
  shared_->interval = interval;
  shared_->news.reset(check("eventfd", eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)));
  std::array<int, 2> ends{};
  check("pipe2", pipe2(ends.data(), O_CLOEXEC));
  shared_->still_wanted.reset(ends[0]);
  shared_->wanted.reset(ends[1]);
  std::thread([shared = shared_] {
    std::vector<Conversation> conversations;
    for (;;) {
      RedisLook look = look_at(conversations, shared->locate, shared->still_wanted.get());
      const auto rest = std::max<std::chrono::microseconds>(shared->interval, 9 * look.took);
      std::unique_lock lock(shared->mutex);
      shared->look = std::move(look);
      eventfd_write(shared->news.get(), 1);
      if (shared->changed.wait_for(lock, rest, [&] { return shared->told_to_stop; })) break;
    }
    conversations.clear();
    const std::lock_guard lock(shared->mutex);
    shared->stopped = true;
    shared->changed.notify_all();
  }).detach();
}

RedisSampler::~RedisSampler() { stop(); }

int RedisSampler::fd() const { return shared_->news.get(); }

std::optional<RedisLook> RedisSampler::take() {
  const std::lock_guard lock(shared_->mutex);
  eventfd_t count = 0;
  eventfd_read(shared_->news.get(), &count);
  return std::exchange(shared_->look, std::nullopt);
}

bool RedisSampler::stop() {
  std::unique_lock lock(shared_->mutex);
  shared_->told_to_stop = true;
  shared_->wanted.reset();
  shared_->changed.notify_all();
  return shared_->changed.wait_for(lock, longest_stop, [&] { return shared_->stopped; });
}

}  // namespace brood::watch
