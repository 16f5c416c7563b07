#include <boost/test/unit_test.hpp>
#include <brood/api.hpp>
#include <cmath>

#include "shared/job/payload.hpp"
#include "shared/job/retry_decision.hpp"
#include "tests/support/redis_server.hpp"
#include "tests/support/vectors.hpp"

using namespace brood;
using namespace std::chrono_literals;
using Strings = std::vector<std::string>;

namespace {

std::string job(const std::string& jid, const std::string& more = "") {
  return R"({"class":"OkJob","args":[9, 1.0, 18446744073709551616],"queue":"low","jid":")" + jid + '"' + more + "}";
}

void add(RedisServer& redis, const std::string& set, const std::string& score, const std::string& member) {
  redis.command({"ZADD", set, score, member});
}

Strings jids(const std::vector<SetEntry>& entries) {
  Strings all;
  for (const SetEntry& entry : entries) all.push_back(entry.jid);
  return all;
}

SetEntry only(const JobSet& set) {
  const std::vector<SetEntry> entries = set.page(0);
  BOOST_REQUIRE(entries.size() == 1u);
  return entries.front();
}

bool is_now(double seconds) { return std::abs(seconds - epoch_seconds(wall_now())) < 60; }

std::string pushed(RedisServer& redis, const std::string& queue) {
  const Strings jobs = redis.lrange("queue:" + queue);
  BOOST_REQUIRE(jobs.size() == 1u);
  return jobs.front();
}

// A payload without its time of enqueueing, and that time.
std::pair<std::string, std::string> without_enqueued_at(const std::string& payload) {
  const Payload read = Payload::parse(payload);
  return {read.with({{"enqueued_at", {}}}).text(), std::string(read.raw("enqueued_at").value_or(""))};
}

}  // namespace

BOOST_AUTO_TEST_CASE(an_entry_says_what_its_payload_says) {
  RedisServer redis;
  const std::string backtrace = encode_backtrace({"a.rb:1", "b.rb:2"});
  const std::string payload =
      R"({"class":"Wrapper","wrapped":"Real","args":[1, 2.50],"queue":"q","jid":"j1","tags":["a","b",3],"created_at":1795237318514,)"
      R"("enqueued_at":1795237318.5,"failed_at":1795237319000,"retry_count":3,"error_class":"E","error_message":"m\u00e9",)"
      R"("error_backtrace":")" +
      backtrace + R"(","odd":[1.0]})";
  add(redis, "retry", "1900000000.5", payload);
  Api api{redis.url()};
  const SetEntry entry = only(api.retries());
  BOOST_TEST(entry.payload == payload);
  BOOST_TEST(entry.is_job);
  BOOST_TEST(entry.jid == "j1");
  BOOST_TEST(entry.queue == "q");
  BOOST_TEST(entry.job_class == "Wrapper");
  BOOST_TEST(entry.display_class == "Real");
  BOOST_TEST(entry.args == "[1, 2.50]");
  BOOST_TEST(entry.tags == (Strings{"a", "b"}), boost::test_tools::per_element());
  BOOST_TEST((entry.created_at == Time(1795237318514ms)));
  BOOST_TEST((entry.enqueued_at == Time(1795237318500ms)));
  BOOST_TEST((entry.failed_at == Time(1795237319s)));
  BOOST_TEST(!entry.retried_at);
  BOOST_TEST(entry.retry_count.value() == 3);
  BOOST_TEST(entry.error_class == "E");
  BOOST_TEST(entry.error_message == "m\xC3\xA9");
  BOOST_TEST(entry.backtrace() == (Strings{"a.rb:1", "b.rb:2"}), boost::test_tools::per_element());
  BOOST_TEST(entry.member("odd").value() == "[1.0]");
  BOOST_TEST(!entry.member("none"));
  BOOST_TEST(entry.score == 1900000000.5);
  BOOST_TEST(entry.score_text == "1900000000.5");
  BOOST_TEST((entry.time() == Time(1900000000500ms)));
}

