#include <boost/test/unit_test.hpp>

#include "shared/store/queues/push_unique.hpp"
#include "shared/store/sets/set_entries.hpp"
#include "tests/support/redis_server.hpp"

using namespace brood;
using namespace std::chrono_literals;

// The scripts of unique jobs: what they refuse and return.  Clients are tested in unique_jobs_test.cpp.
namespace {

const std::string lock_key = "brood:unique:L";
using Strings = std::vector<std::string>;

struct Site {
  RedisServer redis;
  Connection connection{redis.address()};

  Reply ask(const ScriptCall& call) { return connection.run(call); }
  Raised raise(std::chrono::milliseconds longest = 0ms, const std::string& score = "5") {
    return read_raised(ask(raise_unique({"D1", score, "a", "D1#again"}, {"L", "J1", longest})).view());
  }
  Strings push(std::vector<UniqueJob> jobs, const std::string& queue = "a") {
    return read_holders(ask(push_unique(queue, std::move(jobs))).view());
  }
  UniqueJob job(std::string_view jid, OnConflict on_conflict = OnConflict::drop,
                std::chrono::milliseconds longest = 0ms) {
    return {"L", jid, longest, "", std::string(jid), on_conflict};
  }
  std::string holder() { return redis.get(lock_key).value_or("nobody"); }
  std::string last_batch() { return redis.get("brood:pushes:c").value_or("none"); }
  Strings push_batch(std::uint64_t number, std::string_view jid, OnConflict on_conflict = OnConflict::drop) {
    return read_holders(ask(push_unique_once({"c", number}, "a", {job(jid, on_conflict)})).view());
  }
  std::int64_t lives() { return redis.integer({"PTTL", RedisKey(lock_key)}); }

