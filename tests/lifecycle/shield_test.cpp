#include <boost/test/unit_test.hpp>

#include <sched.h>
#include <seccomp.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <sstream>

#include "shared/base/identity.hpp"
#include "shared/base/job_mark.hpp"
#include "shared/scoreboard/scoreboard.hpp"
#include "shared/store/identity_record.hpp"
#include "tests/support/brood_process.hpp"
#include "tests/support/enqueue.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/file_text.hpp"
#include "worker/guard/seccomp_rules.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

const std::string jobs = BROOD_BINARY_DIR "/tests/job_libraries/liblimited_jobs.so";

BroodOptions one_worker(const std::string& config = "") {
  return {.workers = 1, .libraries = {jobs}, .shutdown_timeout = "5", .config = config};
}

// The output of a job of this class.
std::string said_by(const std::string& job_class, const BroodOptions& options, std::string* log = nullptr) {
  RedisServer redis;
  const TemporaryDirectory directory;
  BroodProcess brood(redis, options);
  const pid_t supervisor = brood.pid();
  enqueue(redis, {payload_text(job_class, "[\"" + (directory / "said") + "\"]")});
  BOOST_REQUIRE_MESSAGE(eventually([&] { return !text_of_file(directory / "said").empty(); }, 20s), brood.log_tail());
  BOOST_TEST(!brood.wait_exit(50ms).has_value());
  BOOST_TEST(brood.pid() == supervisor);
  BOOST_TEST(text_of_file("/proc/" + std::to_string(supervisor) + "/stat").find(") T ") == std::string::npos);
  brood.term();
  BOOST_TEST(brood.wait_exit(20s).value_or(-1) == 0, brood.log_tail());
  if (log != nullptr) *log = brood.log();
  return text_of_file(directory / "said");
}

// The scheduling of a supervisor, which a job may want to slow down.
struct Scheduling {
  char state = '?';
  int policy = -1, nice = 0;
  long io_priority = 0;
  int processors = 0;
  std::string group;  // the session's, if the kernel schedules by sessions
};

Scheduling scheduling_of(pid_t pid) {
  cpu_set_t processors;
  CPU_ZERO(&processors);
  sched_getaffinity(pid, sizeof processors, &processors);
  const std::string stat = text_of_file("/proc/" + std::to_string(pid) + "/stat");
  return {.state = stat.at(stat.rfind(')') + 2),
          .policy = sched_getscheduler(pid),
          .nice = getpriority(PRIO_PROCESS, static_cast<id_t>(pid)),
          .io_priority = syscall(SYS_ioprio_get, 1, pid),
          .processors = CPU_COUNT(&processors),
          .group = text_of_file("/proc/" + std::to_string(pid) + "/autogroup")};
}

// The only file of its runtime directory with this extension.
std::string file_of(const BroodProcess& brood, const std::string& extension) {
  for (const auto& entry : std::filesystem::recursive_directory_iterator(brood.home().path())) {
    if (entry.path().extension() == extension) return entry.path();
  }
  return "";
}

}  // namespace

namespace {

// In a PID namespace without the group of this process its number is 0, and an attack on that meets the job's own
// group.
bool names_no_group_of_supervisor(const std::string& attack) { return getpgrp() == 0 && attack.ends_with("_group"); }

}  // namespace

BOOST_AUTO_TEST_CASE(a_job_cannot_signal_trace_or_write_to_its_supervisor) {
  std::istringstream said(said_by("AttackSupervisor", one_worker()));
  int attacks = 0;
  for (std::string attack, outcome; said >> attack >> outcome; ++attacks)
    BOOST_TEST((outcome == "EPERM" || names_no_group_of_supervisor(attack)), attack << " ended with " << outcome);
  BOOST_TEST(attacks == 19);
}

