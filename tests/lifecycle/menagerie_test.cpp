#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <set>

#include "shared/job/payload.hpp"
#include "shared/job/retry_decision.hpp"
#include "tests/support/brood_process.hpp"
#include "tests/support/census.hpp"
#include "tests/support/enqueue.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/faults.hpp"
#include "tests/support/footprint.hpp"
#include "tests/support/ledger.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

const std::string menagerie = BROOD_BINARY_DIR "/tests/job_libraries/libmenagerie_jobs.so";
const std::string examples = BROOD_BINARY_DIR "/worker/examples/libexamples.so";

#if defined(__SANITIZE_ADDRESS__)
constexpr bool sanitized = true;
#else
constexpr bool sanitized = false;
#endif

constexpr int good_for_one_bad = 20;

// One way to end badly, and what its record must contain.
struct Beast {
  std::string job_class, args;
  std::string error_class;
  std::string message;      // a part of it
  std::string frame;        // a function in its stack; "": there is no stack
  bool crashed = true;      // counted in crash_count
  std::string more = {};    // further members of the payload
  bool sanitizable = true;  // false: makes no sense with a sanitizer
};

const std::string soon = R"("timeout":0.3)";

// These have no stack: a failure that the job itself has thrown, like every job's; an end after which no code of the
// worker ran (_exit, SIGKILL); and a SIGABRT that could not be received (blocked, stopped).
const std::vector<Beast> beasts = {
    {"SegfaultAtDepth", "[1]", "SIGSEGV", "(SEGV_MAPERR) at 0x10 in SegfaultAtDepth", "SegfaultAtDepth::perform"},
    {"SegfaultAtDepth", "[20]", "SIGSEGV", "(SEGV_MAPERR) at 0x10", "SegfaultAtDepth::perform"},
    {"SegfaultAtDepth", "[2000]", "SIGSEGV", "(SEGV_MAPERR) at 0x10", "descend_and_write"},
    {"AbortAtOnce", "[]", "SIGABRT", "in AbortAtOnce", "AbortAtOnce::perform"},
    {"ThrowNumber", "[]", "int", "", "", false},
    {"ThrowThroughNoexcept", "[]", "SIGABRT", "uncaught int", "throw_through_noexcept"},
    {"ThrowInThread", "[]", "SIGABRT", "uncaught std::runtime_error: no such picture", "throw_in_a_thread"},
    {"OverflowStack", "[]", "SIGSEGV", "in OverflowStack", "dig"},
    {"JumpToGarbage", "[]", "SIGSEGV", "in JumpToGarbage", "call_wildly"},
    {"JumpToNull", "[]", "SIGSEGV", "at 0x0 in JumpToNull", "call_wildly"},
    {"FreeTwice", "[]", "SIGABRT", "in FreeTwice", "free_twice"},
    {"OverflowHeap", "[]", "SIGABRT", "in OverflowHeap", "overflow_and_free"},
    {"SmashStack", "[]", "SIGSEGV", "in SmashStack", "smash_stack"},
    {"DivideByZero", "[]", "SIGFPE", "(FPE_INTDIV)", "divide_by_zero"},
    {"ExitWithZero", "[]", "UnexpectedExit", "exit status 0", "ExitWithZero::perform"},
    {"ExitAtOnce", "[]", "UnexpectedExit", "exit status 99", ""},
    {"WindUpAtDeadline", "[]", "JobTimeout", "wound up", "", false, soon},
    {"HangAsleep", "[]", "JobTimeout", "timeout of 0.3s", "sleep_for_ever", false, soon},
    {"Spin", "[]", "JobTimeout", "timeout of 0.3s", "spin_for_ever", false, soon},
    {"HangDeaf", "[]", "JobTimeout", "timeout of 0.3s", "", false, soon},
    {"StopItself", "[]", "JobTimeout", "timeout of 0.3s", "", false, soon},
    {"LeakToTheLimit", "[]", "OutOfMemory", "memory_limit of 256 MB", "", false, "", false},
    {"RubbishOnControlPipe", "[]", "ControlPipeError", "wrote into its worker's control pipe", ""},
    {"MegabytesOnControlPipe", "[]", "ControlPipeError", "wrote into its worker's control pipe", ""},
    {"CloseDescriptorsAndCrash", "[]", "SIGSEGV", "(SEGV_MAPERR) at 0x10", "CloseDescriptorsAndCrash::perform"},
    {"KillSupervisor", "[]", "std::runtime_error", "EPERM", "", false},
    {"KillOwnGroup", "[]", "SIGKILL", "in KillOwnGroup", ""},
    {"KillEverybody", "[]", "std::runtime_error", "EPERM", "", false},
    {"Daemonise", "[]", "UnexpectedExit", "exit status 3", ""},
    {"ForkBomb", "[200]", "SIGABRT", "in ForkBomb", "ForkBomb::perform"},
    {"ForgeLog", "[]", "std::runtime_error", "red", "", false},
};

