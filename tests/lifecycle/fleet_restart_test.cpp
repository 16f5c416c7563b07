// `brood restart --all` restarts supervisors of one Redis, as on several hosts, one after the other.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <future>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/brood_process.hpp"
#include "tests/support/enqueue.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/faults.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

const std::string libraries_of_rolls = BROOD_BINARY_DIR "/tests/job_libraries/";

bool says(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// A supervisor whose job library is replaced, as on a host of its own.
struct Host {
  TemporaryDirectory directory;
  const std::string library = directory / "libjobs.so", config = directory / "brood.toml";
  const std::string queue;
  std::string identity;
  std::unique_ptr<BroodProcess> brood;

  Host(RedisServer& redis, const std::string& its_queue) : queue(its_queue) {
    install("roll_jobs_1");
    std::ofstream(config) << "concurrency = 2\nmax_unavailable = 2\nqueues = [\"" << queue << "\"]\n";
    const std::size_t before = redis.size_of("brood:processes");
    brood = std::make_unique<BroodProcess>(
        redis, BroodOptions{.workers = 2, .sets_workers = false, .libraries = {library}, .arguments = {"-C", config}});
    BOOST_REQUIRE_MESSAGE(brood->wait_ready(), brood->log_tail());
    BOOST_REQUIRE(eventually([&] { return redis.size_of("brood:processes") == before + 1; }, 30s));
    const std::string mine = ":" + std::to_string(brood->pid()) + ":";
    BOOST_REQUIRE(eventually(
        [&] {
          for (const std::string& one : redis.smembers("processes")) {
            if (says(one, mine)) identity = one;
          }
          return !identity.empty() && redis.hget(identity, "brood_state").has_value();
        },
        30s));
  }
  void install(const std::string& name) const {
    std::filesystem::copy_file(libraries_of_rolls + "lib" + name + ".so", library + ".new",
                               std::filesystem::copy_options::overwrite_existing);
    std::filesystem::rename(library + ".new", library);
  }
  // The times of these events, as spelled in the log.
  std::vector<std::string> times_of(const std::string& event) const {
    std::vector<std::string> times;
    std::istringstream log(brood->log());
    for (std::string line; std::getline(log, line);) {
      if (says(line, "event=" + event + " ")) times.push_back(line.substr(0, line.find(' ')));
    }
    return times;
  }
};

struct Fleet {
  RedisServer redis;
  std::vector<std::unique_ptr<Host>> hosts;

  // One host for each queue, in the order of their turns.
  explicit Fleet(const std::vector<std::string>& queues) {
    for (const std::string& queue : queues) hosts.push_back(std::make_unique<Host>(redis, queue));
    std::sort(hosts.begin(), hosts.end(),
              [](const auto& one, const auto& other) { return one->brood->pid() < other->brood->pid(); });
  }
  // Runs a command as if on another machine: it sees nothing of this one.
  CommandResult tell(std::vector<std::string> words) const {
    words.insert(words.end(), {"--redis", redis.url()});
    return run_brood(words, {{"RUNTIME_DIRECTORY", "/nowhere"}, {"SUDO_USER", ""}});
  }
  std::future<CommandResult> begin(const std::vector<std::string>& words) const {
    return std::async(std::launch::async, [this, words] { return tell(words); });
  }
  std::size_t restarts(std::size_t host) const { return times_logged(*hosts[host]->brood, "restart_begins"); }
};

}  // namespace

