#include <boost/test/unit_test.hpp>

#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "tests/support/brood_process.hpp"
#include "tests/support/enqueue.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/faults.hpp"
#include "tests/support/ledger.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

const std::string limited = BROOD_BINARY_DIR "/tests/job_libraries/liblimited_jobs.so";
const std::string examples = BROOD_BINARY_DIR "/worker/examples/libexamples.so";

BroodOptions one_worker(const std::string& settings) {
  return {.workers = 1,
          .libraries = {limited, examples},
          .shutdown_timeout = "5",
          .config = "[worker]\n" + settings + "\n"};
}

std::set<std::string> pids_that_ran(const Ledger& ledger) {
  std::set<std::string> pids;
  for (const Ledger::Run& run : ledger.runs()) pids.insert(std::to_string(run.pid));
  return pids;
}

void check_nothing_went_wrong(const BroodProcess& brood) {
  for (const char* event : {"worker_crashed", "worker_exited", "refill_in", "rests", "level=error"})
    BOOST_TEST(brood.log().find(event) == std::string::npos, event << brood.log_tail());
}

// The sanitizers' shadow memory counts as data, so no limit is possible with them.
bool limits_work() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  BOOST_TEST_MESSAGE("skipped: RLIMIT_DATA cannot be used beside a sanitizer");
  return false;
#else
  return true;
#endif
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_worker_is_replaced_after_max_jobs) {
  RedisServer redis;
  const TemporaryDirectory directory;
  const Ledger ledger(directory / "ledger");
  BroodProcess brood(redis, one_worker("max_jobs = 10"));
  enqueue_ledger_jobs(redis, ledger.path(), 100);

  BOOST_REQUIRE_MESSAGE(eventually([&] { return ledger.has_done(100); }, 60s), brood.log_tail());
  BOOST_TEST(eventually([&] { return jobs_in_flight(redis) == 0; }));

  const Ledger::Verdict verdict = ledger.judge(100);
  BOOST_TEST(verdict.doubled.empty());
  BOOST_TEST(pids_that_ran(ledger).size() == 10U);
  BOOST_TEST(eventually([&] { return times_logged(brood, "worker_recycled") >= 9; }), brood.log_tail());
  BOOST_TEST(brood.log().find("reason=max_jobs jobs=10") != std::string::npos, brood.log_tail());
  check_nothing_went_wrong(brood);
}

BOOST_AUTO_TEST_CASE(a_worker_that_leaks_is_replaced_at_max_rss) {
  RedisServer redis;
  const TemporaryDirectory directory;
  BroodProcess brood(redis, one_worker(limits_work() ? "max_rss = \"96M\"" : "max_rss = \"512M\""));
  std::vector<std::string> leaks;
  for (int i = 0; i < 100; ++i) leaks.push_back(payload_text("Leak", "[8192]", i + 1));
  enqueue(redis, leaks);

  BOOST_REQUIRE_MESSAGE(eventually([&] { return times_logged(brood, "job_done") == 100; }, 60s), brood.log_tail());

  BOOST_TEST(times_logged(brood, "worker_recycled") >= 1U, brood.log_tail());
  BOOST_TEST(brood.log().find("reason=max_rss") != std::string::npos, brood.log_tail());
  BOOST_TEST(redis.size_of("retry") == 0U);
  check_nothing_went_wrong(brood);
}

BOOST_AUTO_TEST_CASE(a_job_that_wants_more_than_the_memory_limit_fails_and_its_worker_is_replaced) {
  if (!limits_work()) return;
  RedisServer redis;
  const TemporaryDirectory directory;
  const Ledger ledger(directory / "ledger");
  BroodProcess brood(redis, one_worker("memory_limit = \"128M\""));
  enqueue(redis, {payload_text("EatMemory", "[64]", 1)});
  enqueue(redis, {payload_text("EatMemory", "[1000]", 2)});
  enqueue_ledger_jobs(redis, ledger.path(), 10);

  BOOST_REQUIRE_MESSAGE(eventually([&] { return ledger.has_done(10); }, 30s), brood.log_tail());

  BOOST_TEST_REQUIRE(redis.size_of("retry") == 1U);
  const std::string record = redis.zrange("retry").front().first;
  BOOST_TEST(record.find("[1000]") != std::string::npos);
  BOOST_TEST(record.find("\"error_class\":\"OutOfMemory\"") != std::string::npos, record);
  BOOST_TEST(record.find("memory_limit of 128 MB") != std::string::npos, record);
  BOOST_TEST(record.find("crash_count") == std::string::npos, record);
  BOOST_TEST(times_logged(brood, "worker_recycled") == 1U, brood.log_tail());
  BOOST_TEST(brood.log().find("reason=out_of_memory") != std::string::npos, brood.log_tail());
  check_nothing_went_wrong(brood);
}