// No retry comes due meanwhile.
BroodOptions workers(int count, const std::string& grace = "5s") {
  return {.workers = count,
          .libraries = {menagerie, examples},
          .shutdown_timeout = "5",
          .config = "poll_interval = \"24h\"\n[worker]\ntimeout_grace = \"" + grace + "\"\n" +
                    (sanitized ? "" : "memory_limit = \"256M\"\n"),
          // A sanitizer ends the process by abort(), so that our handler runs too.
          .environment = {{"ASAN_OPTIONS",
                           "abort_on_error=1:handle_abort=0:handle_segv=0:handle_sigbus=0:handle_sigfpe=0:handle_"
                           "sigill=0:detect_leaks=0:detect_stack_use_after_return=0:use_sigaltstack=0"},
                          {"UBSAN_OPTIONS", "abort_on_error=1"}}};
}

std::string names_of(const std::vector<pid_t>& pids) {
  std::string names;
  for (const pid_t pid : pids) {
    std::string line;
    std::getline(std::ifstream("/proc/" + std::to_string(pid) + "/cmdline"), line, '\0');
    names += std::to_string(pid) + " " + line + "; ";
  }
  return names;
}

// Puts bad jobs at random places among the good ones, which have the numbers 1 to `good.size()`.
std::vector<std::string> mixed(std::vector<std::string> bad, std::vector<std::string> good, Dice& dice) {
  std::vector<std::string> all;
  while (!bad.empty() || !good.empty()) {
    const bool takes_bad = dice.roll(1, static_cast<int>(bad.size() + good.size())) <= static_cast<int>(bad.size());
    std::vector<std::string>& from = takes_bad ? bad : good;
    std::swap(from.back(), from[static_cast<std::size_t>(dice.roll(0, static_cast<int>(from.size()) - 1))]);
    all.push_back(std::move(from.back()));
    from.pop_back();
  }
  return all;
}

std::vector<std::string> ledger_jobs(const Ledger& ledger, int count, int milliseconds) {
  std::vector<std::string> payloads;
  for (int id = 0; id < count; ++id) {
    payloads.push_back(payload_text(
        "Ledger", "[\"" + ledger.path() + "\",\"" + std::to_string(id) + "\"," + std::to_string(milliseconds) + "]",
        id + 1));
  }
  return payloads;
}

std::map<std::string, Payload> by_jid(RedisServer& redis, const std::string& key) {
  std::map<std::string, Payload> jobs;
  for (const auto& [text, score] : redis.zrange(key)) {
    Payload job = Payload::parse(text);
    jobs.emplace(job.jid(), std::move(job));
  }
  return jobs;
}

// When reports queue up, stacks have no names, but still the places.
enum class Names { required, may_be_left_out };

