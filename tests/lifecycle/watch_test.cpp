#include <boost/test/unit_test.hpp>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <map>
#include <memory>
#include <regex>
#include <string>

#include "tests/support/brood_process.hpp"
#include "tests/support/enqueue.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/file_text.hpp"
#include "tests/support/lends_terminals.hpp"
#include "tests/support/tmux_terminal.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

constexpr const char* jid_of_sleep = "000000000000000000000007";
constexpr auto patience = 30s;

// A terminal, and a brood with a running job, one that has crashed its worker, and three that no worker fetches.
struct Watched {
  RedisServer redis{{.append_only = true}};
  BroodProcess brood;
  TmuxTerminal terminal;

  explicit Watched(int columns = 80, int rows = 24)
      : brood(redis, {.workers = 2, .config = "[worker]\ntimeout_grace = \"200ms\"\n"}),
        terminal(columns, rows, environment(brood, redis)) {
    BOOST_REQUIRE_MESSAGE(brood.wait_ready(), brood.log_tail());
    enqueue(redis, {payload_text("Segfault", "[]", 1, "\"retry\":false")});
    BOOST_REQUIRE_MESSAGE(eventually([&] { return redis.size_of("brood:crash_times") == 1; }, patience),
                          brood.log_tail());
    enqueue(redis, {payload_text("Sleep", "[600000]", 7)});
    enqueue(redis, {payload_text("Ruby", "[]", 8), payload_text("Ruby", "[]", 9), payload_text("Ruby", "[]", 10)},
            "others");
    BOOST_REQUIRE_MESSAGE(eventually([&] { return jobs_in_flight(redis) == 1; }, patience), brood.log_tail());
  }

  static std::map<std::string, std::string> environment(const BroodProcess& brood, const RedisServer& redis) {
    std::map<std::string, std::string> environment = brood.environment();
    environment["REDIS_URL"] = redis.url();
    return environment;
  }

  // Waits until it shows the running job.
  void start(const std::string& before = "", const std::string& options = "") {
    terminal.type("clear; " + before + " " BROOD_BINARY_DIR "/bin/brood status --watch --interval 200ms " + options +
                  "; echo \"ended: $?\"");
    terminal.press("Enter");
    shows("Sleep");
    shows("answers");
  }

  void shows(const std::string& wanted) {
    BOOST_TEST(terminal.comes_to_show(wanted), "no \"" << wanted << "\" in\n" << terminal.text() << brood.log_tail());
  }
  void hides(const std::string& unwanted) {
    BOOST_TEST(terminal.comes_to_hide(unwanted), "still \"" << unwanted << "\" in\n" << terminal.text());
  }
  bool matches(const std::string& pattern) {
    const std::regex wanted(pattern);
    return terminal.comes_to([&](const std::string& text) { return std::regex_search(text, wanted); });
  }

  // The program that the shell runs; -1 if none.
  pid_t program() {
    const std::vector<pid_t> children = children_of(terminal.shell());
    return children.empty() ? -1 : children.front();
  }
};

}  // namespace

BOOST_AUTO_TEST_CASE(a_small_terminal_shows_jobs_crashes_and_queues, *boost::unit_test::precondition(lends_terminals)) {
  Watched watched;
  watched.start();
  BOOST_TEST(watched.matches(R"(busy +\d+m?s? Sleep +00000000)"), watched.terminal.text());
  BOOST_TEST(watched.matches(R"(busy +1 of 2 \[)"), watched.terminal.text());
  watched.shows("enqueued         3");

  watched.terminal.press("2");
  BOOST_TEST(watched.matches(R"(others +3)"), watched.terminal.text());
  watched.redis.command({"SADD", "paused", "others"});
  BOOST_TEST(watched.matches(R"(others +3 .* paused)"), watched.terminal.text());

  watched.terminal.press("4");
  watched.shows("SIGSEGV");
  watched.terminal.press("Enter");
  watched.shows("#0 Segfault::perform() at crashes.cpp:");
  watched.terminal.press("Escape");
  watched.hides("#0 Segfault");

  watched.terminal.press("5");
  BOOST_TEST(watched.matches(R"(running +\d/2 +default)"), watched.terminal.text());
  watched.terminal.press("Tab");
  watched.shows("[1 Workers");
}

