#include <boost/test/unit_test.hpp>

#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <future>
#include <map>
#include <optional>
#include <sstream>

#include "tests/support/brood_process.hpp"
#include "tests/support/enqueue.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/faults.hpp"
#include "tests/support/file_text.hpp"
#include "tests/support/fleet_view.hpp"
#include "tests/support/ledger.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

const std::string libraries = BROOD_BINARY_DIR "/tests/job_libraries/";
constexpr const char* examples = BROOD_BINARY_DIR "/worker/examples/libexamples.so";

// A brood whose configuration and job library can be replaced.
struct Deployed {
  RedisServer redis;
  TemporaryDirectory directory;
  const std::string library = directory / "libjobs.so", config = directory / "brood.toml", ran = directory / "ran";
  Ledger ledger{directory / "ledger"};
  std::optional<BroodProcess> brood;

  // Lets this many loads of the dying library survive, at most three: the check of a restart is the first.
  void let_live(std::size_t loads) const { std::ofstream(directory / "loads") << std::string(3 - loads, 'x'); }

  explicit Deployed(int workers = 2, const std::string& more = "", std::map<std::string, std::string> environment = {},
                    const std::string& first = "roll_jobs_1") {
    install(first);
    configure("concurrency = " + std::to_string(workers) + "\n" + more);
    environment["ROLL_LOADS"] = directory / "loads";
    brood.emplace(redis, BroodOptions{.workers = workers,
                                      .sets_workers = false,
                                      .libraries = {examples, library},
                                      .arguments = {"-C", config},
                                      .environment = std::move(environment)});
    BOOST_REQUIRE_MESSAGE(logs("event=ready"), brood->log_tail());
  }
  // As in a deploy: written under another name, then renamed.
  void install(const std::string& name) const {
    std::filesystem::copy_file(libraries + "lib" + name + ".so", library + ".new",
                               std::filesystem::copy_options::overwrite_existing);
    std::filesystem::rename(library + ".new", library);
  }
  void configure(const std::string& toml) const { std::ofstream(config) << toml; }

  bool logs(const std::string& text, std::chrono::milliseconds timeout = 30s) const {
    return eventually([&] { return brood->log().find(text) != std::string::npos; }, timeout);
  }
  CommandResult command(std::vector<std::string> words) const { return run_brood(words, brood->environment()); }
  void run_versioned() { enqueue(redis, {payload_text("Versioned", "[\"" + ran + "\"]")}); }
  void run_until(const std::string& file, long number = 1) {
    enqueue(redis, {payload_text("UntilFile", "[\"" + ran + "\",\"" + file + "\"]", number)});
  }
  std::string written() const { return text_of_file(ran); }
  bool writes(const std::string& part) const {
    return eventually([&] { return written().find(part) != std::string::npos; }, 20s);
  }
  void touch(const std::string& file) const { std::ofstream(file) << "x"; }
  bool fetches(std::size_t workers) const {
    return eventually([&] { return fetching_workers(*brood) == static_cast<int>(workers); }, 20s);
  }
};

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

BOOST_AUTO_TEST_CASE(new_code_takes_effect_and_the_supervisor_stays) {
  Deployed site;
  const pid_t pid = site.brood->pid();
  site.run_versioned();
  BOOST_REQUIRE(site.writes("ran 1"));
  const std::vector<pid_t> before = site.brood->workers();
  site.install("roll_jobs_2");

  const CommandResult result = site.command({"restart"});

  BOOST_TEST(result.status == 0, result.errors << site.brood->log_tail());
  BOOST_TEST(contains(result.output, "generation 2"), result.output);
  site.run_versioned();
  BOOST_TEST(site.writes("ran 2"));
  BOOST_TEST(site.brood->pid() == pid);
  BOOST_TEST(process_exists(pid));
  for (const pid_t worker : before) BOOST_TEST(eventually([&] { return !process_exists(worker); }));
  BOOST_TEST(site.brood->workers().size() == before.size());
}