void check_record(const Beast& beast, const Payload& job, Names names) {
  const std::string who = beast.job_class + beast.args + ": " + job.text();
  BOOST_TEST(job.string("error_class").value_or("") == beast.error_class, who);
  BOOST_TEST(job.string("error_message").value_or("").find(beast.message) != std::string::npos, who);
  BOOST_TEST(job.integer("crash_count").value_or(0) == (beast.crashed ? 1 : 0), who);
  const auto stack = decode_backtrace(job.string("error_backtrace").value_or(""));
  if (beast.frame.empty()) {
    BOOST_TEST((!stack || stack->empty()), who);
    return;
  }
  BOOST_REQUIRE_MESSAGE(stack.has_value(), "no stack: " << who);
  std::string lines;
  for (const std::string& line : *stack) lines += "\n" + line;
  const bool left_out =
      lines.find("libmenagerie_jobs.so+0x") != std::string::npos && lines.find("[build id ") != std::string::npos;
  BOOST_TEST((lines.find(beast.frame) != std::string::npos || (names == Names::may_be_left_out && left_out)),
             beast.job_class << beast.args << lines);
}

// Where the bad jobs run: in the workers, one after the other, or each in a separate process.
enum class Where { in_workers, apart };

// A job's own process has no control pipe, and its parent is no supervisor.
bool makes_sense(const Beast& beast, Where where) {
  const bool needs_its_worker = beast.error_class == "ControlPipeError" || beast.message == "EPERM";
  return (!sanitized || beast.sanitizable) && (where == Where::in_workers || !needs_its_worker);
}

void perform_good_and_bad(Where where) {
  RedisServer redis;
  Dice dice;
  const TemporaryDirectory directory;
  const Ledger ledger(directory / "ledger");
  // Two of each kind: one that may be retried, and one that goes to `dead` at once.
  std::map<std::string, std::pair<Beast, std::string>> expected;  // by jid: kind, where it ends
  std::vector<std::string> bad;
  for (const Beast& beast : beasts) {
    if (!makes_sense(beast, where)) {
      BOOST_TEST_MESSAGE("skipped: " << beast.job_class << " makes no sense here");
      continue;
    }
    for (const bool retried : {true, false}) {
      const std::string more =
          std::string(retried ? "" : R"("retry":0)") + (retried || beast.more.empty() ? "" : ",") + beast.more;
      bad.push_back(payload_text(beast.job_class, beast.args, 1'000'000 + static_cast<long>(bad.size()), more));
      expected.emplace(Payload::parse(bad.back()).jid(), std::pair(beast, retried ? "retry" : "dead"));
    }
  }
  const int good = static_cast<int>(bad.size()) * good_for_one_bad;
  BroodOptions options = workers(4);
  if (where == Where::apart) {
    std::set<std::string> classes;
    for (const Beast& beast : beasts) classes.insert(beast.job_class);
    for (const std::string& one : classes) options.config += "[classes." + one + "]\nisolation = \"process\"\n";
  }
  if (!sanitized) {  // with the host's clock a day ahead Redis' own clock must still decide what is due
    options.environment["LD_PRELOAD"] = BROOD_BINARY_DIR "/tests/libshifted_clock.so";
    options.environment["SHIFTED_CLOCK"] = "86400";
  }
  BroodProcess brood(redis, options);
  const pid_t supervisor = brood.pid();
  const std::string home = brood.home().path();
  BOOST_REQUIRE_MESSAGE(brood.wait_ready(), brood.log_tail());
  enqueue(redis, mixed(bad, ledger_jobs(ledger, good, 2), dice));

  BOOST_TEST(eventually(
                 [&] {
                   return redis.size_of("retry") + redis.size_of("dead") == bad.size() &&
                          ledger.has_done(static_cast<std::size_t>(good));
                 },
                 120s),
             brood.log_tail());
  BOOST_TEST(eventually([&] { return jobs_in_flight(redis) == 0; }));

  const Ledger::Verdict verdict = ledger.judge(good);
  BOOST_TEST(verdict.lost.empty());
  BOOST_TEST(verdict.doubled.empty());
  BOOST_TEST(verdict.unexpected.empty());
  BOOST_TEST(ledger.runs().size() == static_cast<std::size_t>(good));
  BOOST_TEST(Census(redis).misplaced(ledger, good) == "");

  for (const std::string key : {"retry", "dead"}) {
    for (const auto& [jid, job] : by_jid(redis, key)) {
      const auto found = expected.find(jid);
      BOOST_REQUIRE_MESSAGE(found != expected.end(), job.text());
      BOOST_TEST(found->second.second == key, job.text());
      check_record(found->second.first, job, Names::may_be_left_out);
      expected.erase(found);
    }
  }
  const auto now = static_cast<double>(redis.command({"TIME"}).view()[0].integer());
  for (const std::string key : {"retry", "dead"}) {
    for (const auto& [text, score] : redis.zrange(key)) BOOST_TEST(std::abs(score - now) < 300, text);
  }
  for (const auto& [jid, beast] : expected) BOOST_ERROR(beast.first.job_class << " is in neither set");

  // The supervisor, its four workers and their forkers, nothing else.
  const std::size_t left = where == Where::apart ? 9 : 5;
  BOOST_TEST(eventually([&] { return processes_of(home).size() == left; }), names_of(processes_of(home)));
  BOOST_TEST(eventually([&] { return footprint_of(supervisor).zombies == 0; }));
  BOOST_TEST(brood.pid() == supervisor);
  BOOST_TEST(times_logged(brood, "supervisor_started") == 1U);
  BOOST_TEST(brood.log().find('\x1b') == std::string::npos);
  BOOST_TEST(brood.log().find("\nevent=forged") == std::string::npos);
  BOOST_TEST(brood.log().find("\n{\"event\":\"forged\"}") == std::string::npos);
  brood.term();
  BOOST_TEST(brood.wait_exit(20s).value_or(-1) == 0, brood.log_tail());
  BOOST_TEST(eventually([&] { return processes_of(home).empty(); }), names_of(processes_of(home)));
}

}  // namespace

