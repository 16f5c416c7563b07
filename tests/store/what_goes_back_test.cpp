#include <boost/test/unit_test.hpp>

#include "shared/store/in_flight/incarnation.hpp"
#include "shared/store/in_flight/running_lock.hpp"
#include "shared/store/in_flight/settle_and_fetch.hpp"
#include "shared/store/keys.hpp"
#include "tests/support/redis_server.hpp"

using namespace brood;
using Kind = Outcome::Kind;
using Strings = std::vector<std::string>;

// Jobs that a living worker has not begun go back to their queue, and so does the rest of its list if its field is
// lost.
namespace {

const std::string identity = "host:1:0123456789ab", field = "2.17";
const std::string hash = keys::in_flight_hash(identity).name();
const std::string running = keys::running_lock("L").name();
const WallTime now{std::chrono::seconds(1'800'000'000)};

std::string list_of(const std::string& queue) { return keys::in_flight_list(identity, field, queue).name(); }

Strings numbers(int first, int end) {
  Strings all;
  for (int i = first; i < end; ++i) all.push_back(std::to_string(i));
  return all;
}

// A worker that holds jobs of queue "a", and runs under a lock.
struct Site {
  RedisServer redis;
  Connection connection{redis.address()};
  IncarnationHoldings held;

  void hold(const Strings& oldest_first, const std::string& in_field = "3 a") {
    redis.flush();
    held = {};
    held.add(running_lock({identity, field, 3}, "L", "J1"));
    redis.command({"SET", RedisKey(running), held.all().front().member});
    redis.command({"HSET", RedisKey(hash), field, in_field, holdings_field(field), held.note()});
    if (in_field.empty()) redis.command({"HDEL", RedisKey(hash), field});
    for (const std::string& job : oldest_first) redis.command({"LPUSH", RedisKey(list_of("a")), job});
    redis.command({"LPUSH", "queue:a", "waits"});
  }
  bool has_lock() { return redis.get(running).has_value(); }
  bool has_note() { return redis.hget(hash, holdings_field(field)).has_value(); }
  Reply give_back(int keep) { return connection.run(brood::give_back(identity, field, "a", 3, keep, held)); }
  std::int64_t gives_back(int keep) { return give_back(keep).view().integer(); }

  LostSettlement lost(std::vector<LostSettlement::Performed> performed) {
    return {identity, field, "a", std::move(performed), {.max_jobs = 100, .timeout_seconds = 1'000}, held};
  }
  Reply settle(std::vector<LostSettlement::Performed> performed) {
    return connection.run(settle_without_field(lost(std::move(performed)), now));
  }
  std::pair<std::size_t, std::size_t> settled(std::vector<LostSettlement::Performed> performed) {
    const Reply reply = settle(std::move(performed));
    const SettledWithoutField all = read_settled_without_field(reply.view());
    return {all.settled, all.given_back};
  }
  // The content of the queue, the next to run first.
  Strings queue() {
    Strings all = redis.lrange("queue:a");
    return {all.rbegin(), all.rend()};
  }
};

Outcome as(Kind kind, const std::string& payload = "") { return {kind, payload, 4e9}; }

std::string unique_job(const std::string& jid) {
  return R"({"class":"A","args":[],"jid":")" + jid + R"(","unique_for":60,"unique_lock":")" + jid + R"("})";
}

}  // namespace

BOOST_FIXTURE_TEST_CASE(however_many_were_not_begun_they_go_back_in_their_order_and_with_them_what_was_held, Site) {
  for (const int jobs : {1, 99, 100, 101, 250}) {
    hold(numbers(0, jobs));
    BOOST_TEST(gives_back(0) == jobs);
    Strings wanted = numbers(0, jobs);
    wanted.push_back("waits");
    BOOST_TEST(queue() == wanted, boost::test_tools::per_element());
    BOOST_TEST(redis.size_of(list_of("a")) == 0u);
    BOOST_TEST(!has_lock());
    BOOST_TEST(!has_note());
    BOOST_TEST(redis.hget(hash, field).value_or("") == "3 a");
  }
}

BOOST_FIXTURE_TEST_CASE(where_nothing_goes_back_nothing_is_let_go_of, Site) {
  for (const int keep : {0, 1, 2}) {
    hold(keep == 0 ? Strings{} : Strings{"1"});
    BOOST_TEST(gives_back(keep) == 0);
    BOOST_TEST(has_lock());
    BOOST_TEST(has_note());
    BOOST_TEST(queue() == Strings{"waits"}, boost::test_tools::per_element());
  }
}

BOOST_FIXTURE_TEST_CASE(a_list_that_the_worker_does_not_hold_by_now_is_left_alone, Site) {
  for (const char* in_field : {"3 b", "3 ", "3 a:a", "4 a", "33 a", ""}) {
    hold({"1", "2"}, in_field);
    BOOST_TEST(gives_back(0) == 0);
    BOOST_TEST(redis.size_of(list_of("a")) == 2u);
    BOOST_TEST(has_lock());
  }
  hold({"1"});
  redis.command({"DEL", RedisKey(hash)});
  redis.command({"SET", RedisKey(hash), "text"});
  BOOST_TEST(gives_back(0) == 0);
  BOOST_TEST(redis.size_of(list_of("a")) == 1u);
}

BOOST_FIXTURE_TEST_CASE(keys_of_another_type_are_named_before_anything_goes_back, Site) {
  for (const std::string& key : {list_of("a"), std::string("queue:a")}) {
    hold({"1", "2"});
    redis.command({"DEL", RedisKey(key)});
    redis.command({"SET", RedisKey(key), "text"});
    BOOST_TEST(give_back(0).view().error() == "WRONGTYPE " + key + " is a string");
    BOOST_TEST(has_lock());
  }
}

BOOST_FIXTURE_TEST_CASE(a_full_redis_takes_back_what_was_not_begun, Site) {
  hold({"1", "2"});
  redis.command({"DEL", RedisKey(running)});
  held = {};
  redis.command({"CONFIG", "SET", "maxmemory", "1"});
  BOOST_TEST(gives_back(1) == 1);
  BOOST_TEST(queue() == (Strings{"2", "waits"}), boost::test_tools::per_element());
}

BOOST_FIXTURE_TEST_CASE(without_a_field_what_was_performed_is_settled_and_the_rest_goes_back_in_its_order, Site) {
  for (const char* in_field : {"", "0 "}) {
    for (const int rest : {0, 1, 99, 100, 101, 250}) {
      Strings jobs{"done", "back"};
      for (const std::string& job : numbers(0, rest)) jobs.push_back(job);
      hold(jobs, in_field);
      BOOST_TEST((settled({{"done", {}}, {"back", as(Kind::requeue_back)}}) ==
                  std::pair<std::size_t, std::size_t>(2, static_cast<std::size_t>(rest))));
      Strings wanted = numbers(0, rest);
      wanted.insert(wanted.end(), {"waits", "back"});
      BOOST_TEST(queue() == wanted, boost::test_tools::per_element());
      BOOST_TEST(redis.size_of(list_of("a")) == 0u);
      BOOST_TEST(!has_lock());
      BOOST_TEST(!redis.hget(hash, field));
    }
  }
}

BOOST_FIXTURE_TEST_CASE(where_the_field_is_there_or_a_recovery_was_first_nothing_is_settled, Site) {
  for (const char* in_field : {"3 a", "0 a", "1 "}) {
    hold({"1", "2"}, in_field);
    BOOST_TEST((settled({{"1", as(Kind::retry, "1r")}}) == std::pair<std::size_t, std::size_t>(0, 0)));
    BOOST_TEST(redis.size_of(list_of("a")) == 2u);
    BOOST_TEST(redis.size_of("retry") == 0u);
    BOOST_TEST(has_lock());
  }
  hold({}, "");
  BOOST_TEST((settled({{"1", as(Kind::retry, "1r")}}) == std::pair<std::size_t, std::size_t>(0, 0)));
  BOOST_TEST(redis.size_of("retry") == 0u);
  BOOST_TEST(!has_lock());
  // A move that comes late finds a key that is no list.
  BOOST_TEST(redis.get(list_of("a")).value_or("") == "dead");
  const std::int64_t lives = redis.integer({"TTL", RedisKey(list_of("a"))});
  BOOST_TEST((lives > 3'500 && lives <= 3'600));
  redis.command({"EXPIRE", RedisKey(list_of("a")), "60"});
  BOOST_TEST((settled({{"1", as(Kind::retry, "1r")}}) == std::pair<std::size_t, std::size_t>(0, 0)));
  BOOST_TEST(redis.integer({"TTL", RedisKey(list_of("a"))}) <= 60);
}

BOOST_FIXTURE_TEST_CASE(from_the_first_entry_that_is_another_all_goes_back, Site) {
  hold({"1", "other", "3"}, "");
  BOOST_TEST(
      (settled({{"1", {}}, {"2", as(Kind::retry, "2r")}, {"3", {}}}) == std::pair<std::size_t, std::size_t>(1, 2)));
  BOOST_TEST(queue() == (Strings{"other", "3", "waits"}), boost::test_tools::per_element());
  BOOST_TEST(redis.size_of("retry") == 0u);
  hold({"1"}, "");
  BOOST_TEST((settled({{"1", {}}, {"2", as(Kind::retry, "2r")}}) == std::pair<std::size_t, std::size_t>(1, 0)));
  BOOST_TEST(redis.size_of("retry") == 0u);
}

BOOST_FIXTURE_TEST_CASE(without_a_field_a_job_that_ends_lets_go_of_its_lock_and_no_other_does, Site) {
  hold({unique_job("a"), unique_job("b"), unique_job("c")}, "");
  for (const char* jid : {"a", "b", "c"}) redis.command({"SET", keys::unique_lock(jid), jid});
  settle({{unique_job("a"), {}}, {unique_job("b"), as(Kind::retry, unique_job("b"))}, {"other", {}}});
  BOOST_TEST(redis.keys("brood:unique:*") == (Strings{"brood:unique:b", "brood:unique:c"}),
             boost::test_tools::per_element());
  BOOST_TEST(redis.size_of("retry") == 1u);
}

BOOST_FIXTURE_TEST_CASE(without_a_field_all_goes_back_where_nothing_was_performed, Site) {
  hold({"1", "2"}, "");
  BOOST_TEST((settled({}) == std::pair<std::size_t, std::size_t>(0, 2)));
  BOOST_TEST(queue() == (Strings{"1", "2", "waits"}), boost::test_tools::per_element());
  hold({"1", "2"}, "");
  BOOST_TEST((settled({{"other", {}}}) == std::pair<std::size_t, std::size_t>(0, 2)));
  BOOST_TEST(queue() == (Strings{"1", "2", "waits"}), boost::test_tools::per_element());
}

BOOST_FIXTURE_TEST_CASE(without_a_field_the_dead_set_is_trimmed_by_the_settle_that_adds_to_it, Site) {
  for (const Kind kind : {Kind::retry, Kind::move_to_dead}) {
    hold({"1"}, "");
    redis.command({"ZADD", "dead", "1", "of long ago"});
    settle({{"1", as(kind)}});
    BOOST_TEST(redis.zrange("dead").at(0).first == (kind == Kind::retry ? "of long ago" : "1"));
  }
}

BOOST_FIXTURE_TEST_CASE(without_a_field_a_job_that_goes_back_with_an_unknown_end_is_counted, Site) {
  hold({"1", "2"}, "");
  settle({{"1", as(Kind::give_back)}});
  BOOST_TEST(queue() == (Strings{"2", "1", "waits"}), boost::test_tools::per_element());
  BOOST_TEST(redis.keys("brood:recovered:*").size() == 1u);
}

BOOST_FIXTURE_TEST_CASE(without_a_field_keys_of_another_type_are_named_before_anything_is_settled, Site) {
  const std::vector<std::pair<std::string, Kind>> all{
      {hash, Kind::acknowledge},    {"queue:a", Kind::acknowledge}, {"retry", Kind::retry},
      {"dead", Kind::move_to_dead}, {"schedule", Kind::schedule},   {"brood:quarantined", Kind::quarantine}};
  for (const auto& [key, kind] : all) {
    hold({"1", "2"}, "");
    redis.command({"DEL", RedisKey(key)});
    redis.command({"SET", RedisKey(key), "text"});
    BOOST_TEST(settle({{"1", as(kind)}}).view().error() == "WRONGTYPE " + key + " is a string");
    BOOST_TEST(redis.size_of(list_of("a")) == 2u);
    BOOST_TEST(has_lock());
  }
}

BOOST_FIXTURE_TEST_CASE(without_a_field_a_full_redis_settles, Site) {
  hold({"1", "2", "3", "4"}, "");
  redis.command({"CONFIG", "SET", "maxmemory", "1"});
  BOOST_TEST((settled({{"1", as(Kind::retry, "1r")}, {"2", as(Kind::requeue_back)}, {"3", as(Kind::requeue_head)}}) ==
              std::pair<std::size_t, std::size_t>(3, 1)));
  BOOST_TEST(queue() == (Strings{"4", "3", "waits", "2"}), boost::test_tools::per_element());
  BOOST_TEST(redis.zrange("retry").at(0).first == "1r");
}