BOOST_AUTO_TEST_CASE(a_hangup_and_a_user_signal_restart_too) {
  Deployed site;
  for (const int signal : {SIGHUP, SIGUSR1}) {
    const std::vector<pid_t> before = site.brood->workers();
    const std::size_t restarts = times_logged(*site.brood, "restart_ended");
    site.brood->signal(signal);
    BOOST_TEST(eventually([&] { return times_logged(*site.brood, "restart_ended") == restarts + 1; }, 20s));
    for (const pid_t worker : before) BOOST_TEST(eventually([&] { return !process_exists(worker); }));
  }
}

BOOST_AUTO_TEST_CASE(a_long_job_ends_under_the_code_that_it_began_with) {
  Deployed site(2);
  const std::string go = site.directory / "go";
  site.run_until(go);
  BOOST_REQUIRE(site.writes("began 1"));
  site.install("roll_jobs_2");

  const CommandResult result = site.command({"restart"});

  BOOST_TEST(result.status == 0, result.errors);
  BOOST_TEST(contains(result.output, "finishes its job"), result.output);
  site.run_versioned();
  BOOST_TEST(site.writes("ran 2"));
  BOOST_TEST(!contains(site.written(), "ended"));
  site.touch(go);
  BOOST_TEST(site.writes("ended 1"));
  BOOST_TEST(eventually([&] { return site.brood->workers().size() == 2; }));
  BOOST_TEST(site.redis.size_of("retry") == 0U);
}

BOOST_AUTO_TEST_CASE(settings_are_read_anew) {
  Deployed site(2);
  site.configure(
      "concurrency = 3\nqueues = [\"other\"]\ntag = \"renamed\"\n"
      "[capsules.images]\nconcurrency = 2\nqueues = [\"images\"]\n[log]\nlevel = \"debug\"\n");
  BOOST_TEST(site.command({"restart"}).status == 0, site.brood->log_tail());
  BOOST_TEST(site.fetches(5));
  for (const char* queue : {"other", "images"}) {
    const std::string text = payload_text("Ledger", "[\"" + site.ledger.path() + "\",\"" + queue + "\",0]", 7);
    enqueue(site.redis, {text}, queue);
    BOOST_TEST(eventually([&] { return site.ledger.done().contains(queue); }, 20s), queue);
  }
  BOOST_TEST(site.logs("DEBUG"));
  const CommandResult status = site.command({"status", "--json", "--redis", site.redis.url()});
  BOOST_TEST(contains(status.output, "\"generation\":2"), status.output);
  BOOST_TEST(eventually([&] {
    return contains(site.command({"status", "--json", "--redis", site.redis.url()}).output, "\"tag\":\"renamed\"");
  }));

  // One capsule is removed, another is smaller.
  site.configure("concurrency = 1\n");
  BOOST_TEST(site.command({"restart"}).status == 0, site.brood->log_tail());
  BOOST_TEST(site.fetches(1));
  BOOST_TEST(eventually([&] { return site.brood->workers().size() == 1; }));
  site.run_versioned();
  BOOST_TEST(site.writes("ran 1"));
}

BOOST_AUTO_TEST_CASE(more_workers_than_there_was_room_for_find_room) {
  Deployed site(1);
  site.configure("concurrency = 40\n");
  BOOST_TEST(site.command({"restart"}).status == 0, site.brood->log_tail());
  BOOST_TEST(site.fetches(40));
  BOOST_TEST(site.command({"restart"}).status == 0, site.brood->log_tail());
  BOOST_TEST(site.fetches(40));
}

BOOST_AUTO_TEST_CASE(an_invalid_configuration_is_refused_and_nothing_changes) {
  Deployed site;
  const std::vector<pid_t> before = site.brood->workers();
  site.configure("concurency = 3\n");

  const CommandResult result = site.command({"restart"});

  BOOST_TEST(result.status == 78);
  BOOST_TEST(contains(result.errors, "did you mean"), result.errors);
  BOOST_TEST((site.brood->workers() == before));
  BOOST_TEST(contains(site.command({"status", "--redis", site.redis.url()}).output, "restart refused"));
  site.run_versioned();
  BOOST_TEST(site.writes("ran 1"));

  site.configure("concurrency = 2\n");
  BOOST_TEST(site.command({"restart"}).status == 0);
}

