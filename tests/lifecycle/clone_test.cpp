#include <boost/test/unit_test.hpp>
#include <csignal>
#include <filesystem>
#include <fstream>

#include "shared/base/identity.hpp"
#include "shared/scoreboard/scoreboard.hpp"
#include "shared/store/identity_record.hpp"
#include "shared/store/keys.hpp"
#include "supervisor/report/beat_tokens.hpp"
#include "tests/support/brood_process.hpp"
#include "tests/support/enqueue.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/faults.hpp"
#include "tests/support/ledger.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

// The situation after a machine was cloned while it ran.  One of the two runs here, and the test plays the other.

int scoreboards_in(const BroodProcess& brood) {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(brood.home() / "run"))
    count += entry.path().extension() == ".scoreboard" || entry.path().extension() == ".control";
  return count;
}

// All values under an identity's name, and its counters; but not their expiry.
std::map<std::string, std::string> all_of(RedisServer& redis, const std::string& identity) {
  std::map<std::string, std::string> all;
  for (const std::string& key : redis.keys("*" + identity + "*")) all[key] = redis.command({"DUMP", key}).view().text();
  for (const std::string& key : redis.keys("stat:*")) all[key] = redis.get(key).value_or("none");
  all["processes"] = redis.integer({"SISMEMBER", "processes", identity}) == 1 ? "listed" : "unlisted";
  all["brood:processes"] = redis.hget("brood:processes", identity).value_or("unlisted");
  return all;
}

// The keys whose values differ.
std::string changed(const std::map<std::string, std::string>& before, const std::map<std::string, std::string>& after) {
  std::string keys;
  for (const auto& [key, value] : before) {
    const auto found = after.find(key);
    if (found == after.end() || found->second != value) keys += " " + key;
  }
  for (const auto& [key, value] : after) keys += before.contains(key) ? "" : " " + key;
  return keys;
}

// A supervisor with one worker, which runs a job of a minute.
struct Busy {
  RedisServer redis;
  TemporaryDirectory directory;
  Ledger ledger{directory / "ledger"};
  BroodProcess brood{redis, {.workers = 1}};
  std::string identity;

  Busy() {
    enqueue_ledger_jobs(redis, ledger.path(), 1, 60'000);
    BOOST_REQUIRE_MESSAGE(eventually([&] { return ledger.runs().size() == 1; }, 20s), brood.log_tail());
    identity = redis.hgetall("brood:processes").begin()->first;
    BOOST_REQUIRE(eventually([&] { return redis.size_of(identity + ":work") == 1; }, 20s));
    BOOST_REQUIRE(eventually([&] { return redis.get("stat:processed").has_value(); }, 20s));  // a beat's last write
  }

  std::string token() { return redis.hget(identity, "brood_token").value_or("none"); }
  void another_beats() { redis.command({"HSET", identity, "brood_token", "0123456789abcdef"}); }
};

// A supervisor of this boot and this pid namespace that does not exist, but holds a job.
struct Absent {
  explicit Absent(const BroodProcess& heir) : identity(Identity::of_this_process()) {
    long pid_max = 0;
    std::ifstream("/proc/sys/kernel/pid_max") >> pid_max;
    identity.pid = static_cast<pid_t>(pid_max + 1);
    identity.name = "cloned:" + std::to_string(identity.pid) + ":0123456789ab";
    identity.start_time = 1;
    identity.runtime_directory = heir.home() / "run";
  }
  void beat(RedisServer& redis, std::uint64_t token) const {
    redis.command({"HSET", identity.name, "info", "{}", "brood_token", token_text(token)});
  }
  void hold(RedisServer& redis, const std::string& payload) const {
    redis.command({"LPUSH", keys::in_flight_list(identity.name, "0.1", "default"), payload});
    redis.command({"HSET", keys::in_flight_hash(identity.name), "0.1", "1 default"});
    redis.command({"HSET", keys::brood_processes, identity.name, identity_record(identity)});
  }
  bool holds(RedisServer& redis) const {
    return redis.size_of(keys::in_flight_list(identity.name, "0.1", "default").name()) == 1;
  }

  Identity identity;
};

struct HeirOfAbsent {
  RedisServer redis;
  BroodProcess heir{redis, {.workers = 1}};
  Absent absent{heir};

  HeirOfAbsent() { BOOST_REQUIRE_MESSAGE(heir.wait_ready(), heir.log_tail()); }

