#include <boost/test/unit_test.hpp>

#include <csignal>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>

#include <brood/api.hpp>

#include "tests/support/brood_process.hpp"
#include "tests/support/enqueue.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/faults.hpp"
#include "tests/support/vectors.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

const std::string iterating = BROOD_BINARY_DIR "/tests/job_libraries/libiterating_jobs.so";
const std::string jid = "000000000000000000000001", state = "it-" + jid;

// A job that iterates over its items while its process is disturbed.
struct Site {
  RedisServer redis;
  TemporaryDirectory directory;
  const std::string path = directory / "lines";
  std::optional<BroodProcess> brood;

  explicit Site(int workers = 1, const std::string& config = "") {
    brood.emplace(redis, BroodOptions{.workers = workers,
                                      .libraries = {iterating},
                                      .shutdown_timeout = "20",
                                      .config = "poll_interval = \"500ms\"\n" + config,
                                      .environment = {{"ITERATION_LINES", path}}});
    BOOST_REQUIRE_MESSAGE(brood->wait_ready(), brood->log_tail());
  }

  // Pushes a job with items left, however slow this machine is, until the test has seen enough.
  void walk_on() { walk(1'000'000, 3); }
  void enough() const { std::ofstream(path + ".enough") << "x"; }

  void walk(int count, int milliseconds, const std::string& job_class = "Walk", const std::string& more = "") {
    enqueue(redis, {payload_text(job_class, "[\"" + path + "\"," + std::to_string(count) + "," +
                                                std::to_string(milliseconds) + more + "]")});
  }

  struct Done {
    int item;
    pid_t worker;
  };
  std::vector<Done> done() const {
    std::vector<Done> all;
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) {
      Done one{};
      if (std::istringstream(line) >> one.item >> one.worker) all.push_back(one);
    }
    return all;
  }
  bool wrote(const std::string& word) const {
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) {
      if (line == word) return true;
    }
    return false;
  }
  bool reaches(std::size_t items, std::chrono::milliseconds timeout = 60s) const {
    return eventually([&] { return done().size() >= items; }, timeout);
  }
  // Whether the job has ended and nothing of it is left.
  bool ends() {
    // Looks in the order in which a job moves, including an interruption.  So a job that moves meanwhile is either
    // seen, or has already left its state.
    const auto none_is_left = [&] {
      return waiting() == 0 && jobs_in_flight(redis) == 0 && waiting() == 0 && redis.keys("it-*").empty();
    };
    return eventually(none_is_left, 60s);
  }
  std::size_t waiting() { return redis.size_of("queue:default") + redis.size_of("schedule") + redis.size_of("retry"); }

  std::map<int, int> times() const {
    std::map<int, int> times;
    for (const Done& one : done()) ++times[one.item];
    return times;
  }
  std::size_t runs() const { return times_logged(*brood, "job_interrupted"); }

  // Checks that each item was done once.
  void check_all_once(int count) const {
    BOOST_TEST(times().size() == static_cast<std::size_t>(count));
    BOOST_TEST(done().size() == static_cast<std::size_t>(count));
  }
  // The same for the items up to the last one done.
  void check_all_once() const { check_all_once(times().rbegin()->first + 1); }
};

const std::string log_jobs = "[log]\nlog_jobs = true\n";

}  // namespace

BOOST_AUTO_TEST_CASE(a_rolling_restart_and_an_upgrade_interrupt_a_job_that_goes_on_in_new_workers) {
  Site site(1, log_jobs);
  site.walk_on();
  BOOST_REQUIRE_MESSAGE(site.reaches(50), site.brood->log_tail());
  for (const char* order : {"restart", "upgrade"}) {
    const CommandResult result = run_brood({order}, site.brood->environment());
    BOOST_TEST(result.status == 0, result.errors);
    BOOST_REQUIRE_MESSAGE(site.reaches(site.done().size() + 50), site.brood->log_tail());
  }
  site.enough();

  BOOST_REQUIRE_MESSAGE(site.ends(), site.brood->log_tail());

  site.check_all_once();
  std::map<pid_t, int> workers;
  for (const Site::Done& one : site.done()) ++workers[one.worker];
  BOOST_TEST(workers.size() == 3U);
  BOOST_TEST(site.redis.size_of("dead") == 0U);
}

