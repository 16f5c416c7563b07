#include <sys/stat.h>
#include <sysexits.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <filesystem>
#include <functional>

#include "tests/support/brood_process.hpp"
#include "tests/support/enqueue.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/ledger.hpp"
#include "tests/support/scripted_server.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::string address_of(const RedisServer& server, const std::string& login, const std::string& query = "") {
  return "unix://" + login + server.socket_path() + query;
}

std::string address_of(const ScriptedServer& server) { return "unix://" + server.address().socket_path; }

// Every kind of refusal, and of an unknown name, that does not end by waiting.
struct Refusals {
  RedisServer open, closed{{.password = "right"}};
  ScriptedServer hangs_up{"", {.wait_for_request = true, .hang_up = true}};
  ScriptedServer web{"HTTP/1.1 400 Bad Request\r\n\r\n"};

  struct Refusal {
    std::string url, sentence;
  };
  std::vector<Refusal> all() {
    open.command({"ACL", "SETUSER", "powerless", "on", ">secret", "~*", "-@all", "+ping"});
    open.command({"ACL", "SETUSER", "elsewhere", "on", ">secret", "~other:*", "+@all"});
    return {
        {address_of(closed, ":wrong@"), "WRONGPASS"},      {address_of(closed, ""), "NOAUTH"},
        {address_of(open, "powerless:secret@"), "NOPERM"}, {address_of(open, "elsewhere:secret@"), "NOPERM"},
        {address_of(open, "", "?db=99"), "out of range"},  {address_of(hangs_up), "TLS"},
        {address_of(web), "not the Redis protocol"},       {"redis://no-such-host.invalid", "no-such-host.invalid"}};
  }
};

BroodOptions given_up_after(const std::string& time, const std::string& url) {
  return {.workers = 1, .config = "[redis]\nurl = \"" + url + "\"\ngive_up_after = \"" + time + "\"\n"};
}

constexpr const char* nobody = "65534";

boost::test_tools::assertion_result an_ordinary_user_can_run_brood(boost::unit_test::test_unit_id) {
  if (geteuid() != 0) return true;
  const std::string run =
      std::string("setpriv --reuid ") + nobody + " --clear-groups test -x " BROOD_BINARY_DIR "/bin/brood";
  return std::system(run.c_str()) == 0;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_check_fails_where_redis_refuses_us_and_says_why) {
  Refusals refusals;
  for (const auto& [url, sentence] : refusals.all()) {
    const CommandResult check = run_brood({"run", "--check", "--redis", url});
    BOOST_TEST(check.status == EX_TEMPFAIL, url + check.errors);
    BOOST_TEST(contains(check.errors, sentence), url + check.errors);
    BOOST_TEST(!contains(check.output, "everything can run"));
  }
}

BOOST_AUTO_TEST_CASE(a_check_warns_of_a_redis_that_is_away) {
  const TemporaryDirectory directory;
  for (const std::string& url :
       {"unix://" + (directory / "nobody.sock"), "redis://127.0.0.1:" + std::to_string(free_port())}) {
    const CommandResult check = run_brood({"run", "--check", "--redis", url});
    BOOST_TEST(check.status == 0, url + check.errors);
    BOOST_TEST(contains(check.output, "does not answer now"), check.output);
  }
}

BOOST_AUTO_TEST_CASE(a_start_gives_up_where_redis_goes_on_refusing_us_and_was_never_ready) {
  Refusals refusals;
  for (const auto& [url, sentence] : refusals.all()) {
    BroodProcess brood(given_up_after("1s", url));
    BOOST_TEST(brood.wait_exit(30s).value_or(-1) == EX_TEMPFAIL, url + brood.log_tail());
    BOOST_TEST(contains(brood.log(), "event=redis_given_up"), url + brood.log_tail());
    BOOST_TEST(contains(brood.log(), sentence), url + brood.log_tail());
    BOOST_TEST(!contains(brood.log(), "event=ready"), url + brood.log_tail());
  }
}

