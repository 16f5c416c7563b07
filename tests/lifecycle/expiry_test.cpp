#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "shared/job/payload.hpp"
#include "tests/support/brood_process.hpp"
#include "tests/support/enqueue.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/faults.hpp"
#include "tests/support/file_text.hpp"
#include "tests/support/redis_clients.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

const std::string library = BROOD_BINARY_DIR "/tests/job_libraries/libexpiring_jobs.so";

std::int64_t now_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

// A job that was pushed a minute ago and becomes visible now.
std::string late_payload(const std::string& job_class, const std::string& args, int number, const std::string& more) {
  return R"({"class":")" + job_class + R"(","args":)" + args + R"(,"retry":true,"queue":"default","jid":"late)" +
         std::to_string(number) + R"(","created_at":1795237000000,"enqueued_at":)" + std::to_string(now_ms() - 60'000) +
         "," + more + "}";
}

struct Expiring {
  RedisServer redis;
  TemporaryDirectory directory;
  const std::string told = directory / "told";
  BroodProcess brood;

  explicit Expiring(const std::string& config = "")
      : brood(redis, {.workers = 2, .libraries = {library}, .config = "poll_interval = \"50ms\"\n" + config}) {
    BOOST_REQUIRE_MESSAGE(brood.wait_ready(), brood.log_tail());
  }
  std::string args(const std::string& tag) const { return "[\"" + told + "\",\"" + tag + "\"]"; }
  std::vector<std::string> lines() const { return lines_of_file(told); }
  bool said(const std::string& line) const {
    const auto all = lines();
    return std::find(all.begin(), all.end(), line) != all.end();
  }
  bool comes(const std::function<bool()>& state) const {
    const bool came = eventually(state, 30s);
    BOOST_TEST(came, brood.log_tail());
    return came;
  }
  CommandResult command(const std::vector<std::string>& words) const {
    auto environment = brood.environment();
    environment["REDIS_URL"] = redis.url();
    return run_brood(words, environment);
  }
  std::size_t logged(const std::string& event) const { return times_logged(brood, event); }
  // Whether a worker waits in Redis for a job.
  bool somebody_waits() {
    const std::vector<RedisClient> workers = RedisClient::of(redis, "brood-worker");
    return std::any_of(workers.begin(), workers.end(), [](const RedisClient& worker) { return worker.is_blocked; });
  }
};

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

BOOST_AUTO_TEST_CASE(a_job_that_comes_too_late_does_not_run_and_its_hook_does) {
  Expiring expiring;
  for (const std::string job_class : {"Fresh", "FreshApart"}) {
    BOOST_TEST_CONTEXT(job_class) {
      enqueue(expiring.redis,
              {late_payload(job_class, expiring.args("late" + job_class), 1, "\"expires_in\":5"),
               late_payload(job_class, expiring.args("never" + job_class), 2, "\"expires_in\":0"),
               payload_text(job_class, expiring.args("slip" + job_class), 3, "\"expires_in\":\"soon\",\"expiry\":-4"),
               payload_text(job_class, expiring.args("intime" + job_class), 4, "\"expires_in\":3600")});
      BOOST_TEST(expiring.comes([&] { return expiring.said("ran intime" + job_class); }));
      BOOST_TEST(expiring.comes([&] { return expiring.said("expired late" + job_class + " default"); }));
      BOOST_TEST(expiring.comes([&] { return expiring.said("ran never" + job_class); }));
      BOOST_TEST(expiring.comes([&] { return expiring.said("ran slip" + job_class); }));
      BOOST_TEST(!expiring.said("ran late" + job_class));
    }
  }
  BOOST_TEST(expiring.comes([&] { return no_job_is_left(expiring.redis); }));
  BOOST_TEST(expiring.redis.size_of("retry") == 0u);
  BOOST_TEST(expiring.redis.size_of("dead") == 0u);
  BOOST_TEST(expiring.logged("job_expired") == 2u, expiring.brood.log_tail());

  const std::string json = expiring.command({"status", "--json"}).output;
  BOOST_TEST(has(json, R"("expired":2,"error_reports")"), json);
  BOOST_TEST(has(json, R"({"name":"Fresh","runs":3,"failed":0)"), json);
  BOOST_TEST(has(json, R"({"name":"FreshApart","runs":3,"failed":0)"), json);
  const std::string text = expiring.command({"status"}).output;
  BOOST_TEST(has(text, "EXPIRED"), text);
  const std::string metrics = expiring.command({"status", "--format", "prometheus"}).output;
  BOOST_TEST(has(metrics, "brood_jobs_expired_total{"), metrics);
  BOOST_TEST(has(metrics, R"(class="Fresh"} 1)"), metrics);
  // An expired job counts as processed, like every ended job, and not as failed.
  BOOST_TEST(expiring.comes([&] { return expiring.redis.get("stat:processed").value_or("") == "8"; }));
  BOOST_TEST(expiring.redis.get("stat:failed").value_or("0") == "0");
}

