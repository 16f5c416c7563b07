#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <fstream>
#include <string>

#include "tests/support/file_text.hpp"
#include "tests/support/ledger.hpp"
#include "tests/support/temporary_directory.hpp"
#include "worker/job/hooks.hpp"
#include "worker/job/perform.hpp"

using namespace brood;

// The examples that end well, or by an exception; those that crash are run by the lifecycle tests.

namespace {

Payload job(const std::string& job_class, const std::string& args) {
  return Payload::parse(R"({"class":")" + job_class + R"(","args":)" + args + R"(,"jid":"j1"})");
}

struct Examples {
  TemporaryDirectory directory;
  JobRegistry registry;
  std::string deaths = directory.path() + "/deaths";

  Examples() {
    setenv("BROOD_EXAMPLE_DEATHS", deaths.c_str(), 1);
    registry.load(BROOD_BINARY_DIR "/worker/examples/libexamples.so");
  }

  Performed run(const std::string& job_class, const std::string& args, bool stopping = false) {
    return perform(registry, job(job_class, args), "default", JobHost{[stopping] { return stopping; }});
  }
  // "" when it ended well, else the error.
  std::string error(const std::string& job_class, const std::string& args) {
    const Performed performed = run(job_class, args);
    if (performed.kind == Performed::Kind::succeeded) return "";
    return performed.failure.error_class + ": " + performed.failure.message;
  }
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(jobs_take_their_arguments, Examples) {
  BOOST_TEST(error("Greet", "[]") == "");
  BOOST_TEST(error("Greet", R"(["you"])") == "");
  BOOST_TEST(error("AddNumbers", "[[1, 2.5]]") == "");
  BOOST_TEST(error("Sleep", "[1]") == "");
  BOOST_TEST(error("Examples::Typed",
                   R"([true,7,1.5,"t",[3,4],[[1,2]],[1,2,3],{"a":1.0},{"l":["x"]},{"any":[]},"maybe"])") == "");
  BOOST_TEST(error("Fail", R"(["why"])") == "std::runtime_error: why");
  BOOST_TEST(error("FailOddly", "[]") ==
             "std::optional<int>: an exception of type std::optional<int>, which is no std::exception");
}

BOOST_FIXTURE_TEST_CASE(a_polite_job_asks_to_be_requeued_when_it_should_stop, Examples) {
  BOOST_TEST((run("PoliteLoop", "[60000]", true).kind == Performed::Kind::interrupted));
  BOOST_TEST((run("PoliteLoop", "[1]").kind == Performed::Kind::succeeded));
  BOOST_TEST((run("Stubborn", "[1]", true).kind == Performed::Kind::succeeded));
}

BOOST_FIXTURE_TEST_CASE(the_second_attempt_of_fail_once_succeeds, Examples) {
  const std::string args = "[\"" + directory.path() + "/tried\"]";
  BOOST_TEST(error("FailOnce", args) == "std::runtime_error: the first attempt fails");
  BOOST_TEST(error("FailOnce", args) == "");
}

BOOST_FIXTURE_TEST_CASE(a_ledger_tells_beginning_and_end, Examples) {
  const std::string path = directory.path() + "/ledger";
  BOOST_TEST(error("Ledger", "[\"" + path + "\",\"0\"]") == "");
  BOOST_TEST(error("Ledger", "[\"" + path + "\",\"1\",1]") == "");
  const auto runs = Ledger(path).runs();
  BOOST_REQUIRE(runs.size() == 2u);
  BOOST_TEST(runs[1].id == "1");
  BOOST_TEST(runs[1].ended.value() - runs[1].began >= 1'000'000);
  BOOST_TEST(text_of_file(path).find(" 0 0 ") == std::string::npos);  // the process's start time was found
}

BOOST_FIXTURE_TEST_CASE(hooks_decide, Examples) {
  const auto ask = [&](const std::string& answer) {
    const Payload payload = job("RetryHook", "[\"" + answer + "\"]");
    return ask_retry_in(registry, payload, "default", perform(registry, payload, "default", JobHost{}).failure);
  };
  BOOST_TEST(ask("30").delay.count() == 30);
  BOOST_TEST((ask("discard").kind == HookAnswer::Kind::discard));
  BOOST_TEST((ask("kill").kind == HookAnswer::Kind::kill));
  BOOST_TEST((ask("usual").kind == HookAnswer::Kind::none));

  const std::string path = directory.path() + "/exhausted";
  const Payload exhausted = job("ExhaustedHook", "[\"" + path + "\",true]");
  const Failure failure = perform(registry, exhausted, "default", JobHost{}).failure;
  BOOST_TEST(ask_exhausted(registry, exhausted, "default", failure));
  BOOST_TEST(text_of_file(path) == "exhausted j1 std::runtime_error: no attempt is left\n");
}

BOOST_FIXTURE_TEST_CASE(a_death_is_written_down, Examples) {
  Failure crash;
  crash.error_class = "SIGSEGV";
  crash.message = "at 0x10";
  crash.crash = true;
  run_death_handlers(registry, job("Segfault", "[]"), "default", crash);
  BOOST_TEST(text_of_file(deaths) == "dead j1 Segfault SIGSEGV: at 0x10\n");
}

BOOST_FIXTURE_TEST_CASE(a_job_of_many_items_goes_on_where_it_was, Examples) {
  const std::string from = directory.path() + "/from", to = directory.path() + "/to";
  std::ofstream(from) << "one\ntwo\nthree\n";
  IterationState state;
  const auto run_for = [&](int items) {
    int asked = 0;
    const IterationHost iterations{.interrupt = [&] { return asked++ >= items; },
                                   .load = [&] { return state; },
                                   .save =
                                       [&](const IterationState& saved) {
                                         state = saved;
                                         return false;
                                       },
                                   .end = [] {}};
    return perform(registry, job("CopyLines", "[\"" + from + "\",\"" + to + "\"]"), "default",
                   JobHost{.iterations = iterations})
        .kind;
  };
  BOOST_TEST((run_for(2) == Performed::Kind::interrupted));
  BOOST_TEST(text_of_file(to) == "one\ntwo\n");
  BOOST_TEST(state.cursor == "8");
  BOOST_TEST((run_for(9) == Performed::Kind::succeeded));
  BOOST_TEST(text_of_file(to) == "one\ntwo\nthree\n");
}