BOOST_AUTO_TEST_CASE(a_start_waits_for_a_redis_that_is_away_and_is_ready) {
  const TemporaryDirectory directory;
  BroodProcess brood(given_up_after("1s", "unix://" + (directory / "nobody.sock")));
  BOOST_TEST(eventually([&] { return contains(brood.log(), "event=ready"); }), brood.log_tail());
  BOOST_TEST(!within(4s, [&] { return brood.wait_exit(0ms).has_value(); }), brood.log_tail());
}

// Runs as an ordinary user, since root may write to any socket.
BOOST_AUTO_TEST_CASE(a_socket_whose_rights_keep_brood_out_refuses_it,
                     *boost::unit_test::precondition(an_ordinary_user_can_run_brood)) {
  RedisServer redis;
  chmod(redis.directory().c_str(), 0755);
  chmod(redis.socket_path().c_str(), 0);
  const auto as_somebody = [&](std::vector<std::string> arguments) {
    BroodOptions options = given_up_after("1s", address_of(redis, ""));
    options.arguments = std::move(arguments);
    options.home = std::make_shared<TemporaryDirectory>();
    if (geteuid() != 0) return options;
    options.prefix = {"/usr/bin/setpriv", "--reuid",     nobody, "--regid", nobody,
                      "--clear-groups",   "--pdeathsig", "KILL"};
    for (const char* directory : {"run", "state"}) std::filesystem::create_directory(*options.home / directory);
    for (const std::string& path : {options.home->path(), *options.home / "run", *options.home / "state"})
      BOOST_REQUIRE(chown(path.c_str(), std::stoul(nobody), std::stoul(nobody)) == 0);
    return options;
  };

  BroodProcess check(as_somebody({"--check"}));
  BOOST_TEST(check.wait_exit(30s).value_or(-1) == EX_TEMPFAIL, check.log_tail());
  BOOST_TEST(contains(check.log(), "Permission denied: this user may not write to the socket"), check.log_tail());

  BroodProcess brood(as_somebody({}));
  BOOST_TEST(brood.wait_exit(30s).value_or(-1) == EX_TEMPFAIL, brood.log_tail());
  BOOST_TEST(contains(brood.log(), "event=redis_given_up"), brood.log_tail());
  BOOST_TEST(contains(brood.log(), "add it to the socket's group"), brood.log_tail());
  BOOST_TEST(!contains(brood.log(), "event=ready"), brood.log_tail());
}

BOOST_AUTO_TEST_CASE(a_password_that_is_mended_in_time_is_enough) {
  RedisServer redis;
  redis.command({"ACL", "SETUSER", "worker", "on", ">new", "~*", "+@all"});
  BroodProcess brood(given_up_after("60s", address_of(redis, "worker:old@")));
  BOOST_REQUIRE(eventually([&] { return contains(brood.log(), "event=redis_refuses_us"); }));
  BOOST_TEST(!contains(brood.log(), "event=ready"), brood.log_tail());

  redis.command({"ACL", "SETUSER", "worker", ">old"});

  BOOST_TEST(eventually([&] { return contains(brood.log(), "event=ready"); }), brood.log_tail());
  BOOST_TEST(eventually([&] { return redis.size_of("processes") == 1; }), brood.log_tail());
}

BOOST_AUTO_TEST_CASE(what_was_usable_once_is_never_given_up) {
  RedisServer redis;
  const TemporaryDirectory directory;
  const Ledger ledger(directory / "ledger");
  redis.command({"ACL", "SETUSER", "worker", "on", ">secret", "~*", "+@all"});
  BroodProcess brood(given_up_after("1s", address_of(redis, "worker:secret@")));
  BOOST_REQUIRE(eventually([&] { return redis.size_of("processes") == 1; }));

  redis.command({"ACL", "SETUSER", "worker", "off"});
  redis.command({"CLIENT", "KILL", "USER", "worker"});
  BOOST_TEST(eventually([&] { return contains(brood.log(), "event=redis_refuses_us"); }), brood.log_tail());
  BOOST_TEST(!within(4s, [&] { return brood.wait_exit(0ms).has_value(); }), brood.log_tail());

  redis.command({"ACL", "SETUSER", "worker", "on"});
  enqueue_ledger_jobs(redis, ledger.path(), 1);
  BOOST_TEST(eventually([&] { return ledger.has_done(1); }, 30s), brood.log_tail());
}

