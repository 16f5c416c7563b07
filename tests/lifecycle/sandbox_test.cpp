#include <boost/test/unit_test.hpp>

#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "shared/base/check.hpp"
#include "shared/base/unique_fd.hpp"
#include "tests/support/brood_process.hpp"
#include "tests/support/enqueue.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/file_text.hpp"
#include "worker/guard/memory_limit.hpp"
#include "worker/sandbox/landlock.hpp"
#include "worker/sandbox/sandbox.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

const std::string library = BROOD_BINARY_DIR "/tests/job_libraries/libsandboxed_jobs.so";

// A child that does nothing until the test ends.
struct Bystander {
  pid_t pid = fork();
  Bystander() {
    if (pid == 0) {
      for (;;) pause();
    }
  }
  ~Bystander() {
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
  }
  bool lives() const { return waitpid(pid, nullptr, WNOHANG) == 0; }
};

// Receives datagrams at a path.
struct Listener {
  UniqueFd socket{::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
  explicit Listener(const std::string& path) {
    sockaddr_un here{};
    here.sun_family = AF_UNIX;
    path.copy(here.sun_path, sizeof here.sun_path - 1);
    check("bind", bind(socket.get(), reinterpret_cast<const sockaddr*>(&here), sizeof here));
  }
};

// A supervisor with one worker, and three directories: one that its jobs may read, one that they may write, and one
// that they may not use.
struct Sandboxed {
  RedisServer redis;
  TemporaryDirectory directory;
  const std::string root = directory.path();
  std::optional<BroodProcess> brood;

  // ROOT in the configuration stands for the directory.
  explicit Sandboxed(std::string config, bool is_checked_alone = false, int workers = 1,
                     const std::vector<std::string>& prefix = {}, const std::vector<std::string>& arguments = {}) {
    for (const char* name : {"/in", "/out", "/outside"}) std::filesystem::create_directory(root + name);
    std::ofstream(root + "/in/text") << "read";
    std::ofstream(root + "/outside/file") << "kept";
    std::ofstream(root + "/secret") << "secret";
    for (std::size_t at = 0; (at = config.find("ROOT")) != std::string::npos;) config.replace(at, 4, root);
    if (is_checked_alone) {
      directory.write("brood.toml", config);
      return;
    }
    brood.emplace(
        redis,
        BroodOptions{
            .workers = workers, .libraries = {library}, .config = config, .arguments = arguments, .prefix = prefix});
  }
  void ready() const { BOOST_REQUIRE_MESSAGE(brood->wait_ready(), brood->log_tail()); }
  void run(const std::string& job_class, const std::string& more = "", const std::string& members = "") {
    enqueue(redis, {payload_text(job_class, "[\"" + root + "\"" + more + "]", 1, members)});
  }
  void attempt_escapes(const Bystander& bystander, const std::string& job_class = "Escapes") {
    const Listener listener(root + "/outside/socket");
    run(job_class, ",\"" + root + "/secret\"," + std::to_string(brood->workers().at(0)) + "," +
                       std::to_string(brood->pid()) + "," + std::to_string(bystander.pid));
    // The attempts slow the job down if nothing forbids that, and a busy machine leaves it little time.
    BOOST_TEST(logs("event=job_done", 120s), "the last attempt: " << out("attempts"));
  }
  // Stops in order, which also removes its jobs' cgroups.
  void stops() {
    brood->term();
    BOOST_TEST(brood->wait_exit().value_or(-1) == 0, brood->log_tail());
  }
  std::string out(const std::string& name) const { return text_of_file(root + "/out/" + name); }
  bool logs(const std::string& text, std::chrono::seconds longest = 30s) const {
    const bool logged = eventually([&] { return brood->log().find(text) != std::string::npos; }, longest);
    BOOST_TEST(logged, "no " << text << " in\n" << brood->log_tail());
    return logged;
  }
  std::string retried() {
    BOOST_REQUIRE_MESSAGE(eventually([&] { return redis.size_of("retry") == 1; }, 30s), brood->log_tail());
    return redis.zrange("retry").at(0).first;
  }
};

std::string of_class(const std::string& job_class, const std::string& more = "") {
  return "[classes." + job_class + ".sandbox]\nnetwork = false\nwrite = [\"ROOT/out\"]\nread = [\"ROOT/in\"]\n" + more +
         "\n";
}

std::vector<std::string> lines_with(const std::string& text, const std::string& part) {
  std::vector<std::string> found;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.find(part) != std::string::npos) found.push_back(line);
  }
  return found;
}

