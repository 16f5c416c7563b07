#include <sys/wait.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <brood/client.hpp>
#include <chrono>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "shared/job/payload.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/redis_server.hpp"
#include "tests/support/tcp_proxy.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

struct Note {
  int number = 0;
  static constexpr std::string_view job_class = "Note";
  void perform() {}
};

std::vector<Note> notes(int first, int end) {
  std::vector<Note> all;
  for (int i = first; i < end; ++i) all.push_back({i});
  return all;
}

// The numbers in a queue, the next to run first.
std::vector<int> numbers_in(RedisServer& redis, const std::string& queue = "default") {
  std::vector<int> numbers;
  for (const std::string& payload : redis.lrange("queue:" + queue)) {
    const std::string args(Payload::parse(payload).args());
    numbers.insert(numbers.begin(), std::stoi(args.substr(1)));
  }
  return numbers;
}

std::vector<int> numbers(int first, int end) {
  std::vector<int> all;
  for (int i = first; i < end; ++i) all.push_back(i);
  return all;
}

// The error that `push` throws; empty if it throws none.
template <typename Error, typename Push>
std::string error_of(Push push) {
  try {
    push();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != text.npos; }

}  // namespace

BOOST_AUTO_TEST_CASE(pushes_wait_while_redis_is_away_and_go_in_order_with_the_next_one) {
  RedisServer redis({.append_only = true});
  Client client{redis.url()};
  client.buffer();
  client.enqueue(Note{0});
  redis.kill9();
  std::set<std::string> jids;
  for (int i = 1; i < 5; ++i) jids.insert(client.enqueue(Note{i}));
  for (const std::string& jid : client.enqueue_bulk(notes(5, 10))) jids.insert(jid);
  BOOST_TEST(jids.size() == 9u);
  BOOST_TEST(client.buffered() == 9u);

  redis.restart();
  int next = 10;
  BOOST_TEST(eventually([&] {
    client.enqueue(Note{next++});
    return client.buffered() == 0;
  }));
  BOOST_TEST(numbers_in(redis) == numbers(0, next), boost::test_tools::per_element());
  BOOST_TEST(redis.smembers("queues") == std::vector<std::string>{"default"}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(queues_and_times_keep_their_order) {
  RedisServer redis;
  Client client{redis.url()};
  client.buffer();
  redis.kill9();
  for (int i = 0; i < 6; ++i) client.enqueue(Note{i}, {.queue = i % 2 == 0 ? "even" : "odd"});
  client.enqueue_in(1h, Note{6});
  client.enqueue(Note{7}, {.queue = "odd"});
  redis.restart();
  BOOST_TEST(client.drain() == 0u);
  BOOST_TEST(numbers_in(redis, "even") == (std::vector<int>{0, 2, 4}), boost::test_tools::per_element());
  BOOST_TEST(numbers_in(redis, "odd") == (std::vector<int>{1, 3, 5, 7}), boost::test_tools::per_element());
  BOOST_TEST(redis.size_of("schedule") == 1u);
  BOOST_TEST(!Payload::parse(redis.zrange("schedule").front().first).raw("enqueued_at"));
}

BOOST_AUTO_TEST_CASE(large_jobs_are_pushed_a_few_at_a_time) {
  RedisServer redis;
  TcpProxy network{redis.socket_path()};
  Client client{network.url()};
  client.buffer();
  redis.kill9();
  const std::string large = "[\"" + std::string(100'000, 'a') + "\"]";
  for (int i = 0; i < 80; ++i) client.push({.job_class = "Large", .args = large});
  redis.restart();
  network.cut_requests_after(3'000'000);
  const std::size_t before = network.request_bytes();
  int all = 80;
  const auto has_sent = [&] {  // after a slow failure it rests for as long
    client.enqueue(Note{all++});
    return network.request_bytes() > before + 2'000'000;
  };
  BOOST_REQUIRE(eventually(has_sent));
  BOOST_TEST(redis.size_of("queue:default") >= 20u);  // what came through is not sent again
  BOOST_TEST(client.buffered() + 20 <= static_cast<std::size_t>(all));
  BOOST_TEST(client.drain(30s) == 0u);
  BOOST_TEST(redis.size_of("queue:default") == static_cast<std::size_t>(all));
}

BOOST_AUTO_TEST_CASE(drain_waits_for_redis_but_no_longer_than_it_may) {
  RedisServer redis;
  Client client{redis.url()};
  client.buffer();
  BOOST_TEST(client.drain() == 0u);
  redis.kill9();
  client.enqueue_bulk(notes(0, 3));
  BOOST_TEST(client.drain(50ms) == 3u);
  std::size_t left = 3;
  std::thread waiting([&] { left = client.drain(60s); });
  redis.restart();
  waiting.join();
  BOOST_TEST(left == 0u);
  BOOST_TEST(numbers_in(redis) == numbers(0, 3), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(what_does_not_fit_is_refused_and_says_so) {
  RedisServer redis;
  Client client{redis.url()};
  client.buffer({.max_jobs = 3});
  redis.kill9();
  client.enqueue_bulk(notes(0, 2));
  const std::string why = error_of<BufferFull>([&] { client.enqueue_bulk(notes(90, 92)); });
  BOOST_TEST(contains(why, "keeps 2 of at most 3 jobs"), why);
  BOOST_TEST(client.buffered() == 2u);
  client.enqueue(Note{2});
  BOOST_CHECK_THROW(client.enqueue(Note{93}), BufferFull);
  BOOST_CHECK_THROW(client.enqueue(Note{94}), RedisError);
  redis.restart();
  BOOST_TEST(client.drain() == 0u);
  client.enqueue_bulk(notes(3, 10));  // more than it could keep, but Redis is there
  BOOST_TEST(numbers_in(redis) == numbers(0, 10), boost::test_tools::per_element());
  BOOST_CHECK_THROW(client.buffer({.max_jobs = 0}), std::invalid_argument);
}

BOOST_AUTO_TEST_CASE(without_a_buffer_nothing_is_kept) {
  RedisServer redis;
  Client client{redis.url()};
  redis.kill9();
  BOOST_CHECK_THROW(client.enqueue(Note{0}), RedisError);
  BOOST_TEST(client.buffered() == 0u);
  BOOST_TEST(client.drain() == 0u);
}

// Whatever is lost on the way, the request or the reply, completely or in part.
BOOST_AUTO_TEST_CASE(a_push_whose_reply_was_lost_is_pushed_once) {
  for (const bool reply_is_lost : {false, true}) {
    for (const std::size_t bytes : {0u, 1u, 3u, 300u, 700u}) {
      BOOST_TEST_CONTEXT((reply_is_lost ? "replies" : "requests") << " cut after " << bytes) {
        RedisServer redis;
        TcpProxy proxy(redis.socket_path());
        Client client{proxy.url()};
        client.buffer();
        client.enqueue_bulk(notes(0, 5));
        if (reply_is_lost) {
          proxy.cut_replies_after(std::min<std::size_t>(bytes, 3));
        } else {
          proxy.cut_requests_after(bytes);
        }
        for (int i = 5; i < 20; ++i) client.enqueue(Note{i});
        client.enqueue_in(1h, Note{99});
        BOOST_TEST(client.drain() == 0u);
        BOOST_TEST(numbers_in(redis) == numbers(0, 20), boost::test_tools::per_element());
        BOOST_TEST(redis.size_of("schedule") == 1u);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(what_the_server_refuses_for_now_is_kept) {
  RedisServer redis;
  Client client{redis.url()};
  client.buffer();
  client.enqueue(Note{0});
  redis.command({"CONFIG", "SET", "maxmemory", "1"});
  client.enqueue(Note{1});
  BOOST_TEST(client.buffered() == 1u);
  redis.command({"CONFIG", "SET", "maxmemory", "0"});
  BOOST_TEST(client.drain() == 0u);
  redis.command({"REPLICAOF", "127.0.0.1", "1"});
  client.enqueue(Note{2});
  BOOST_TEST(client.buffered() == 1u);
  redis.command({"REPLICAOF", "NO", "ONE"});
  BOOST_TEST(client.drain() == 0u);
  BOOST_TEST(numbers_in(redis) == numbers(0, 3), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(what_is_refused_for_good_holds_up_no_others) {
  RedisServer redis;
  Client client{redis.url()};
  client.buffer();
  redis.command({"SET", "queue:bad", "no list"});
  BOOST_TEST(contains(error_of<RedisError>([&] { client.enqueue(Note{90}, {.queue = "bad"}); }), "WRONGTYPE"));
  BOOST_TEST(client.buffered() == 0u);  // its pusher knows

  redis.kill9();
  client.enqueue(Note{0}, {.queue = "bad"});
  client.enqueue(Note{1});
  redis.restart();
  redis.command({"SET", "queue:bad", "no list"});
  BOOST_TEST(contains(error_of<RedisError>([&] { client.drain(); }), "WRONGTYPE"));
  BOOST_TEST(client.buffered() == 1u);
  client.enqueue(Note{2});
  BOOST_TEST(numbers_in(redis) == numbers(1, 3), boost::test_tools::per_element());
  redis.command({"DEL", "queue:bad"});
  BOOST_TEST(client.drain() == 0u);
  BOOST_TEST(numbers_in(redis, "bad") == numbers(0, 1), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_password_that_is_wrong_is_no_absence) {
  RedisServer redis({.password = "s3cret"});
  Client client{"unix://:wrong@" + redis.socket_path()};
  client.buffer();
  BOOST_CHECK_THROW(client.enqueue(Note{0}), RedisError);
  BOOST_TEST(client.buffered() == 0u);
}

BOOST_AUTO_TEST_CASE(a_job_that_waits_can_be_cancelled) {
  RedisServer redis;
  Client client{redis.url()};
  client.buffer();
  redis.kill9();
  client.enqueue(Note{0});  // sent in vain, and in doubt
  const std::string jid = client.enqueue_in(1h, Note{1});
  client.enqueue(Note{2});
  BOOST_TEST(client.cancel(jid));
  BOOST_TEST(client.buffered() == 2u);
  redis.restart();
  BOOST_TEST(client.drain() == 0u);
  BOOST_TEST(redis.size_of("schedule") == 0u);
  BOOST_TEST(numbers_in(redis) == (std::vector<int>{0, 2}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_job_whose_push_has_an_unknown_outcome_is_cancelled_in_redis) {
  RedisServer redis;
  TcpProxy network(redis.socket_path());
  Client client{network.url()};
  client.buffer();
  client.enqueue_in(1h, Note{0});  // asks Redis for its time, so that the next reply is that to the push
  network.cut_replies_after(0);
  const std::string jid = client.enqueue_in(1h, Note{1});
  BOOST_TEST_REQUIRE(client.buffered() == 1u);
  BOOST_TEST_REQUIRE(redis.size_of("schedule") == 2u);
  BOOST_TEST(client.cancel(jid));
  BOOST_TEST(redis.size_of("schedule") == 1u);
  BOOST_TEST(client.drain() == 0u);
  BOOST_TEST(redis.size_of("schedule") == 1u);
}

BOOST_AUTO_TEST_CASE(a_job_that_was_refused_can_be_cancelled) {
  RedisServer redis;
  Client client{redis.url()};
  client.buffer();
  redis.kill9();
  const std::string jid = client.enqueue_in(1h, Note{0});
  redis.restart();
  redis.command({"SET", "schedule", "no set"});
  client.enqueue(Note{1});
  BOOST_REQUIRE(client.buffered() == 1u);
  BOOST_TEST(client.cancel(jid));
  BOOST_TEST(client.buffered() == 0u);
  BOOST_TEST(numbers_in(redis) == numbers(1, 2), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_right_that_is_missing_keeps_the_order_of_what_waits) {
  RedisServer redis;
  Client client{redis.url()};
  client.buffer();
  redis.kill9();
  for (int i = 0; i < 2; ++i) client.enqueue(Note{i});
  redis.restart();
  redis.command({"ACL", "SETUSER", "default", "-@scripting"});
  BOOST_TEST(contains(error_of<RedisError>([&] { client.enqueue(Note{90}); }), "NOPERM"));
  BOOST_TEST(client.buffered() == 2u);
  redis.command({"ACL", "SETUSER", "default", "+@scripting"});
  client.enqueue(Note{2});
  BOOST_TEST(numbers_in(redis) == numbers(0, 3), boost::test_tools::per_element());
}

// Recognising a frozen Redis takes ten seconds.
BOOST_AUTO_TEST_CASE(a_client_that_has_just_waited_for_redis_does_not_wait_again_soon) {
  RedisServer redis;
  Client client{redis.url()};
  client.buffer({.max_jobs = 10, .at_end = 0ms});
  redis.kill9();
  client.enqueue(Note{0});
  redis.restart();
  redis.pause();
  BOOST_TEST(client.drain(2s) == 1u);
  const auto begin = std::chrono::steady_clock::now();
  client.enqueue(Note{1});
  BOOST_TEST((std::chrono::steady_clock::now() - begin < 8s));
  BOOST_TEST(client.buffered() == 2u);
  redis.resume();
}

BOOST_AUTO_TEST_CASE(how_long_a_drain_may_take_is_for_that_drain_alone) {
  RedisServer redis;
  TcpProxy network(redis.socket_path());
  Client client{network.url()};
  client.buffer();
  network.delay(100ms);
  BOOST_TEST(client.drain(1ms) == 0u);
  client.enqueue(Note{0});
  BOOST_TEST(client.buffered() == 0u);
}

BOOST_AUTO_TEST_CASE(the_destructor_pushes_what_is_kept) {
  RedisServer redis;
  {
    Client client{redis.url()};
    client.buffer({.at_end = 60s});
    redis.kill9();
    client.enqueue(Note{0});
    redis.restart();
  }
  BOOST_TEST(numbers_in(redis) == numbers(0, 1), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(the_destructor_gives_up_in_time) {
  for (const bool frozen : {false, true}) {
    RedisServer redis;
    std::optional<Client> client{redis.url()};
    client->buffer({.at_end = 100ms});
    redis.kill9();
    client->enqueue(Note{0});
    if (frozen) {
      redis.restart();
      redis.pause();  // it accepts connections and never answers
    }
    const auto begin = std::chrono::steady_clock::now();
    client.reset();
    // Without a limit of its own it would wait for 10 s, as long as for a reply.
    BOOST_TEST((std::chrono::steady_clock::now() - begin < 8s));
    if (frozen) redis.resume();
  }
}

BOOST_AUTO_TEST_CASE(what_a_parent_keeps_is_not_pushed_by_its_child) {
  RedisServer redis;
  Client client{redis.url()};
  client.buffer();
  client.enqueue(Note{0});
  redis.kill9();
  client.enqueue(Note{1});
  redis.restart();
  const pid_t pid = fork();
  if (pid == 0) {
    const bool own = client.buffered() == 0;
    client.enqueue(Note{100});
    { const Client moved = std::move(client); }
    _exit(own ? 0 : 1);
  }
  int status = 0;
  BOOST_REQUIRE(waitpid(pid, &status, 0) == pid);
  BOOST_TEST(status == 0);
  BOOST_TEST(numbers_in(redis) == numbers(100, 101), boost::test_tools::per_element());
  BOOST_TEST(client.drain() == 0u);
  BOOST_TEST(numbers_in(redis) == (std::vector<int>{100, 1}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(threads_may_share_a_buffer) {
  RedisServer redis({.append_only = true});
  Client client{redis.url()};
  client.buffer();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&client, t] {
      for (int i = 0; i < 100; ++i) client.enqueue(Note{t * 100 + i});
    });
  }
  redis.restart();
  for (std::thread& thread : threads) thread.join();
  BOOST_TEST(client.drain(60s) == 0u);
  const std::vector<int> pushed = numbers_in(redis);
  BOOST_TEST(pushed.size() == 400u);
  BOOST_TEST(std::set<int>(pushed.begin(), pushed.end()).size() == 400u);
}

BOOST_AUTO_TEST_CASE(its_key_in_redis_ends_by_itself) {
  RedisServer redis;
  Client client{redis.url()};
  client.buffer();
  client.enqueue(Note{0});
  const auto keys = redis.keys("brood:pushes:*");
  BOOST_REQUIRE(keys.size() == 1u);
  BOOST_TEST(redis.integer({"TTL", keys.front()}) > 80'000);
}