BOOST_AUTO_TEST_CASE(a_stop_interrupts_a_job_that_goes_on_after_the_next_start) {
  Site site;
  site.walk_on();
  BOOST_REQUIRE_MESSAGE(site.reaches(50), site.brood->log_tail());
  site.brood->term();
  BOOST_TEST(site.brood->wait_exit().value_or(-1) == 0);
  const std::size_t before = site.done().size();
  BOOST_TEST(site.redis.hget(state, "c").value() == std::to_string(before));
  BOOST_TEST(site.redis.hget(state, "ex").value() == "1");
  BOOST_TEST(site.waiting() == 1U);

  site.brood->start();
  BOOST_REQUIRE_MESSAGE(site.reaches(before + 50), site.brood->log_tail());
  site.enough();

  BOOST_REQUIRE_MESSAGE(site.ends(), site.brood->log_tail());
  site.check_all_once();
}

BOOST_AUTO_TEST_CASE(a_quiet_worker_lets_another_go_on) {
  Site site;
  site.walk_on();
  BOOST_REQUIRE_MESSAGE(site.reaches(20), site.brood->log_tail());
  site.brood->quiet();
  BOOST_TEST(eventually([&] { return site.waiting() == 1; }));
  BOOST_TEST(site.redis.hget(state, "c").value() == std::to_string(site.done().size()));
}

BOOST_AUTO_TEST_CASE(after_a_kill_the_retry_begins_at_the_last_save) {
  Site site;
  site.walk_on();
  for (int kills = 0; kills < 2; ++kills) {  // a third crash would move it to the dead set
    const std::size_t before = site.done().size();
    BOOST_REQUIRE_MESSAGE(site.reaches(before + 50), site.brood->log_tail());
    for (const pid_t worker : site.brood->workers()) kill(worker, SIGKILL);
    BOOST_REQUIRE_MESSAGE(eventually([&] { return site.redis.size_of("retry") == 1; }, 20s), site.brood->log_tail());
    const std::size_t cut_off = site.done().size();
    const std::string saved = site.redis.hget(state, "c").value();
    make_retries_due(site.redis);
    BOOST_REQUIRE_MESSAGE(site.reaches(cut_off + 1), site.brood->log_tail());
    BOOST_TEST(std::to_string(site.done().at(cut_off).item) == saved);
  }
}

BOOST_AUTO_TEST_CASE(after_a_kill_the_class_says_how_often_a_job_is_retried_whose_payload_does_not) {
  Site site;
  enqueue(site.redis, {R"({"class":"WalkTwice","jid":"J","args":[")" + site.path + "\",1000000,3]}"});
  BOOST_REQUIRE_MESSAGE(site.reaches(10), site.brood->log_tail());
  kill(site.done().back().worker, SIGKILL);
  BOOST_REQUIRE_MESSAGE(eventually([&] { return site.redis.size_of("retry") == 1; }, 20s), site.brood->log_tail());
  const std::string record = site.redis.zrange("retry").front().first;
  BOOST_TEST(record.find("\"retry\":2,") != std::string::npos, record);
}

BOOST_AUTO_TEST_CASE(items_since_the_last_save_run_again_and_no_others) {
  Site site;
  site.walk_on();
  BOOST_REQUIRE_MESSAGE(site.reaches(50), site.brood->log_tail());
  for (const pid_t worker : site.brood->workers()) kill(worker, SIGKILL);
  BOOST_REQUIRE_MESSAGE(eventually([&] { return site.redis.size_of("retry") == 1; }, 20s), site.brood->log_tail());
  const std::size_t cut_off = site.done().size();
  make_retries_due(site.redis);
  BOOST_REQUIRE_MESSAGE(site.reaches(cut_off + 50), site.brood->log_tail());
  site.enough();
  BOOST_REQUIRE_MESSAGE(site.ends(), site.brood->log_tail());
  const auto times = site.times();
  const auto all = static_cast<std::size_t>(times.rbegin()->first + 1);
  BOOST_TEST(times.size() == all);
  BOOST_TEST(site.done().size() <= all + 1);  // and perhaps the item in hand, if it had not been saved
}

