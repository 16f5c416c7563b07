#include <fmt/format.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <csignal>
#include <fstream>
#include <numeric>
#include <sstream>

#include "shared/scoreboard/class_usage.hpp"
#include "tests/support/brood_process.hpp"
#include "tests/support/enqueue.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/faults.hpp"
#include "tests/support/fleet_view.hpp"
#include "tests/support/ledger.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

constexpr const char* examples = BROOD_BINARY_DIR "/worker/examples/libexamples.so";
constexpr const char* roll_jobs = BROOD_BINARY_DIR "/tests/job_libraries/libroll_jobs_1.so";

struct Told {
  std::int64_t processed = 0, failed = 0, ms = 0;
  std::vector<std::int64_t> histogram = {};
  bool operator==(const Told&) const = default;

  std::int64_t timed() const { return std::accumulate(histogram.begin(), histogram.end(), std::int64_t{0}); }
  std::int64_t shorter_than_bucket(std::size_t bucket) const {
    return std::accumulate(histogram.begin(), histogram.begin() + static_cast<std::ptrdiff_t>(bucket), std::int64_t{0});
  }
};

std::ostream& operator<<(std::ostream& out, const Told& told) {
  return out << told.processed << " processed, " << told.failed << " failed, " << told.ms << " ms, " << told.timed()
             << " timed";
}

// The figures of one class on the metrics pages, summed over all minutes.
struct Pages {
  RedisServer& redis;

  void add(Told& told, const std::string& key, const std::string& job_class) const {
    const auto hash = redis.hgetall(key);
    const auto of = [&](const char* what) {
      const auto at = hash.find(job_class + "|" + what);
      return at == hash.end() ? 0 : std::stoll(at->second);
    };
    told.processed += of("p");
    told.failed += of("f");
    told.ms += of("ms");
  }
  std::vector<std::int64_t> histogram(const std::string& pattern) const {
    std::vector<std::int64_t> all(histogram_buckets, 0);
    for (const std::string& key : redis.keys(pattern)) {
      std::string bytes = redis.get(key).value_or("");
      bytes.resize(2 * histogram_buckets);
      for (std::size_t i = 0; i < histogram_buckets; ++i)
        all[i] += static_cast<unsigned char>(bytes[2 * i]) * 256 + static_cast<unsigned char>(bytes[2 * i + 1]);
    }
    return all;
  }
  Told of_7(const std::string& job_class) const {
    Told told;
    for (const std::string& key : redis.keys("j|20??????|*")) add(told, key, job_class);
    told.histogram = histogram(job_class + "-[0-3][0-9]-[0-2][0-9]:*");
    return told;
  }
  Told of_8(const std::string& job_class) const {
    Told told;
    for (const std::string& key : redis.keys("j|??????|*:??")) add(told, key, job_class);
    told.histogram = histogram("h|" + job_class + "-*");
    return told;
  }
  Told ten_minutes(const std::string& job_class) const {
    Told told;
    for (const std::string& key : redis.keys("j|??????|*:?")) add(told, key, job_class);
    return told;
  }

  // The figures of a class, which must be the same on all pages.
  Told of(const std::string& job_class) const {
    const Told seen = of_8(job_class);
    BOOST_TEST(of_7(job_class) == seen);
    Told coarse = ten_minutes(job_class);
    coarse.histogram = seen.histogram;
    BOOST_TEST(coarse == seen);
    BOOST_TEST(seen.timed() == seen.processed - seen.failed);
    return seen;
  }
  std::int64_t used(const std::string& job_class, const std::string& what) const {
    std::int64_t used = 0;
    for (const std::string& key : redis.keys("brood:usage:*"))
      used += std::stoll(redis.hget(key, job_class + "|" + what).value_or("0"));
    return used;
  }
  std::string stat(const std::string& counter) const { return redis.get("stat:" + counter).value_or("0"); }
};

struct Site {
  RedisServer redis;
  TemporaryDirectory directory;
  const std::string ran = directory / "ran";
  Ledger ledger{directory / "ledger"};
  Pages pages{redis};
  BroodProcess brood;
  long number = 0;