BOOST_AUTO_TEST_CASE(another_redis_is_refused) {
  Deployed site;
  site.configure("concurrency = 2\n[redis]\nuser = \"somebody\"\n");
  const CommandResult result = site.command({"restart"});
  BOOST_TEST(result.status == 78);
  BOOST_TEST(contains(result.errors, "stop it and start it again"), result.errors);
}

BOOST_AUTO_TEST_CASE(a_library_that_does_not_load_is_refused_and_nothing_changes) {
  Deployed site;
  const std::vector<pid_t> before = site.brood->workers();
  site.touch(site.library + ".new");
  std::filesystem::rename(site.library + ".new", site.library);

  const CommandResult result = site.command({"restart"});

  BOOST_TEST(result.status == 78);
  BOOST_TEST(contains(result.errors, "libjobs.so"), result.errors);
  BOOST_TEST((site.brood->workers() == before));
  site.run_versioned();
  BOOST_TEST(site.writes("ran 1"));
}

BOOST_AUTO_TEST_CASE(a_generation_that_dies_is_rolled_back_and_the_old_one_goes_on) {
  Deployed site(3);
  const std::vector<pid_t> before = site.brood->workers();
  site.let_live(1);
  site.install("roll_jobs_that_die");

  const CommandResult result = site.command({"restart"});

  BOOST_TEST(result.status == 70, result.output << result.errors << site.brood->log_tail());
  BOOST_TEST(contains(result.errors, "killed by SIGALRM"), result.errors);
  BOOST_TEST(eventually([&] { return site.brood->workers() == before; }, 20s), site.brood->log_tail());
  BOOST_TEST(fetching_workers(*site.brood) == 3);
  site.run_versioned();
  BOOST_TEST(site.writes("ran 1"));
}

// The old workers know no cap, and never look beside the queue.
BOOST_AUTO_TEST_CASE(what_workers_have_set_aside_that_are_taken_back_goes_back_to_its_queue) {
  Deployed site(3);
  const std::string go = site.directory / "go", holder = "brood:inflight:another:1.1:default@few";
  for (long job = 1; job <= 3; ++job) site.run_until(go, job);
  BOOST_REQUIRE(eventually([&] { return site.redis.size_of("queue:default") == 0; }));
  for (int i = 0; i < 3; ++i) site.run_versioned();
  // Another worker has the only place.
  site.redis.command({"LPUSH", RedisKey(holder), "a job"});
  site.redis.command({"SADD", RedisKey("brood:cap:few"), holder});
  site.let_live(3);
  site.install("roll_jobs_that_die");
  site.configure(
      "concurrency = 3\n[restart]\ncanary = false\n[limits.few]\nclasses = [\"Versioned\"]\nconcurrent = 1\n");

  BOOST_REQUIRE(site.command({"restart"}).status == 70);

  BOOST_REQUIRE_MESSAGE(site.logs("event=set_aside_jobs_given_back queue=default waited_in=default@few jobs=3"),
                        site.brood->log_tail());
  // At once, and not at the supervisor's regular look, every 30 s in its first ten minutes.
  const auto when = [log = site.brood->log()](const std::string& event) {
    const std::size_t line = log.rfind('\n', log.find("event=" + event)) + 1;
    int hours = 0, minutes = 0;
    double seconds = 0;
    BOOST_REQUIRE(sscanf(log.c_str() + line, "%*d-%*d-%*dT%d:%d:%lf", &hours, &minutes, &seconds) == 3);
    return 3600 * hours + 60 * minutes + seconds;
  };
  BOOST_TEST(when("set_aside_jobs_given_back") - when("restart_ended") < 10);
  site.redis.command({"DEL", RedisKey(holder)});
  site.touch(go);
  BOOST_TEST(eventually([&] { return no_job_is_left(site.redis); }), site.brood->log_tail());
}