boost::test_tools::assertion_result kernel_has_sandboxes(boost::unit_test::test_unit_id) {
  const SandboxOffers offers = sandbox_offers();
  boost::test_tools::assertion_result result(offers.landlock_abi >= landlock::abi_of_scopes && offers.seccomp);
  if (!result) result.message() << "SKIP: this kernel has no Landlock of ABI 6, or no seccomp";
  return result;
}
const auto if_kernel_has_sandboxes = boost::unit_test::precondition(kernel_has_sandboxes);

// The command that executes brood under a filter which answers these calls with this error.
std::vector<std::string> under_filter(const std::string& error, const std::string& calls) {
  return {BROOD_SOURCE_DIR "/tests/support/under_filter", error, calls};
}

constexpr const char* any_sandbox = "[classes.Works.sandbox]\nwrite = [\"ROOT/out\"]\n";

constexpr std::size_t attempts = 120, attempts_by_calls = 40;

}  // namespace

BOOST_AUTO_TEST_CASE(nothing_that_a_hostile_class_attempts_succeeds, *if_kernel_has_sandboxes) {
  const Bystander bystander;
  Sandboxed sandboxed(of_class("Escapes"));
  sandboxed.ready();
  sandboxed.attempt_escapes(bystander);
  const std::string tried = sandboxed.out("attempts");
  BOOST_TEST(lines_with(tried, "succeeded: ").empty(), tried + sandboxed.brood->log());
  BOOST_TEST(lines_with(tried, "refused: ").size() >= attempts, sandboxed.brood->log_tail());
  BOOST_TEST(bystander.lives());
  BOOST_TEST(text_of_file(sandboxed.root + "/outside/file") == "kept");
  BOOST_TEST(std::distance(std::filesystem::directory_iterator(sandboxed.root + "/outside"), {}) ==
             2);  // and the socket
}

// Attempts without files and sockets fail too, if the sandbox limits something else.
BOOST_AUTO_TEST_CASE(no_sandbox_lets_a_job_reach_other_processes_or_the_kernel, *if_kernel_has_sandboxes) {
  for (const char* const settings :
       {"memory = \"2G\"", "network = false", "read = [\"/\"]", "write = [\"ROOT/out\"]"}) {
    BOOST_TEST_CONTEXT(settings) {
      const Bystander bystander;
      Sandboxed sandboxed(std::string("[worker]\nseccomp = false\n[classes.Reaches.sandbox]\n") + settings + "\n");
      sandboxed.ready();
      sandboxed.attempt_escapes(bystander, "Reaches");
      const std::string tried = sandboxed.out("attempts");
      BOOST_TEST(lines_with(tried, "succeeded: ").empty(), tried + sandboxed.brood->log());
      BOOST_TEST(lines_with(tried, "refused: ").size() >= attempts_by_calls, sandboxed.brood->log_tail());
      BOOST_TEST(bystander.lives());
      sandboxed.stops();
    }
  }
}

// Otherwise the attempts would prove nothing.
BOOST_AUTO_TEST_CASE(most_of_it_succeeds_without_a_sandbox) {
  const Bystander bystander;
  Sandboxed free("[worker]\nseccomp = false\n[classes.Escapes]\nisolation = \"process\"\n");
  free.ready();
  free.attempt_escapes(bystander);
  const std::string tried = free.out("attempts");
  BOOST_TEST(lines_with(tried, "succeeded: ").size() >= 30u, tried);
  for (const char* name :
       {"write a file outside", "read a secret", "open a local socket", "have another descriptor", "send a datagram by",
        "write a scoreboard", "signal the supervisor", "write by another program"})
    BOOST_TEST(lines_with(tried, std::string("succeeded: ") + name).size() >= 1u, name);
}