BOOST_AUTO_TEST_CASE(a_job_that_leaves_no_byte_free_is_settled_all_the_same) {
  if (!limits_work()) return;
  RedisServer redis;
  const TemporaryDirectory directory;
  const Ledger ledger(directory / "ledger");
  BroodProcess brood(redis, one_worker("memory_limit = \"64M\""));
  enqueue(redis, {payload_text("LeakEverything", "[]", 1)});
  enqueue_ledger_jobs(redis, ledger.path(), 10);

  BOOST_REQUIRE_MESSAGE(eventually([&] { return ledger.has_done(10); }, 30s), brood.log_tail());

  BOOST_TEST_REQUIRE(redis.size_of("retry") == 1U);
  const std::string record = redis.zrange("retry").front().first;
  BOOST_TEST(record.find("\"error_class\":\"OutOfMemory\"") != std::string::npos, record);
  check_nothing_went_wrong(brood);
}

// The worker reads the payload, copies it, and parses it: for each step one payload is too large.
BOOST_AUTO_TEST_CASE(a_job_that_is_too_large_to_be_read_under_the_memory_limit_is_charged) {
  if (!limits_work()) return;
  RedisServer redis;
  const TemporaryDirectory directory;
  const Ledger ledger(directory / "ledger");
  BroodProcess brood(redis, one_worker("memory_limit = \"64M\"\nmax_crashes = 1"));
  const std::vector<std::size_t> sizes{30, 50, 70};
  for (std::size_t i = 0; i < sizes.size(); ++i)
    enqueue(redis, {payload_text("Vast", "[\"" + std::string(sizes[i] << 20, 'x') + "\"]", static_cast<long>(i))});
  enqueue_ledger_jobs(redis, ledger.path(), 10);

  BOOST_REQUIRE_MESSAGE(eventually([&] { return redis.size_of("dead") == sizes.size(); }, 60s), brood.log_tail());
  BOOST_REQUIRE_MESSAGE(eventually([&] { return ledger.has_done(10); }, 30s), brood.log_tail());

  for (const auto& [record, score] : redis.zrange("dead"))
    BOOST_TEST((record.find("\"error_class\":\"OutOfMemory\"") != std::string::npos), brood.log_tail());
  BOOST_TEST(eventually([&] { return no_job_is_left(redis); }), brood.log_tail());
}