BOOST_AUTO_TEST_CASE(an_item_that_throws_is_retried_and_those_before_it_are_not) {
  Site site;
  site.walk(30, 0, "WalkUnsaved", ",20,\"" + site.directory / "go" + "\"");
  BOOST_REQUIRE_MESSAGE(eventually([&] { return site.redis.size_of("retry") == 1; }, 20s), site.brood->log_tail());
  BOOST_TEST(site.done().size() == 20U);
  BOOST_TEST(site.redis.hget(state, "c").value() == "20");
  make_retries_due(site.redis);
  BOOST_TEST(eventually([&] { return site.redis.hget(state, "ex").value_or("") == "2"; }, 20s));
  BOOST_TEST(site.done().size() == 20U);
  std::ofstream(site.directory / "go") << "x";
  BOOST_TEST(eventually(
      [&] {
        make_retries_due(site.redis);
        return site.redis.keys("it-*").empty();
      },
      20s));
  site.check_all_once(30);
}

BOOST_AUTO_TEST_CASE(a_run_that_outlasts_its_limit_goes_to_the_back_of_its_queue) {
  Site site(1, "max_iteration_runtime = \"1200ms\"\n" + log_jobs);
  enqueue(site.redis, {payload_text("WalkUnsaved", "[\"" + site.path + "\",400,10]"),
                       payload_text("Walk", "[\"" + site.directory / "other" + "\",1,0]", 2)});

  BOOST_REQUIRE_MESSAGE(site.ends(), site.brood->log_tail());

  site.check_all_once(400);
  BOOST_TEST(site.runs() >= 2U);
  BOOST_TEST(times_logged(*site.brood, "job_failed") == 0U);
  // The other job had its turn in between.
  const std::string log = site.brood->log();
  BOOST_TEST(log.find("event=job_done jid=000000000000000000000002") < log.find("event=job_done jid=" + jid));
}

BOOST_AUTO_TEST_CASE(a_job_s_timeout_counts_from_its_last_item) {
  for (const std::string job_class : {"WalkInTime", "WalkInTimeApart"}) {
    BOOST_TEST_CONTEXT(job_class) {
      Site site(1, "[worker]\ntimeout_grace = \"20s\"\n" + log_jobs);
      site.walk(400, 10, job_class);
      BOOST_REQUIRE_MESSAGE(site.ends(), site.brood->log_tail());
      site.check_all_once(400);
      BOOST_TEST(site.runs() == 0U);
      BOOST_TEST(times_logged(*site.brood, "job_failed") == 0U);
    }
  }
}

// A job in a sandbox cannot extend its deadline.
BOOST_AUTO_TEST_CASE(in_a_sandbox_a_run_is_interrupted_uncharged_before_its_time_is_up) {
  Site site(1, "[worker]\ntimeout_grace = \"20s\"\n[classes.WalkInTimeApart.sandbox]\nnetwork = false\n" + log_jobs);
  site.walk(400, 10, "WalkInTimeApart");
  BOOST_REQUIRE_MESSAGE(site.ends(), site.brood->log_tail());
  site.check_all_once(400);
  BOOST_TEST(site.runs() >= 1U);
  BOOST_TEST(times_logged(*site.brood, "job_failed") == 0U);
}

BOOST_AUTO_TEST_CASE(an_item_that_takes_longer_than_the_job_s_timeout_is_the_last_of_its_run_which_has_failed) {
  for (const std::string job_class : {"WalkInTime", "WalkInTimeApart"}) {
    BOOST_TEST_CONTEXT(job_class) {
      Site site(1, "[worker]\ntimeout_grace = \"20s\"\n");
      site.walk(2, 4000, job_class);
      BOOST_REQUIRE_MESSAGE(eventually([&] { return site.redis.size_of("retry") == 1; }, 20s), site.brood->log_tail());
      const std::string record = site.redis.zrange("retry").front().first;
      BOOST_TEST(record.find("\"error_class\":\"JobTimeout\"") != std::string::npos, record);
      BOOST_TEST(site.redis.hget(state, "c").value() == "1");
      BOOST_TEST(site.done().size() == 1U);
    }
  }
}

