#include <boost/test/unit_test.hpp>
#include <ctime>

#include "shared/job/payload.hpp"
#include "tests/support/brood_process.hpp"
#include "tests/support/enqueue.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/ledger.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

constexpr long a_day = 86'400;

std::map<std::string, std::string> shifted(long seconds) {
  return {{"LD_PRELOAD", BROOD_BINARY_DIR "/tests/libshifted_clock.so"},
          {"SHIFTED_CLOCK", std::to_string(seconds)},
          {"ASAN_OPTIONS", "verify_asan_link_order=0"}};
}

double redis_seconds(RedisServer& redis) {
  const Reply time = redis.command({"TIME"});
  return static_cast<double>(time.view()[0].integer());
}

// The time may differ by what such a job waits, plus the machine's own delay.
void check_is_about(double found, double expected) {
  BOOST_TEST(found > expected - 5);
  BOOST_TEST(found < expected + 90);
}

// A payload's time in seconds; Ruby writes a fraction.
double time_in(const std::string& payload, const std::string& member) {
  return epoch_seconds(Payload::parse(payload).time(member).value());
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_host_whose_clock_is_a_day_off_retries_and_buries_when_its_redis_says) {
  for (const long seconds : {a_day, -a_day}) {
    BOOST_TEST_CONTEXT(seconds << " s ahead") {
      RedisServer redis;
      BroodProcess brood(redis, {.workers = 2, .environment = shifted(seconds)});
      BOOST_REQUIRE(eventually([&] { return !redis.hgetall("brood:processes").empty(); }, 30s));
      const double begun = redis_seconds(redis);
      enqueue(redis, {payload_text("Fail", "[\"once\"]", 1), payload_text("Segfault", "[]", 2),
                      payload_text("Fail", "[\"for good\"]", 3, R"("retry":0)"), "no job"});

      BOOST_REQUIRE_MESSAGE(eventually([&] { return redis.size_of("retry") == 2 && redis.size_of("dead") == 2; }, 60s),
                            brood.log_tail());
      for (const auto& [payload, score] : redis.zrange("retry")) {
        check_is_about(score, begun + 15);
        check_is_about(time_in(payload, "failed_at"), begun);
      }
      for (const auto& [payload, score] : redis.zrange("dead")) check_is_about(score, begun);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_host_whose_clock_is_ahead_drops_no_job_as_too_late_while_redis_does_not_tell_the_time) {
  RedisServer redis;
  redis.command({"ACL", "SETUSER", "default", "-time"});
  const TemporaryDirectory directory;
  const Ledger ledger(directory / "ledger");
  BroodProcess brood(redis, {.workers = 1, .environment = shifted(a_day)});
  const std::string now = std::to_string(std::time(nullptr)) + "000";
  enqueue(redis, {payload_text("Ledger", "[\"" + ledger.path() + "\",\"0\",0]", 1,
                               R"("expires_in":3600,"created_at":)" + now + R"(,"enqueued_at":)" + now)});
  BOOST_TEST(eventually([&] { return ledger.has_done(1); }, 60s), brood.log_tail());
}

BOOST_AUTO_TEST_CASE(a_delay_counts_from_what_redis_says) {
  RedisServer redis;
  for (const long seconds : {a_day, -a_day, 0L}) {
    const double asked = redis_seconds(redis);
    auto environment = shifted(seconds);
    BOOST_TEST(run_brood({"enqueue", "Later", "--in", "10m", "--redis", redis.url()}, environment).status == 0);
    const auto scheduled = redis.zrange("schedule");
    BOOST_REQUIRE(scheduled.size() == 1U);
    check_is_about(scheduled.front().second, asked + 600);
    redis.flush();
  }
}
