#include <boost/test/unit_test.hpp>
#include <brood/client.hpp>
#include <optional>
#include <string>
#include <vector>

#include "shared/base/digest.hpp"
#include "shared/store/iteration.hpp"
#include "supervisor/schedule/due_mover.hpp"
#include "tests/store/loop_with_redis.hpp"
#include "tests/support/lost.hpp"
#include "tests/support/redis_server.hpp"
#include "worker/job/iteration_keeper.hpp"

using namespace brood;
using namespace std::chrono_literals;

// Texts that Redis refuses for their size, and would refuse for ever.  It answers a value beyond proto-max-bulk-len
// with an error, and a command beyond client-query-buffer-limit not at all.  It closes the connection both times.

namespace {

constexpr std::size_t limit = 1 << 20;  // the least that can be set
const std::vector<std::string> settings{"proto-max-bulk-len", "client-query-buffer-limit"};

std::string payload(std::size_t size, const std::string& class_name = "A", const std::string& queue = "a") {
  const std::string start = R"({"class":")" + class_name + R"(","queue":")" + queue + R"(","jid":"J","args":[")",
                    end = R"("]})";
  return start + std::string(size - start.size() - end.size(), 'x') + end;
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != text.npos; }

template <typename Error, typename Act>
std::string error_of(Act act) {
  try {
    act();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

struct LimitedLoop : LoopWithRedis {
  explicit LimitedLoop(const std::string& setting) : setting_(setting) {}

  // The test's own commands are not limited, and what was added before the limit was lowered stays.
  void add(const std::string& set, double score, const std::string& member) {
    redis.command({"CONFIG", "SET", setting_, "1gb"});
    redis.command({"ZADD", set, std::to_string(score), member});
    redis.command({"CONFIG", "SET", setting_, std::to_string(limit)});
  }

  // Moves all as the scheduler does, again after a failure; nullopt if it never succeeded.
  std::optional<DueMover::Done> move_all() {
    DueMover mover(loop, connection, {});
    for (int i = 0; i < 10; ++i) {
      std::optional<DueMover::Done> done;
      run_until([&] { return connection.connected(); });
      mover.move_all("schedule", WallTime(100'000s), usual_time_unit, {"PING"},
                     [&](const DueMover::Done& how) { done = how; });
      run_until([&] { return done.has_value(); });
      if (done && done->error.empty()) return done;
    }
    return std::nullopt;
  }

 private:
  std::string setting_;
};

struct Note {
  std::string text;
  static constexpr std::string_view job_class = "Note";
  void perform() {}
};

}  // namespace

BOOST_AUTO_TEST_CASE(a_digest_is_the_one_that_redis_makes) {
  RedisServer redis;
  for (std::size_t size = 0; size < 200; ++size) {
    const std::string text(size, static_cast<char>(size * 7));
    const Reply reply = redis.command({"EVAL", "return redis.sha1hex(ARGV[1])", "0", text});
    BOOST_TEST(sha1_hex(text) == reply.view().text());
  }
}

BOOST_AUTO_TEST_CASE(a_due_job_that_is_too_large_for_redis_is_moved_as_it_is_and_holds_up_no_other) {
  for (const std::string& setting : settings) {
    BOOST_TEST_CONTEXT(setting) {
      LimitedLoop moving(setting);
      const std::string with_no_room = payload(limit - 20), larger = payload(limit + 1000), small = payload(100);
      moving.add("schedule", 1, with_no_room);
      moving.add("schedule", 2, larger);
      moving.add("schedule", 3, small);

      BOOST_TEST(moving.move_all().has_value());

      BOOST_TEST(moving.redis.size_of("schedule") == 0u);
      const std::vector<std::string> queue = moving.redis.lrange("queue:a");
      BOOST_REQUIRE(queue.size() == 3u);
      BOOST_TEST(contains(queue[0] + queue[1] + queue[2], with_no_room));
      BOOST_TEST(contains(queue[0] + queue[1] + queue[2], larger));
      BOOST_TEST(moving.redis.smembers("queues") == std::vector<std::string>{"a"}, boost::test_tools::per_element());
      const bool small_is_new = contains(queue[0] + queue[1] + queue[2], R"(xx"],"enqueued_at":)");
      BOOST_TEST(small_is_new);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_due_member_that_is_no_job_and_too_large_is_moved_to_dead_as_it_is) {
  for (const std::string& setting : settings) {
    BOOST_TEST_CONTEXT(setting) {
      LimitedLoop moving(setting);
      const std::string no_job(limit + 1000, 'x');
      moving.add("schedule", 1, no_job);
      moving.add("schedule", 2, payload(100));

      BOOST_TEST(moving.move_all().has_value());

      BOOST_TEST(moving.redis.size_of("queue:a") == 1u);
      const auto dead = moving.redis.zrange("dead");
      BOOST_REQUIRE(dead.size() == 1u);
      BOOST_TEST((dead[0].first == no_job));
      BOOST_TEST(dead[0].second > 1e9);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_due_job_that_is_too_large_stays_where_its_queue_is_no_list) {
  LimitedLoop moving("proto-max-bulk-len");
  moving.redis.command({"SET", "queue:a", "no list"});
  moving.add("schedule", 1, payload(limit + 1000));

  const std::optional<DueMover::Done> done = moving.move_all();

  BOOST_REQUIRE(done.has_value());
  BOOST_TEST(done->left == 1u);
  BOOST_TEST(moving.redis.size_of("schedule") == 1u);
}

BOOST_AUTO_TEST_CASE(many_jobs_that_are_not_too_large_are_moved_at_once) {
  for (const std::string& setting : settings) {
    BOOST_TEST_CONTEXT(setting) {
      LimitedLoop moving(setting);
      for (int i = 0; i < 60; ++i) moving.add("schedule", i + 1, payload(100'000, "A" + std::to_string(i)));
      bool lost = false;
      DueMover mover(moving.loop, moving.connection, {});
      std::optional<DueMover::Done> done;
      mover.move_all("schedule", WallTime(100'000s), usual_time_unit, {"PING"},
                     [&](const DueMover::Done& how) { done = how; });
      BOOST_TEST(moving.run_until([&] {
        lost |= !moving.connection.connected();
        return done.has_value();
      }));
      BOOST_TEST(!lost);
      BOOST_TEST(moving.redis.size_of("queue:a") == 60u);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_state_that_is_too_large_leaves_the_one_before_and_its_job_goes_on) {
  for (const std::string& setting : settings) {
    BOOST_TEST_CONTEXT(setting) {
      RedisServer redis;
      redis.command({"CONFIG", "SET", setting, std::to_string(limit)});
      Connection connection(redis.address());
      IterationKeeper keeper(connection);
      const auto give_up = [](std::chrono::milliseconds) { return false; };
      keeper.load("J", give_up);
      keeper.save("J", {.executions = 1, .cursor = "1"});

      const std::string large = '"' + std::string(limit + 1000, 'x') + '"';
      BOOST_TEST(!keeper.save("J", {.executions = 1, .cursor = large}));
      const auto connections = connection.connections();
      BOOST_TEST(!keeper.save("J", {.executions = 1, .cursor = large}));
      BOOST_TEST(connection.connections() <= connections + 1);  // it is not sent again

      keeper.deliver([](std::chrono::milliseconds) { throw std::runtime_error("something is left to deliver"); });
      BOOST_TEST(keeper.load("J", give_up).value().cursor == "1");
      BOOST_TEST(!keeper.save("J", {.executions = 1, .cursor = "2"}));
      BOOST_TEST(keeper.load("J", give_up).value().cursor == "2");
    }
  }
}

BOOST_AUTO_TEST_CASE(a_job_with_a_state_that_is_too_large_can_be_cancelled) {
  RedisServer redis;
  redis.command({"CONFIG", "SET", "proto-max-bulk-len", std::to_string(limit)});
  Connection connection(redis.address());
  IterationKeeper keeper(connection);
  const IterationState large{.executions = 1, .cursor = '"' + std::string(limit + 1000, 'x') + '"'};
  BOOST_TEST(!keeper.save("J", large));

  Connection(redis.address()).pipeline(cancel_iteration("J", 1795237717));

  BOOST_TEST(keeper.save("J", large));
}

BOOST_AUTO_TEST_CASE(a_push_that_is_too_large_says_what_and_which_setting) {
  for (const std::string& setting : settings) {
    for (const bool buffers : {false, true}) {
      BOOST_TEST_CONTEXT(setting << (buffers ? " buffered" : "")) {
        RedisServer redis;
        redis.command({"CONFIG", "SET", setting, std::to_string(limit)});
        Client client{redis.url()};
        if (buffers) client.buffer();
        const Note large{std::string(limit + 1000, 'x')};
        const auto is_told = [&](const std::string& error) {
          BOOST_TEST_CONTEXT(error) {
            BOOST_TEST(contains(error, setting));
            BOOST_TEST(contains(error, " of 10"));  // some 1,049 or 1,050 thousand bytes
          }
        };
        is_told(error_of<RedisError>([&] { client.enqueue(large); }));
        is_told(error_of<RedisError>([&] { client.enqueue_in(1h, large); }));
        BOOST_TEST(client.buffered() == 0u);
        client.enqueue(Note{"small"});
        BOOST_TEST(redis.size_of("queue:default") == 1u);
        BOOST_TEST(redis.size_of("schedule") == 0u);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(a_kept_job_that_is_too_large_holds_up_no_others) {
  for (const std::string& setting : settings) {
    BOOST_TEST_CONTEXT(setting) {
      RedisServer redis({.append_only = true, .extra = {"--" + setting, std::to_string(limit)}});
      Client client{redis.url()};
      client.buffer();
      client.enqueue(Note{"first"});
      redis.kill9();
      client.enqueue(Note{std::string(limit + 1000, 'x')});
      client.enqueue(Note{"second"});
      redis.restart();

      std::string error;
      for (int i = 0; i < 5 && error.empty(); ++i) error = error_of<RedisError>([&] { client.drain(); });

      BOOST_TEST_CONTEXT(error) BOOST_TEST(contains(error, setting));
      BOOST_TEST(contains(error, "1 were refused"));
      BOOST_TEST(client.buffered() == 1u);
      BOOST_TEST(redis.size_of("queue:default") == 2u);
      client.buffer({.at_end = 0ms});
    }
  }
}

BOOST_AUTO_TEST_CASE(a_bulk_of_jobs_that_are_not_too_large_is_pushed) {
  RedisServer redis;
  redis.command({"CONFIG", "SET", "client-query-buffer-limit", std::to_string(limit)});
  Client client{redis.url()};
  const std::vector<Note> jobs(500, Note{std::string(10'000, 'x')});
  client.enqueue_bulk(jobs);
  BOOST_TEST(redis.size_of("queue:default") == jobs.size());
}

BOOST_AUTO_TEST_CASE(a_redis_that_is_killed_in_the_midst_of_a_large_command_does_not_count_as_refusing_it) {
  RedisServer redis;
  Connection connection(redis.address());
  connection.call({"PING"});
  const Command large{"SET", "key", std::string(2 * limit, 'x')};
  redis.command({"CONFIG", "SET", "client-query-buffer-limit", std::to_string(limit)});
  BOOST_CHECK_EXCEPTION(connection.call(large), ConnectionLost, lost_by(Loss::closed_on_large));
  redis.command({"CONFIG", "SET", "client-query-buffer-limit", "1gb"});

  BOOST_TEST(connection.call(large).view().text() == "OK");

  redis.command({"CONFIG", "SET", "client-query-buffer-limit", std::to_string(limit)});
  BOOST_CHECK_EXCEPTION(connection.call(large), ConnectionLost, lost_by(Loss::closed_on_large));
  BOOST_CHECK_EXCEPTION(connection.call(large), ConnectionLost, lost_by(Loss::too_large));
}