BOOST_AUTO_TEST_CASE(what_the_workers_do_now_is_counted, *boost::unit_test::precondition(lends_terminals)) {
  Watched watched;
  watched.start();
  watched.shows("rates: this machine, now");
  enqueue(watched.redis, {payload_text("Greet", "[\"you\"]", 20), payload_text("Fail", "[\"no\"]", 21)});
  BOOST_TEST(watched.matches(R"(processed +\S+/s .*█)"), watched.terminal.text());
  BOOST_TEST(watched.matches(R"(failed +\S+/s .*█)"), watched.terminal.text());
  watched.terminal.press("3");
  BOOST_TEST(watched.matches(R"(Greet +1 +0 +0)"), watched.terminal.text());
  BOOST_TEST(watched.matches(R"(Fail +1 +1 +0)"), watched.terminal.text());
}

BOOST_AUTO_TEST_CASE(it_follows_the_size_of_the_terminal, *boost::unit_test::precondition(lends_terminals)) {
  Watched watched(200, 50);
  watched.start();
  watched.shows(jid_of_sleep);
  watched.shows("GENERATION");
  watched.terminal.resize(80, 24);
  watched.hides(jid_of_sleep);
  watched.shows("Sleep");
  watched.terminal.resize(40, 10);
  watched.shows("[1 Workers 2] 2  3  4  5");
  watched.terminal.resize(9, 3);
  watched.terminal.resize(1, 1);
  watched.terminal.resize(200, 50);
  watched.shows(jid_of_sleep);
}

BOOST_AUTO_TEST_CASE(it_goes_on_while_redis_is_away, *boost::unit_test::precondition(lends_terminals)) {
  Watched watched;
  watched.start();
  watched.redis.kill9();
  watched.shows("no answer since");
  BOOST_TEST(watched.matches(R"(busy +\d+m?s? Sleep)"), watched.terminal.text());
  watched.redis.restart();
  watched.shows("answers");
  watched.hides("no answer");
}

BOOST_AUTO_TEST_CASE(a_redis_that_does_not_answer_holds_up_no_key, *boost::unit_test::precondition(lends_terminals)) {
  Watched watched;
  watched.start();
  watched.redis.pause();
  watched.terminal.press("3");
  watched.shows("AVERAGE");
  watched.shows("no answer since");
  watched.terminal.press("q");
  watched.shows("ended: 0");
  watched.redis.resume();
}

BOOST_AUTO_TEST_CASE(a_frozen_redis_does_not_hold_up_the_end_either, *boost::unit_test::precondition(lends_terminals)) {
  Watched watched;
  watched.start();
  watched.redis.pause();
  watched.terminal.press("q");
  watched.shows("ended: 0");
  watched.redis.resume();
}

BOOST_AUTO_TEST_CASE(every_end_leaves_the_terminal_as_it_was, *boost::unit_test::precondition(lends_terminals)) {
  Watched watched;
  const std::string directory = watched.brood.home().path();
  const auto settings = [&](const std::string& name) {
    watched.terminal.type("clear; stty -a > " + directory + "/" + name + "; echo settings \"are\" there");
    watched.terminal.press("Enter");
    watched.shows("settings are there");
    return text_of_file(directory + "/" + name);
  };
  const std::string before = settings("before");
  BOOST_REQUIRE(before.find("icanon") != std::string::npos);

  const std::map<std::string, std::function<void()>> ends = {
      {"q", [&] { watched.terminal.press("q"); }},
      {"Ctrl-C", [&] { watched.terminal.press("C-c"); }},
      {"TERM", [&] { kill(watched.program(), SIGTERM); }},
      {"HUP", [&] { kill(watched.program(), SIGHUP); }},
  };
  for (const auto& [name, end] : ends) {
    BOOST_TEST_CONTEXT(name) {
      watched.start();
      end();
      watched.shows("ended: 0");
      watched.hides("Workers");  // the shell's own screen is back
      BOOST_TEST(settings("after") == before);
    }
  }
}