BOOST_AUTO_TEST_CASE(a_hook_that_throws_is_logged_and_an_unknown_class_expires_too) {
  Expiring expiring;
  const std::string late = "\"expiry\":" + std::to_string(now_ms() / 1000 - 5);
  enqueue(expiring.redis, {payload_text("BadHook", "[\"" + expiring.told + "\"]", 1, late),
                           payload_text("NobodyKnowsIt", "[]", 2, late)});
  BOOST_TEST(expiring.comes([&] { return expiring.logged("job_expired") == 2; }));
  BOOST_TEST(expiring.logged("on_expired_threw") == 1u, expiring.brood.log_tail());
  BOOST_TEST(expiring.comes([&] { return no_job_is_left(expiring.redis); }));
  BOOST_TEST(expiring.redis.size_of("retry") == 0u);
  BOOST_TEST(expiring.lines().empty());
}

BOOST_AUTO_TEST_CASE(retries_and_requeues_do_not_restart_the_clock) {
  Expiring expiring;
  enqueue(expiring.redis, {payload_text("FailsFresh", "[\"" + expiring.told + "\"]", 1, "\"expires_in\":10"),
                           payload_text("GoesBack", "[\"" + expiring.told + "\"]", 2, "\"expires_in\":10")});
  BOOST_TEST(expiring.comes([&] { return expiring.logged("job_expired") == 2; }));
  BOOST_TEST(expiring.comes([&] { return no_job_is_left(expiring.redis); }));
  BOOST_TEST(expiring.redis.size_of("retry") == 0u);
  BOOST_TEST(expiring.redis.size_of("schedule") == 0u);
  BOOST_TEST(expiring.lines().size() >= 2u);
}

// A job in an unserved queue holds the lock.  The waiting job leaves the schedule each time it tries to take the lock.
BOOST_AUTO_TEST_CASE(a_job_that_waits_for_its_turn_expires_when_it_would_have_at_first) {
  Expiring expiring;
  const std::string another = payload_text("Fresh", "[]", 2, R"("unique_lock":"lock","unique_until":"done")");
  enqueue(expiring.redis, {another}, "elsewhere");
  expiring.redis.command({"SET", RedisKey("brood:unique:lock"), *Payload::parse(another).string("jid")});
  enqueue(expiring.redis,
          {payload_text("Fresh", expiring.args("turn"), 1,
                        R"("expires_in":3,"unique_lock":"lock","unique_until":"done","on_conflict":"after")")});
  std::string waits;
  BOOST_REQUIRE(expiring.comes([&] {
    for (const auto& [payload, due] : expiring.redis.zrange("schedule")) waits = payload;
    return !waits.empty();
  }));
  BOOST_TEST(has(waits, R"("expiry":)"), waits);
  BOOST_TEST(expiring.comes([&] { return expiring.said("expired turn default"); }));
  BOOST_TEST(expiring.comes([&] { return no_job_is_left(expiring.redis); }));
  BOOST_TEST(expiring.redis.get("brood:unique:lock").has_value());
  BOOST_TEST(!expiring.said("ran turn"));
}

