#include <boost/test/unit_test.hpp>

#include <pwd.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>

#include "tests/support/brood_process.hpp"
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

// The limits count all processes of a user, and do not apply to root.  So this returns a user id without a name and
// without processes.  Below these numbers are people and homed's users, above them those that systemd makes.
uid_t unused_user() {
  std::set<uid_t> used;
  for (const auto& process : std::filesystem::directory_iterator("/proc")) {
    std::ifstream status(process.path() / "status");
    for (std::string line; std::getline(status, line);) {
      if (line.starts_with("Uid:")) used.insert(static_cast<uid_t>(std::stoul(line.substr(4))));
    }
  }
  constexpr uid_t first = 60'600, end = 61'184;
  const uid_t begin = static_cast<uid_t>(getpid()) % (end - first);  // two suites that start at once look elsewhere
  for (uid_t i = 0; i < end - first; ++i) {
    const uid_t user = first + (begin + i) % (end - first);
    if (!used.contains(user) && getpwuid(user) == nullptr) return user;
  }
  throw std::runtime_error("every user from 60600 to 61183 has a name or processes");
}
const uid_t somebody = unused_user();

constexpr std::size_t workers = 6;

bool somebody_can_run_it() {
  const pid_t pid = fork();
  if (pid == 0) _exit(setuid(somebody) == 0 && access(BROOD_BINARY_DIR "/bin/brood", X_OK) == 0 ? 0 : 1);
  int status = -1;
  waitpid(pid, &status, 0);
  return status == 0;
}

bool can_be_tried() {
  if (geteuid() != 0) {
    BOOST_TEST_MESSAGE("skipped: only root can be another user");
    return false;
  }
  if (!somebody_can_run_it()) {
    BOOST_TEST_MESSAGE("skipped: another user cannot run " BROOD_BINARY_DIR "/bin/brood");
    return false;
  }
  return true;
}

// Files that another user can read and write.
struct World {
  World() : redis({.extra = {"--unixsocketperm", "777"}}), home(std::make_shared<TemporaryDirectory>()) {
    chmod(redis.directory().c_str(), 0755);
    for (const char* directory : {"run", "state"}) std::filesystem::create_directory(*home / directory);
    for (const std::string& path : {home->path(), *home / "run", *home / "state", ledgers.path()}) {
      if (chown(path.c_str(), somebody, somebody) != 0) throw std::runtime_error("chown " + path);
    }
  }

  BroodOptions as_somebody(std::vector<std::string> prefix) const {
    const std::string user = std::to_string(somebody);
    prefix.insert(prefix.end(),
                  {"/usr/bin/setpriv", "--reuid", user, "--regid", user, "--clear-groups", "--pdeathsig", "KILL"});
    return {.workers = static_cast<int>(workers),
            .libraries = {menagerie, examples},
            .shutdown_timeout = "5",
            .prefix = prefix,
            .home = home};
  }

  RedisServer redis;
  std::shared_ptr<TemporaryDirectory> home;
  TemporaryDirectory ledgers;
  Ledger ledger{ledgers / "ledger"};
};

// Runs as the user itself: a root without all its rights may not do this.
void change_limit(pid_t pid, __rlimit_resource resource, rlim_t soft) {
  const pid_t child = fork();
  if (child == 0) {
    rlimit limit{};
    if (setgid(somebody) != 0 || setuid(somebody) != 0) _exit(1);
    if (prlimit(pid, resource, nullptr, &limit) != 0) _exit(2);
    limit.rlim_cur = std::min(soft, limit.rlim_max);
    _exit(prlimit(pid, resource, &limit, nullptr) == 0 ? 0 : 3);
  }
  int status = -1;
  waitpid(child, &status, 0);
  BOOST_TEST_REQUIRE(status == 0);
}

// Checks that it has fewer workers than it wants, does its jobs with them, and does not spin.
void check_that_it_gets_along(World& world, const BroodProcess& brood, const std::string& event) {
  BOOST_TEST_REQUIRE(eventually([&] { return times_logged(brood, event) > 0; }, 20s), brood.log_tail());
  BOOST_TEST_REQUIRE(eventually([&] { return !brood.workers().empty(); }, 20s), brood.log_tail());
  enqueue_ledger_jobs(world.redis, world.ledger.path(), 200, 1);
  BOOST_TEST(eventually([&] { return world.ledger.has_done(200); }, 30s), brood.log_tail());
  BOOST_TEST(brood.workers().size() < workers);

  const std::size_t said = times_logged(brood, event);
  const Footprint before = footprint_of(brood.pid());
  std::this_thread::sleep_for(2s);  // one that spins uses most of it
  const Footprint after = footprint_of(brood.pid());
  BOOST_TEST((after.cpu - before.cpu).count() < 500);
  BOOST_TEST(times_logged(brood, event) - said < 60U, brood.log_tail());
  BOOST_TEST_MESSAGE(brood.workers().size()
                     << " of " << workers << " workers; in 2 s of waiting " << (after.cpu - before.cpu).count()
                     << " ms of processor time and " << times_logged(brood, event) - said << " lines");
}