BOOST_AUTO_TEST_CASE(what_a_job_may_do_it_does, *if_kernel_has_sandboxes) {
  Sandboxed sandboxed(of_class("Works"));
  sandboxed.ready();
  sandboxed.run("Works");
  sandboxed.logs("event=job_done");
  BOOST_TEST(sandboxed.out("worked") == "read\nthread\nprogram\n");
  sandboxed.brood->term();
  BOOST_TEST(sandboxed.brood->wait_exit().value_or(-1) == 0);
}

BOOST_AUTO_TEST_CASE(a_crash_there_has_its_native_stack_and_a_failure_its_words, *if_kernel_has_sandboxes) {
  {
    Sandboxed sandboxed(of_class("Crashed"));
    sandboxed.ready();
    sandboxed.run("Crashed");
    const std::string retried = sandboxed.retried();
    BOOST_TEST(retried.find("SIGSEGV") != std::string::npos, retried);
    auto environment = sandboxed.brood->environment();
    environment["REDIS_URL"] = sandboxed.redis.url();
    std::string status;
    const auto names_the_frame = [&] {  // the frame is reported after the retry
      status = run_brood({"status"}, environment).output;
      return status.find("Crashed::perform") != std::string::npos;
    };
    BOOST_TEST(eventually(names_the_frame, 20s), status);
    BOOST_TEST(sandboxed.out("crashing") == "now\n");
    BOOST_TEST(eventually([&] { return sandboxed.brood->workers().size() == 1; }));
  }
  Sandboxed sandboxed("[classes.Failed.sandbox]\nwrite = []\n");
  sandboxed.ready();
  enqueue(sandboxed.redis, {payload_text("Failed", "[]")});
  const std::string retried = sandboxed.retried();
  BOOST_TEST(retried.find("std::domain_error") != std::string::npos, retried);
  BOOST_TEST(retried.find("as it should") != std::string::npos, retried);
}

BOOST_AUTO_TEST_CASE(a_job_whose_sandbox_cannot_be_entered_fails_and_does_not_run) {
  Sandboxed sandboxed("[classes.Works.sandbox]\nwrite = [\"ROOT/out\", \"ROOT/nowhere\"]\n");
  sandboxed.ready();
  sandboxed.run("Works");
  const std::string retried = sandboxed.retried();
  BOOST_TEST(retried.find("SandboxError") != std::string::npos, retried);
  BOOST_TEST(retried.find("nowhere: No such file or directory") != std::string::npos, retried);
  BOOST_TEST(sandboxed.out("works").empty());
  BOOST_TEST(!std::filesystem::exists(sandboxed.root + "/out/worked"));
}

BOOST_AUTO_TEST_CASE(a_program_runs_in_the_sandbox_of_its_class, *if_kernel_has_sandboxes) {
  Sandboxed sandboxed(of_class("Shell") +
                      "[commands.Shell]\nrun = [\"/bin/sh\", \"-c\", \"cat ROOT/in/text > ROOT/out/copied; "
                      "cat ROOT/secret > ROOT/out/stolen; echo x > ROOT/outside/by_program; exit 0\"]\n");
  sandboxed.ready();
  enqueue(sandboxed.redis, {payload_text("Shell", "[]")});
  sandboxed.logs("event=job_done");
  BOOST_TEST(sandboxed.out("copied") == "read");
  BOOST_TEST(sandboxed.out("stolen").empty());
  BOOST_TEST(!std::filesystem::exists(sandboxed.root + "/outside/by_program"));
}

BOOST_AUTO_TEST_CASE(a_stop_is_heard_in_a_sandbox, *if_kernel_has_sandboxes) {
  Sandboxed sandboxed(of_class("Waits"));
  sandboxed.ready();
  sandboxed.run("Waits");
  BOOST_REQUIRE(eventually([&] { return sandboxed.out("waits") == "now\n"; }, 20s));
  sandboxed.brood->term();
  BOOST_TEST(sandboxed.brood->wait_exit().value_or(-1) == 0);
  BOOST_TEST(sandboxed.out("waited") == "told to stop\n");
}

BOOST_AUTO_TEST_CASE(a_job_in_a_sandbox_asks_for_no_more_time, *if_kernel_has_sandboxes) {
  Sandboxed sandboxed(of_class("Extends"));
  sandboxed.ready();
  sandboxed.run("Extends", "", R"("timeout":1)");
  BOOST_TEST(sandboxed.logs("event=job_done"));
  BOOST_TEST(sandboxed.out("extended") == "told to stop\n");
}