BOOST_AUTO_TEST_CASE(a_scheduled_job_counts_from_when_it_is_due) {
  Expiring expiring;
  const auto schedule = [&](const std::string& tag, double due_in, const std::string& more) {
    const std::string payload = R"({"class":"Fresh","args":)" + expiring.args(tag) + R"(,"queue":"default","jid":")" +
                                tag + R"(","created_at":)" + std::to_string(now_ms() - 3'600'000) + "," + more + "}";
    expiring.redis.command({"ZADD", "schedule", std::to_string(static_cast<double>(now_ms()) / 1e3 + due_in), payload});
  };
  schedule("longsince", -60, "\"expires_in\":30");  // due a minute ago, when no supervisor ran
  schedule("justnow", 0.3, "\"expires_in\":30");    // pushed an hour ago
  BOOST_TEST(expiring.comes([&] { return expiring.said("ran justnow"); }));
  BOOST_TEST(expiring.comes([&] { return expiring.said("expired longsince default"); }));
  BOOST_TEST(!expiring.said("ran longsince"));
}

BOOST_AUTO_TEST_CASE(expired_jobs_go_to_dead_if_configured_and_run_if_retried_by_hand) {
  Expiring expiring("expired = \"dead\"\n[classes.BadHook]\nexpired = \"drop\"\n");
  const std::string late = "\"expires_in\":5";
  enqueue(expiring.redis, {late_payload("Fresh", expiring.args("buried"), 1, late),
                           late_payload("Fresh", expiring.args("gone"), 2, late + ",\"dead\":false"),
                           late_payload("BadHook", "[\"" + expiring.told + "\"]", 3, late)});
  BOOST_TEST(expiring.comes([&] { return expiring.logged("job_expired") == 3; }));
  BOOST_TEST(expiring.comes([&] { return no_job_is_left(expiring.redis); }));
  BOOST_TEST(expiring.said("expired buried default"));
  const auto dead = expiring.redis.zrange("dead");
  BOOST_REQUIRE(dead.size() == 1u);
  const Payload record = Payload::parse(dead.front().first);
  BOOST_TEST(record.string("error_class").value_or("") == "JobExpired");
  BOOST_TEST(record.raw("expired_at").has_value());

  BOOST_TEST(expiring.command({"dead", "run", "--all", "--yes"}).status == 0);
  BOOST_TEST(expiring.comes([&] { return expiring.said("ran buried"); }));
}

BOOST_AUTO_TEST_CASE(the_command_line_pushes_jobs_that_expire) {
  Expiring expiring;
  expiring.brood.quiet();
  BOOST_TEST(expiring.command({"enqueue", "Fresh", expiring.told, "x", "--expires-in", "90s", "-q", "other"}).status ==
             0);
  BOOST_TEST(expiring.command({"enqueue", "Fresh", expiring.told, "x", "-q", "plain"}).status == 0);
  BOOST_REQUIRE(expiring.redis.size_of("queue:other") == 1u);
  BOOST_TEST(Payload::parse(expiring.redis.lrange("queue:other").front()).raw("expires_in").value_or("") == "90");
  BOOST_TEST(!has(expiring.redis.lrange("queue:plain").front(), "expir"));
}

BOOST_AUTO_TEST_CASE(an_expired_job_lets_go_of_its_lock) {
  for (const std::string config : {"", "expired = \"dead\"\n"}) {
    Expiring expiring(config);
    BOOST_TEST(expiring.comes([&] { return expiring.logged("ready") > 0; }));
    expiring.redis.command({"SADD", "paused", "default"});
    BOOST_TEST(expiring.comes([&] { return expiring.logged("queues_paused") > 0; }));
    BOOST_TEST(expiring.comes([&] { return !expiring.somebody_waits(); }));  // a waiting worker would get the job
    const std::string job =
        R"({"class":"Fresh","args":)" + expiring.args("one") + R"(,"expires_in":0.001,"unique_for":3600})";
    const std::string jobs = expiring.directory.write("jobs.ndjson", job + "\n");
    BOOST_TEST(expiring.command({"enqueue", "--bulk", jobs}).status == 0);
    BOOST_REQUIRE(expiring.redis.keys("brood:unique:*").size() == 1u);
    expiring.redis.command({"SREM", "paused", "default"});
    BOOST_TEST(expiring.comes([&] { return expiring.said("expired one default"); }));
    BOOST_TEST(expiring.comes([&] { return expiring.redis.keys("brood:unique:*").empty(); }));
  }
}