BOOST_AUTO_TEST_CASE(supervisors_restart_one_after_the_other) {
  Fleet fleet({"a", "b", "c"});

  const CommandResult plan = fleet.tell({"restart", "--all", "--dry-run"});
  BOOST_TEST(plan.status == 0, plan.errors);
  BOOST_TEST(fleet.restarts(0) == 0U);

  const CommandResult result = fleet.tell({"restart", "--all"});
  BOOST_TEST(result.status == 0, result.output << result.errors);
  BOOST_TEST(says(result.output, "3 of 3 supervisors restarted"), result.output);
  std::string before;
  for (const auto& host : fleet.hosts) {
    const auto begins = host->times_of("restart_begins"), ends = host->times_of("restart_ended");
    BOOST_REQUIRE_MESSAGE(begins.size() == 1 && ends.size() == 1, host->brood->log_tail());
    BOOST_TEST(begins[0] > before);  // the previous one has ended
    before = ends[0];
    BOOST_TEST(says(host->brood->log(), "verb=restart by=Redis giver="), host->brood->log_tail());
    BOOST_TEST(says(fleet.redis.hget(host->identity, "brood_state").value_or(""), "\"generation\":2"));
  }
  BOOST_TEST(!fleet.redis.get("brood:fleet_lease").has_value());

  // They are new already.  An order to a single one restarts it again.
  const CommandResult again =
      fleet.tell({"restart", "--all", "--json", "--loaded-before", before.substr(0, 11) + "00:00:00Z"});
  BOOST_TEST(again.status == 0, again.errors);
  BOOST_TEST(says(again.output, R"({"outcome":"done","reason":null,"stopped_at":null,"restarted":[])"), again.output);
  const CommandResult one = fleet.tell({"restart", "--process", fleet.hosts[1]->identity, "--json"});
  BOOST_TEST(one.status == 0, one.errors);
  BOOST_TEST(says(one.output, "\"restarted\":[\"" + fleet.hosts[1]->identity + "\"]"), one.output);
  BOOST_TEST(fleet.restarts(0) == 1U);
  BOOST_TEST(fleet.restarts(1) == 2U);
}

BOOST_AUTO_TEST_CASE(the_first_canary_that_is_taken_back_stops_it) {
  Fleet fleet({"a", "default", "c"});
  const auto second =
      std::find_if(fleet.hosts.begin(), fleet.hosts.end(), [](const auto& host) { return host->queue == "default"; });
  const std::string failing = (*second)->identity;
  long number = 0;
  const auto push = [&](int jobs) {
    std::vector<std::string> payloads;
    for (int i = 0; i < jobs; ++i, ++number)
      payloads.push_back(
          payload_text("NowAndThen", "[" + std::to_string(number % 1000) + "]", 1 + number, "\"retry\":false"));
    enqueue(fleet.redis, payloads);
  };
  for (int i = 0; i < 10; ++i) {
    push(50);
    BOOST_REQUIRE(eventually([&] { return no_job_is_left(fleet.redis); }, 30s));
  }
  const auto until = std::chrono::steady_clock::now() + 1100ms;  // the results of jobs are looked at every second
  BOOST_REQUIRE(eventually([&] { return std::chrono::steady_clock::now() > until; }));
  (*second)->install("roll_jobs_that_crash");

  auto running = fleet.begin({"restart", "--all"});
  while (running.wait_for(100ms) != std::future_status::ready) {
    if (fleet.redis.size_of("queue:default") == 0) push(8);
  }
  const CommandResult result = running.get();
  BOOST_TEST(result.status == 70, result.output << result.errors);
  BOOST_TEST(says(result.errors, "rolled back, and its old workers go on: NowAndThen jobs crash more"), result.errors);
  BOOST_TEST(says(result.errors, "--loaded-before "), result.errors);
  bool is_after = false;
  for (const auto& host : fleet.hosts) {
    const bool is_it = host->identity == failing;
    BOOST_TEST(times_logged(*host->brood, "restart_begins") == (is_after ? 0U : 1U));
    is_after |= is_it;
  }
}

BOOST_AUTO_TEST_CASE(a_supervisor_whose_new_library_is_refused_stops_it) {
  Fleet fleet({"a", "b"});
  std::ofstream(fleet.hosts[0]->config) << "nonsense = true\n";
  const CommandResult result = fleet.tell({"restart", "--all", "--json"});
  BOOST_TEST(result.status == 78, result.output << result.errors);
  BOOST_TEST(says(result.output, "{\"outcome\":\"refused\""), result.output);
  BOOST_TEST(says(result.output, "\"stopped_at\":\"" + fleet.hosts[0]->identity), result.output);
  BOOST_TEST(says(result.output,
                  "\"not_restarted\":[\"" + fleet.hosts[0]->identity + "\",\"" + fleet.hosts[1]->identity + "\"]"),
             result.output);
  BOOST_TEST(fleet.restarts(1) == 0U);
}