// If a script names one forbidden queue, Redis refuses all of it.  And a supervisor that cannot write its heartbeat
// soon stops fetching.
BOOST_AUTO_TEST_CASE(a_missing_right_to_one_queue_or_the_heartbeat_is_found_before_it_is_needed) {
  RedisServer redis;
  const std::string beat = "~*:*:" + std::string(12, '?');
  const std::vector<std::string> needed{"~queue:",
                                        "~queue:a",
                                        "~queues",
                                        "~paused",
                                        "~it-*",
                                        "~processes",
                                        "~retry",
                                        "~dead",
                                        "~schedule",
                                        "~brood:*",
                                        beat,
                                        beat + ":work*",
                                        beat + "-signals",
                                        "~stat:*",
                                        "~j|*",
                                        "~h|*",
                                        "&__redis__:invalidate"};
  const auto allow = [&](const std::string& user, const std::string& but) {
    Command set{"ACL", "SETUSER", user, "on", ">secret", "+@all"};
    for (const std::string& rule : needed) {
      if (rule != but) set.add(rule);
    }
    redis.command(set);
  };
  allow("worker", "");
  allow("mute", beat);
  const auto check = [&](const std::string& user, const std::vector<std::string>& queues) {
    std::vector<std::string> words{"run", "--check", "--redis", address_of(redis, user + ":secret@")};
    for (const std::string& queue : queues) words.insert(words.end(), {"-q", queue});
    return run_brood(words);
  };

  BOOST_TEST(check("worker", {"a"}).status == 0, check("worker", {"a"}).errors);
  const CommandResult one_queue = check("worker", {"a", "b"}), all_queues = check("worker", {"*"}),
                      no_beat = check("mute", {"a"});
  BOOST_TEST(one_queue.status == EX_TEMPFAIL);
  BOOST_TEST(contains(one_queue.errors, "LTRIM queue:b"), one_queue.errors);
  BOOST_TEST(all_queues.status == EX_TEMPFAIL);
  BOOST_TEST(contains(all_queues.errors, "LTRIM queue:*"), all_queues.errors);
  BOOST_TEST(no_beat.status == EX_TEMPFAIL);
  BOOST_TEST(contains(no_beat.errors, "HDEL "), no_beat.errors);

  const TemporaryDirectory directory;
  const std::string config =
      "concurrency = 1\n[redis]\nurl = \"" + address_of(redis, "worker:secret@") + "\"\ngive_up_after = \"1s\"\n";
  const std::string file = directory.write("brood.toml", "queues = [\"a\"]\n" + config);
  BroodProcess brood(BroodOptions{.workers = 1, .sets_workers = false, .arguments = {"-C", file}});
  BOOST_REQUIRE_MESSAGE(brood.wait_ready(), brood.log_tail());
  directory.write("brood.toml", "queues = [\"a\", \"b\"]\n" + config);
  const CommandResult restart = run_brood({"restart"}, brood.environment());
  BOOST_TEST(restart.status == EX_CONFIG, restart.errors);
  BOOST_TEST(contains(restart.errors, "LTRIM queue:b"), restart.errors);
  const Ledger ledger(directory / "ledger");
  enqueue_ledger_jobs(redis, ledger.path(), 1, 0, "a");
  BOOST_TEST(eventually([&] { return ledger.has_done(1); }, 30s), brood.log_tail());

  BroodProcess other(BroodOptions{.workers = 1, .sets_workers = false, .arguments = {"-C", file}});
  BOOST_TEST(other.wait_exit(60s).value_or(-1) == EX_TEMPFAIL, other.log_tail());
  BOOST_TEST(!contains(other.log(), "event=ready"), other.log_tail());
}