BOOST_AUTO_TEST_CASE(memory_is_limited_by_class) {
  if (!MemoryLimit::works()) return;
  Sandboxed sandboxed(of_class("Grows", "memory = \"64M\""));
  sandboxed.ready();
  sandboxed.run("Grows", ",16");
  BOOST_TEST(eventually([&] { return sandboxed.out("grown") == "16777216\n"; }, 30s), sandboxed.brood->log_tail());
  sandboxed.run("Grows", ",256");
  const std::string retried = sandboxed.retried();
  BOOST_TEST(retried.find("OutOfMemory") != std::string::npos, retried);
  sandboxed.stops();
}

BOOST_AUTO_TEST_CASE(memory_is_limited_for_all_of_a_job_where_there_is_a_cgroup_for_it) {
  Sandboxed sandboxed(of_class("Hoards", "memory = \"64M\""));
  sandboxed.ready();
  const pid_t worker = sandboxed.brood->workers().at(0);
  if (JobCgroup(0, getpid()).lacks({.memory_bytes = 1}).empty()) {
    sandboxed.run("Hoards", ",400");
    const std::string retried = sandboxed.retried();
    BOOST_TEST(retried.find("OutOfMemory") != std::string::npos, retried);
    BOOST_TEST(retried.find("more memory than its sandbox allows") != std::string::npos, retried);
    BOOST_TEST(sandboxed.out("hoarded").empty());
    sandboxed.run("Hoards", ",20");
    BOOST_TEST(eventually([&] { return sandboxed.out("hoarded") == "20\n"; }, 20s), sandboxed.brood->log_tail());
  } else {
    sandboxed.logs("lacks=\"a cgroup with the controller memory");
  }
  BOOST_TEST(sandboxed.brood->workers().at(0) == worker);
  sandboxed.stops();
}

#ifndef __SANITIZE_ADDRESS__  // a sanitizer's own memory exceeds the limit
BOOST_AUTO_TEST_CASE(a_job_within_its_limits_that_the_kernel_ends_is_given_back_uncharged) {
  const std::filesystem::path cgroup = "/sys/fs/cgroup/memory/brood-test-" + std::to_string(getpid());
  std::error_code refused;
  if (geteuid() != 0 || !std::filesystem::create_directory(cgroup, refused)) {
    BOOST_TEST_MESSAGE("skipped: no memory cgroup (version 1) can be made here");
    return;
  }
  std::ofstream(cgroup / "memory.limit_in_bytes") << (160 << 20);
  {
    RedisServer redis;
    const TemporaryDirectory directory;
    // A killed worker leaves its job's cgroup behind.
    BroodOptions options{.workers = 1, .libraries = {library}, .shutdown_timeout = "20"};
    options.config = "[classes.Swells.sandbox]\nmemory = \"1G\"\n";
    options.prefix = {"/bin/sh", "-c", "echo $$ > " + (cgroup / "cgroup.procs").string() + " && exec \"$@\"", "sh"};
    BroodProcess brood(redis, options);
    enqueue(redis, {payload_text("Swells", "[\"" + directory.path() + "\",400,50]", 1, R"("retry":3)")});

    BOOST_TEST(eventually([&] { return brood.log().find("event=job_given_back") != std::string::npos; }, 30s),
               brood.log_tail());
    BOOST_TEST(redis.size_of("retry") == 0u);
    brood.term();
    BOOST_TEST(brood.wait_exit().value_or(-1) == 0, brood.log_tail());
  }
  BOOST_TEST(eventually([&] { return std::filesystem::remove(cgroup, refused); }, 20s));
}
#endif