BOOST_AUTO_TEST_CASE(a_supervisor_that_dies_meanwhile_stops_it_and_a_second_command_waits_for_the_first) {
  Fleet fleet({"a", "b"});
  Host& first = *fleet.hosts[0];
  kill(first.brood->pid(), SIGSTOP);  // so that it does not take its order
  auto running = fleet.begin({"restart", "--all"});
  BOOST_REQUIRE(eventually([&] { return fleet.redis.size_of(first.identity + "-signals") == 1; }, 30s));

  const CommandResult second = fleet.tell({"restart", "--all"});
  BOOST_TEST(second.status == 75);
  BOOST_TEST(says(second.errors, " restarts the fleet since "), second.errors);

  first.brood->kill9();
  fleet.redis.command({"DEL", first.identity});  // as if its last heartbeat was a minute ago
  const CommandResult result = running.get();
  BOOST_TEST(result.status == 75, result.output << result.errors);
  BOOST_TEST(says(result.errors, "its heartbeat has ended"), result.errors);
  BOOST_TEST(fleet.restarts(1) == 0U);

  // The lease is given up, and the dead supervisor has no turn.
  const CommandResult again = fleet.tell({"restart", "--all"});
  BOOST_TEST(again.status == 0, again.errors);
  BOOST_TEST(fleet.restarts(1) == 1U);
}

BOOST_AUTO_TEST_CASE(an_order_that_was_not_carried_out_in_time_ends_the_command) {
  Fleet fleet({"a", "b"});
  kill(fleet.hosts[0]->brood->pid(), SIGSTOP);
  const CommandResult result = fleet.tell({"restart", "--all", "--timeout", "2s"});
  kill(fleet.hosts[0]->brood->pid(), SIGCONT);
  BOOST_TEST(result.status == 75, result.output << result.errors);
  BOOST_TEST(says(result.errors, "within --timeout"), result.errors);
  BOOST_TEST(fleet.restarts(1) == 0U);
}

BOOST_AUTO_TEST_CASE(an_order_that_redis_refuses_stops_it) {
  Fleet fleet({"a"});
  fleet.redis.command({"SET", fleet.hosts[0]->identity + "-signals", "no list"});
  const CommandResult result = fleet.tell({"restart", "--all"});
  BOOST_TEST(result.status == 75, result.output << result.errors);
  BOOST_TEST(says(result.errors, "Redis does not take the order"), result.errors);
  BOOST_TEST(fleet.restarts(0) == 0U);
}

BOOST_AUTO_TEST_CASE(others_and_older_broods_are_left_out) {
  Fleet fleet({"a"});
  for (const std::string identity : {"ruby:1:abcdefabcdef", "older:2:abcdefabcdef"}) {
    fleet.redis.command({"SADD", "processes", identity});
    fleet.redis.command({"HSET", identity, "info",
                         R"({"hostname":"other","pid":1,"queues":[],"concurrency":1,"version":"7.3.0"})", "busy", "0",
                         "beat", "1", "quiet", "false"});
  }
  const CommandResult with_ruby = fleet.tell({"restart", "--all"});
  BOOST_TEST(with_ruby.status == 0, with_ruby.output << with_ruby.errors);
  BOOST_TEST(says(with_ruby.output, "not restarted: it is no supervisor of brood"), with_ruby.output);

  fleet.redis.command({"HSET", "brood:processes", "older:2:abcdefabcdef", "{}"});
  const CommandResult with_older = fleet.tell({"restart", "--all"});
  BOOST_TEST(with_older.status == 75, with_older.output << with_older.errors);
  BOOST_TEST(says(with_older.errors, "its brood is older"), with_older.errors);
  BOOST_TEST(fleet.restarts(0) == 2U);
  BOOST_TEST(fleet.redis.size_of("older:2:abcdefabcdef-signals") == 0U);
}

BOOST_AUTO_TEST_CASE(an_order_that_lay_too_long_is_not_followed) {
  Fleet fleet({"a"});
  const Host& host = *fleet.hosts[0];
  fleet.redis.command(
      {"LPUSH", host.identity + "-signals", R"(brood ["restart",{"id":"late","by":"ann@elsewhere","until":1000}])"});
  BOOST_TEST(eventually([&] { return times_logged(*host.brood, "order_expired") == 1; }, 30s), host.brood->log_tail());
  BOOST_TEST(eventually(
      [&] {
        return says(fleet.redis.hget(host.identity, "brood_state").value_or(""),
                    R"({"id":"late","verb":"restart","outcome":"expired")");
      },
      30s));
  BOOST_TEST(fleet.restarts(0) == 0U);
}