BOOST_AUTO_TEST_CASE(periodic_jobs_of_a_library_that_is_taken_back_never_come_and_those_of_the_old_one_go_on) {
  Deployed site(2, "", {{"ROLL_PERIODIC", "1"}});
  const auto ticks = [&](int version) { return site.redis.size_of("queue:of_" + std::to_string(version)); };
  BOOST_REQUIRE_MESSAGE(eventually([&] { return ticks(1) >= 1; }, 20s), site.brood->log_tail());
  site.let_live(1);
  site.install("roll_jobs_that_die");

  BOOST_REQUIRE(site.command({"restart"}).status == 70);

  const std::size_t before = ticks(1);
  BOOST_TEST(eventually([&] { return ticks(1) >= before + 3; }, 20s), site.brood->log_tail());
  BOOST_TEST(ticks(3) == 0U);
  site.install("roll_jobs_2");
  BOOST_TEST(site.command({"restart"}).status == 0, site.brood->log_tail());
  BOOST_TEST(eventually([&] { return ticks(2) >= 1; }, 20s), site.brood->log_tail());
  BOOST_TEST(ticks(3) == 0U);
}

BOOST_AUTO_TEST_CASE(a_worker_that_was_told_to_finish_and_is_in_its_job_still_goes_on_after_a_rollback) {
  Deployed site(3, "[log]\nlevel = \"debug\"\n");
  const std::vector<pid_t> before = site.brood->workers();
  const std::string go = site.directory / "go";
  for (long job = 1; job <= 3; ++job) site.run_until(go, job);
  const auto begun = [&] {
    std::istringstream lines(site.written());
    int count = 0;
    for (std::string line; std::getline(lines, line);) count += line.starts_with("began 1");
    return count;
  };
  BOOST_REQUIRE(eventually([&] { return begun() == 3; }, 20s));
  site.let_live(3);
  site.install("roll_jobs_that_die");

  const CommandResult result = site.command({"restart"});

  BOOST_TEST(result.status == 70, result.output << result.errors);
  BOOST_TEST(site.logs("event=worker_told_to_finish", 0ms), site.brood->log_tail());
  BOOST_TEST(eventually([&] { return site.brood->workers() == before; }, 20s));
  BOOST_TEST(fetching_workers(*site.brood) == 3);
  site.install("roll_jobs_1");
  site.touch(go);
  BOOST_TEST(site.writes("ended 1"));
  for (int i = 0; i < 20; ++i) site.run_versioned();
  BOOST_TEST(site.writes("ran 1"));
  BOOST_TEST((site.brood->workers() == before));
}

BOOST_AUTO_TEST_CASE(the_command_line_stands_above_the_file_at_a_restart_too) {
  RedisServer redis;
  const TemporaryDirectory directory;
  const std::string config = directory / "brood.toml";
  std::ofstream(config) << "concurrency = 5\n";
  BroodProcess brood(redis, {.workers = 2, .arguments = {"-C", config}});
  BOOST_REQUIRE(eventually([&] { return fetching_workers(brood) == 2; }, 20s));
  std::ofstream(config) << "concurrency = 7\ntag = \"x\"\n";
  BOOST_TEST(run_brood({"restart"}, brood.environment()).status == 0);
  BOOST_TEST(eventually([&] { return fetching_workers(brood) == 2; }, 20s));
}