BOOST_AUTO_TEST_CASE(every_bad_job_ends_with_its_own_reason_and_every_good_one_runs_once) {
  perform_good_and_bad(Where::in_workers);
}

BOOST_AUTO_TEST_CASE(isolated_bad_jobs_end_with_their_reasons_and_good_ones_run_once) {
  perform_good_and_bad(Where::apart);
}

BOOST_AUTO_TEST_CASE(the_stack_of_every_bad_job_names_its_function_where_there_is_one_to_be_had) {
  RedisServer redis;
  BroodProcess brood(redis, workers(1, "5s"));  // a busy machine needs time to write a stack
  for (const Beast& beast : beasts) {
    if (beast.frame.empty()) continue;
    enqueue(redis, {payload_text(beast.job_class, beast.args, 1, beast.more)});
    BOOST_TEST_REQUIRE(eventually([&] { return redis.size_of("retry") == 1; }, 30s), brood.log_tail());
    check_record(beast, Payload::parse(redis.zrange("retry").front().first), Names::required);
    redis.command({"DEL", "retry"});
  }
}

// Runs alone: its worker goes on without a control pipe, into which some other jobs would write.
BOOST_AUTO_TEST_CASE(a_job_that_closes_every_descriptor_and_fails_is_charged_and_its_worker_settles) {
  RedisServer redis;
  const TemporaryDirectory directory;
  const Ledger ledger(directory / "ledger");
  BroodProcess brood(redis, workers(1));
  enqueue(redis, {payload_text("CloseDescriptors", "[]", 1'000'000)});
  enqueue(redis, ledger_jobs(ledger, good_for_one_bad, 1));

  BOOST_TEST(eventually([&] { return redis.size_of("retry") == 1 && ledger.has_done(good_for_one_bad); }, 20s),
             brood.log_tail());
  BOOST_TEST(eventually([&] { return jobs_in_flight(redis) == 0; }));

  check_record({"CloseDescriptors", "[]", "std::runtime_error", "closed them all", "", false},
               Payload::parse(redis.zrange("retry").front().first), Names::required);
  BOOST_TEST(ledger.runs().size() == static_cast<std::size_t>(good_for_one_bad));
}