BOOST_AUTO_TEST_CASE(a_worker_whose_job_left_a_thread_is_replaced_before_the_next_job_begins) {
  RedisServer redis;
  const TemporaryDirectory directory;
  const Ledger ledger(directory / "ledger");
  BroodProcess brood(redis, one_worker(""));
  enqueue(redis, {payload_text("LeaveThread", "[5000]", 1), payload_text("LeaveThread", "[5000]", 2)});
  // Long enough for the thread, if it stayed, to end one of them.
  enqueue_ledger_jobs(redis, ledger.path(), 3, 2'000);

  BOOST_REQUIRE_MESSAGE(eventually([&] { return ledger.has_done(3); }, 60s), brood.log_tail());

  BOOST_TEST(times_logged(brood, "worker_recycled") == 2u, brood.log_tail());
  BOOST_TEST(brood.log().find("reason=threads jobs=1") != std::string::npos, brood.log_tail());
  BOOST_TEST(times_logged(brood, "job_left_threads") == 1u, brood.log_tail());
  BOOST_TEST(brood.log().find("class=LeaveThread threads=1") != std::string::npos, brood.log_tail());
  BOOST_TEST(redis.size_of("retry") == 0u);
  check_nothing_went_wrong(brood);
}

BOOST_AUTO_TEST_CASE(what_a_left_thread_ends_at_once_is_charged_to_its_own_job) {
  RedisServer redis;
  BroodProcess brood(redis, one_worker(""));
  // Its worker leaves right after the job.  On a busy machine that may be before the thread has crashed, so try again.
  BOOST_TEST(eventually(
                 [&, number = 0]() mutable {
                   enqueue(redis, {payload_text("LeaveThread", "[5]", ++number, R"("retry":3)")});
                   within(1s, [&] { return redis.size_of("queue:default") == 0; });
                   return redis.size_of("retry") > 0;
                 },
                 60s),
             brood.log_tail());
}

BOOST_AUTO_TEST_CASE(threads_that_a_job_has_joined_cost_its_worker_nothing) {
  RedisServer redis;
  const TemporaryDirectory directory;
  const Ledger ledger(directory / "ledger");
  BroodProcess brood(redis, one_worker(""));
  for (int i = 1; i <= 50; ++i) enqueue(redis, {payload_text("JoinThreads", "[20]", i)});
  enqueue_ledger_jobs(redis, ledger.path(), 1);
  BOOST_REQUIRE_MESSAGE(eventually([&] { return ledger.has_done(1); }, 60s), brood.log_tail());
  // A joined thread may take longer to disappear than a worker waits, but not after every job.
  BOOST_TEST(times_logged(brood, "worker_recycled") <= 5u, brood.log_tail());
}

BOOST_AUTO_TEST_CASE(a_worker_may_be_allowed_to_keep_the_threads_of_its_jobs) {
  RedisServer redis;
  const TemporaryDirectory directory;
  const Ledger ledger(directory / "ledger");
  BroodProcess brood(redis, one_worker("threads = \"allow\""));
  for (int i = 1; i <= 5; ++i) enqueue(redis, {payload_text("LeaveThread", "[0]", i)});
  enqueue_ledger_jobs(redis, ledger.path(), 5);
  BOOST_REQUIRE_MESSAGE(eventually([&] { return ledger.has_done(5); }, 60s), brood.log_tail());
  BOOST_TEST(pids_that_ran(ledger).size() == 1u);
  BOOST_TEST(times_logged(brood, "worker_recycled") == 0u, brood.log_tail());
}

BOOST_AUTO_TEST_CASE(a_class_may_keep_its_threads_where_others_may_not_and_the_other_way_round) {
  struct Case {
    const char *of_workers, *of_class;
    std::size_t replaced;
    const char* in_status;
  };
  for (const Case& c :
       {Case{"replace", "allow", 0, R"("threads":"allow","left_threads":0,"expired":0,"isolation":"worker")"},
        Case{"allow", "replace", 2, R"("threads":"replace","left_threads":2,"expired":0,"isolation":"worker")"}}) {
    RedisServer redis;
    const TemporaryDirectory directory;
    const Ledger ledger(directory / "ledger");
    BroodProcess brood(redis, one_worker(std::string("threads = \"") + c.of_workers +
                                         "\"\n[classes.LeaveThread]\nthreads = \"" + c.of_class + "\""));
    for (int i = 1; i <= 2; ++i) enqueue(redis, {payload_text("LeaveThread", "[0]", i)});
    // Another class, whose jobs are checked for threads: threads of the previous class do not count.
    enqueue_ledger_jobs(redis, ledger.path(), 5);
    BOOST_REQUIRE_MESSAGE(eventually([&] { return ledger.has_done(5); }, 60s), brood.log_tail());
    BOOST_TEST(times_logged(brood, "worker_recycled") == c.replaced, brood.log_tail());
    BOOST_TEST(pids_that_ran(ledger).size() == 1u);
    auto environment = brood.environment();
    environment["REDIS_URL"] = redis.url();
    const CommandResult status = run_brood({"status", "--json"}, environment);
    const std::size_t at = status.output.find(R"("name":"LeaveThread")");
    BOOST_TEST_REQUIRE(at != std::string::npos, status.output);
    BOOST_TEST(status.output.substr(at, status.output.find("},{", at) - at).find(c.in_status) != std::string::npos,
               status.output);
    const bool shown = run_brood({"status"}, environment).output.find("LEFT THREADS") != std::string::npos;
    BOOST_TEST(shown);
  }
}

BOOST_AUTO_TEST_CASE(a_class_says_in_its_code_what_becomes_of_threads_and_the_configuration_may_say_otherwise) {
  struct Case {
    const char *job_class, *config;
    std::size_t replaced;
    const char* in_status;
  };
  for (const Case& c : {Case{"KeepThread", "threads = \"replace\"\n", 0, R"("threads":"allow","left_threads":0)"},
                        Case{"RefuseThread", "threads = \"allow\"\n", 2, R"("threads":"replace","left_threads":2)"},
                        Case{"KeepThread", "[classes.KeepThread]\nthreads = \"replace\"", 2,
                             R"("threads":"replace","left_threads":2)"}}) {
    RedisServer redis;
    const TemporaryDirectory directory;
    const Ledger ledger(directory / "ledger");
    BroodProcess brood(redis, one_worker(c.config));
    for (int i = 1; i <= 2; ++i) enqueue(redis, {payload_text(c.job_class, "[]", i)});
    enqueue_ledger_jobs(redis, ledger.path(), 5);
    BOOST_REQUIRE_MESSAGE(eventually([&] { return ledger.has_done(5); }, 60s), brood.log_tail());
    BOOST_TEST(times_logged(brood, "worker_recycled") == c.replaced, brood.log_tail());
    auto environment = brood.environment();
    environment["REDIS_URL"] = redis.url();
    const std::string status = run_brood({"status", "--json"}, environment).output;
    BOOST_TEST(status.find(c.in_status) != std::string::npos, status);
  }
}

namespace {

// A memory cgroup (version 1) of 160 MB for all of one brood, if this machine allows us to make one.
struct SmallHost {
  const std::filesystem::path cgroup = "/sys/fs/cgroup/memory/brood-test-" + std::to_string(getpid());
  bool there = false;
  SmallHost() {
    std::error_code refused;
    there = geteuid() == 0 && std::filesystem::create_directory(cgroup, refused);
    if (there)
      std::ofstream(cgroup / "memory.limit_in_bytes") << (160 << 20);
    else
      BOOST_TEST_MESSAGE("skipped: no memory cgroup (version 1) can be made here");
  }
  ~SmallHost() {
    std::error_code refused;
    BOOST_TEST((!there || eventually([&] { return std::filesystem::remove(cgroup, refused); }, 20s)));
  }
  std::vector<std::string> prefix() const {
    return {"/bin/sh", "-c", "echo $$ > " + (cgroup / "cgroup.procs").string() + " && exec \"$@\"", "sh"};
  }
};

}  // namespace

BOOST_AUTO_TEST_CASE(a_program_that_the_kernel_ends_for_the_memory_of_others_is_given_back_uncharged) {
  const SmallHost host;
  if (!host.there) return;
  RedisServer redis;
  const TemporaryDirectory directory;
  // The kernel ends this one first.
  const std::string modest =
      "import time; open('/proc/self/oom_score_adj', 'w').write('1000'); b = b'x' * 20_000_000; "
      "open('" +
      (directory / "began") + "', 'w'); time.sleep(60)";
  BroodOptions options{.workers = 2, .libraries = {limited}, .shutdown_timeout = "1"};
  options.config = "[commands.Modest]\nrun = [\"python3\", \"-c\", \"" + modest + "\"]\n";
  options.prefix = host.prefix();
  BroodProcess brood(redis, options);
  enqueue(redis, {payload_text("Modest", "[]", 1, R"("retry":3)")});
  BOOST_REQUIRE_MESSAGE(eventually([&] { return std::filesystem::exists(directory / "began"); }, 20s),
                        brood.log_tail());

  // Another process takes all descriptors.
  std::string eat;
  for (const std::string& word : host.prefix()) eat += word == "/bin/sh" ? word : " '" + word + "'";
  BOOST_TEST(std::system((eat + " python3 -c 'bytearray(400_000_000)'").c_str()) != 0);

  BOOST_TEST(eventually([&] { return times_logged(brood, "job_given_back") >= 1u; }, 20s), brood.log_tail());
  BOOST_TEST(redis.size_of("retry") == 0u);
}

BOOST_AUTO_TEST_CASE(a_program_that_had_more_than_its_share_is_charged_with_it) {
  const SmallHost host;
  if (!host.there) return;
  RedisServer redis;
  BroodOptions options{.workers = 1, .libraries = {limited}, .shutdown_timeout = "1"};
  options.config = "[commands.Eat]\nrun = ['python3', '-c', 'bytearray(400_000_000)']\n";
  options.prefix = host.prefix();
  BroodProcess brood(redis, options);

  enqueue(redis, {payload_text("Eat", "[]", 1, R"("retry":3)")});

  BOOST_REQUIRE_MESSAGE(eventually([&] { return redis.size_of("retry") == 1; }, 30s), brood.log_tail());
  const std::string record = redis.zrange("retry").front().first;
  BOOST_TEST(record.find("more than its share") != std::string::npos, record);
}

// The kernel kills both before the supervisor looks for the first of them.
BOOST_AUTO_TEST_CASE(each_of_several_workers_that_the_kernel_ends_for_memory_is_charged_with_it) {
  const SmallHost host;
  if (!host.there) return;
  RedisServer redis;
  BroodOptions options{.workers = 2, .libraries = {limited, examples}, .shutdown_timeout = "5"};
  options.prefix = host.prefix();
  BroodProcess brood(redis, options);
  // A worker that ends before it is known to be ready counts as not started.
  BOOST_REQUIRE(eventually([&] { return times_logged(brood, "ready") == 1u; }, 20s));
  const std::vector<pid_t> workers = brood.workers();
  brood.signal(SIGSTOP);
  enqueue(redis, {payload_text("EatMemory", "[400]", 1, R"("retry":3)"),
                  payload_text("EatMemory", "[400]", 2, R"("retry":3)")});
  const auto ended = [&] { return !process_exists(workers[0]) && !process_exists(workers[1]); };
  BOOST_TEST(eventually(ended, 60s), brood.log_tail());
  brood.signal(SIGCONT);

  BOOST_TEST(eventually([&] { return redis.size_of("retry") == 2; }, 30s), brood.log_tail());
  for (const auto& [record, score] : redis.zrange("retry"))
    BOOST_TEST(record.find("\"error_class\":\"OutOfMemory\"") != std::string::npos, record);
}