void check_that_it_recovers(World& world, BroodProcess& brood) {
  BOOST_TEST(brood.wait_ready(60s), brood.log_tail());
  enqueue_ledger_jobs(world.redis, world.ledger.path(), 200, 1);
  BOOST_TEST(eventually([&] { return no_job_is_left(world.redis, "default", true); }, 30s), brood.log_tail());
  BOOST_TEST(world.redis.size_of("retry") == 0U);
  brood.term();
  BOOST_TEST(brood.wait_exit(20s).value_or(-1) == 0, brood.log_tail());
}

}  // namespace

BOOST_AUTO_TEST_CASE(too_few_processes_for_all_workers_leave_those_at_work_that_could_be_forked) {
  if (!can_be_tried()) return;
  World world;
  // The supervisor, three workers, and one for a process that is forked beside them.
  BroodProcess brood(world.redis, world.as_somebody({"/usr/bin/prlimit", "--nproc=5:200"}));

  check_that_it_gets_along(world, brood, "spawn_failed");

  change_limit(brood.pid(), RLIMIT_NPROC, 200);
  check_that_it_recovers(world, brood);
}

// A crash needs a place among the processes, and its report needs another.
BOOST_AUTO_TEST_CASE(a_crash_among_too_few_processes_is_charged_once_there_is_room_for_its_recovery) {
  if (!can_be_tried()) return;
  World world;
  BroodProcess brood(world.redis, world.as_somebody({"/usr/bin/prlimit", "--nproc=4:200"}));
  BOOST_TEST_REQUIRE(eventually([&] { return times_logged(brood, "spawn_failed") > 0; }, 20s), brood.log_tail());
  BOOST_TEST_REQUIRE(eventually([&] { return !brood.workers().empty(); }, 20s), brood.log_tail());

  enqueue(world.redis, {payload_text("SegfaultAtDepth", "[1]", 1'000'000)});
  BOOST_TEST_REQUIRE(eventually([&] { return times_logged(brood, "worker_crashed") == 1; }, 20s), brood.log_tail());
  check_that_it_gets_along(world, brood, "spawn_failed");
  change_limit(brood.pid(), RLIMIT_NPROC, 200);

  BOOST_TEST(eventually([&] { return world.redis.size_of("retry") == 1; }, 30s), brood.log_tail());
  world.redis.command({"DEL", "retry"});
  check_that_it_recovers(world, brood);
}

BOOST_AUTO_TEST_CASE(too_few_descriptors_for_all_pipes_leave_those_workers_at_work_that_have_theirs) {
  if (!can_be_tried()) return;
#if defined(__SANITIZE_ADDRESS__)
  BOOST_TEST_MESSAGE("skipped: the sanitizers need descriptors themselves, to see whether a pointer can be read");
  return;
#endif
  World world;
  std::size_t with_one_worker = 0;
  {
    BroodOptions options = world.as_somebody({});
    options.workers = 1;
    BroodProcess measured(world.redis, options);
    BOOST_TEST_REQUIRE(eventually([&] { return world.redis.size_of("processes") == 1; }, 20s), measured.log_tail());
    BOOST_TEST_REQUIRE(eventually([&] { return times_logged(measured, "ready") > 0; }, 20s), measured.log_tail());
    with_one_worker = footprint_of(measured.pid()).descriptors;
    measured.term();
    BOOST_TEST(measured.wait_exit(20s).value_or(-1) == 0);
  }
  BroodProcess brood(world.redis, world.as_somebody({"/usr/bin/prlimit", "--nofile=1000:1000"}));
  BOOST_TEST_REQUIRE(brood.wait_ready(60s), brood.log_tail());
  // Each additional worker takes two, and two more while it is forked.
  change_limit(brood.pid(), RLIMIT_NOFILE, with_one_worker + 5);
  for (const pid_t worker : brood.workers()) kill(worker, SIGKILL);

  check_that_it_gets_along(world, brood, "spawn_failed");

  change_limit(brood.pid(), RLIMIT_NOFILE, 1000);
  check_that_it_recovers(world, brood);
}
