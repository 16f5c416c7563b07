#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <brood/client.hpp>

#include "shared/job/payload.hpp"
#include "tests/support/redis_server.hpp"
#include "tests/support/tcp_proxy.hpp"
#include "tests/support/unique_jobs.hpp"

using namespace brood;

// Clients that keep their pushes while Redis is away, and jobs that replace others.
namespace {

using Strings = std::vector<std::string>;

struct Keeping : UniqueFixture {
  // Performs all waiting jobs; none holds a lock afterwards.
  void perform(const char* queue) {
    for (const std::string& payload : redis.lrange(std::string("queue:") + queue))
      redis.command(
          {"DEL", RedisKey("brood:unique:" + Payload::parse(payload).string("unique_lock").value_or("none"))});
    redis.command({"DEL", RedisKey(std::string("queue:") + queue)});
  }
  // Calls `attempt` with a client that keeps its pushes, while a job waits that it may replace.  After so many bytes
  // its connection is cut.
  template <typename Attempt>
  void whichever_reply_is_lost(std::size_t most, Attempt attempt) {
    for (std::size_t bytes = 0; bytes < most; bytes += 10) {
      redis.flush();
      TcpProxy proxy(redis.socket_path());
      Client remote{proxy.url()};
      remote.buffer();
      remote.enqueue(MonthlyReport{"acme", 5});  // it is connected
      client.enqueue(LatestOfCustomer{"acme", 1});
      proxy.cut_replies_after(bytes);
      attempt(remote, bytes);
    }
  }
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(a_kept_push_replaces_what_waits_when_redis_is_back, Keeping) {
  client.enqueue(LatestOfCustomer{"emca", 1});
  client.buffer();
  redis.kill9();
  client.enqueue(LatestOfCustomer{"acme", 1});
  const std::string last = client.enqueue(LatestOfCustomer{"acme", 2});
  redis.restart();
  BOOST_TEST(client.drain() == 0u);
  BOOST_TEST(args_in("latest").front() == R"(["acme",2])");
  BOOST_TEST(client.holder(LatestOfCustomer{"acme", 0}) == last);
}

BOOST_FIXTURE_TEST_CASE(of_kept_jobs_one_that_cannot_replace_what_runs_is_not_pushed_with_the_others, Keeping) {
  client.buffer();
  const std::string runs = client.enqueue(LatestOfCustomer{"acme", 1});
  redis.command({"LMOVE", RedisKey("queue:latest"), RedisKey("brood:inflight:x:1.1:latest"), "RIGHT", "LEFT"});
  const std::vector<std::string> jids =
      client.enqueue_bulk(std::vector<LatestOfCustomer>{{"emca", 1}, {"acme", 2}, {"amec", 1}});
  BOOST_TEST(jids.at(0) != "");
  BOOST_TEST(jids.at(1) == "");
  BOOST_TEST(jids.at(2) != "");
  BOOST_TEST(client.holder(LatestOfCustomer{"acme", 1}) == runs);
  BOOST_TEST(redis.size_of("queue:latest") == 2u);
}

// Whichever reply is lost, the job was kept, and ran before it could be sent again.
BOOST_FIXTURE_TEST_CASE(a_kept_job_that_has_replaced_another_is_not_pushed_again, Keeping) {
  const auto waits = [&] { return args_in("latest") == Strings{R"(["acme",2])"}; };
  int replaced_unheard = 0;
  whichever_reply_is_lost(600, [&](Client& remote, std::size_t bytes) {
    remote.enqueue(LatestOfCustomer{"acme", 2});
    if (waits()) {
      replaced_unheard += remote.buffered() > 0;
      perform("latest");
      BOOST_TEST(remote.drain() == 0u);
      BOOST_TEST(redis.size_of("queue:latest") == 0u, "cut after " << bytes);
    } else {
      BOOST_TEST(remote.drain() == 0u);
      BOOST_TEST(waits(), "cut after " << bytes);
    }
  });
  BOOST_TEST(replaced_unheard > 0);
}

// The jobs that came through have run before the rest is sent again.
BOOST_FIXTURE_TEST_CASE(of_a_kept_bulk_each_job_is_pushed_once_whichever_reply_is_lost, Keeping) {
  const Strings wanted{R"(["acme",2])", R"(["amec",2])", R"(["emca",2])"};
  int replaced_unheard = 0;
  whichever_reply_is_lost(800, [&](Client& remote, std::size_t bytes) {
    remote.enqueue_bulk(std::vector<LatestOfCustomer>{{"emca", 2}, {"acme", 2}, {"amec", 2}});
    Strings pushed = args_in("latest");
    replaced_unheard += remote.buffered() > 0 && std::count(pushed.begin(), pushed.end(), wanted.front()) > 0;
    perform("latest");
    BOOST_TEST(remote.drain() == 0u);
    for (const std::string& args : args_in("latest")) pushed.push_back(args);
    std::erase(pushed, R"(["acme",1])");
    std::sort(pushed.begin(), pushed.end());
    BOOST_TEST(pushed == wanted, "cut after " << bytes);
  });
  BOOST_TEST(replaced_unheard > 0);
}