BOOST_AUTO_TEST_CASE(it_can_be_stopped_and_continued, *boost::unit_test::precondition(lends_terminals)) {
  Watched watched;
  watched.start();
  watched.terminal.press("C-z");
  watched.shows("Stopped");
  watched.terminal.type("clear; echo mean\"while\"");
  watched.terminal.press("Enter");
  watched.shows("meanwhile");
  watched.terminal.type("fg");
  watched.terminal.press("Enter");
  watched.shows("[1 Workers 2]");
  watched.hides("meanwhile");
  watched.terminal.press("2");
  watched.shows("[2 Queues");
}

BOOST_AUTO_TEST_CASE(it_ends_when_its_terminal_is_closed, *boost::unit_test::precondition(lends_terminals)) {
  Watched watched;
  watched.start();
  const pid_t program = watched.program();
  BOOST_REQUIRE(program > 0);
  watched.terminal.close();
  BOOST_TEST(eventually([&] { return !process_exists(program); }, patience));
}

BOOST_AUTO_TEST_CASE(terminals_without_colour_show_the_same_without_it,
                     *boost::unit_test::precondition(lends_terminals)) {
  Watched watched;
  for (const std::string environment : {"TERM=vt100", "NO_COLOR=1", "TERM=screen NO_COLOR=1"}) {
    BOOST_TEST_CONTEXT(environment) {
      watched.start(environment);
      BOOST_TEST(watched.matches(R"(> +\d+ +\d+ \w+)"), watched.terminal.text());
      const std::regex colour("\x1b\\[[0-9;]*(3[0-7]|4[0-7])[;m]");
      BOOST_TEST(!std::regex_search(watched.terminal.text_with_colours(), colour));
      watched.terminal.press("q");
      watched.shows("ended: 0");
    }
  }
  for (const std::string terminal : {"linux", "screen", "screen-256color", "xterm", "rxvt"}) {
    BOOST_TEST_CONTEXT(terminal) {
      watched.start("TERM=" + terminal);
      watched.terminal.press("q");
      watched.shows("ended: 0");
    }
  }
}

BOOST_AUTO_TEST_CASE(a_job_is_ended_after_a_question, *boost::unit_test::precondition(lends_terminals)) {
  Watched watched;
  watched.start();
  watched.terminal.type("/");
  watched.shows("\n/");
  watched.terminal.type("sleep");
  watched.terminal.press("Enter");
  watched.shows("filter \"sleep\"  1 of 1");
  watched.terminal.press("K");
  watched.shows(std::string("End Sleep ") + jid_of_sleep);
  watched.terminal.press("n");
  watched.hides("End Sleep");
  BOOST_TEST(watched.redis.size_of("retry") == 0u);
  watched.terminal.press("K");
  watched.shows("y/n");
  watched.terminal.press("y");
  watched.shows(std::string("ended Sleep ") + jid_of_sleep);
  BOOST_TEST(eventually([&] { return watched.redis.size_of("retry") == 1; }, patience), watched.brood.log_tail());
}

BOOST_AUTO_TEST_CASE(a_brood_that_was_removed_meanwhile_ends_nothing,
                     *boost::unit_test::precondition(lends_terminals)) {
  Watched watched;
  const std::filesystem::path built = BROOD_BINARY_DIR "/bin", copies = watched.brood.home().path();
  for (const char* program : {"brood", "brood-watch"}) std::filesystem::copy_file(built / program, copies / program);
  watched.terminal.type("clear; " + (copies / "brood").string() + " status --watch; echo \"ended: $?\"");
  watched.terminal.press("Enter");
  watched.shows("Sleep");
  std::filesystem::remove(copies / "brood");
  watched.terminal.type("/sleep");
  watched.terminal.press("Enter");
  watched.shows("1 of 1");
  watched.terminal.press("d");
  watched.shows("brood dump cannot be started");
  std::filesystem::copy_file(built / "brood", copies / "brood");  // as an upgrade does
  watched.terminal.press("d");
  watched.shows("Stack");
}