BOOST_AUTO_TEST_CASE(every_refusal_of_the_shield_is_tried_by_some_job) {
  // A new call in the table needs a line in AttackSupervisor or ReachForSupervisor of limited_jobs.cpp.
  std::set<std::string_view> calls;
  for (const Refusal& refusal : refusals()) calls.insert(refusal.call);
  BOOST_TEST(refusals().size() == 43u);
  for (const std::string_view call : calls) {
    const auto reach = reach_of(call);
    BOOST_TEST((reach == CallReach::named || reach == CallReach::hidden), call);
  }
  for (const CallGroup& group : call_groups()) {
    if (group.reach != CallReach::named && group.reach != CallReach::hidden) continue;
    std::istringstream names{std::string(group.names)};
    for (std::string name; names >> name;) BOOST_TEST(calls.contains(name), name);
  }
}

BOOST_AUTO_TEST_CASE(a_job_cannot_reach_its_supervisor_by_any_other_call) {
  RedisServer redis;
  const TemporaryDirectory directory;
  BroodProcess brood(redis, one_worker());
  BOOST_REQUIRE(brood.wait_ready());
  const Scheduling before = scheduling_of(brood.pid());

  enqueue(redis, {payload_text("ReachForSupervisor", "[\"" + (directory / "said") + "\"]")});

  BOOST_REQUIRE_MESSAGE(eventually([&] { return !text_of_file(directory / "said").empty(); }, 20s), brood.log_tail());
  std::istringstream said(text_of_file(directory / "said"));
  int attacks = 0;
  const std::map<std::string, std::string> otherwise{{"setown_ex", "EINVAL"}};
  for (std::string attack, outcome; said >> attack >> outcome; ++attacks) {
    if (names_no_group_of_supervisor(attack)) continue;
    const auto known = otherwise.find(attack);
    BOOST_TEST(outcome == (known == otherwise.end() ? "EPERM" : known->second), attack << " ended with " << outcome);
  }
  BOOST_TEST(attacks == 31);
  BOOST_TEST(!brood.wait_exit(200ms).has_value());
  const Scheduling after = scheduling_of(brood.pid());
  BOOST_TEST(after.state != 'T');
  BOOST_TEST(after.policy == before.policy);
  BOOST_TEST(after.nice == before.nice);
  BOOST_TEST(after.io_priority == before.io_priority);
  BOOST_TEST(after.processors == before.processors);
  BOOST_TEST(after.group == before.group);
  brood.term();
  BOOST_TEST(brood.wait_exit(20s).value_or(-1) == 0, brood.log_tail());
}

// If the kernel lets one process trace another of its user, a job could use any of them.
BOOST_AUTO_TEST_CASE(no_child_of_the_supervisor_that_a_job_traces_can_signal_it) {
  const TemporaryDirectory directory;
  BroodProcess brood(one_worker("[otlp]\nendpoint = \"http://127.0.0.1:9\"\n"));
  BOOST_REQUIRE(brood.wait_ready());
  const auto named = [](pid_t child) { return text_of_file("/proc/" + std::to_string(child) + "/cmdline"); };
  const auto is_filtered = [](pid_t child) {
    return text_of_file("/proc/" + std::to_string(child) + "/status").find("\nSeccomp:\t2\n") != std::string::npos;
  };
  // The embedded Redis, the exporter and the worker.  A process that was just forked has yet to install the filter, and
  // cannot be traced before.
  std::vector<pid_t> children;
  const auto all_are_filtered = [&] {
    children = children_of(brood.pid());
    const bool exports = std::any_of(children.begin(), children.end(),
                                     [&](pid_t child) { return named(child).starts_with("brood: spans"); });
    return children.size() == 3 && exports && std::all_of(children.begin(), children.end(), is_filtered);
  };
  BOOST_REQUIRE_MESSAGE(eventually(all_are_filtered, 20s), brood.log_tail());
  const pid_t worker = brood.workers().front();

  for (const pid_t child : children) {
    const std::string said = directory / std::to_string(child);
    if (child == worker) continue;
    const std::string arguments = "[\"" + said + "\"," + std::to_string(child) + "]";
    const auto enqueue = [&] {
      return run_brood({"enqueue", "SignalByTracing", "--args", arguments}, brood.environment()).status == 0;
    };
    BOOST_REQUIRE(eventually(enqueue, 20s));  // the embedded Redis may not listen yet
    BOOST_REQUIRE_MESSAGE(eventually([&] { return !text_of_file(said).empty(); }, 20s), brood.log_tail());
    const std::string outcome = text_of_file(said);
    BOOST_TEST((outcome == "EPERM" || outcome == "not traced"), named(child) << ": " << outcome);
    if (outcome == "not traced") BOOST_TEST_MESSAGE("skipped: no process may trace another here");
  }
  brood.term();
  BOOST_TEST(brood.wait_exit(20s).value_or(-1) == 0, brood.log_tail());
}

