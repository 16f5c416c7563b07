#include "shared/store/in_flight/crash_book.hpp"

#include <boost/test/unit_test.hpp>

#include <chrono>

#include "tests/support/redis_server.hpp"

using namespace brood;
using Strings = std::vector<std::string>;

namespace {

const Strings book{"brood:crash_counts", "brood:crash_days", "brood:crash_stacks", "brood:crash_times",
                   "brood:crashes"};

Crash crash(const std::string& fingerprint, double at = 1795238112.081) {
  Crash crash;
  crash.fingerprint = fingerprint;
  crash.at = at;
  crash.job_class = "Images::Resize";
  crash.error_class = "SIGSEGV";
  crash.message = "SIGSEGV (SEGV_MAPERR) at 0x10";
  crash.jid = "0123";
  crash.queue = "images";
  crash.identity = "web-1:4711:0123456789ab";
  crash.frames = {"#0 decode(std::vector<int>&)", "#1 \"quoted\""};
  crash.has_names = true;
  return crash;
}

struct Book {
  RedisServer server;
  Connection redis{server.address()};

  void note(const Crash& crash) { note_crash(redis, crash); }
  std::vector<Crash> read() { return read_crashes(redis); }
  Strings fingerprints() {
    Strings names;
    for (const Crash& crash : read()) names.push_back(crash.fingerprint);
    return names;
  }
};

}  // namespace