  explicit Site(int workers = 2, const std::string& config = "", const RedisServer::Options& options = {},
                const std::string& shutdown_timeout = "")
      : redis(options),
        brood(redis, BroodOptions{.workers = workers,
                                  .libraries = {examples, roll_jobs},
                                  .shutdown_timeout = shutdown_timeout,
                                  .config = config + "\n[log]\nlog_jobs = true\n"}) {
    BOOST_REQUIRE_MESSAGE(eventually([&] { return fetching_workers(brood) == workers; }, 30s), brood.log_tail());
  }
  void push(int times, const std::string& job_class, const std::string& args, const std::string& more = "") {
    std::vector<std::string> payloads;
    for (int i = 0; i < times; ++i) payloads.push_back(payload_text(job_class, args, ++number, more));
    enqueue(redis, payloads);
  }
  void run_until(const std::string& file) { push(1, "UntilFile", "[\"" + ran + "\",\"" + file + "\"]"); }
  void run_ledger(int from, int to, int milliseconds) {
    for (int id = from; id < to; ++id)
      push(1, "Ledger", fmt::format("[\"{}\",\"{}\",{}]", ledger.path(), id, milliseconds));
  }
  std::size_t written(const std::string& word) const {
    std::ifstream file(ran);
    std::size_t lines = 0;
    for (std::string line; std::getline(file, line);) lines += line.starts_with(word);
    return lines;
  }
  bool writes(const std::string& word, std::size_t times) const {
    return eventually([&] { return written(word) >= times; }, 30s);
  }
  // Stops the brood.  Afterwards all metrics have been sent.
  void stop() {
    brood.term();
    BOOST_TEST(brood.wait_exit().value_or(-1) == 0, brood.log_tail());
  }
  bool works_off(std::size_t retries = 0) {
    return eventually(
        [&] {
          return no_job_is_left(redis, "default", true) && redis.size_of("retry") + redis.size_of("dead") == retries;
        },
        60s);
  }
};

const std::string never = "\"retry\":false";

}  // namespace