BOOST_AUTO_TEST_CASE(a_job_that_makes_its_supervisor_its_tracer_goes_on) {
  std::string log;
  BOOST_TEST(said_by("BeTraced", one_worker(), &log) == "went on");
  for (const char* event : {"worker_crashed", "worker_stopped", "worker_ended"})
    BOOST_TEST(log.find("event=" + std::string(event)) == std::string::npos, log);
}

namespace {

void check_uses(const std::string& all) {
  std::istringstream said(all);
  int uses = 0;
  for (std::string use, outcome; said >> use >> outcome; ++uses)
    BOOST_TEST(outcome == "done", use << " ended with " << outcome);
  BOOST_TEST(uses == 16);
}

boost::test_tools::assertion_result is_root(boost::unit_test::test_unit_id) { return geteuid() == 0; }

}  // namespace

BOOST_AUTO_TEST_CASE(a_job_uses_its_own_processes_as_it_likes) { check_uses(said_by("UseOwnProcesses", one_worker())); }

// There the group of the supervisor is 0, which names a caller's own group in system calls.
BOOST_AUTO_TEST_CASE(so_it_does_if_the_group_of_its_supervisor_is_of_another_namespace,
                     *boost::unit_test::precondition(is_root)) {
  RedisServer redis;
  const TemporaryDirectory directory;
  BroodOptions options = one_worker();
  options.prefix = {"/usr/bin/unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"};
  const BroodProcess brood(redis, options);
  enqueue(redis, {payload_text("UseOwnProcesses", "[\"" + (directory / "said") + "\"]")});
  BOOST_REQUIRE_MESSAGE(eventually([&] { return !text_of_file(directory / "said").empty(); }, 20s), brood.log_tail());
  check_uses(text_of_file(directory / "said"));
}

