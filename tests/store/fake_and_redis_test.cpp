#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <brood/client.hpp>
#include <brood/testing.hpp>
#include <random>

#include "tests/support/redis_server.hpp"

using namespace brood;
using namespace std::chrono_literals;
using Strings = std::vector<std::string>;

// A brood::testing::Fake treats pushes of unique jobs as Redis does.
namespace {

struct OneOfAKind {
  int number = 0, version = 0;
  static constexpr JobOptions options{.unique = true};
  static constexpr auto unique_by = std::tuple{&OneOfAKind::number};
  static constexpr std::string_view job_class = "OneOfAKind";
  void perform() {}
};

struct OnePush {
  OneOfAKind job;
  bool scheduled = false;
  EnqueueOptions options;
};

// A series of pushes with few locks and few jids, so that both are repeated.
std::vector<OnePush> any_series(std::mt19937_64& random) {
  const auto below = [&](int end) { return static_cast<int>(random() % static_cast<unsigned>(end)); };
  constexpr OnConflict all[] = {OnConflict::drop, OnConflict::after, OnConflict::replace, OnConflict::extend};
  std::vector<OnePush> pushes;
  for (int version = 0; version < 10; ++version) {
    OnePush push{{below(3), version}, below(3) == 0, {}};
    push.options.jid = "j" + std::to_string(push.job.number) + "-" + std::to_string(below(6));
    push.options.on_conflict = all[below(4)];
    if (*push.options.on_conflict == OnConflict::extend || below(3) == 0) push.options.unique_for = 600s;
    if (below(4) == 0) push.options.queue = "other";
    pushes.push_back(push);
  }
  return pushes;
}

// Pushes all.  Returns for each whether it was pushed and which job then holds its lock, and at last the waiting jobs,
// as `waiting` returns them.
template <typename Waiting>
Strings play(const std::vector<OnePush>& pushes, Waiting waiting) {
  Client client;
  Strings seen;
  for (const OnePush& push : pushes) {
    const std::string jid =
        push.scheduled ? client.enqueue_in(1h, push.job, push.options) : client.enqueue(push.job, push.options);
    seen.push_back(push.options.jid + (jid.empty() ? " is refused, " : " is pushed, ") +
                   client.holder(push.job, {.queue = push.options.queue}) + " holds the lock");
  }
  for (const std::string& job : waiting()) seen.push_back(job);
  return seen;
}

std::string spelled(const std::string& where, const std::string& jid, std::string_view args) {
  return where + ": " + jid + std::string(args);
}

}  // namespace

BOOST_AUTO_TEST_CASE(any_series_of_pushes_ends_as_in_redis) {
  RedisServer redis;
  setenv("REDIS_URL", redis.url().c_str(), 1);
  std::mt19937_64 random(1);
  for (int series = 0; series < 300; ++series) {
    const std::vector<OnePush> pushes = any_series(random);
    redis.flush();
    const Strings in_redis = play(pushes, [&] {
      Strings all;
      for (const char* queue : {"default", "other"}) {
        Strings payloads = redis.lrange(std::string("queue:") + queue);
        std::reverse(payloads.begin(), payloads.end());
        for (const std::string& payload : payloads) {
          const JobRecord job = JobRecord::read(payload);
          all.push_back(spelled(queue, job.jid, job.args));
        }
      }
      for (const auto& [payload, score] : redis.zrange("schedule")) {
        const JobRecord job = JobRecord::read(payload);
        all.push_back(spelled("schedule", job.jid, job.args));
      }
      return all;
    });
    testing::Fake fake;
    const Strings in_fake = play(pushes, [&] {
      Strings all;
      for (const char* queue : {"default", "other"}) {
        for (const testing::FakeJob& job : fake.jobs_in(queue)) {
          if (!job.at) all.push_back(spelled(queue, job.jid, job.args));
        }
      }
      for (const testing::FakeJob& job : fake.jobs()) {
        if (job.at) all.push_back(spelled("schedule", job.jid, job.args));
      }
      return all;
    });
    BOOST_TEST_CONTEXT("series " << series) BOOST_TEST(in_fake == in_redis, boost::test_tools::per_element());
  }
}