// Other clients may push such jobs.
BOOST_AUTO_TEST_CASE(jobs_that_were_pushed_without_an_id_have_cursors_of_their_own) {
  Site site(2);
  const auto walk = [&](const std::string& path) {
    enqueue(site.redis, {R"({"class":"Walk","retry":true,"args":[")" + path + "\",1000000,3]}"});
  };
  const auto first_of = [](const std::string& path) {
    std::string item;
    std::ifstream(path) >> item;
    return item;
  };
  const std::string other = site.directory / "other";
  walk(site.path);
  BOOST_REQUIRE_MESSAGE(site.reaches(50), site.brood->log_tail());
  walk(other);
  BOOST_REQUIRE_MESSAGE(eventually([&] { return !first_of(other).empty(); }, 20s), site.brood->log_tail());
  BOOST_TEST(first_of(other) == "0");
  BOOST_TEST(site.redis.keys("it-*").size() == 2U);
  std::ofstream(other + ".enough") << "x";
  BOOST_REQUIRE(eventually([&] { return site.redis.keys("it-*").size() == 1; }, 20s));

  // After a crash it keeps the id that leads to its cursor.
  kill(site.done().back().worker, SIGKILL);
  BOOST_REQUIRE_MESSAGE(eventually([&] { return site.redis.size_of("retry") == 1; }, 20s), site.brood->log_tail());
  const std::size_t cut_off = site.done().size();
  const std::string key = site.redis.keys("it-*").front(), saved = site.redis.hget(key, "c").value();
  BOOST_TEST(site.redis.zrange("retry").front().first.find("\"jid\":\"" + key.substr(3) + "\"") != std::string::npos);
  make_retries_due(site.redis);
  BOOST_REQUIRE_MESSAGE(site.reaches(cut_off + 1), site.brood->log_tail());
  BOOST_TEST(std::to_string(site.done().at(cut_off).item) == saved);

  // The same after an interruption.
  site.brood->quiet();
  BOOST_REQUIRE(eventually([&] { return site.waiting() == 1; }, 20s));
  BOOST_TEST(run_brood({"resume"}, site.brood->environment()).status == 0);
  site.enough();
  BOOST_REQUIRE_MESSAGE(site.ends(), site.brood->log_tail());
  BOOST_TEST(site.times().size() == static_cast<std::size_t>(site.times().rbegin()->first + 1));
}

BOOST_AUTO_TEST_CASE(a_cancelled_job_ends_for_good) {
  Site site;
  site.walk_on();
  BOOST_REQUIRE_MESSAGE(site.reaches(20), site.brood->log_tail());
  Client client(site.redis.url());

  const auto when = client.cancel_iteration(jid);

  BOOST_TEST((std::chrono::system_clock::now() - when < 60s));
  BOOST_REQUIRE_MESSAGE(site.ends(), site.brood->log_tail());
  BOOST_TEST(site.wrote("cancelled"));
  BOOST_TEST(site.wrote("stop"));
  site.brood->term();
  BOOST_TEST(site.brood->wait_exit().value_or(-1) == 0);
  BOOST_TEST(site.redis.get("stat:processed").value_or("") == "1");
  BOOST_TEST(site.redis.get("stat:failed").value_or("0") == "0");
}

BOOST_AUTO_TEST_CASE(a_job_cancelled_while_it_waits_does_nothing) {
  Site site;
  Client client(site.redis.url());
  Api api(site.redis.url());
  BOOST_TEST(!api.iteration(jid));
  const auto when = client.cancel_iteration(jid);
  BOOST_TEST((client.cancel_iteration(jid) == when));
  BOOST_REQUIRE(api.iteration(jid).has_value());
  BOOST_TEST((api.iteration(jid)->cancelled_at.value() == when));
  site.walk(100, 0);
  BOOST_TEST(eventually([&] { return site.wrote("cancelled"); }, 20s));
  BOOST_TEST(site.ends());
  BOOST_TEST(site.done().empty());
}

BOOST_AUTO_TEST_CASE(a_job_that_ruby_began_is_continued) {
  Site site;
  site.redis.command({"HSET", state, "ex", "1", "c", "10", "rt", "13.00777160000007"});
  site.walk(30, 0, "WalkUnsaved");
  BOOST_REQUIRE_MESSAGE(site.ends(), site.brood->log_tail());
  const auto done = site.done();
  BOOST_REQUIRE(done.size() == 20U);
  BOOST_TEST(done.front().item == 10);
}

BOOST_AUTO_TEST_CASE(a_copy_of_the_worker_that_middleware_made_begins_nothing) {
  Site site;
  enqueue(site.redis, {payload_text("WalkUnsaved", "[\"" + site.path + "\",20,0]", 1, R"("copied":true)")});
  BOOST_REQUIRE_MESSAGE(site.reaches(20), site.brood->log_tail());
  BOOST_REQUIRE_MESSAGE(site.ends(), site.brood->log_tail());
  site.check_all_once(20);
  BOOST_TEST(times_logged(*site.brood, "copy_of_worker_ended") == 1U);
}