BOOST_AUTO_TEST_CASE(the_latest_crash_of_a_fingerprint_is_read_with_how_many_there_were) {
  Book noted;
  BOOST_TEST(noted.read().empty());
  noted.note(crash("aaaa", 5));
  noted.note(crash("bbbb", 6));
  Crash again = crash("aaaa", 7.5);
  again.jid = "4567";
  again.message = "ü\n\xff";
  noted.note(again);

  const std::vector<Crash> crashes = noted.read();
  BOOST_REQUIRE(crashes.size() == 2U);
  BOOST_TEST(crashes[0].fingerprint == "aaaa");
  BOOST_TEST(crashes[0].at == 7.5);
  BOOST_TEST(crashes[0].count == 2);
  BOOST_TEST(crashes[0].jid == "4567");
  BOOST_TEST(crashes[0].message == "ü\n\xef\xbf\xbd");
  BOOST_TEST(crashes[1].fingerprint == "bbbb");
  BOOST_TEST(crashes[1].count == 1);
  BOOST_TEST(crashes[1].job_class == "Images::Resize");
  BOOST_TEST(crashes[1].error_class == "SIGSEGV");
  BOOST_TEST(crashes[1].queue == "images");
  BOOST_TEST(crashes[1].identity == "web-1:4711:0123456789ab");
  BOOST_TEST(crashes[1].frames == crash("").frames, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_stack_with_names_outlives_later_ones_without) {
  Book noted;
  Crash bare = crash("aaaa");
  bare.frames = {"#0 libjobs.so+0x1a2b"};
  bare.has_names = false;
  noted.note(bare);
  BOOST_TEST(noted.read().at(0).frames == bare.frames);
  noted.note(crash("aaaa"));
  BOOST_TEST(noted.read().at(0).frames == crash("").frames);
  noted.note(bare);
  BOOST_TEST(noted.read().at(0).frames == crash("").frames);
  BOOST_TEST(noted.read().at(0).count == 3);
}

BOOST_AUTO_TEST_CASE(a_book_is_of_bounded_size_and_the_oldest_leave_first) {
  Book noted;
  for (int i = 0; i < max_noted_crashes + 5; ++i) noted.note(crash(std::to_string(i), 1000 + i));
  for (const std::string& key : book)
    BOOST_TEST(noted.server.size_of(key) == static_cast<std::size_t>(max_noted_crashes));
  BOOST_TEST(noted.fingerprints().front() == "204");
  BOOST_TEST(noted.fingerprints().back() == "5");

  for (const char* known : {"7", "5"}) {  // none leaves
    noted.note(crash(known, 2000));
    BOOST_TEST(noted.read().at(0).count == 2);
    BOOST_TEST(noted.server.size_of("brood:crashes") == static_cast<std::size_t>(max_noted_crashes));
  }
  BOOST_TEST(noted.fingerprints().back() == "6");
  BOOST_TEST(noted.server.size_of("brood:crashes") == static_cast<std::size_t>(max_noted_crashes));

  Crash large = crash("large", 3000);
  large.frames.assign(100, std::string(10'000, 'x'));
  large.message = std::string(100'000, 'x');
  noted.note(large);
  BOOST_TEST(noted.read().at(0).frames.size() == 20U);
  BOOST_TEST(noted.server.hget("brood:crashes", "large")->size() < 2'000U);
}

BOOST_AUTO_TEST_CASE(what_is_older_than_ninety_days_leaves) {
  Book noted;
  noted.note(crash("old", 1'000));
  noted.note(crash("new", 1'000 + crashes_are_kept_s + 1));
  BOOST_TEST(noted.fingerprints() == Strings{"new"}, boost::test_tools::per_element());
  for (const std::string& key : book) {
    BOOST_TEST(noted.server.size_of(key) == 1U);
    BOOST_TEST(noted.server.integer({"TTL", key}) > crashes_are_kept_s - 60);
  }
}

BOOST_AUTO_TEST_CASE(a_full_redis_takes_a_note) {
  Book noted;
  noted.redis.call({"CONFIG", "SET", "maxmemory", "1"});
  BOOST_TEST(noted.redis.call({"SET", "x", "y"}).view().error().starts_with("OOM"));
  noted.note(crash("aaaa"));
  BOOST_TEST(noted.read().at(0).count == 1);
}

BOOST_AUTO_TEST_CASE(keys_of_another_type_are_refused_before_anything_is_written) {
  for (const std::string& key : book) {
    Book noted;
    noted.redis.call({"LPUSH", key, "somebody's"});
    BOOST_CHECK_THROW(noted.note(crash("aaaa")), UnexpectedReply);
    BOOST_TEST(noted.server.keys() == Strings{key}, boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_CASE(garbage_in_the_book_is_skipped) {
  Book noted;
  noted.note(crash("good"));
  noted.note(crash("bad", 1795238113));
  noted.redis.call({"HSET", "brood:crashes", "bad", "no JSON"});
  BOOST_TEST(noted.fingerprints() == Strings{"good"}, boost::test_tools::per_element());

  noted.redis.call({"HSET", "brood:crash_stacks", "good", "{}"});
  for (const char* count : {"many", "9223372036854775807", "-1", ""}) {
    noted.redis.call({"HSET", "brood:crash_counts", "good", count});
    noted.note(crash("good"));
    BOOST_TEST(noted.read().at(0).count == 1);
  }
  BOOST_TEST(noted.read().at(0).frames.size() == 2U);
}

BOOST_AUTO_TEST_CASE(crashes_are_counted_by_day) {
  Book noted;
  const double day = 86'400, today = 20'000 * day + 5;
  const auto days = [&](double now) {
    return read_crashes(noted.redis, WallTime(std::chrono::seconds(std::int64_t(now)))).at(0).days;
  };
  for (const double ago : {40.0, 13.0, 2.0, 2.0, 0.0}) noted.note(crash("aaaa", today - ago * day));
  noted.note(crash("aaaa", today - day));  // reported late
  const std::vector<std::int64_t> wanted{1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 1, 1};
  BOOST_TEST(days(today) == wanted, boost::test_tools::per_element());
  const std::vector<std::int64_t> tomorrow{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 1, 1, 0};
  BOOST_TEST(days(today + day) == tomorrow, boost::test_tools::per_element());

  for (const std::string& rubbish : {"20000:" + std::string(12, '9'), std::string(100'000, '9'),
                                     std::string("1:2:3 : :5 -4:1 x"), std::string(200, ' ')}) {
    noted.redis.call({"HSET", "brood:crash_days", "aaaa", rubbish});
    noted.note(crash("aaaa", today));
    BOOST_TEST(days(today).back() == 1);
  }
  for (int i = 0; i < 100; ++i) noted.note(crash("aaaa", today + i * day));
  BOOST_TEST(noted.server.hget("brood:crash_days", "aaaa")->size() < 200U);
}

BOOST_AUTO_TEST_CASE(the_mark_is_another_after_every_crash) {
  Book noted;
  BOOST_TEST(latest_crash_mark(noted.redis).empty());
  noted.note(crash("aaaa", 5));
  const std::string first = latest_crash_mark(noted.redis);
  BOOST_TEST(latest_crash_mark(noted.redis) == first);
  noted.note(crash("aaaa", 6));
  const std::string second = latest_crash_mark(noted.redis);
  BOOST_TEST(second != first);
  noted.note(crash("bbbb", 7));
  BOOST_TEST(latest_crash_mark(noted.redis) != second);
  noted.server.command({"SET", "brood:crash_times", "x"});
  BOOST_CHECK_THROW(latest_crash_mark(noted.redis), UnexpectedReply);
}

BOOST_AUTO_TEST_CASE(the_top_frame_is_the_jobs_own) {
  Book noted;
  const auto top_of = [&](const Strings& frames) {
    Crash one = crash("aaaa");
    one.frames = frames;
    noted.note(one);
    return top_frame(noted.read().at(0));
  };
  const std::string job = "Resize::perform(std::string (*)()) at re (size).cpp:17 (libjobs.so+0x13c0";
  const std::string kill = "#0 __pthread_kill_implementation (libc.so.6+0x8a3ac)",
                    abort = "#1 abort (libc.so.6+0x25fae)";
  BOOST_TEST(top_of({kill, abort, "#2 " + job + ")", "#3 main (libjobs.so+0x1)"}) == job + ")");
  BOOST_TEST(top_of({"#0 linux-vdso.so.1+0xac6 [build id 1f2e]",
                     "#1 clock_gettime at clock.c:1 (libc.so.6+0x1, inlined)", "#2 " + job + ", inlined)"}) ==
             job + ", inlined)");
  BOOST_TEST(top_of({"#0 libc.so.6+0x8a3ac [build id 1f2e]", "#1 libjobs.so+0x1a2b"}) == "libjobs.so+0x1a2b");
  BOOST_TEST(top_of({kill, "#1 0x7f0000001a2b"}) == "0x7f0000001a2b");
  BOOST_TEST(top_of({kill, "#1 libc.so.6::f() (libjobs.so+0x1)"}) == "libc.so.6::f() (libjobs.so+0x1)");
  BOOST_TEST(top_of({kill, abort}) == "__pthread_kill_implementation (libc.so.6+0x8a3ac)");
  BOOST_TEST(top_of({}) == "");
}