BOOST_AUTO_TEST_CASE(what_a_job_says_to_its_worker_is_believed_within_bounds) {
  Sandboxed sandboxed(of_class("Abuses"));
  sandboxed.ready();
  const pid_t worker = sandboxed.brood->workers().at(0);
  for (const char* const how : {"half", "asks", "state", "markup", "queue", "args"}) {
    BOOST_TEST_CONTEXT(how) {
      enqueue(sandboxed.redis, {payload_text("Abuses", std::string("[\"") + how + "\"]")});
      const std::string retried = sandboxed.retried();
      BOOST_TEST(retried.find("\"error_class\":\"JobProcessError\"") != std::string::npos, retried);
      BOOST_TEST(retried.find("script") == std::string::npos, retried);
      BOOST_TEST(retried.find(std::string("\"args\":[\"") + how + "\"]") != std::string::npos, retried);
      BOOST_TEST(retried.find("\"queue\":\"default\"") != std::string::npos, retried);
      sandboxed.redis.command({"DEL", "retry"});
    }
  }
  const auto descriptors = [&] {
    return std::distance(std::filesystem::directory_iterator("/proc/" + std::to_string(worker) + "/fd"), {});
  };
  const auto before = descriptors();
  enqueue(sandboxed.redis, {payload_text("Abuses", R"(["descriptors"])")});
  sandboxed.logs("event=job_done");
  BOOST_TEST(descriptors() == before);
  BOOST_TEST(sandboxed.brood->workers().at(0) == worker);
  enqueue(sandboxed.redis, {payload_text("Abuses", R"(["closes"])", 1, R"("timeout":2)")});
  BOOST_TEST(sandboxed.retried().find("JobTimeout") != std::string::npos, sandboxed.brood->log_tail());
}

BOOST_AUTO_TEST_CASE(a_job_that_fills_the_sockets_of_its_user_costs_no_other_job_an_attempt, *if_kernel_has_sandboxes) {
  Sandboxed sandboxed(of_class("FillsSockets") + of_class("Works"), false, 2);
  sandboxed.ready();
  sandboxed.run("FillsSockets");
  BOOST_REQUIRE(eventually([&] { return !sandboxed.out("filled").empty(); }, 20s));
  sandboxed.run("Works");
  const std::string waits = "event=job_process_waits", done = "event=job_done";
  BOOST_TEST(eventually(
                 [&] {
                   const std::string log = sandboxed.brood->log();
                   return log.find(waits) != std::string::npos || log.find(done) != std::string::npos;
                 },
                 20s),
             sandboxed.brood->log_tail());
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  const bool has_limit = geteuid() != 0 && limit.rlim_cur < 4000;
  BOOST_TEST((sandboxed.brood->log().find(waits) != std::string::npos || !has_limit), sandboxed.brood->log_tail());
  std::ofstream(sandboxed.root + "/in/go_on") << "now";
  BOOST_TEST(eventually([&] { return lines_with(sandboxed.brood->log(), done).size() == 2; }, 20s),
             sandboxed.brood->log_tail());
  BOOST_TEST(sandboxed.redis.size_of("retry") == 0u);
}

BOOST_AUTO_TEST_CASE(processes_are_limited_where_there_is_a_cgroup_for_them) {
  const SandboxSettings wanted{.processes = 5};
  Sandboxed sandboxed(of_class("Forks", "processes = 5"));
  sandboxed.ready();
  sandboxed.run("Forks", ",50");
  sandboxed.logs("event=job_done");
  if (JobCgroup(0, getpid()).lacks(wanted).empty()) {
    BOOST_TEST(sandboxed.out("forked") == "4\n");
  } else {
    BOOST_TEST(sandboxed.out("forked") == "50\n");
    sandboxed.logs("event=sandbox_incomplete class=Forks lacks=\"a cgroup with the controller pids, for processes");
  }
  sandboxed.stops();
}

BOOST_AUTO_TEST_CASE(no_worker_starts_where_a_strict_sandbox_lacks_something) {
  if (JobCgroup(0, getpid()).lacks({.cpu = 1}).empty()) return;
  Sandboxed sandboxed(of_class("Works", "cpu = 1.5\nstrict = true"));
  sandboxed.logs("the sandbox of class Works cannot be had here: this machine lacks a cgroup with the controller cpu");
  BOOST_TEST(sandboxed.brood->wait_exit().value_or(-1) == 78);
}