BOOST_AUTO_TEST_CASE(what_is_no_job_has_its_bytes_and_nothing_else) {
  RedisServer redis;
  const std::string nul("\0x\0\xff", 4);
  add(redis, "dead", "1", nul);
  add(redis, "dead", "inf", "[]");
  add(redis, "dead", "2", R"({"args":[],"jid":"x"})");
  Api api{redis.url()};
  const std::vector<SetEntry> entries = api.dead().page(0);
  BOOST_REQUIRE(entries.size() == 3u);
  BOOST_TEST(entries[0].payload == nul);
  for (const SetEntry& entry : entries) {
    BOOST_TEST(!entry.is_job);
    BOOST_TEST(entry.jid.empty());
    BOOST_TEST(entry.backtrace().empty());
    BOOST_TEST(api.dead().remove(entry));
  }
  BOOST_TEST(entries[1].member("jid").value() == "\"x\"");
  BOOST_TEST(std::isinf(entries[2].score));
  BOOST_TEST((entries[2].time() > Time(std::chrono::seconds(9'000'000'000))));
  BOOST_TEST(redis.size_of("dead") == 0u);
}

BOOST_AUTO_TEST_CASE(pages_go_by_score_in_either_direction) {
  RedisServer redis;
  for (int i = 0; i < 7; ++i) add(redis, "schedule", std::to_string(100 + i), job("j" + std::to_string(i)));
  Api api{redis.url()};
  const JobSet set = api.scheduled();
  BOOST_TEST(set.size() == 7u);
  BOOST_TEST(jids(set.page(0, 3)) == (Strings{"j0", "j1", "j2"}), boost::test_tools::per_element());
  BOOST_TEST(jids(set.page(2, 3)) == (Strings{"j6"}), boost::test_tools::per_element());
  BOOST_TEST(set.page(3, 3).empty());
  BOOST_TEST(jids(set.page(0, 2, JobSet::Order::highest_first)) == (Strings{"j6", "j5"}),
             boost::test_tools::per_element());
  BOOST_CHECK_THROW(set.page(0, 0), std::invalid_argument);
  BOOST_CHECK_THROW(set.page(~std::size_t{0}, 25), std::invalid_argument);
}

BOOST_AUTO_TEST_CASE(a_walk_meets_every_entry_once_the_highest_score_first) {
  RedisServer redis;
  Strings expected;
  for (int i = 999; i >= 0; --i) {
    const std::string jid = "j" + std::to_string(1000 + i);
    add(redis, "retry", std::to_string(i / 400), job(jid));  // hundreds share a score
    expected.push_back(jid);
  }
  Api api{redis.url()};
  Strings met;
  api.retries().each([&](const SetEntry& entry) {
    met.push_back(entry.jid);
    return true;
  });
  BOOST_TEST(met == expected, boost::test_tools::per_element());

  // It misses no entry while the walker removes what it meets, or other clients do.
  Strings again;
  JobSet set = api.retries();
  set.each([&](const SetEntry& entry) {
    again.push_back(entry.jid);
    if (again.size() % 3 != 0) set.remove(entry);
    if (again.size() == 500) redis.command({"ZREMRANGEBYRANK", "retry", "0", "9"});
    return again.size() < 900;
  });
  BOOST_TEST(again == Strings(expected.begin(), expected.begin() + 900), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_search_finds_by_text_pattern_and_jid) {
  RedisServer redis;
  for (int i = 0; i < 300; ++i) add(redis, "retry", "0.1", job("j" + std::to_string(i)));
  add(redis, "retry", "0.1", job("odd*[jid]\\\\"));
  Api api{redis.url()};
  const auto count = [&](const char* match) {
    int found = 0;
    api.retries().scan(match, [&](const SetEntry& entry) {
      BOOST_TEST(entry.score == 0.1);
      return ++found < 1000;
    });
    return found;
  };
  BOOST_TEST(count("") == 301);
  BOOST_TEST(count("\"j29\"") == 1);
  BOOST_TEST(count("OkJob*\"j29?\"*") == 0);
  BOOST_TEST(count("*OkJob*\"j29?\"*") == 10);
  BOOST_TEST(count("nowhere") == 0);
  BOOST_TEST(api.retries().find("j7").value().jid == "j7");
  BOOST_TEST(api.retries().find("odd*[jid]\\").value().jid == "odd*[jid]\\");
  BOOST_TEST(!api.retries().find("OkJob"));
  BOOST_TEST(!api.retries().find(""));
  BOOST_TEST(!api.dead().find("j7"));
  // A search result can be changed: it has the score with which it is compared.
  BOOST_TEST(api.retries().remove(*api.retries().find("j7")));
  BOOST_TEST(!api.retries().find("j7"));
}

BOOST_AUTO_TEST_CASE(entries_are_fetched_by_score) {
  RedisServer redis;
  for (int i = 0; i < 600; ++i) add(redis, "retry", i < 300 ? "5.5" : "6.5", job("j" + std::to_string(1000 + i)));
  Api api{redis.url()};
  BOOST_TEST(api.retries().fetch(5.5).size() == 300u);
  BOOST_TEST(api.retries().fetch(5.5).front().jid == "j1000");
  BOOST_TEST(api.retries().fetch(5).empty());
  BOOST_TEST(api.retries().fetch(6, 7).size() == 300u);
  BOOST_TEST(api.retries().fetch(-INFINITY, INFINITY).size() == 600u);
  BOOST_CHECK_THROW(api.retries().fetch(NAN), std::invalid_argument);
}

BOOST_AUTO_TEST_CASE(a_retry_that_is_run_is_pushed_with_one_less_in_its_count) {
  const test::Vector vector = test::vectors("retry-now").front();
  BOOST_TEST(vector.input["op"].text == "SortedEntry#retry");
  RedisServer redis;
  const std::string payload =
      R"({"class":"OkJob","args":[9],"queue":"default","jid":"r1","retry":true,"retry_count":2,"enqueued_at":5,"created_at":1795237318514})";
  add(redis, "retry", "1900000000.5", payload);
  Api api{redis.url()};
  BOOST_TEST(api.retries().run(only(api.retries())));

  BOOST_TEST(redis.keys() == (Strings{"queue:default", "queues"}), boost::test_tools::per_element());
  BOOST_TEST(redis.smembers("queues") == Strings{"default"}, boost::test_tools::per_element());
  const auto [rest, enqueued_at] = without_enqueued_at(pushed(redis, "default"));
  BOOST_TEST(
      rest ==
      R"({"class":"OkJob","args":[9],"queue":"default","jid":"r1","retry":true,"retry_count":1,"created_at":1795237318514})");
  BOOST_TEST(enqueued_at.find('.') == std::string::npos);
  BOOST_TEST(is_now(std::stod(enqueued_at) / 1000));
}

BOOST_AUTO_TEST_CASE(of_two_entries_with_one_score_only_the_one_meant_is_run) {
  const test::Vector vector = test::vectors("retry-same-score").front();
  const std::string meant = vector.expect["pushed"].text, other = vector.expect["put_back"].text;
  RedisServer redis;
  for (const std::string& jid : {meant, other}) add(redis, "retry", "1900000000.5", job(jid));
  Api api{redis.url()};
  BOOST_TEST(api.retries().run(*api.retries().find(meant)));
  BOOST_TEST(JobRecord::read(pushed(redis, "low")).jid == meant);
  BOOST_TEST(jids(api.retries().page(0)) == Strings{other}, boost::test_tools::per_element());
  BOOST_TEST(redis.zrange("retry").front().second == 1900000000.5);
}

BOOST_AUTO_TEST_CASE(run_changes_nothing_but_what_it_must) {
  RedisServer redis;
  const std::string odd =
      R"({ "class":"X" , "args":[1E2,{}],"big":18446744073709551616,"queue":"low","created_at":1.5,"jid":"a"})";
  add(redis, "dead", "7", odd);
  add(redis, "schedule", "8", job("s", R"(,"retry_count":4)"));
  Api api{redis.url()};
  BOOST_TEST(api.dead().run(only(api.dead())));
  const std::string text = pushed(redis, "low");
  BOOST_TEST(text.starts_with(odd.substr(0, odd.size() - 1) + ",\"enqueued_at\":"));
  BOOST_TEST(JobRecord::read(text).member("enqueued_at")->find('.') != std::string::npos);  // seconds, as created_at
  redis.command({"DEL", "queue:low"});

  BOOST_TEST(api.scheduled().run(only(api.scheduled())));  // "add to queue" leaves the count alone
  BOOST_TEST(JobRecord::read(pushed(redis, "low")).retry_count.value() == 4);
}

BOOST_AUTO_TEST_CASE(a_count_of_0_becomes_minus_1_as_in_sidekiq) {
  RedisServer redis;
  add(redis, "retry", "1", job("a", R"(,"retry_count":0)"));
  add(redis, "retry", "2", job("b", R"(,"retry_count":"many")"));
  Api api{redis.url()};
  for (const SetEntry& entry : api.retries().page(0)) BOOST_TEST(api.retries().run(entry));
  BOOST_TEST(JobRecord::read(redis.lrange("queue:low")[1]).retry_count.value() == -1);
  BOOST_TEST(JobRecord::read(redis.lrange("queue:low")[0]).member("retry_count").value() == "\"many\"");
}

BOOST_AUTO_TEST_CASE(a_killed_entry_keeps_its_bytes_and_the_dead_set_is_trimmed) {
  RedisServer redis;
  const std::string payload = job("k");
  add(redis, "retry", "1900000000", payload);
  for (int i = 0; i < 20; ++i) add(redis, "dead", std::to_string(1795237318 + i), "old" + std::to_string(i));
  add(redis, "dead", "1", "far too old");
  Api api{redis.url()};
  api.limit_dead(10, std::chrono::hours(24 * 36500));
  BOOST_TEST(api.retries().kill(only(api.retries())));
  const auto dead = redis.zrange("dead");
  BOOST_REQUIRE(dead.size() == 9u);  // one less than the limit, as Sidekiq keeps them
  BOOST_TEST(dead.back().first == payload);
  BOOST_TEST(is_now(dead.back().second));
  BOOST_TEST(dead.front().first == "old12");
  BOOST_TEST(redis.size_of("retry") == 0u);

  api.limit_dead(1'000'000, 1h);  // all but the new one are older
  BOOST_TEST(api.dead().kill(api.dead().page(0, 1).front()));
  BOOST_TEST(redis.size_of("dead") == 2u);
  BOOST_CHECK_THROW(api.limit_dead(0, 1h), std::invalid_argument);
}

BOOST_AUTO_TEST_CASE(the_dead_set_is_not_cut_without_known_limits) {
  RedisServer redis;
  redis.command({"EVAL", "for i = 1, 12000 do redis.call('ZADD', 'dead', i, i) end", "0"});  // as old as can be
  add(redis, "retry", "1900000000", job("k"));
  Api api{redis.url()};
  BOOST_TEST(api.retries().kill(only(api.retries())));
  BOOST_TEST(redis.size_of("dead") == 12'001u);
}

BOOST_AUTO_TEST_CASE(a_rescheduled_entry_keeps_its_bytes) {
  RedisServer redis;
  const std::string payload = R"({"class":"X", "args":[ ]})";
  add(redis, "schedule", "1900000000.25", payload);
  Api api{redis.url()};
  BOOST_TEST(api.scheduled().reschedule(only(api.scheduled()), Time(1900000123750ms)));
  BOOST_TEST(redis.zrange("schedule").front().first == payload);
  BOOST_TEST(redis.zrange("schedule").front().second == 1900000123.75);
}

BOOST_AUTO_TEST_CASE(a_concurrent_change_of_an_entry_wins) {
  RedisServer redis;
  add(redis, "retry", "5", job("a"));
  Api api{redis.url()};
  JobSet set = api.retries();
  const SetEntry read = only(set);
  add(redis, "retry", "6", job("a"));  // rescheduled by another client
  BOOST_TEST(!set.remove(read));
  BOOST_TEST(!set.run(read));
  BOOST_TEST(!set.kill(read));
  BOOST_TEST(!set.reschedule(read, Time(1s)));
  BOOST_TEST(redis.keys() == Strings{"retry"}, boost::test_tools::per_element());
  BOOST_TEST(redis.zrange("retry").front().second == 6);
  redis.command({"DEL", "retry"});
  BOOST_TEST(!set.run(read));
  BOOST_TEST(redis.keys().empty());
}

BOOST_AUTO_TEST_CASE(what_cannot_run_stays_and_can_be_killed) {
  RedisServer redis;
  add(redis, "retry", "5", "no job");
  Api api{redis.url()};
  JobSet set = api.retries();
  const SetEntry entry = only(set);
  BOOST_CHECK_THROW(set.run(entry), std::invalid_argument);
  BOOST_TEST(redis.size_of("retry") == 1u);
  BOOST_TEST(set.kill(entry));
  BOOST_TEST(redis.zrange("dead").front().first == "no job");

  add(redis, "retry", "5", job("a"));
  redis.command({"SET", "queue:low", "no list"});
  BOOST_CHECK_THROW(set.run(only(set)), JobStays);
  BOOST_TEST(redis.size_of("retry") == 1u);
  redis.command({"DEL", "retry"});
  add(redis, "retry", "5", R"({"class":"OkJob","args":[],"queue":"","jid":"a"})");
  BOOST_CHECK_EXCEPTION(set.run(only(set)), JobStays, [](const JobStays& error) {
    return std::string(error.what()).ends_with(": the job stays: its queue has no name");
  });
  BOOST_TEST(redis.size_of("retry") == 1u);
  redis.command({"DEL", "dead"});
  redis.command({"SET", "dead", "no set"});
  BOOST_CHECK_THROW(set.kill(only(set)), RedisError);
  BOOST_TEST(redis.size_of("retry") == 1u);
}

BOOST_AUTO_TEST_CASE(a_key_of_another_type_is_an_error_that_names_key_and_redis) {
  RedisServer redis;
  redis.command({"SET", "retry", "text"});
  Api api{redis.url()};
  const auto names_it = [&](const RedisError& error) {
    const std::string what = error.what();
    return what.find("\"retry\"") != what.npos && what.find(redis.socket_path()) != what.npos;
  };
  JobSet set = api.retries();
  BOOST_CHECK_EXCEPTION(set.size(), RedisError, names_it);
  BOOST_CHECK_EXCEPTION(set.page(0), RedisError, names_it);
  BOOST_CHECK_EXCEPTION(set.each([](const SetEntry&) { return true; }), RedisError, names_it);
  BOOST_CHECK_EXCEPTION(set.find("x"), RedisError, names_it);
  BOOST_CHECK_EXCEPTION(set.run_all(), RedisError, names_it);
  set.clear();
  BOOST_TEST(set.size() == 0u);
}

BOOST_AUTO_TEST_CASE(a_full_redis_is_drained_and_changed) {
  RedisServer redis;
  add(redis, "retry", "5", job("a"));
  add(redis, "retry", "6", job("b"));
  add(redis, "retry", "7", job("c"));
  Api api{redis.url()};
  JobSet set = api.retries();
  const std::vector<SetEntry> entries = set.page(0);
  redis.command({"CONFIG", "SET", "maxmemory", "1"});
  BOOST_TEST(redis.command({"LPUSH", "queue:low", "x"}).view().is_error());
  BOOST_TEST(set.reschedule(entries[0], Time(50s)));
  BOOST_TEST(set.run(entries[1]));
  BOOST_TEST(set.kill(entries[2]));
  redis.command({"CONFIG", "SET", "maxmemory", "0"});
  BOOST_TEST(redis.zrange("retry").front().second == 50);
  BOOST_TEST(redis.size_of("queue:low") == 1u);
  BOOST_TEST(redis.size_of("dead") == 1u);
}

BOOST_AUTO_TEST_CASE(redis_away_is_an_error_and_its_return_is_noticed) {
  RedisServer redis;
  Api api{redis.url()};
  BOOST_TEST(api.retries().size() == 0u);
  redis.kill9();
  BOOST_CHECK_THROW(api.retries().size(), RedisError);
  redis.restart();
  BOOST_TEST(api.retries().size() == 0u);
  BOOST_CHECK_THROW(Api{"sentinel://x"}, RedisError);
}