  // Checks that a call is refused if this key is a text, or a list, instead of what it should be.
  void refuses(const std::string& key, const ScriptCall& call, const std::string& sentence) {
    redis.flush();
    redis.command({"ZADD", "dead", "5", "D1"});
    redis.command({"ZADD", "schedule", "5", "S1"});
    redis.command({"RPUSH", "queue:b", "B1"});
    redis.command({"SET", lock_key, "J0"});
    redis.command({"DEL", key});
    redis.command(key == lock_key ? Command{"RPUSH", RedisKey(key), "text"} : Command{"SET", RedisKey(key), "text"});
    const Strings before = redis.keys();
    BOOST_TEST(ask(call).view().error() == sentence);
    BOOST_TEST(redis.keys() == before, boost::test_tools::per_element());
  }
  void refuses(const std::string& key, const ScriptCall& call) {
    refuses(key, call, "WRONGTYPE " + key + " is a " + (key == lock_key ? "list" : "string"));
  }
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(a_raised_job_takes_its_lock_for_as_long_as_was_said, Site) {
  redis.command({"ZADD", "dead", "5", "D1"});
  BOOST_TEST((raise().kind == Raised::Kind::moved));
  BOOST_TEST(redis.lrange("queue:a") == Strings{"D1#again"}, boost::test_tools::per_element());
  BOOST_TEST(redis.smembers("queues") == Strings{"a"}, boost::test_tools::per_element());
  BOOST_TEST(redis.size_of("dead") == 0u);
  BOOST_TEST(holder() == "J1");
  BOOST_TEST(lives() == -1);
  BOOST_TEST((raise().kind == Raised::Kind::gone));
  redis.command({"ZADD", "dead", "5", "D1"});
  BOOST_TEST((raise(60s).kind == Raised::Kind::moved));  // the lock is its own
  BOOST_TEST(lives() > 50'000);
}

BOOST_FIXTURE_TEST_CASE(a_dead_job_that_died_again_since_or_has_nowhere_to_go_stays, Site) {
  redis.command({"ZADD", "dead", "6", "D1"});
  BOOST_TEST((raise().kind == Raised::Kind::gone));
  redis.command({"ZADD", "dead", "5", "D1"});
  redis.command({"SET", "queue:a", "text"});
  BOOST_TEST((raise().kind == Raised::Kind::stuck));
  redis.command({"DEL", "queue:a"});
  redis.command({"SET", lock_key, "J2"});
  const Raised held = raise();
  BOOST_TEST((held.kind == Raised::Kind::held));
  BOOST_TEST(held.holder == "J2");
  BOOST_TEST(redis.size_of("dead") == 1u);
  BOOST_TEST(redis.keys("queue*").empty());
  refuses(lock_key, raise_unique({"D1", "5", "a", "D1#again"}, {"L", "J1"}), "WRONGTYPE " + lock_key + " is no lock");
}

BOOST_FIXTURE_TEST_CASE(a_list_of_names_of_another_type_holds_up_no_raised_job, Site) {
  redis.command({"ZADD", "dead", "5", "D1"});
  redis.command({"SET", "queues", "text"});
  BOOST_TEST((raise().kind == Raised::Kind::moved));
  BOOST_TEST(redis.size_of("queue:a") == 1u);
}

BOOST_FIXTURE_TEST_CASE(of_equal_jobs_in_one_call_the_first_holds_the_lock, Site) {
  BOOST_TEST(push({job("J1"), job("J2"), job("J1")}) == (Strings{"", "J1", "J1"}), boost::test_tools::per_element());
  BOOST_TEST(redis.lrange("queue:a") == Strings{"J1"}, boost::test_tools::per_element());
  BOOST_TEST(redis.smembers("queues") == Strings{"a"}, boost::test_tools::per_element());
  BOOST_TEST(holder() == "J1");
}

BOOST_FIXTURE_TEST_CASE(a_job_that_is_pushed_again_is_no_other_that_it_waits_for, Site) {
  push({job("J1", OnConflict::after)});
  BOOST_TEST(push({job("J1", OnConflict::after)}) == Strings{"J1"}, boost::test_tools::per_element());
  BOOST_TEST(redis.size_of("queue:a") == 1u);
  BOOST_TEST(push({job("J2", OnConflict::after)}) == Strings{""}, boost::test_tools::per_element());
  BOOST_TEST(redis.size_of("queue:a") == 2u);
  BOOST_TEST(holder() == "J1");
}

BOOST_FIXTURE_TEST_CASE(a_lock_is_extended_only_on_request_and_never_shortened, Site) {
  push({job("J1", OnConflict::drop, 100s)});
  push({job("J2", OnConflict::drop, 900s)});
  BOOST_TEST(lives() <= 100'000);
  push({job("J2", OnConflict::extend, 50s)});
  BOOST_TEST(lives() > 90'000);
  push({job("J2", OnConflict::extend, 900s)});
  BOOST_TEST(lives() > 890'000);
  redis.command({"PERSIST", lock_key});
  push({job("J2", OnConflict::extend, 900s)});
  BOOST_TEST(lives() == -1);
  BOOST_TEST(redis.size_of("queue:a") == 1u);
}

BOOST_FIXTURE_TEST_CASE(a_numbered_batch_of_unique_jobs_is_pushed_once, Site) {
  BOOST_TEST(push_batch(2, "J1") == Strings{""}, boost::test_tools::per_element());
  redis.command({"DEL", lock_key, "queue:a"});  // it ran meanwhile
  BOOST_TEST(push_batch(2, "J1").empty());
  BOOST_TEST(push_batch(1, "J1").empty());
  BOOST_TEST(redis.keys("queue:*").empty());
  BOOST_TEST(push_batch(3, "J3") == Strings{""}, boost::test_tools::per_element());
  BOOST_TEST(redis.lrange("queue:a") == Strings{"J3"}, boost::test_tools::per_element());
  BOOST_TEST(redis.integer({"TTL", RedisKey("brood:pushes:c")}) > 86'000);
}

BOOST_FIXTURE_TEST_CASE(a_batch_that_is_refused_takes_no_number, Site) {
  for (const auto on_conflict : {OnConflict::drop, OnConflict::replace, OnConflict::extend}) {
    redis.flush();
    redis.command({"SET", lock_key, "J0"});
    for (int i = 0; i < 2; ++i)
      BOOST_TEST(push_batch(1, "J1", on_conflict) == Strings{"J0"}, boost::test_tools::per_element());
    BOOST_TEST(last_batch() == "none");
    redis.command({"DEL", lock_key});  // it is done
    BOOST_TEST(push_batch(1, "J1", on_conflict) == Strings{""}, boost::test_tools::per_element());
    BOOST_TEST(last_batch() == "1");
  }
  redis.flush();
  redis.command({"SET", lock_key, "J0"});
  BOOST_TEST(push_batch(1, "J1", OnConflict::after) == Strings{""}, boost::test_tools::per_element());
  BOOST_TEST(last_batch() == "1");
}

// The command is sent again, or was on its way while others were pushed.
BOOST_FIXTURE_TEST_CASE(what_was_pushed_under_its_number_replaces_nothing_any_more, Site) {
  push({job("J1")});
  for (const char* last : {"4", "5"}) {
    redis.command({"SET", "brood:pushes:c", last});
    const WaitingHolder waits{"J1", "J1", {.key = RedisKey("queue:a")}, ""};
    BOOST_TEST(read_replaced(ask(replace_unique("a", waits, job("J2"), BatchNumber{"c", 4})).view()));
    BOOST_TEST(redis.lrange("queue:a") == Strings{"J1"}, boost::test_tools::per_element());
    BOOST_TEST(holder() == "J1");
    BOOST_TEST(last_batch() == last);
  }
}

BOOST_FIXTURE_TEST_CASE(what_replaces_another_takes_the_number_of_its_batch, Site) {
  redis.command({"SET", lock_key, "J0"});
  const auto replaces = [&] {
    return read_replaced(
        ask(replace_unique("a", {"J0", "B1", {.key = RedisKey("queue:b")}, ""}, job("J1"), BatchNumber{"c", 1}))
            .view());
  };
  BOOST_TEST(!replaces());
  BOOST_TEST(last_batch() == "none");
  redis.command({"RPUSH", "queue:b", "B1"});
  BOOST_TEST(replaces());
  BOOST_TEST(last_batch() == "1");
  BOOST_TEST(redis.integer({"TTL", RedisKey("brood:pushes:c")}) > 86'000);
  BOOST_TEST(push_batch(1, "J1").empty());
}

BOOST_FIXTURE_TEST_CASE(keys_of_another_type_are_named_before_a_unique_job_is_pushed, Site) {
  UniqueJob later = job("J1");
  later.score_text = "7";
  for (const std::string& key : {std::string("queue:a"), std::string("queues"), lock_key})
    refuses(key, push_unique("a", {job("J1")}));
  for (const std::string& key : {std::string("schedule"), lock_key}) refuses(key, push_unique("", {later}));
  redis.flush();
  redis.command({"SET", "queues", "text"});
  BOOST_TEST(push({later}, "") == Strings{""}, boost::test_tools::per_element());  // which needs no name of a queue
}

BOOST_FIXTURE_TEST_CASE(keys_of_another_type_are_named_before_a_unique_job_is_replaced, Site) {
  UniqueJob later = job("J1");
  later.score_text = "7";
  const WaitingHolder in_queue{"J0", "B1", {.key = RedisKey("queue:b")}, ""},
      scheduled{"J0", "S1", {.key = RedisKey("schedule")}, "5"};
  for (const std::string& key : {lock_key, std::string("queue:b"), std::string("queue:a"), std::string("queues")})
    refuses(key, replace_unique("a", in_queue, job("J1")));
  for (const std::string& key : {lock_key, std::string("schedule"), std::string("queue:a"), std::string("queues")})
    refuses(key, replace_unique("a", scheduled, job("J1")));
  for (const std::string& key : {lock_key, std::string("queue:b"), std::string("schedule")})
    refuses(key, replace_unique("", in_queue, later));
  redis.flush();
  redis.command({"SET", lock_key, "J0"});
  redis.command({"RPUSH", "queue:b", "B1"});
  redis.command({"SET", "queues", "text"});  // of which the schedule needs none
  BOOST_TEST(read_replaced(ask(replace_unique("", in_queue, later)).view()));
}

BOOST_FIXTURE_TEST_CASE(what_replaces_another_names_its_queue_and_has_the_lock_for_as_long_as_was_said, Site) {
  const auto replaces = [&](std::chrono::milliseconds longest) {
    redis.flush();
    redis.command({"SET", lock_key, "J0"});
    redis.command({"ZADD", "schedule", "5", "S1"});
    redis.command({"SADD", "queues", "b"});
    BOOST_TEST(read_replaced(ask(replace_unique("a", {"J0", "S1", {.key = RedisKey("schedule")}, "5"},
                                                job("J1", OnConflict::replace, longest)))
                                 .view()));
    BOOST_TEST(holder() == "J1");
    BOOST_TEST(redis.lrange("queue:a") == Strings{"J1"}, boost::test_tools::per_element());
    BOOST_TEST(redis.smembers("queues") == (Strings{"a", "b"}), boost::test_tools::per_element());
    BOOST_TEST(redis.size_of("schedule") == 0u);
  };
  replaces(0ms);
  BOOST_TEST(lives() == -1);
  replaces(60s);
  BOOST_TEST(lives() > 50'000);
}