BOOST_AUTO_TEST_CASE(a_job_goes_on_while_redis_is_away) {
  Site site;
  site.walk_on();
  BOOST_REQUIRE_MESSAGE(site.reaches(20), site.brood->log_tail());
  site.redis.pause();
  const std::size_t before = site.done().size();
  BOOST_TEST(site.reaches(before + 200));
  site.redis.resume();
  Api api(site.redis.url());
  // It saves again some seconds later.
  BOOST_TEST(eventually([&] { return std::stoul(api.iteration(jid)->cursor) >= before + 200; }, 30s));
  site.enough();
  BOOST_REQUIRE_MESSAGE(site.ends(), site.brood->log_tail());
  site.check_all_once();
}

BOOST_AUTO_TEST_CASE(a_stop_while_redis_is_away_delivers_the_cursor_once_it_is_back) {
  Site site;
  site.walk_on();
  BOOST_REQUIRE_MESSAGE(site.reaches(20), site.brood->log_tail());
  site.redis.pause();
  BOOST_TEST(site.reaches(site.done().size() + 50));
  site.brood->term();
  BOOST_TEST(eventually([&] { return site.wrote("stop"); }, 20s));
  const std::size_t before = site.done().size();
  site.redis.resume();
  BOOST_TEST(site.brood->wait_exit().value_or(-1) == 0);
  BOOST_TEST(site.redis.hget(state, "c").value() == std::to_string(before));

  site.brood->start();
  BOOST_REQUIRE_MESSAGE(site.reaches(before + 50), site.brood->log_tail());
  site.enough();
  BOOST_REQUIRE_MESSAGE(site.ends(), site.brood->log_tail());
  site.check_all_once();
}

namespace {

std::string json_of(const test::VectorValue& value) {
  std::string text;
  if (value.kind == test::VectorValue::Kind::string) return "\"" + value.text + "\"";
  if (value.kind == test::VectorValue::Kind::array) {
    for (const auto& element : value.elements) text += (text.empty() ? "" : ",") + json_of(element);
    return "[" + text + "]";
  }
  if (value.kind != test::VectorValue::Kind::object) return value.text;
  for (const auto& [key, member] : value.members) text += (text.empty() ? "\"" : ",\"") + key + "\":" + json_of(member);
  return "{" + text + "}";
}

}  // namespace

BOOST_AUTO_TEST_CASE(an_interruption_leaves_and_counts_what_sidekiq_leaves_and_counts) {
  for (const test::Vector& vector : test::vectors("iterable-interrupted")) {
    Site site;
    const std::string text = json_of(vector.input["payload"]);
    enqueue(site.redis, {text});
    BOOST_REQUIRE_MESSAGE(site.reaches(26), site.brood->log_tail());
    site.brood->term();
    BOOST_TEST(site.brood->wait_exit().value_or(-1) == 0);

    const std::vector<std::string> queue = site.redis.lrange("queue:default");
    BOOST_REQUIRE(queue.size() == 1U);
    const std::string expected = json_of(vector.expect["queue:default"]);
    const auto before_time = [](const std::string& payload) {
      return payload.substr(0, payload.find("\"enqueued_at\":"));
    };
    BOOST_TEST(before_time(queue.front()) == before_time(expected));
    BOOST_TEST(queue.front() != text);
    BOOST_TEST("+" + site.redis.get("stat:processed").value_or("") == vector.expect["stat:processed"].text);
    BOOST_TEST("+" + site.redis.get("stat:failed").value_or("") == vector.expect["stat:failed"].text);
    BOOST_TEST(site.redis.size_of("retry") == 0U);

    const std::string key = "it-" + vector.input["payload"]["jid"].text;
    const auto& fields = vector.expect["it_key"];
    BOOST_TEST(site.redis.hget(key, "ex").value() == fields["ex"].text);
    BOOST_TEST(site.redis.hget(key, "c").value() == fields["c"].text);
    BOOST_TEST(std::stod(site.redis.hget(key, "rt").value()) >= 1.0);
    BOOST_TEST(site.redis.size_of(key) == fields.members.size());
  }
}