  // Each look for the dead follows an answered beat.
  bool heir_looks_again() {
    const auto own = [&] {
      for (const std::string& name : redis.smembers("processes")) {
        if (name != absent.identity.name) return redis.hget(name, "beat").value_or("");
      }
      return std::string();
    };
    const std::string before = own();
    return eventually([&] { return own() != before; }, 20s) && !within(1s, [&] { return taken_over(); });
  }
  bool taken_over() const { return times_logged(heir, "supervisor_dead") > 0; }
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(a_supervisor_under_whose_name_another_beats_gives_way_and_leaves_all_to_the_other, Busy) {
  const std::vector<pid_t> workers = brood.workers();
  another_beats();
  const auto before = all_of(redis, identity);

  BOOST_TEST(brood.wait_exit(20s).value_or(-1) == 75, brood.log_tail());

  for (const pid_t worker : workers) BOOST_TEST(!process_exists(worker));
  BOOST_TEST(changed(before, all_of(redis, identity)) == "", brood.log_tail());
  BOOST_TEST(jobs_in_flight(redis) == 1U);
  BOOST_TEST(redis.size_of("queue:default") == 0U);
  BOOST_TEST(redis.size_of("retry") == 0U);
  BOOST_TEST(redis.keys("brood:recovered:*").empty());
  BOOST_TEST(times_logged(brood, "name_is_taken") == 1U);
  BOOST_TEST(times_logged(brood, "workers_not_recovered") == 0U);
  BOOST_TEST(scoreboards_in(brood) == 0);

  // Its successor has its own name, and leaves the other's job alone.
  brood.start();
  BOOST_REQUIRE_MESSAGE(eventually([&] { return redis.size_of("processes") == 2; }, 20s), brood.log_tail());
  BOOST_TEST(!within(3s, [&] { return times_logged(brood, "supervisor_dead") > 0; }), brood.log_tail());
  BOOST_TEST(jobs_in_flight(redis) == 1U);
  BOOST_TEST(ledger.runs().size() == 1U);
}

// The supervisor had no time to give way.
BOOST_FIXTURE_TEST_CASE(a_start_after_a_clone_was_killed_leaves_its_jobs_to_the_other, Busy) {
  brood.signal(SIGSTOP);
  another_beats();
  kill_with_workers(brood);
  BOOST_TEST(scoreboards_in(brood) == 2);

  brood.start();
  BOOST_REQUIRE_MESSAGE(eventually([&] { return redis.size_of("processes") == 2; }, 20s), brood.log_tail());
  BOOST_TEST(!within(3s, [&] { return times_logged(brood, "supervisor_dead") > 0; }), brood.log_tail());
  BOOST_TEST(jobs_in_flight(redis) == 1U);
  BOOST_TEST(ledger.runs().size() == 1U);
}

BOOST_FIXTURE_TEST_CASE(a_supervisor_that_gives_way_during_a_stop_has_stopped, Busy) {
  brood.signal(SIGSTOP);  // so that its own beat does not report that sooner
  another_beats();
  brood.term();
  brood.signal(SIGCONT);
  BOOST_TEST(brood.wait_exit(20s).value_or(-1) == 0, brood.log_tail());
  BOOST_TEST(times_logged(brood, "name_is_taken") == 1U);
  BOOST_TEST(jobs_in_flight(redis) == 1U);
}

BOOST_FIXTURE_TEST_CASE(neither_a_stop_of_all_its_time_nor_an_outage_nor_a_flush_is_taken_for_another, Busy) {
  brood.signal(SIGSTOP);
  const std::string stopped_at = token();
  redis.command({"DEL", identity});  // as after a minute
  brood.signal(SIGCONT);
  BOOST_TEST(eventually([&] { return token() != "none" && token() != stopped_at; }, 20s), brood.log_tail());

  const std::string before_outage = token();
  redis.command({"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"});
  BOOST_TEST(eventually([&] { return token() != before_outage; }, 20s), brood.log_tail());

  redis.flush();
  BOOST_TEST(eventually([&] { return token() != "none"; }, 20s), brood.log_tail());
  BOOST_TEST(times_logged(brood, "name_is_taken") == 0U);
  BOOST_TEST(process_exists(brood.pid()));
}

BOOST_FIXTURE_TEST_CASE(an_upgrade_hands_over_by_what_the_next_program_knows_its_own_beats, Busy) {
  const std::string before = token();
  const CommandResult upgraded = run_brood({"upgrade"}, brood.environment());
  BOOST_TEST(upgraded.status == 0, upgraded.errors);
  BOOST_TEST(eventually([&] { return token() != before; }, 20s), brood.log_tail());
  BOOST_TEST(times_logged(brood, "name_is_taken") == 0U);

  another_beats();
  BOOST_TEST(brood.wait_exit(20s).value_or(-1) == 75, brood.log_tail());
  BOOST_TEST(jobs_in_flight(redis) == 1U);
}

// The same boot and the same pid namespace, as in a clone of its machine.
BOOST_FIXTURE_TEST_CASE(of_the_same_boot_and_not_here_is_taken_over_once_its_heartbeat_is_gone_for_a_minute,
                        HeirOfAbsent) {
  absent.beat(redis, 1);
  absent.hold(redis, payload_text("Sleep", "[60000]"));
  BOOST_TEST(heir_looks_again(), heir.log_tail());
  BOOST_TEST(heir_looks_again(), heir.log_tail());
  BOOST_TEST(absent.holds(redis));

  redis.command({"DEL", absent.identity.name});
  BOOST_TEST(eventually([&] { return !absent.holds(redis); }, 100s), heir.log_tail());
  BOOST_TEST(redis.size_of("retry") == 0U);
}

BOOST_FIXTURE_TEST_CASE(of_the_same_boot_and_with_files_here_is_taken_over_at_once_if_its_is_the_last_beat,
                        HeirOfAbsent) {
  absent.beat(redis, 2);
  absent.hold(redis, payload_text("Sleep", "[60000]"));
  BOOST_TEST(heir_looks_again(), heir.log_tail());  // such a look would remove the file of an unlisted supervisor
  Scoreboard board = Scoreboard::create(absent.identity.runtime_directory, absent.identity.name, 1);
  board.note_beat_token(1);
  BOOST_TEST(heir_looks_again(), heir.log_tail());
  BOOST_TEST(absent.holds(redis));
  BOOST_TEST(std::filesystem::exists(board.path()));

  absent.beat(redis, 1);
  BOOST_TEST(eventually([&] { return !absent.holds(redis); }, 20s), heir.log_tail());
}