namespace {

void survives_a_scoreboard_cut_short(bool after_an_upgrade) {
  RedisServer redis;
  const TemporaryDirectory directory;
  BroodOptions options = one_worker();
  options.workers = 3;
  BroodProcess brood(redis, options);
  BOOST_REQUIRE(brood.wait_ready());
  if (after_an_upgrade) {
    brood.signal(SIGUSR2);
    BOOST_REQUIRE(eventually([&] { return brood.log().find("event=restart_ended") != std::string::npos; }, 60s));
    BOOST_REQUIRE(eventually([&] { return brood.workers().size() == 3; }, 20s));
  }
  const std::string scoreboard = file_of(brood, ".scoreboard");
  const auto size = std::filesystem::file_size(scoreboard);
  const std::vector<pid_t> workers = brood.workers();

  const std::string runtime = std::filesystem::path(scoreboard).parent_path();
  const std::string arguments = "[\"" + (directory / "said") + "\",\"" + runtime + "\"]";
  enqueue(redis, {payload_text("CutScoreboards", arguments)});
  BOOST_REQUIRE_MESSAGE(eventually([&] { return !text_of_file(directory / "said").empty(); }, 20s), brood.log_tail());
  BOOST_TEST(text_of_file(directory / "said") == "1");

  BOOST_TEST(eventually([&] { return std::filesystem::file_size(scoreboard) == size; }, 20s), brood.log_tail());
  BOOST_TEST(eventually([&] { return brood.log().find("event=scoreboard_mended") != std::string::npos; }, 20s));
  for (int i = 0; i < 3; ++i) {
    enqueue(redis, {payload_text("EndOwnChildren", "[\"" + (directory / std::to_string(i)) + "\"]")});
    BOOST_TEST(eventually([&] { return text_of_file(directory / std::to_string(i)) == "9\n9\n"; }, 20s),
               brood.log_tail());
  }
  BOOST_TEST(!brood.wait_exit(10ms).has_value());
  BOOST_TEST((brood.workers() == workers), brood.log_tail());
  BOOST_TEST(redis.size_of("retry") == 0u);
  // The file shows a supervisor with its workers again.
  const auto pids_in_status = [&] { return run_brood({"status", "--json"}, brood.environment()).output; };
  for (const pid_t worker : workers)
    BOOST_TEST(eventually([&] { return pids_in_status().find(std::to_string(worker)) != std::string::npos; }, 20s));
  brood.term();
  BOOST_TEST(brood.wait_exit(20s).value_or(-1) == 0, brood.log_tail());
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_job_that_cuts_the_scoreboard_short_ends_neither_its_supervisor_nor_other_jobs) {
  survives_a_scoreboard_cut_short(false);
}

BOOST_AUTO_TEST_CASE(a_job_that_cuts_the_scoreboard_short_after_an_upgrade_ends_nothing_either) {
  survives_a_scoreboard_cut_short(true);
}

namespace {

// Each process that AskSupervisor used must be refused.
void expect_refusals(const std::string& file) {
  for (const std::string who : {"worker", "child", "grandchild", "hidden", "daemon"})
    BOOST_TEST(text_of_file(file + "." + who).find("has no say in this") != std::string::npos,
               who << " was answered " << text_of_file(file + "." + who));
  BOOST_TEST(text_of_file(file + ".heir").find("the process that connected has ended") != std::string::npos,
             text_of_file(file + ".heir"));
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_control_socket_obeys_nothing_that_a_job_has_started) {
  RedisServer redis;
  const TemporaryDirectory directory;
  BroodProcess brood(redis, one_worker());
  BOOST_REQUIRE(brood.wait_ready());
  const std::string file = directory / "said";
  const std::string arguments = "[\"" + file + "\",\"" + file_of(brood, ".control") + "\",\"stop\"]";

  enqueue(redis, {payload_text("AskSupervisor", arguments)});

  BOOST_TEST_REQUIRE(eventually([&] { return text_of_file(file) == "asked"; }, 30s), brood.log_tail());
  expect_refusals(file);
  BOOST_TEST(!brood.wait_exit(200ms).has_value());
  BOOST_TEST(brood.log().find("event=phase") == std::string::npos, brood.log_tail());

  // The operator is obeyed.
  BOOST_TEST(run_brood({"stop"}, brood.environment()).status == 0);
  BOOST_TEST(brood.wait_exit(20s).value_or(-1) == 0, brood.log_tail());
}

BOOST_AUTO_TEST_CASE(another_supervisor_of_the_same_user_does_not_obey_them_either) {
  RedisServer redis, other_redis;
  const TemporaryDirectory directory;
  BroodProcess brood(redis, one_worker()), other(other_redis, one_worker());
  BOOST_REQUIRE(brood.wait_ready());
  BOOST_REQUIRE(other.wait_ready());
  const std::string file = directory / "said";

  enqueue(redis, {payload_text("AskSupervisor", "[\"" + file + "\",\"" + file_of(other, ".control") + "\",\"stop\"]")});

  BOOST_TEST_REQUIRE(eventually([&] { return text_of_file(file) == "asked"; }, 30s), brood.log_tail());
  expect_refusals(file);
  BOOST_TEST(other.log().find("event=phase") == std::string::npos, other.log_tail());
  for (BroodProcess* one : {&brood, &other}) {
    one->term();
    BOOST_TEST(one->wait_exit(20s).value_or(-1) == 0, one->log_tail());
  }
}

BOOST_AUTO_TEST_CASE(a_signal_of_such_a_job_is_ignored_as_long_as_it_lives) {
  RedisServer redis;
  BroodProcess brood(redis, one_worker());
  BOOST_REQUIRE(brood.wait_ready());
  const pid_t job = fork();
  if (job == 0) {
    mark_as_job(77, 5000);
    kill(brood.pid(), SIGTSTP);
    for (;;) pause();
  }

  BOOST_TEST(eventually([&] { return brood.log().find("event=signal_from_a_job_ignored") != std::string::npos; }),
             brood.log_tail());
  BOOST_TEST(brood.log().find("event=phase") == std::string::npos, brood.log_tail());
  kill(job, SIGKILL);
  waitpid(job, nullptr, 0);
}

// The supervisor repairs what a job writes there, also in slots that no worker has ever had.
BOOST_AUTO_TEST_CASE(workers_that_a_job_has_invented_are_not_shown_for_long) {
  RedisServer redis;
  BroodProcess brood(redis, one_worker());
  BOOST_REQUIRE(brood.wait_ready());
  Scoreboard scoreboard = Scoreboard::open(file_of(brood, ".scoreboard"), true);
  SlotRecord& resting = scoreboard.slot(scoreboard.slots() - 1);
  SlotRecord& gone = scoreboard.slot(scoreboard.slots() - 2);
  const std::int64_t tomorrow = (steady_now() + 24h).time_since_epoch().count();

  resting.rests_until = tomorrow;
  scoreboard.slot(0).rests_until = tomorrow;
  gone.pid = 4'194'304;
  gone.ready = 1;

  BOOST_TEST(
      eventually([&] { return resting.rests_until == 0 && scoreboard.slot(0).rests_until == 0 && gone.pid == 0; }));
  BOOST_TEST(brood.workers().size() == 1u);
}

// The record of an invented supervisor, with its scoreboard, names this supervisor as the worker that outlived it.
BOOST_AUTO_TEST_CASE(a_supervisor_is_not_made_to_kill_itself_or_a_bystander) {
  RedisServer redis;
  BroodProcess brood(redis, one_worker());
  BOOST_REQUIRE(brood.wait_ready());
  const pid_t worker = brood.workers().front();
  const std::string runtime = std::filesystem::path(file_of(brood, ".scoreboard")).parent_path();
  Identity forged = Identity::of_this_process();
  forged.pid = 5'000'000;
  forged.start_time = 1;
  forged.name = "forged:5000000:abcdefabcdef";
  forged.runtime_directory = runtime;
  Scoreboard scoreboard = Scoreboard::create(runtime, forged.name, 3);
  int slot = 0;
  for (const pid_t victim : {brood.pid(), worker, getpid()}) {
    scoreboard.slot(slot).pid = victim;
    scoreboard.slot(slot).start_time = process_start_time(victim);
    WorkerSlot(scoreboard.slot(slot++)).adopt_incarnation(1);
  }
  redis.command({"HSET", "brood:processes", forged.name, identity_record(forged)});

  const auto inherited = [&] {
    return brood.log().find("event=supervisor_inherited identity=" + forged.name) != std::string::npos;
  };
  // Once it has finished with the forged supervisor, it signals none of these processes any more.
  BOOST_TEST(eventually(inherited, 30s), brood.log_tail());
  BOOST_TEST(!brood.wait_exit(0ms).has_value(), brood.log_tail());
  BOOST_TEST((brood.workers() == std::vector<pid_t>{worker}), brood.log_tail());
}

// Any job could log in to such a page, since jobs run as the same user.
BOOST_AUTO_TEST_CASE(a_page_does_not_start_with_users_that_each_job_could_change) {
  if (geteuid() == 0) {
    BOOST_TEST_MESSAGE("skipped: root may change everything; lifecycle_shield_as_nobody asks");
    return;
  }
  RedisServer redis;
  const TemporaryDirectory directory;
  const std::string users = directory.write("users", "ann admin -\n");
  BroodProcess brood(
      redis, one_worker("[web]\nlisten = \"unix:" + (directory / "web.sock") + "\"\nusers = \"" + users + "\"\n"));
  const std::string why = "can be changed by the user of the page and all jobs";
  BOOST_TEST(eventually([&] { return brood.log().find(why) != std::string::npos; }, 20s), brood.log_tail());
  BOOST_TEST(!std::filesystem::exists(directory / "web.sock"));
  const CommandResult check =
      run_brood({"run", "--check", "-C", brood.home() / "brood.toml", "-r", jobs}, brood.environment());
  BOOST_TEST(check.status == 78, check.output);
  BOOST_TEST(check.errors.find(why) != std::string::npos, check.output + check.errors);
}

BOOST_AUTO_TEST_CASE(a_job_ends_its_own_children) { BOOST_TEST(said_by("EndOwnChildren", one_worker()) == "9\n9\n"); }

BOOST_AUTO_TEST_CASE(a_job_of_an_ordinary_user_cannot_look_into_its_supervisor) {
  if (geteuid() == 0) {
    BOOST_TEST_MESSAGE("skipped: root may look into everything; lifecycle_shield_as_nobody asks");
    return;
  }
  BOOST_TEST(said_by("LookIntoSupervisor", one_worker()) == "mem EACCES\nenviron EACCES\n");
}

// A process that cannot be dumped is refused some files in /proc.  brood needs none of them: neither to open the log's
// standard error again, nor to let a child be killed before its supervisor.
BOOST_AUTO_TEST_CASE(workers_are_the_first_to_go_when_memory_runs_out) {
  RedisServer redis;
  BroodProcess brood(redis, one_worker());
  BOOST_REQUIRE(brood.wait_ready());
  const auto adjustment = [](pid_t pid) {
    return std::stoi(text_of_file("/proc/" + std::to_string(pid) + "/oom_score_adj"));
  };
  const pid_t worker = brood.workers().front();
  BOOST_TEST(eventually([&] { return adjustment(worker) >= std::min(adjustment(brood.pid()) + 300, 1000); }));
  BOOST_TEST(eventually([&] { return brood.log().find("event=ready") != std::string::npos; }), brood.log_tail());
  // A worker can be dumped: its files in /proc belong to its user.
  BOOST_TEST(std::filesystem::exists("/proc/" + std::to_string(worker) + "/exe"));
}

BOOST_AUTO_TEST_CASE(the_heartbeat_knows_the_memory_of_supervisor_and_workers) {
  RedisServer redis;
  BroodProcess brood(redis, one_worker());
  const auto rss = [&] {
    const std::vector<std::string> processes = redis.smembers("processes");
    return processes.empty() ? "0" : redis.hget(processes.front(), "rss").value_or("0");
  };
  BOOST_TEST(eventually([&] { return std::stol(rss()) > 1000; }, 20s), brood.log_tail());
}

BOOST_AUTO_TEST_CASE(seccomp_can_be_switched_off) {
  std::string log;
  const std::string said = said_by("EndOwnChildren", one_worker("[worker]\nseccomp = false\n"), &log);
  BOOST_TEST(said == "9\n9\n");
  BOOST_TEST(log.find("supervisor_not_shielded") == std::string::npos);
}

// This comes last: a filter of this process also applies to everything that it starts.
BOOST_AUTO_TEST_CASE(where_the_kernel_refuses_filters_brood_warns_once_and_goes_on) {
  const std::unique_ptr<void, decltype(&seccomp_release)> filter(seccomp_init(SCMP_ACT_ALLOW), seccomp_release);
  BOOST_TEST_REQUIRE(seccomp_rule_add(filter.get(), SCMP_ACT_ERRNO(EPERM), SCMP_SYS(seccomp), 0) == 0);
  BOOST_TEST_REQUIRE(seccomp_load(filter.get()) == 0);
  BroodOptions options = one_worker();
  options.workers = 3;
  std::string log;

  const std::string said = said_by("EndOwnChildren", options, &log);

  BOOST_TEST(said == "9\n9\n");
  const std::size_t warning = log.find("event=supervisor_not_shielded");
  BOOST_TEST(warning != std::string::npos, log);
  BOOST_TEST(log.find("event=supervisor_not_shielded", warning + 1) == std::string::npos, log);
}