// Either the thread crashes before its job is settled, or its worker is replaced first and the crash is never noticed.
// The next job pays in neither case.
BOOST_AUTO_TEST_CASE(a_thread_that_crashes_after_its_job_costs_no_other_job) {
  RedisServer redis;
  Dice dice;
  const TemporaryDirectory directory;
  const Ledger ledger(directory / "ledger");
  constexpr int leavers = 60, good = 600;
  std::vector<std::string> bad;
  for (int i = 0; i < leavers; ++i) {
    const int after_us = i < 10 ? 0 : dice.roll(0, i % 2 == 0 ? 500 : 50'000);
    bad.push_back(payload_text("LeaveCrashingThread", "[" + std::to_string(after_us) + "]", 1'000'000 + i));
  }
  BroodProcess brood(redis, workers(4));
  BOOST_REQUIRE_MESSAGE(brood.wait_ready(), brood.log_tail());
  enqueue(redis, mixed(bad, ledger_jobs(ledger, good, 2), dice));

  BOOST_TEST(eventually([&] { return no_job_is_left(redis, "default", true) && ledger.has_done(good); }, 120s),
             brood.log_tail());

  const Ledger::Verdict verdict = ledger.judge(good);
  BOOST_TEST(verdict.lost.empty());
  BOOST_TEST(verdict.doubled.empty());
  BOOST_TEST(ledger.runs().size() == static_cast<std::size_t>(good));
  BOOST_TEST(redis.size_of("dead") == 0U);
  for (const auto& [jid, job] : by_jid(redis, "retry"))
    check_record({"LeaveCrashingThread", "", "SIGSEGV", "in LeaveCrashingThread", "descend_and_write"}, job,
                 Names::may_be_left_out);
  BOOST_TEST_MESSAGE(redis.size_of("retry") << " of " << leavers << " were charged");
  brood.term();
  BOOST_TEST(brood.wait_exit(20s).value_or(-1) == 0, brood.log_tail());
}

// In the worker the next job would pay for the corrupt heap.
BOOST_AUTO_TEST_CASE(isolated_jobs_that_corrupt_the_heap_or_leave_threads_harm_no_other) {
  RedisServer redis;
  Dice dice;
  const TemporaryDirectory directory;
  const Ledger ledger(directory / "ledger");
  constexpr int of_each = 40, good = 800;
  std::vector<std::string> bad;
  for (int i = 0; i < of_each; ++i) {
    const std::string after_us = "[" + std::to_string(dice.roll(0, 2000)) + "]";
    bad.push_back(payload_text("LeaveCrashingThread", after_us, 1'000'000 + 2 * i));
    if (!sanitized) bad.push_back(payload_text("SpoilHeap", "[]", 1'000'001 + 2 * i));
  }
  BroodOptions options = workers(4);
  for (const char* const one : {"LeaveCrashingThread", "SpoilHeap"})
    options.config += std::string("[classes.") + one + "]\nisolation = \"process\"\n";
  BroodProcess brood(redis, options);
  BOOST_REQUIRE_MESSAGE(brood.wait_ready(), brood.log_tail());
  enqueue(redis, mixed(bad, ledger_jobs(ledger, good, 2), dice));

  BOOST_TEST(eventually([&] { return no_job_is_left(redis, "default", true) && ledger.has_done(good); }, 120s),
             brood.log_tail());

  const Ledger::Verdict verdict = ledger.judge(good);
  BOOST_TEST(verdict.lost.empty());
  BOOST_TEST(verdict.doubled.empty());
  BOOST_TEST(ledger.runs().size() == static_cast<std::size_t>(good));
  BOOST_TEST(redis.size_of("dead") == 0U);
  for (const auto& [jid, job] : by_jid(redis, "retry")) BOOST_TEST(job.job_class() != "Ledger", job.text());
  BOOST_TEST_MESSAGE(redis.size_of("retry") << " of " << bad.size() << " were charged");
  brood.term();
  BOOST_TEST(brood.wait_exit(20s).value_or(-1) == 0, brood.log_tail());
}

// An overwritten scoreboard is not believed.  A job whose worker dies after that (first of all the job that did it) is
// given back uncharged, and goes to `dead` the third time.  Neighbours continue with their own data, so a good job that
// was not cut off runs once.
BOOST_AUTO_TEST_CASE(a_job_that_scribbles_over_all_slots_is_dead_the_third_time_and_costs_no_neighbour_its_job) {
  RedisServer redis;
  Dice dice;
  const TemporaryDirectory directory;
  const Ledger ledger(directory / "ledger");
  const std::vector<std::string> bad = {payload_text("ScribbleOverScoreboard", "[]", 1'000'000)};
  constexpr int good = 400;
  BroodProcess brood(redis, workers(4));
  BOOST_REQUIRE_MESSAGE(brood.wait_ready(), brood.log_tail());
  enqueue(redis, mixed(bad, ledger_jobs(ledger, good, 5), dice));

  BOOST_TEST(eventually([&] { return redis.size_of("dead") == 1 && ledger.has_done(good); }, 60s), brood.log_tail());
  BOOST_TEST(eventually([&] { return jobs_in_flight(redis) == 0; }));

  const Ledger::Verdict verdict = ledger.judge(good);
  BOOST_TEST(verdict.lost.empty());
  BOOST_TEST(verdict.doubled.empty());
  BOOST_TEST(redis.size_of("retry") == 0U);
  BOOST_TEST(Census(redis).misplaced(ledger, good) == "");
  BOOST_TEST(Payload::parse(redis.zrange("dead").front().first).string("error_class").value_or("") == "Orphaned");
  brood.term();
  BOOST_TEST(brood.wait_exit(20s).value_or(-1) == 0, brood.log_tail());
}

BOOST_AUTO_TEST_CASE(a_supervisor_is_no_larger_after_hundreds_of_crashes) {
  RedisServer redis;
  BroodProcess brood(redis, workers(2));
  BOOST_REQUIRE_MESSAGE(brood.wait_ready(), brood.log_tail());
  std::size_t crashes = 0;
  // Every crash is recorded in a job, and afterwards all is quiet.
  const auto footprint_after = [&](std::size_t more) {
    std::vector<std::string> jobs;
    for (std::size_t i = 0; i < more; ++i)
      jobs.push_back(payload_text("SegfaultAtDepth", "[3]", static_cast<long>(++crashes)));
    enqueue(redis, jobs);
    BOOST_TEST_REQUIRE(eventually([&] { return redis.size_of("retry") == crashes; }, 240s), brood.log_tail());
    BOOST_TEST_REQUIRE(brood.wait_ready());
    BOOST_TEST_REQUIRE(eventually([&] { return children_of(brood.pid()).size() == 2; }));
    BOOST_TEST(eventually([&] { return footprint_of(brood.pid()).zombies == 0; }));
    return footprint_of(brood.pid());
  };

  // Each place rests a quarter of a second between its crashes, and with a sanitizer a crash takes as long again.
  const Footprint before = footprint_after(sanitized ? 50 : 100);
  const Footprint after = footprint_after(sanitized ? 150 : 300);

  BOOST_TEST_MESSAGE("rss " << before.rss_kb << " -> " << after.rss_kb << " kB, descriptors " << before.descriptors
                            << " -> " << after.descriptors);
  // One more for the doorbell's own connection to Redis, which opens on first use.  The descriptors of the last
  // recoveries are closed a moment after their end.
  BOOST_TEST(eventually([&] { return footprint_of(brood.pid()).descriptors <= before.descriptors + 1; }));
  if (sanitized)
    BOOST_TEST_MESSAGE("skipped: a sanitizer keeps what is freed");
  else
    BOOST_TEST(after.rss_kb - before.rss_kb < 600);  // 2 kB a crash
}
