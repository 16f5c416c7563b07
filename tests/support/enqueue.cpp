#include "tests/support/enqueue.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "tests/support/eventually.hpp"

namespace brood {

std::string payload_text(const std::string& job_class, const std::string& args, long number, const std::string& more) {
  char jid[32];
  std::snprintf(jid, sizeof jid, "%024lx", number);
  const auto now = std::chrono::system_clock::now().time_since_epoch() / std::chrono::milliseconds(1);
  const std::string queue = more.find("\"queue\"") == std::string::npos ? R"("queue":"default",)" : "";
  const std::string retry = more.find("\"retry\"") == std::string::npos ? R"("retry":true,)" : "";
  return R"({"class":")" + job_class + R"(","args":)" + args + "," + queue + retry + R"("jid":")" + jid + R"(",)" +
         (more.empty() ? "" : more + ",") + R"("created_at":)" + std::to_string(now) + R"(,"enqueued_at":)" +
         std::to_string(now) + "}";
}

void enqueue(RedisServer& redis, const std::vector<std::string>& payloads, const std::string& queue) {
  redis.command({"SADD", "queues", queue});
  for (std::size_t begin = 0; begin < payloads.size(); begin += 1000) {
    Command push{"LPUSH", "queue:" + queue};
    const std::size_t end = std::min(payloads.size(), begin + 1000);
    for (std::size_t i = begin; i < end; ++i) push.add(payloads[i]);
    redis.integer(push);
  }
}

void enqueue_ledger_jobs(RedisServer& redis, const std::string& path, int count, int milliseconds,
                         const std::string& queue) {
  std::vector<std::string> payloads;
  for (int id = 0; id < count; ++id) {
    payloads.push_back(payload_text(
        "Ledger", "[\"" + path + "\",\"" + std::to_string(id) + "\"," + std::to_string(milliseconds) + "]", id + 1));
  }
  enqueue(redis, payloads, queue);
}

std::size_t jobs_in_flight(RedisServer& redis) {
  std::size_t jobs = 0;
  for (const std::string& key : redis.keys("brood:inflight:*")) {
    if (redis.command({"TYPE", key}).view().text() == "list") jobs += redis.size_of(key);
  }
  return jobs;
}

namespace {

std::size_t count_at_once(RedisServer& redis, const std::string& queue, const std::vector<std::string>& sets) {
  Command count{"EVAL", R"(
    local left = redis.call('LLEN', KEYS[1])
    for i = 2, #KEYS do left = left + redis.call('ZCARD', KEYS[i]) end
    for _, key in ipairs(redis.call('KEYS', 'brood:inflight:*')) do
      if redis.call('TYPE', key).ok == 'list' then left = left + redis.call('LLEN', key) end
    end
    return left)",
                std::to_string(1 + sets.size()), "queue:" + queue};
  for (const std::string& set : sets) count.add(set);
  return static_cast<std::size_t>(redis.integer(count));
}

}  // namespace

std::size_t jobs_left(RedisServer& redis, const std::string& queue) {
  return count_at_once(redis, queue, {"retry", "schedule"});
}

bool no_job_is_left(RedisServer& redis, const std::string& queue, bool but_in_retry) {
  return count_at_once(redis, queue, but_in_retry ? std::vector<std::string>() : std::vector<std::string>{"retry"}) ==
         0;
}

bool load_goes_on(RedisServer& redis, std::size_t by) {
  const std::size_t before = redis.size_of("queue:default");
  return eventually(
      [&] {
        const std::size_t now = redis.size_of("queue:default");
        return now == 0 || now + by < before;
      },
      std::chrono::seconds(20));
}

}  // namespace brood
