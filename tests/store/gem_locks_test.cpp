#include "shared/store/gem_lock.hpp"

#include <boost/test/unit_test.hpp>
#include <brood/api.hpp>
#include <memory>

#include "shared/store/in_flight/settle_and_fetch.hpp"
#include "shared/store/keys.hpp"
#include "shared/store/rights.hpp"
#include "shared/store/sets/set_entries.hpp"
#include "tests/support/redis_server.hpp"
#include "worker/admission/unique_turn.hpp"

using namespace brood;
using namespace std::chrono_literals;
using Strings = std::vector<std::string>;

namespace {

const std::string digest = "uniquejobs:0123456789abcdef0123456789abcdef";
const std::string holders = digest + ":LOCKED";
const std::string index_key = "uniquejobs:digests";
const std::string expiring = "uniquejobs:expiring_digests";

// A payload with the members that the gem's client adds.
std::string job(const std::string& jid, const std::string& lock = "until_executed", const std::string& of = digest) {
  return R"({"retry":true,"queue":"a","class":"Report","args":[1],"lock":")" + lock + R"(","jid":")" + jid +
         R"(","created_at":1700000000.5,"lock_timeout":0,"lock_ttl":null,"lock_prefix":"uniquejobs","lock_args":[1],)"
         R"("lock_digest":")" +
         of + R"(","enqueued_at":1700000000.5})";
}

struct Fleet {
  RedisServer server;
  Connection redis{server.address()};
  Scoreboard scoreboard = Scoreboard::in_memory(1);
  WorkerSlot slot{scoreboard.slot(0)};
  std::unique_ptr<Session> session;

  Fleet() {
    serve_gem_locks(true);
    vacate(scoreboard.slot(0), 7, 1);
    Session::Setup setup;
    setup.identity = "host:1:0123456789ab";
    setup.identity_record = "{}";
    setup.pause = [](std::chrono::milliseconds) {};
    session = std::make_unique<Session>(redis, slot, std::move(setup));
  }
  ~Fleet() { serve_gem_locks(false); }

  // In the form of release 8, with `lock_info`.
  void lock(const std::string& jid) {
    server.command({"HSET", holders, jid, "1700000000.5"});
    server.command({"SET", digest, jid});
    server.command({"SET", digest + ":INFO", R"({"worker":"Report"})"});
    server.command({"ZADD", index_key, "1700000000.5", digest});
  }
  // In the form of release 9.
  void lock_of_9(const std::string& jid) {
    server.command({"HSET", holders, jid, R"({"worker":"Report"})"});
    server.command({"ZADD", index_key, "1700000000.5", digest});
  }
  void fetch(const Strings& payloads) {
    for (const std::string& payload : payloads) server.command({"LPUSH", "queue:a", payload});
    session->next({}, {.draw = {"a"}, .most = static_cast<int>(payloads.size())});
    BOOST_REQUIRE(session->batch().entries.size() == payloads.size());
  }
  void settle(const std::vector<Outcome>& outcomes) { session->next(outcomes, {}); }
  void perform(const std::string& payload, Outcome outcome = {}) {
    fetch({payload});
    settle({std::move(outcome)});
  }
  Strings left() { return server.keys("uniquejobs:*"); }
};

Outcome fails(Outcome::Kind kind, const std::string& payload) {
  return {.kind = kind, .payload = payload, .score = 1'800'000'000};
}

const Strings of_a_lock_of_8{digest, digest + ":INFO", holders, index_key};

}  // namespace

BOOST_FIXTURE_TEST_CASE(the_lock_goes_with_the_job_that_is_done, Fleet) {
  lock("1");
  perform(job("1"));
  BOOST_TEST(left().empty());

  lock_of_9("2");
  perform(job("2"));
  BOOST_TEST(left().empty());
}

BOOST_FIXTURE_TEST_CASE(the_lock_stays_while_the_job_is_tried_again_and_goes_when_it_dies, Fleet) {
  lock("1");
  perform(job("1"), fails(Outcome::Kind::retry, job("1")));
  BOOST_TEST(left() == of_a_lock_of_8, boost::test_tools::per_element());
  perform(job("1"), fails(Outcome::Kind::move_to_dead, job("1")));
  BOOST_TEST(left().empty());
  BOOST_TEST(server.size_of("dead") == 1u);
}

BOOST_FIXTURE_TEST_CASE(each_job_of_a_batch_lets_go_of_its_own, Fleet) {
  const std::string other = "uniquejobs:" + std::string(64, 'a');
  lock("1");
  server.command({"HSET", other + ":LOCKED", "2", "1"});
  server.command({"HSET", other + ":LOCKED", "3", "1"});
  server.command({"SET", other, "3"});
  server.command({"ZADD", index_key, "1", other});

  fetch({job("1"), job("2", "until_executed", other)});
  settle({Outcome{}, Outcome{}});

  BOOST_TEST(left() == (Strings{other, other + ":LOCKED", index_key}), boost::test_tools::per_element());
  BOOST_TEST(server.hgetall(other + ":LOCKED").contains("3"));
  BOOST_TEST(server.zrange(index_key).size() == 1u);
}