BOOST_AUTO_TEST_CASE(of_several_supervisors_one_is_named) {
  const RedisServer redis;
  const auto home = std::make_shared<TemporaryDirectory>();
  BroodProcess images(redis, {.workers = 1,
                              .queues = {"fast", "slow"},
                              .arguments = {"--instance", "images", "--tag", "photos"},
                              .home = home});
  BroodProcess mails(redis, {.workers = 1, .arguments = {"--instance", "mails"}, .home = home});
  BOOST_REQUIRE(eventually([&] { return fetching_workers(images) == 1 && fetching_workers(mails) == 1; }, 30s));
  const std::vector<pid_t> of_images = images.workers(), of_mails = mails.workers();

  CommandResult unclear;
  const auto tells_of_both = [&] {  // a supervisor that answers slowly is listed without details
    unclear = run_brood({"restart"}, images.environment());
    return contains(unclear.errors, "--instance images (tag photos; queues fast, slow; 1 worker; up ") &&
           contains(unclear.errors, "--instance mails (queue default; 1 worker; up ");
  };
  BOOST_TEST(eventually(tells_of_both), unclear.errors);
  BOOST_TEST(unclear.status == 64);
  BOOST_TEST(run_brood({"restart", "--instance", "nobody"}, images.environment()).status == 69);
  BOOST_TEST(run_brood({"restart", "--instance", "mails"}, images.environment()).status == 0);
  BOOST_TEST((images.workers() == of_images));
  for (const pid_t worker : of_mails) BOOST_TEST(eventually([&] { return !process_exists(worker); }));
  BOOST_TEST(run_brood({"run", "--instance", "a b"}, images.environment()).status == 64);
}

BOOST_AUTO_TEST_CASE(a_second_restart_begins_after_the_first) {
  Deployed site;
  site.brood->signal(SIGHUP);
  BOOST_REQUIRE(site.logs("event=restart_begins"));
  std::vector<std::future<CommandResult>> others;
  for (int i = 0; i < 3; ++i)
    others.push_back(std::async(std::launch::async, [&] { return site.command({"restart"}); }));
  for (auto& other : others) BOOST_TEST(other.get().status == 0);
  const std::size_t restarts = times_logged(*site.brood, "restart_begins");
  BOOST_TEST(restarts >= 2U);
  BOOST_TEST(restarts <= 4U);
  BOOST_TEST(times_logged(*site.brood, "restart_ended") == restarts);
}

BOOST_AUTO_TEST_CASE(a_stop_comes_before_a_restart_that_is_under_way) {
  Deployed site(4);
  auto restart = std::async(std::launch::async, [&] { return site.command({"restart"}); });
  BOOST_REQUIRE(site.logs("event=restart_begins"));
  site.brood->term();
  BOOST_TEST(site.brood->wait_exit().value_or(-1) == 0);
  const int status = restart.get().status;
  BOOST_TEST((status == 75 || status == 0), status);
}

BOOST_AUTO_TEST_CASE(a_quiet_brood_does_not_restart) {
  Deployed site;
  BOOST_TEST(site.command({"quiet"}).status == 0);
  const CommandResult result = site.command({"restart"});
  BOOST_TEST(result.status == 75);
  BOOST_TEST(contains(result.errors, "quiet"), result.errors);
}

BOOST_AUTO_TEST_CASE(a_scale_lasts_until_the_next_restart) {
  Deployed site(2);
  const std::vector<pid_t> before = site.brood->workers();
  BOOST_TEST(site.command({"scale", "4"}).status == 0);
  BOOST_TEST(fetching_workers(*site.brood) == 4);
  for (const pid_t worker : before) BOOST_TEST(process_exists(worker));
  BOOST_TEST(site.command({"scale", "1"}).status == 0);
  BOOST_TEST(site.fetches(1));
  BOOST_TEST(eventually([&] { return site.brood->workers().size() == 1; }));
  BOOST_TEST(process_exists(before.front()));
  BOOST_TEST(site.command({"restart"}).status == 0);
  BOOST_TEST(site.fetches(2));

  BOOST_TEST(site.command({"scale", "3", "--capsule", "nothing"}).status == 78);
  BOOST_TEST(site.command({"scale", "0"}).status == 64);
  BOOST_TEST(site.command({"scale", "100000"}).status != 0);
}