BOOST_AUTO_TEST_CASE(every_run_is_counted_as_it_ended) {
  Site site(2, "[worker]\ntimeout_grace = \"4s\"\n");
  site.push(5, "Sleep", "[120]");
  site.push(300, "Greet", "[]");
  site.push(4, "Fail", "[\"as told\"]", never);
  site.push(3, "Segfault", "[]", never);
  site.push(2, "Exit", "[7]", never);
  site.push(1, "PoliteLoop", "[60000]", never + ",\"timeout\":0.2");
  site.push(1, "Stubborn", "[60000]", never + ",\"timeout\":0.2");
  site.push(3, "NobodysCode", "[]", never);  // these are dead
  BOOST_REQUIRE_MESSAGE(site.works_off(3), site.brood.log_tail());
  site.stop();

  const Told slept = site.pages.of("Sleep");
  BOOST_TEST(slept.processed == 5);
  BOOST_TEST(slept.failed == 0);
  BOOST_TEST(slept.ms >= 5 * 119);
  BOOST_TEST(slept.shorter_than_bucket(5) == 0);
  const Told greeted = site.pages.of("Greet");
  BOOST_TEST(greeted.processed == 300);
  BOOST_TEST(greeted.failed == 0);
  for (const auto& [job_class, runs, crashes] : std::vector<std::tuple<std::string, int, int>>{
           {"Fail", 4, 0}, {"Segfault", 3, 3}, {"Exit", 2, 2}, {"PoliteLoop", 1, 0}, {"Stubborn", 1, 1}}) {
    const Told failed = site.pages.of(job_class);
    BOOST_TEST(failed.processed == runs, job_class);
    BOOST_TEST(failed.failed == runs, job_class);
    BOOST_TEST(failed.ms == 0, job_class);
    BOOST_TEST(site.pages.used(job_class, "crashed") == crashes, job_class);
    BOOST_TEST(site.pages.used(job_class, "failed") == runs, job_class);
  }
  BOOST_TEST(times_logged(site.brood, "job_crashed") == 6u);
  BOOST_TEST(site.redis.keys("*NobodysCode*").empty());
  BOOST_TEST(site.pages.of("NobodysCode").processed == 0);
  BOOST_TEST(site.pages.used("Sleep", "runs") == 5);
  BOOST_TEST(site.pages.used("Sleep", "wall_us") >= 5 * 119'000);
  BOOST_TEST(site.pages.used("Sleep", "peak_rss_kb") > 1'000);
  BOOST_TEST(site.pages.used("Greet", "cpu_us") > 0);
  BOOST_TEST(site.pages.stat("processed") == "319");
  BOOST_TEST(site.pages.stat("failed") == "14");
}

BOOST_AUTO_TEST_CASE(a_wrapped_job_counts_as_what_it_wraps_if_that_is_a_name) {
  Site site;
  site.push(3, "Greet", "[]", R"("wrapped":"Mail::Deliver","display_class":"Shown")");
  site.push(2, "Greet", "[]", R"("wrapped":"<b>|p")");
  BOOST_REQUIRE(site.works_off());
  site.stop();
  BOOST_TEST(site.pages.of("Mail::Deliver").processed == 3);
  BOOST_TEST(site.pages.of("Greet").processed == 2);
  BOOST_TEST(site.pages.of("Shown").processed == 0);
  BOOST_TEST(site.redis.keys("*<*").empty());
}

BOOST_AUTO_TEST_CASE(no_run_is_lost_or_doubled_by_restarts_upgrades_and_scaling) {
  constexpr int rounds = 3, jobs = 300;
  Site site(3);
  for (int round = 0; round < rounds; ++round) {
    site.run_ledger(round * jobs, (round + 1) * jobs, round);
    site.push(500, "Greet", "[]");
    const std::size_t ended = static_cast<std::size_t>(2 * round);
    site.brood.signal(SIGHUP);
    BOOST_REQUIRE_MESSAGE(eventually([&] { return times_logged(site.brood, "restart_ended") == ended + 1; }, 60s),
                          site.brood.log_tail());
    site.brood.signal(SIGUSR2);
    BOOST_REQUIRE_MESSAGE(eventually([&] { return times_logged(site.brood, "restart_ended") == ended + 2; }, 60s),
                          site.brood.log_tail());
    BOOST_TEST(run_brood({"scale", std::to_string(2 + round)}, site.brood.environment()).status == 0);
  }
  BOOST_REQUIRE_MESSAGE(site.works_off(), site.brood.log_tail());
  site.stop();
  BOOST_TEST(times_logged(site.brood, "supervisor_took_over") == static_cast<std::size_t>(rounds));
  BOOST_TEST(site.ledger.judge(rounds * jobs).doubled.empty());
  BOOST_TEST(site.pages.of("Ledger").processed == rounds * jobs);
  BOOST_TEST(site.pages.of("Ledger").failed == 0);
  BOOST_TEST(site.pages.of("Greet").processed == rounds * 500);
  BOOST_TEST(site.pages.stat("processed") == std::to_string(rounds * (jobs + 500)));
  BOOST_TEST(site.pages.stat("failed") == "0");
}

BOOST_AUTO_TEST_CASE(a_killed_workers_earlier_runs_are_counted_too) {
  Site site(1);
  const std::string go = site.directory / "go";
  site.push(2'000, "Greet", "[]");  // short enough for batches
  site.run_until(go);
  BOOST_REQUIRE(site.writes("began", 1));
  const auto workers = site.brood.workers();
  BOOST_REQUIRE(workers.size() == 1u);
  kill(workers[0], SIGKILL);
  BOOST_REQUIRE_MESSAGE(site.works_off(1), site.brood.log_tail());
  std::ofstream(go) << "x";
  make_retries_due(site.redis);
  BOOST_REQUIRE_MESSAGE(site.writes("ended", 1), site.brood.log_tail());
  BOOST_REQUIRE(site.works_off());
  site.stop();

  BOOST_TEST(site.pages.of("Greet").processed == 2'000);
  BOOST_TEST(site.pages.of("Greet").failed == 0);
  BOOST_TEST(site.pages.of("UntilFile").processed == 2);
  BOOST_TEST(site.pages.of("UntilFile").failed == 1);
  BOOST_TEST(site.pages.used("UntilFile", "crashed") == 1);
  BOOST_TEST(site.pages.stat("processed") == "2002");
  BOOST_TEST(site.pages.stat("failed") == "1");
}

BOOST_AUTO_TEST_CASE(a_run_that_a_stop_cuts_short_is_processed_and_failed) {
  Site site(1, "", {}, "1");
  site.run_until(site.directory / "never");
  BOOST_REQUIRE(site.writes("began", 1));
  site.stop();
  BOOST_TEST(site.redis.size_of("queue:default") == 1u);
  BOOST_TEST(site.pages.of("UntilFile").processed == 1);
  BOOST_TEST(site.pages.of("UntilFile").failed == 1);
  BOOST_TEST(site.pages.used("UntilFile", "crashed") == 0);
  BOOST_TEST(site.pages.stat("processed") == "1");
  BOOST_TEST(site.pages.stat("failed") == "1");
}

BOOST_AUTO_TEST_CASE(what_is_run_while_redis_is_away_is_told_when_it_is_back) {
  Site site(2, "", {.append_only = true});
  site.push(50, "Greet", "[]");
  BOOST_REQUIRE_MESSAGE(eventually([&] { return site.pages.of_8("Greet").timed() == 50; }, 30s), site.brood.log_tail());
  const std::string go = site.directory / "go";
  site.run_until(go);
  BOOST_REQUIRE(site.writes("began", 1));

  site.redis.kill9();
  std::ofstream(go) << "x";
  BOOST_REQUIRE(site.writes("ended", 1));
  site.redis.restart();

  BOOST_TEST(eventually([&] { return site.pages.of_8("UntilFile").timed() == 1; }, 30s), site.brood.log_tail());
  BOOST_REQUIRE(site.works_off());
  site.stop();
  BOOST_TEST(site.pages.of("UntilFile").processed == 1);
  BOOST_TEST(site.pages.of("Greet").processed == 50);
}

BOOST_AUTO_TEST_CASE(a_full_redis_is_told_later_and_counters_and_heartbeats_go_on) {
  Site site;
  const auto beat = [&] {
    const std::vector<std::string> processes = site.redis.smembers("processes");
    return processes.size() != 1 ? 0 : std::stod(site.redis.hget(processes.front(), "beat").value_or("0"));
  };
  site.redis.command({"CONFIG", "SET", "maxmemory-policy", "noeviction"});
  const std::string go = site.directory / "go";
  site.run_until(go);
  BOOST_REQUIRE(site.writes("began", 1));
  site.redis.command({"CONFIG", "SET", "maxmemory", "1"});
  std::ofstream(go) << "x";
  BOOST_TEST(eventually([&] { return times_logged(site.brood, "metrics_refused") == 1; }, 30s), site.brood.log_tail());
  BOOST_TEST(site.pages.stat("processed") == "1");
  const double refused_at = beat();
  BOOST_TEST(eventually([&] { return beat() > refused_at; }, 30s));
  BOOST_TEST(site.redis.keys("*UntilFile*").empty());

  site.redis.command({"CONFIG", "SET", "maxmemory", "0"});

  BOOST_TEST(eventually([&] { return site.pages.of_8("UntilFile").timed() == 1; }, 30s), site.brood.log_tail());
  BOOST_TEST(times_logged(site.brood, "metrics_refused") == 1u);
  site.stop();
  BOOST_TEST(site.pages.of("UntilFile").processed == 1);
}

BOOST_AUTO_TEST_CASE(a_run_that_interrupts_itself_counts_as_a_success_there) {
  Site site(1);
  site.push(1, "PoliteLoop", "[60000]");
  BOOST_REQUIRE(eventually([&] {
    const auto workers = living_workers(site.brood);
    return workers.size() == 1 && workers[0].current >= 0;
  }));
  site.stop();
  BOOST_TEST(site.pages.of("PoliteLoop").processed == 1);
  BOOST_TEST(site.pages.of("PoliteLoop").failed == 0);
  BOOST_TEST(site.pages.stat("processed") == "1");
  BOOST_TEST(site.pages.stat("failed") == "1");
}

BOOST_AUTO_TEST_CASE(no_metrics_are_sent_if_they_are_not_wanted) {
  Site site(1, "metrics = false\n");
  site.push(20, "Greet", "[]");
  BOOST_REQUIRE(site.works_off());
  site.stop();
  BOOST_TEST(site.pages.stat("processed") == "20");
  BOOST_TEST(site.redis.keys("j|*").empty());
  BOOST_TEST(site.redis.keys("*Greet*").empty());
  BOOST_TEST(site.redis.keys("brood:usage:*").empty());
}