// For example the filter of a systemd unit.
BOOST_AUTO_TEST_CASE(no_worker_starts_where_something_forbids_a_sandbox, *if_kernel_has_sandboxes) {
  for (const char* const call :
       {"close_range", "capget", "landlock_create_ruleset", "landlock_add_rule", "landlock_restrict_self"}) {
    for (const bool strict : {true, false}) {
      BOOST_TEST_CONTEXT(call << ", strict " << strict) {
        const std::string config = any_sandbox + std::string(strict ? "strict = true\n" : "");
        Sandboxed sandboxed(config, false, 1, under_filter("EPERM", call));
        sandboxed.run("Works");
        sandboxed.logs("the sandbox of class Works cannot be had here: something around this process forbids");
        sandboxed.logs(std::string("forbids what it needs (") + call);
        sandboxed.logs(": Operation not permitted)");
        BOOST_TEST(sandboxed.brood->wait_exit().value_or(-1) == 78);
        BOOST_TEST(sandboxed.redis.size_of("retry") == 0u);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(a_check_tells_what_something_forbids, *if_kernel_has_sandboxes) {
  Sandboxed sandboxed(any_sandbox, false, 1, under_filter("EPERM", "landlock_restrict_self"), {"--check"});
  BOOST_TEST(sandboxed.brood->wait_exit().value_or(-1) == 78);
  sandboxed.logs("landlock_restrict_self: Operation not permitted");
  BOOST_TEST(sandboxed.brood->log().find("everything can run") == std::string::npos);
}

BOOST_AUTO_TEST_CASE(without_landlock_no_worker_starts_where_paths_are_asked_for, *if_kernel_has_sandboxes) {
  const std::vector<std::string> as_an_old_kernel = under_filter("ENOSYS", "landlock_create_ruleset");
  {
    Sandboxed sandboxed(any_sandbox, false, 1, as_an_old_kernel);
    sandboxed.logs("Landlock ABI 1, for read and write (the kernel says that it has none)");
    BOOST_TEST(sandboxed.brood->wait_exit().value_or(-1) == 78);
  }
  Sandboxed sandboxed("[classes.Works.sandbox]\nnetwork = false\n", false, 1, as_an_old_kernel);
  sandboxed.ready();
  sandboxed.logs("event=sandbox_incomplete class=Works lacks=\"Landlock ABI 1");
  sandboxed.run("Works");
  sandboxed.logs("event=job_done");
}

// A process without capabilities loses none.
BOOST_AUTO_TEST_CASE(a_filter_that_forbids_capset_hinders_only_processes_with_capabilities, *if_kernel_has_sandboxes) {
  Sandboxed sandboxed(any_sandbox, false, 1, under_filter("EPERM", "capset"));
  if (geteuid() == 0) {
    sandboxed.logs("capset: Operation not permitted");
    BOOST_TEST(sandboxed.brood->wait_exit().value_or(-1) == 78);
    return;
  }
  sandboxed.ready();
  sandboxed.run("Works");
  sandboxed.logs("event=job_done");
}

BOOST_AUTO_TEST_CASE(a_restart_that_brings_a_sandbox_that_is_forbidden_is_refused, *if_kernel_has_sandboxes) {
  Sandboxed sandboxed("tag = \"before\"\n", false, 1, under_filter("EPERM", "landlock_add_rule"));
  sandboxed.ready();
  const pid_t worker = sandboxed.brood->workers().at(0);
  sandboxed.brood->home().write("brood.toml", "[classes.Works.sandbox]\nwrite = []\n");
  const CommandResult restarted = run_brood({"restart"}, sandboxed.brood->environment());
  BOOST_TEST(restarted.status == 78, restarted.output + restarted.errors);
  BOOST_TEST(restarted.errors.find("landlock_add_rule for /usr: Operation not permitted") != std::string::npos,
             restarted.errors);
  BOOST_TEST(sandboxed.brood->workers().at(0) == worker);
}

BOOST_AUTO_TEST_CASE(check_names_paths_that_are_not_there) {
  const Sandboxed sandboxed("[classes.Works.sandbox]\nread = [\"ROOT/nowhere\"]\n", true);
  const CommandResult checked = run_brood(
      {"run", "--check", "-C", sandboxed.root + "/brood.toml", "-r", library, "--redis", sandboxed.redis.url()});
  BOOST_TEST(checked.status == 0, checked.errors);
  BOOST_TEST(
      checked.output.find("the sandbox of class Works names " + sandboxed.root + "/nowhere") != std::string::npos,
      checked.output);
}