BOOST_AUTO_TEST_CASE(workers_that_a_scale_adds_and_that_die_are_taken_back) {
  // Its template, which is not needed, and its two workers survive.
  Deployed site(2, "", {}, "roll_jobs_that_die");
  const std::vector<pid_t> before = site.brood->workers();
  const CommandResult result = site.command({"scale", "4"});
  BOOST_TEST(result.status == 70, result.output << result.errors << site.brood->log());
  BOOST_TEST(eventually([&] { return site.brood->workers() == before; }, 20s), site.brood->log_tail());
  site.install("roll_jobs_1");
  BOOST_TEST(site.command({"restart"}).status == 0);
  BOOST_TEST(site.command({"scale", "3"}).status == 0);
  BOOST_TEST(fetching_workers(*site.brood) == 3);
}

BOOST_AUTO_TEST_CASE(quiet_and_stop_are_waited_for) {
  Deployed site(2);
  const std::string go = site.directory / "go";
  site.run_until(go);
  BOOST_REQUIRE(site.writes("began 1"));
  auto quiet = std::async(std::launch::async, [&] { return site.command({"quiet"}); });
  BOOST_REQUIRE(site.logs("to=quiet"));
  BOOST_TEST((quiet.wait_for(50ms) == std::future_status::timeout));
  site.touch(go);
  BOOST_TEST(quiet.get().status == 0);
  const CommandResult stop = site.command({"stop"});
  BOOST_TEST(stop.status == 0, stop.errors);
  BOOST_TEST(site.brood->wait_exit(0ms).value_or(-1) == 0);
  BOOST_TEST(site.command({"stop"}).status == 69);
}

BOOST_AUTO_TEST_CASE(a_stop_that_is_to_be_now_waits_for_no_job) {
  Deployed site(1);
  site.run_until(site.directory / "never");
  BOOST_REQUIRE(site.writes("began 1"));
  BOOST_TEST(site.command({"stop", "--now"}).status == 0);
  BOOST_TEST(site.brood->wait_exit().value_or(-1) == 0);
  BOOST_TEST(site.redis.size_of("queue:default") == 1U);
}

BOOST_AUTO_TEST_CASE(a_restart_needs_no_redis) {
  Deployed site(2);
  site.redis.pause();
  const CommandResult result = site.command({"restart"});
  BOOST_TEST(result.status == 0, result.errors);
  site.redis.resume();
  site.run_versioned();
  BOOST_TEST(site.writes("ran 1"), site.brood->log_tail());
}

// Another file replaces it during this time.
BOOST_AUTO_TEST_CASE(a_password_file_that_is_away_for_a_moment_ends_no_supervisor) {
  RedisServer redis({.password = "correct-horse"});
  const TemporaryDirectory directory;
  const std::string file = directory.write("password", "correct-horse\n"), ran = directory / "ran",
                    go = directory / "go";
  BroodProcess brood(BroodOptions{
      .workers = 1,
      .libraries = {libraries + "libroll_jobs_1.so"},
      .config = "[redis]\nurl = \"unix://" + redis.socket_path() + "\"\npassword_file = \"" + file + "\"\n"});
  BOOST_REQUIRE_MESSAGE(brood.wait_ready(), brood.log_tail());
  enqueue(redis, {payload_text("UntilFile", "[\"" + ran + "\",\"" + go + "\"]")});
  BOOST_REQUIRE(eventually([&] { return std::filesystem::exists(ran); }, 30s));

  // The new worker waits for the old worker's job.  By then all files were read.
  brood.signal(SIGHUP);
  BOOST_REQUIRE_MESSAGE(eventually([&] { return brood.workers().size() == 2; }, 30s), brood.log_tail());
  std::filesystem::remove(file);
  std::ofstream(go) << "x";
  BOOST_TEST(eventually([&] { return contains(brood.log(), "event=restart_ended outcome=done"); }, 60s),
             brood.log_tail());
  const CommandResult scaled = run_brood({"scale", "2"}, brood.environment());
  BOOST_TEST(scaled.status == 0, scaled.errors << brood.log_tail());

  // A restart has to read it and is refused; nothing changes.
  const CommandResult refused = run_brood({"restart"}, brood.environment());
  BOOST_TEST(refused.status == 78, refused.errors);
  BOOST_TEST(contains(refused.errors, "password"), refused.errors);
  BOOST_TEST(eventually([&] { return fetching_workers(brood) == 2; }, 30s), brood.log_tail());
  brood.term();
  BOOST_TEST(brood.wait_exit().value_or(-1) == 0);
}