BOOST_FIXTURE_TEST_CASE(the_lock_of_another_is_left, Fleet) {
  lock("another");
  perform(job("1"));
  BOOST_TEST(left() == of_a_lock_of_8, boost::test_tools::per_element());
}

// With a lock_ttl the hash expires by itself, and the other keys may still be there.
BOOST_FIXTURE_TEST_CASE(what_is_left_of_an_expired_lock_goes_too, Fleet) {
  lock("1");
  server.command({"DEL", holders});
  server.command({"RPUSH", digest + ":PRIMED", "1"});
  perform(job("1"));
  BOOST_TEST(left().empty());
}

BOOST_FIXTURE_TEST_CASE(a_client_that_waits_for_the_lock_keeps_its_place, Fleet) {
  lock("1");
  server.command({"LPUSH", digest + ":QUEUED", "2"});
  perform(job("1"));
  BOOST_TEST(left() == (Strings{digest + ":QUEUED"}), boost::test_tools::per_element());
}

BOOST_FIXTURE_TEST_CASE(a_lock_until_the_beginning_goes_before_the_job_begins, Fleet) {
  for (const std::string kind : {"until_executing", "while_enqueued", "until_and_while_executing"}) {
    lock("1");
    fetch({job("1", kind)});
    BOOST_TEST((take_unique_turn(*session, Payload::parse(job("1", kind))) == UniqueTurn::begins));
    BOOST_TEST(left().empty());

    lock("2");  // which the next push takes
    settle({Outcome{}});
    BOOST_TEST(left() == of_a_lock_of_8, boost::test_tools::per_element());
    server.command({"DEL", holders, index_key, digest, digest + ":INFO"});
  }
}

BOOST_FIXTURE_TEST_CASE(a_lock_until_the_end_does_not_go_at_the_beginning, Fleet) {
  for (const std::string kind : {"until_executed", "until_completed", "until_expired", "somebodys_own"}) {
    lock("1");
    fetch({job("1", kind)});
    BOOST_TEST((take_unique_turn(*session, Payload::parse(job("1", kind))) == UniqueTurn::begins));
    BOOST_TEST(left() == of_a_lock_of_8, boost::test_tools::per_element());
    settle({fails(Outcome::Kind::retry, job("1", kind))});
  }
}

BOOST_FIXTURE_TEST_CASE(a_worker_that_was_recovered_lets_go_of_nothing, Fleet) {
  lock("1");
  fetch({job("1", "until_executing")});
  server.command({"DEL", "brood:inflight:host:1:0123456789ab"});
  BOOST_TEST((take_unique_turn(*session, Payload::parse(job("1", "until_executing"))) == UniqueTurn::fenced));
  BOOST_TEST(left() == of_a_lock_of_8, boost::test_tools::per_element());
}

BOOST_FIXTURE_TEST_CASE(a_lock_until_it_expires_outlives_the_job_unless_that_dies_or_is_deleted, Fleet) {
  const auto lock_until_expired = [&] {
    server.command({"HSET", holders, "1", "1"});
    server.command({"SET", digest, "1"});
    server.command({"ZADD", expiring, "1", digest});
  };
  lock_until_expired();
  perform(job("1", "until_expired"));
  BOOST_TEST(left() == (Strings{digest, holders, expiring}), boost::test_tools::per_element());
  perform(job("1", "until_expired"), fails(Outcome::Kind::move_to_dead, job("1", "until_expired")));
  BOOST_TEST(left().empty());

  lock_until_expired();
  server.command({"LPUSH", "queue:a", job("1", "until_expired")});
  Api(server.url()).queue("a").clear();
  BOOST_TEST(left().empty());
}

BOOST_FIXTURE_TEST_CASE(a_job_that_is_deleted_or_killed_lets_go, Fleet) {
  Api api(server.url());
  const auto held = [&] {
    lock("1");
    server.command({"LPUSH", "queue:a", job("1")});
    server.command({"LPUSH", "queue:a", job("2", "until_executed", "uniquejobs:" + std::string(32, 'b'))});
  };
  held();
  api.queue("a").clear();
  BOOST_TEST(left().empty());

  held();
  Queue queue = api.queue("a");
  BOOST_TEST(queue.remove(queue.find("1").value()));
  BOOST_TEST(left().empty());
  api.queue("a").clear();

  held();
  BOOST_TEST(api.queue("a").remove_if([](const JobRecord& job) { return job.jid == "1"; }).done == 1u);
  BOOST_TEST(left().empty());
  api.queue("a").clear();

  for (const std::string set : {"retry", "schedule"}) {
    const std::string held_job = job("1");
    for (const bool killed : {false, true}) {
      lock("1");
      server.command({"ZADD", set, "5", job("1")});
      const std::vector<EntryAsRead> entries{{held_job, "5"}};
      redis.run(killed ? kill_entries(set, entries, wall_now(), {}) : remove_entries(set, entries));
      BOOST_TEST(left().empty(), set);
    }
    lock("1");
    server.command({"ZADD", set, "5", job("1")});
    (set == "retry" ? api.retries() : api.scheduled()).clear();
    BOOST_TEST(left().empty(), set);
  }
}