BOOST_AUTO_TEST_CASE(it_shows_no_password_to_others, *boost::unit_test::precondition(lends_terminals)) {
  Watched watched;
  watched.redis.command({"ACL", "SETUSER", "looker", "on", ">hidden", "~*", "&*", "+@all"});
  std::string url = watched.redis.url();
  watched.start("", "--redis '" + url.insert(url.find("://") + 3, "looker:hidden@") + "'");
  BOOST_TEST(text_of_file("/proc/" + std::to_string(watched.program()) + "/comm") == "brood-watch\n");
  BOOST_TEST(text_of_file("/proc/" + std::to_string(watched.program()) + "/cmdline").find("hidden") ==
             std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_worker_says_where_it_is, *boost::unit_test::precondition(lends_terminals)) {
  Watched watched;
  watched.start();
  watched.terminal.type("/sleep");
  watched.terminal.press("Enter");
  watched.shows("1 of 1");
  watched.terminal.press("d");
  watched.shows("Sleep::perform()");
}

BOOST_AUTO_TEST_CASE(what_others_wrote_does_not_break_the_columns, *boost::unit_test::precondition(lends_terminals)) {
  Watched watched;
  watched.redis.command({"SADD", "queues", "\x1b[2Jevil\n\xff", "日本語のキュー"});
  watched.start();
  watched.terminal.press("2");
  watched.shows("\\x1b[2Jevil\\n\\xff");
  BOOST_TEST(watched.matches("\n  日本語のキュー +0 +0\n"), watched.terminal.text());
}

BOOST_AUTO_TEST_CASE(without_a_usable_terminal_it_exits_with_the_reason,
                     *boost::unit_test::precondition(lends_terminals)) {
  const CommandResult piped = run_brood({"status", "--watch"});
  BOOST_TEST(piped.status == 64);
  BOOST_TEST(piped.errors.starts_with("brood status: --watch needs a terminal\n"), piped.errors);
  BOOST_TEST(run_brood({"status", "--watch", "--json"}).status == 64);
  BOOST_TEST(run_brood({"status", "--watch", "--interval", "1ms"}).status == 64);

  Watched watched;
  for (const auto& [terminal, sentence] :
       {std::pair("nonsense", "unknown terminal \"nonsense\""), std::pair("dumb", "can place its cursor")}) {
    watched.terminal.type(std::string("clear; TERM=") + terminal +
                          " " BROOD_BINARY_DIR "/bin/brood status --watch; echo \"ended: $?\"");
    watched.terminal.press("Enter");
    watched.shows(sentence);
    watched.shows("ended: 64");
  }
}

BOOST_AUTO_TEST_CASE(it_works_without_a_supervisor_and_without_a_redis,
                     *boost::unit_test::precondition(lends_terminals)) {
  const TemporaryDirectory directory;
  TmuxTerminal terminal(
      80, 24, {{"RUNTIME_DIRECTORY", directory / "none"}, {"REDIS_URL", "unix://" + (directory / "none.sock")}});
  terminal.type("clear; " BROOD_BINARY_DIR "/bin/brood status --watch; echo \"ended: $?\"");
  terminal.press("Enter");
  BOOST_TEST(terminal.comes_to_show("no answer since"), terminal.text());
  BOOST_TEST(terminal.comes_to_show("no supervisor of this machine"), terminal.text());
  terminal.press("4");
  BOOST_TEST(terminal.comes_to_show("Redis has not answered yet"), terminal.text());
  terminal.press("q");
  BOOST_TEST(terminal.comes_to_show("ended: 0"), terminal.text());
}
