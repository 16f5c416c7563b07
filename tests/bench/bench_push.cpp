// What brood::Client costs beside the least that a push must: plain hiredis, SADD and LPUSH in one pipeline, payloads
// by snprintf.  Both take turns on one Redis, so that whatever else the machine does meets both.

#include <hiredis/hiredis.h>

#include <algorithm>
#include <brood/client.hpp>
#include <chrono>
#include <cstdio>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "supervisor/cli/bench/quantile.hpp"
#include "tests/bench/bench_main.hpp"
#include "tests/support/redis_server.hpp"

using namespace brood;

namespace {

struct Noop {
  long number = 0;
  static constexpr std::string_view job_class = "BroodBench::Noop";
  void perform() {}
};

class Floor {
 public:
  explicit Floor(const std::string& socket) : redis_(redisConnectUnix(socket.c_str())) {
    if (redis_ == nullptr || redis_->err != 0) throw std::runtime_error("no connection");
  }
  ~Floor() { redisFree(redis_); }
  Floor(const Floor&) = delete;
  Floor& operator=(const Floor&) = delete;

  void push(long first, long count) {
    payloads_.clear();
    words_ = {"LPUSH", "queue:default"};
    lengths_ = {5, 13};
    const auto now = std::chrono::system_clock::now().time_since_epoch() / std::chrono::milliseconds(1);
    for (long i = first; i < first + count; ++i) {
      char text[320];
      std::snprintf(text, sizeof text,
                    R"({"retry":true,"queue":"default","class":"BroodBench::Noop","args":[%ld],"jid":"%024lx",)"
                    R"("created_at":%ld,"enqueued_at":%ld})",
                    i, i + 1, now, now);
      payloads_.emplace_back(text);
    }
    for (const std::string& payload : payloads_) {
      words_.push_back(payload.data());
      lengths_.push_back(payload.size());
    }
    redisAppendCommand(redis_, "SADD queues default");
    redisAppendCommandArgv(redis_, static_cast<int>(words_.size()), words_.data(), lengths_.data());
    for (int i = 0; i < 2; ++i) {
      void* reply = nullptr;
      if (redisGetReply(redis_, &reply) != REDIS_OK || static_cast<redisReply*>(reply)->type == REDIS_REPLY_ERROR)
        throw std::runtime_error("a push failed");
      freeReplyObject(reply);
    }
  }

 private:
  redisContext* redis_;
  std::vector<std::string> payloads_;
  std::vector<const char*> words_;
  std::vector<std::size_t> lengths_;
};

void push_by_client(Client& client, long first, long count) {
  if (count == 1) {
    client.enqueue(Noop{first});
    return;
  }
  std::vector<Noop> jobs(static_cast<std::size_t>(count));
  for (long i = 0; i < count; ++i) jobs[static_cast<std::size_t>(i)].number = first + i;
  client.enqueue_bulk(jobs);
}

double seconds_of(const std::function<void()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

double median(const std::vector<double>& values) { return quantile(values, 0.5); }

}  // namespace

// One JSON object for each batch size.
int main(int argc, char** argv) {
  return bench_main(argc, argv, [](const std::vector<std::string>& words) {
    CommandLine line("Pushes no-op jobs by plain hiredis and by brood::Client in turn", "bench_push");
    int turns = 100;
    double milliseconds = 20;
    std::vector<std::string> sizes;
    line.number("--turns", turns, "Of each of the two", 1, 100'000);
    line.number("--turn-ms", milliseconds, "About how long one takes", 0.001, 60'000.0);
    line.option("--batch", sizes, "N", "Jobs a command, repeatable (default: 1, 100 and 1000)");
    refuse_arguments(line.parse(words));
    if (sizes.empty()) sizes = {"1", "100", "1000"};
    std::vector<long> batches;
    for (const std::string& size : sizes) batches.push_back(std::stol(size));

    RedisServer redis;
    Floor floor(redis.socket_path());
    Client plain{redis.url()}, buffered{redis.url()};
    buffered.buffer();
    for (const long batch : batches) {
      const std::vector<std::function<void(long)>> ways = {
          [&](long first) { floor.push(first, batch); },
          [&](long first) { push_by_client(plain, first, batch); },
          [&](long first) { push_by_client(buffered, first, batch); },
      };
      const double once = seconds_of([&] {
        for (int i = 0; i < 20; ++i) floor.push(i, batch);
      });
      const long repeats = std::max(1L, static_cast<long>(milliseconds / 1000 / (once / 20)));
      std::vector<std::vector<double>> rates(ways.size());
      for (long turn = 0; turn < turns; ++turn) {
        for (std::size_t way = 0; way < ways.size(); ++way) {
          const double took = seconds_of([&] {
            for (long i = 0; i < repeats; ++i) ways[way](i * batch);
          });
          rates[way].push_back(static_cast<double>(repeats * batch) / took);
          if (redis.size_of("queue:default") != static_cast<std::size_t>(repeats * batch) && turn > 0)
            throw std::runtime_error("jobs are missing");
          redis.flush();
        }
      }
      std::vector<double> shares, buffered_shares;
      for (std::size_t turn = 0; turn < rates[0].size(); ++turn) {
        shares.push_back(rates[1][turn] / rates[0][turn]);
        buffered_shares.push_back(rates[2][turn] / rates[0][turn]);
      }
      std::printf(
          "{\"batch\":%ld,\"floor_per_second\":%.0f,\"client_per_second\":%.0f,\"buffered_per_second\":%.0f,"
          "\"client_share\":%.3f,\"buffered_share\":%.3f}\n",
          batch, median(rates[0]), median(rates[1]), median(rates[2]), median(shares), median(buffered_shares));
    }
  });
}