BOOST_FIXTURE_TEST_CASE(a_payload_that_names_another_key_touches_nothing, Fleet) {
  const Strings names{"uniquejobs:digests",
                      "uniquejobs:",
                      "uniquejobs:0123456789abcde",
                      "uniquejobs:0123456789ABCDEF0123456789ABCDEF",
                      digest + ":RUN",
                      digest + ":LOCKED",
                      "queue:a",
                      "0123456789abcdef0123456789abcdef",
                      "uniquejobs:0123456789abcdef0123456789abcde*",
                      "brood:unique:" + std::string(32, 'a')};
  for (const std::string& name : names) {
    BOOST_TEST(!gem_lock_named_by(job("1", "until_executed", name)), name);
    server.command({"HSET", name + ":LOCKED", "1", "1"});
    perform(job("1", "until_executed", name));
    BOOST_TEST(server.hgetall(name + ":LOCKED").contains("1"), name);
  }
  for (const std::string& payload :
       Strings{R"({"jid":"1","lock_digest":7})", R"({"jid":"1","args":{"lock_digest":")" + digest + R"("}})",
               R"({"jid":"","lock_digest":")" + digest + R"("})", R"({"lock_digest":")" + digest + R"("})",
               R"(["lock_digest"])", R"({"jid":"1","lock_digest":")" + digest})
    BOOST_TEST(!gem_lock_named_by(payload), payload);
}

// Whatever they contain, nothing is lost, and the job is settled.
BOOST_FIXTURE_TEST_CASE(keys_of_another_type_are_left, Fleet) {
  lock("1");
  server.command({"SET", holders, "a text"});
  perform(job("1"));
  BOOST_TEST(left() == of_a_lock_of_8, boost::test_tools::per_element());

  server.command({"DEL", holders, digest, digest + ":INFO", index_key});
  server.command({"HSET", holders, "1", "1"});
  server.command({"RPUSH", digest, "a list"});
  server.command({"SADD", digest + ":INFO", "a set"});
  server.command({"SET", digest + ":PRIMED", "a text"});
  server.command({"SET", index_key, "a text"});
  perform(job("1"));
  BOOST_TEST(left() == (Strings{digest, digest + ":INFO", digest + ":PRIMED", index_key}),
             boost::test_tools::per_element());
  BOOST_TEST(server.size_of("brood:inflight:host:1:0123456789ab:0.7:a") == 0u);
}

BOOST_FIXTURE_TEST_CASE(a_full_redis_lets_go_of_it, Fleet) {
  lock("1");
  fetch({job("1")});
  server.command({"CONFIG", "SET", "maxmemory", "1"});
  settle({Outcome{}});
  BOOST_TEST(left().empty());
}

BOOST_FIXTURE_TEST_CASE(without_the_setting_gem_locks_are_ignored, Fleet) {
  serve_gem_locks(false);
  lock("1");
  perform(job("1"));
  fetch({job("2", "until_executing")});
  BOOST_TEST((take_unique_turn(*session, Payload::parse(job("2", "until_executing"))) == UniqueTurn::begins));
  settle({Outcome{}});
  BOOST_TEST(left() == of_a_lock_of_8, boost::test_tools::per_element());
  BOOST_TEST(!may_hold(job("1")));
}

BOOST_FIXTURE_TEST_CASE(its_rights_are_tried_where_it_is_asked_for, Fleet) {
  server.command({"ACL", "SETUSER", "limited", "reset", "on", "nopass", "+@all", "~queue:*", "~retry", "~schedule",
                  "~dead", "~processes", "~queues", "~paused", "~it-*", "~~*", "~brood:*"});
  Connection limited{server.address()};
  limited.call({"AUTH", "limited", "any"});
  const auto refusal = [&] {
    const Reply tried = limited.call(ask_rights({.queues = {"a"}}).front());
    return missing_right({tried.view()});
  };

  for (const std::string right : {"ZREM uniquejobs:digests", "HDEL uniquejobs:~", "DEL uniquejobs:~"})
    BOOST_TEST(refusal().find(right) != std::string::npos, refusal());
  serve_gem_locks(false);
  BOOST_TEST(refusal() == "");
  BOOST_TEST(left().empty());
}