BOOST_AUTO_TEST_CASE(a_new_password_is_read_at_the_next_login) {
  RedisServer redis({.password = "correct-horse"});
  const TemporaryDirectory directory;
  const std::string file = directory.write("password", "correct-horse\n"), ran = directory / "ran";
  BroodProcess brood(BroodOptions{
      .workers = 1,
      .libraries = {libraries + "libroll_jobs_1.so"},
      .config = "[redis]\nurl = \"unix://" + redis.socket_path() + "\"\npassword_file = \"" + file + "\"\n"});
  BOOST_REQUIRE_MESSAGE(brood.wait_ready(), brood.log_tail());
  std::ofstream(file + ".new") << "battery-staple\n";
  std::filesystem::rename(file + ".new", file);
  redis.command({"CONFIG", "SET", "requirepass", "battery-staple"});
  redis.command({"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"});

  enqueue(redis, {payload_text("Versioned", "[\"" + ran + "\"]")});
  BOOST_TEST(eventually([&] { return std::filesystem::exists(ran); }, 30s), brood.log_tail());
  BOOST_TEST(eventually([&] { return contains(brood.log(), "event=redis_is_back"); }, 30s), brood.log_tail());
}

BOOST_AUTO_TEST_CASE(the_log_s_file_is_opened_anew_and_may_be_another) {
  Deployed site(1);
  const std::string file = site.directory / "brood.log";
  site.configure("concurrency = 1\n[log]\nfile = \"" + file + "\"\n");
  BOOST_TEST(site.command({"restart"}).status == 0);
  const auto says = [](const std::string& path, const std::string& part) { return contains(text_of_file(path), part); };
  BOOST_TEST(eventually([&] { return says(file, "event=restart_ended outcome=done"); }));

  std::filesystem::rename(file, file + ".1");
  BOOST_TEST(site.command({"restart"}).status == 0);
  BOOST_TEST(says(file, "event=restart_begins"));

  site.configure("concurrency = 1\n[log]\nfile = \"/nowhere/at/all\"\n");
  const CommandResult result = site.command({"restart"});
  BOOST_TEST(result.status == 78, result.errors);
  BOOST_TEST(says(file, "outcome=refused"));
}

// Kills random workers while restarts are under way.
BOOST_AUTO_TEST_CASE(workers_that_are_killed_during_a_restart_cost_it_nothing) {
  Deployed site(4);
  Dice dice;
  for (int round = 0; round < 5; ++round) {
    const std::size_t ended = times_logged(*site.brood, "restart_ended");
    site.brood->signal(SIGHUP);
    for (int kills = 0; kills < 4; ++kills) {
      const std::vector<pid_t> workers = site.brood->workers();
      if (!workers.empty())
        kill(workers[static_cast<std::size_t>(dice.roll(0, static_cast<int>(workers.size()) - 1))], SIGKILL);
    }
    BOOST_TEST(eventually([&] { return times_logged(*site.brood, "restart_ended") > ended; }, 30s));
  }
  BOOST_TEST(eventually([&] { return fetching_workers(*site.brood) == 4; }, 20s));
  BOOST_TEST(eventually([&] { return site.brood->workers().size() == 4; }, 20s));
  BOOST_TEST(site.command({"restart"}).status == 0);
  site.run_versioned();
  BOOST_TEST(site.writes("ran 1"));
}
