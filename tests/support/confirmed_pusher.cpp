#include "tests/support/confirmed_pusher.hpp"

#include <time.h>

#include <utility>
#include <vector>

#include "tests/support/enqueue.hpp"

namespace brood {

ConfirmedPusher::ConfirmedPusher(RedisAddress redis, std::string ledger, bool waits, Pace pace)
    : redis_(std::move(redis), {std::chrono::seconds(2), pace.answer}),
      path_(std::move(ledger)),
      waits_(waits),
      pace_(pace) {
  thread_ = std::thread([this] { push_until_told(); });
}

void ConfirmedPusher::stop() {
  stopping_ = true;
  if (thread_.joinable()) thread_.join();
}

void ConfirmedPusher::push_until_told() {
  for (int first = pace_.first; !stopping_; first += pace_.at_once) {
    try {
      if (push(first)) {
        for (int id = first; id < first + pace_.at_once; ++id) confirmed_.insert(std::to_string(id));
        pushed_ += static_cast<std::size_t>(pace_.at_once);
      }
    } catch (const ConnectionLost&) {
    }
    std::this_thread::sleep_for(pace_.between);
  }
}

bool ConfirmedPusher::push(int first) {
  Command jobs{"LPUSH", RedisKey("queue:default")};
  for (int id = first; id < first + pace_.at_once; ++id) jobs.add(ledger_job(path_, id, pace_.job));
  const std::vector<Reply> replies = redis_.pipeline({{"SADD", RedisKey("queues"), "default"}, jobs});
  if (!replies[1].view().is_integer()) {
    redis_.disconnect();
    return false;
  }
  if (!waits_) return true;
  // A new connection may lead to another server, which has nothing to confirm.
  const std::uint64_t connection = redis_.connections();
  const Reply confirmed = redis_.call({"WAIT", "1", "500"});
  // A server that has just become a replica refuses it.
  return confirmed.view().is_integer() && confirmed.view().integer() >= 1 && redis_.connections() == connection;
}

std::string ledger_job(const std::string& path, int id, int milliseconds) {
  return payload_text("Ledger",
                      "[\"" + path + "\",\"" + std::to_string(id) + "\"," + std::to_string(milliseconds) + "]", id + 1);
}

std::int64_t ledger_now() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

}  // namespace brood
