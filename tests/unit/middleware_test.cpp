
#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <fstream>
#include <initializer_list>
#include <string>
#include <vector>

#include "tests/support/file_text.hpp"
#include "tests/support/temporary_directory.hpp"
#include "worker/job/hooks.hpp"
#include "worker/job/perform.hpp"
#include "worker/job/settle_failed_job.hpp"

using namespace brood;

namespace {

std::string library(const std::string& name) { return BROOD_BINARY_DIR "/tests/job_libraries/lib" + name + ".so"; }

using Lines = std::vector<std::string>;

// Libraries, and what their code has noted.
struct Stage {
  explicit Stage(std::initializer_list<const char*> names) {
    for (const char* name : names) registry.load(library(name));
    setenv("MIDDLEWARE_TEST_NOTES", path.c_str(), 1);
  }
  ~Stage() { unsetenv("MIDDLEWARE_TEST_NOTES"); }

  Lines notes() {
    Lines lines = lines_of_file(path);
    std::ofstream(path, std::ios::trunc).flush();
    return lines;
  }
  Performed run(const Payload& payload, const std::string& capsule = "default") {
    return perform(registry, payload, "pictures", JobHost{.capsule = capsule});
  }

  TemporaryDirectory directory;
  const std::string path = directory / "notes";
  JobRegistry registry;
};

Payload job(const std::string& job_class, const std::string& args = "[]", const std::string& more = "") {
  return Payload::parse(R"({"class":")" + job_class + R"(","args":)" + args + R"(,"jid":"0123456789abcdef01234567")" +
                        more + "}");
}

bool succeeded(const Performed& performed) { return performed.kind == Performed::Kind::succeeded; }

}  // namespace

#define BOOST_TEST_LINES(seen, ...) BOOST_TEST((seen) == (Lines{__VA_ARGS__}), boost::test_tools::per_element())

BOOST_AUTO_TEST_CASE(a_librarys_middleware_is_around_its_own_jobs_alone) {
  Stage stage{"wrapped_jobs", "perform_jobs"};
  BOOST_TEST(succeeded(stage.run(job("Says", R"(["hello"])"))));
  BOOST_TEST_LINES(stage.notes(), R"(own before Says["hello"])", "says hello in default", "own after");
  BOOST_TEST(succeeded(stage.run(job("NoArguments"))));
  BOOST_TEST_LINES(stage.notes());
}

BOOST_AUTO_TEST_CASE(a_middleware_may_be_for_some_capsules) {
  Stage stage{"wrapped_jobs"};
  BOOST_TEST(succeeded(stage.run(job("Says", R"(["hello"])"), "images")));
  BOOST_TEST_LINES(stage.notes(), R"(own before Says["hello"])", R"(inner before Says["hello"])",
                   "says hello in images", "inner after", "own after");
}

BOOST_AUTO_TEST_CASE(a_library_without_jobs_is_around_those_of_all_the_first_outermost) {
  Stage stage{"for_all", "wrapped_jobs", "for_all_too", "perform_jobs"};
  BOOST_TEST(succeeded(stage.run(job("Says", R"(["hello"])"))));
  BOOST_TEST_LINES(stage.notes(), R"(all before Says["hello"])", R"(too before Says["hello"])",
                   R"(own before Says["hello"])", "says hello in default", "own after", "too after", "all after");
  BOOST_TEST(succeeded(stage.run(job("NoArguments"))));
  BOOST_TEST_LINES(stage.notes(), "all before NoArguments[]", "too before NoArguments[]", "too after", "all after");
}

BOOST_AUTO_TEST_CASE(middleware_that_stops_a_job_has_done_it) {
  Stage stage{"for_all", "wrapped_jobs"};
  for (const char* name : {"all", "own"}) {
    BOOST_TEST(succeeded(stage.run(job("Says", R"(["hello"])", R"(,")" + std::string(name) + R"(_does":"stop")"))));
    const Lines notes = stage.notes();
    BOOST_TEST(std::count(notes.begin(), notes.end(), "says hello in default") == 0);
  }
}

BOOST_AUTO_TEST_CASE(what_a_middleware_throws_is_how_the_job_failed) {
  Stage stage{"for_all", "wrapped_jobs"};
  for (const char* name : {"all", "own"}) {
    const Performed thrown = stage.run(job("Says", R"(["hello"])", R"(,")" + std::string(name) + R"(_does":"throw")"));
    BOOST_TEST((thrown.kind == Performed::Kind::failed));
    BOOST_TEST(thrown.failure.error_class == "std::domain_error");
    BOOST_TEST(thrown.failure.message == "thrown by middleware");
  }
}

BOOST_AUTO_TEST_CASE(a_failure_passes_all_layers_with_its_words_and_the_hook_sees_the_live_exception) {
  Stage stage{"for_all", "wrapped_jobs"};
  const Performed performed = stage.run(job("Fails"));
  BOOST_TEST(performed.failure.error_class == "Boom");
  BOOST_TEST(performed.failure.message == "boom");
  BOOST_TEST_LINES(stage.notes(), "all before Fails[]", "own before Fails[]", "own catches boom",
                   "all catches JobFailure Boom: boom");
  BOOST_TEST(ask_retry_in(stage.registry, job("Fails"), "pictures", performed.failure).delay.count() == 7);
}

BOOST_AUTO_TEST_CASE(a_failure_may_be_forgiven) {
  Stage stage{"for_all", "wrapped_jobs"};
  BOOST_TEST(succeeded(stage.run(job("Fails", "[]", R"(,"all_forgives":1)"))));
  BOOST_TEST(succeeded(stage.run(job("Fails", "[]", R"(,"own_forgives":1)"))));
}

BOOST_AUTO_TEST_CASE(an_interruption_passes_all_layers) {
  Stage stage{"for_all", "wrapped_jobs"};
  BOOST_TEST((stage.run(job("WindsUp")).kind == Performed::Kind::interrupted));
  BOOST_TEST_LINES(stage.notes(), "all before WindsUp[]", "own before WindsUp[]", "own is interrupted",
                   "all is interrupted");
}

BOOST_AUTO_TEST_CASE(what_runs_inside_may_be_changed) {
  Stage stage{"for_all", "wrapped_jobs"};
  for (const std::string name : {"all", "own"}) {
    const auto does = [&](const char* what) { return ",\"secret\":1,\"" + name + "_does\":\"" + what + "\""; };
    BOOST_TEST_CONTEXT(name) {
      BOOST_TEST(succeeded(stage.run(job("Says", R"(["hello"])", does("change args")))));
      BOOST_TEST(stage.notes()[2] == "says changed in default");
      BOOST_TEST(succeeded(stage.run(job("Says", R"(["hello"])", does("change class")))));
      BOOST_TEST(stage.notes()[2] == "other hello as SaysOther");
      BOOST_TEST(succeeded(stage.run(job("Says", R"(["payload"])", does("change payload")))));
      BOOST_TEST(stage.notes()[3] == R"({"class":"Says","args":["payload"],"jid":"0123456789abcdef01234567",")" + name +
                                         R"(_does":"change payload","tenant":42})");
      const Performed lost = stage.run(job("Says", R"(["hello"])", does("change class to nothing")));
      BOOST_TEST(lost.failure.error_class == "NameError");
      stage.notes();
      BOOST_TEST(succeeded(stage.run(job("Says", R"(["hello"])", does("again")))));
      const Lines notes = stage.notes();
      BOOST_TEST(std::count(notes.begin(), notes.end(), "says hello in default") == 2);
    }
  }
}

BOOST_AUTO_TEST_CASE(what_is_no_librarys_code_runs_within_middleware_and_fails_with_all_that_is_known_of_it) {
  Stage stage{"for_all"};
  std::string ran;
  const auto run = [&](const std::string& more, const Performed& how) {
    return perform_in_middleware(stage.registry, job("Convert", "[1]", more), "pictures", JobHost{},
                                 [&](const Payload& payload) {
                                   ran = payload.text();
                                   return how;
                                 });
  };
  BOOST_TEST(succeeded(run("", {})));
  BOOST_TEST(ran == job("Convert", "[1]").text());
  BOOST_TEST_LINES(stage.notes(), "all before Convert[1]", "all after");
  run(R"(,"all_does":"change args")", {});
  BOOST_TEST(Payload::parse(ran).args() == R"(["changed"])");

  Performed failed;
  failed.kind = Performed::Kind::failed;
  failed.failure.error_class = "ProgramError";
  failed.failure.message = "exit status 3";
  failed.failure.backtrace = {"its last line"};
  BOOST_TEST(run("", failed).failure.backtrace.size() == 1u);
  BOOST_TEST(succeeded(run(R"(,"all_forgives":1)", failed)));
  const Performed instead = run(R"(,"all_does":"throw")", failed);
  BOOST_TEST(instead.failure.error_class == "std::domain_error");
  BOOST_TEST(instead.failure.backtrace.empty());
}

BOOST_AUTO_TEST_CASE(an_unknown_class_reaches_no_middleware) {
  Stage stage{"for_all"};
  BOOST_TEST(stage.run(job("Nobody")).failure.error_class == "NameError");
  BOOST_TEST_LINES(stage.notes());
}

BOOST_AUTO_TEST_CASE(error_handlers_hear_of_every_failure_and_death_handlers_of_the_last) {
  Stage stage{"for_all", "wrapped_jobs", "perform_jobs"};
  const auto settle = [&](const std::string& job_class, const std::string& more = "") {
    const Payload failed = job(job_class, "[]", more);
    const Performed performed = stage.run(failed);
    stage.notes();
    return settle_failure(stage.registry, failed, "pictures", performed.failure, {});
  };
  BOOST_TEST((settle("Fails", R"(,"retry":5)").kind == Outcome::Kind::retry));
  BOOST_TEST_LINES(stage.notes(), "all error Boom boom", "own error Fails boom");
  BOOST_TEST((settle("Fails", R"(,"retry":0)").kind == Outcome::Kind::move_to_dead));
  BOOST_TEST_LINES(stage.notes(), "all error Boom boom", "own error Fails boom", "all death Fails",
                   "own death 0123456789abcdef01234567");
  BOOST_TEST((settle("ThrowsText", R"(,"retry":5)").kind == Outcome::Kind::retry));
  BOOST_TEST(stage.notes().size() == 1u);  // not that of the library next door
  BOOST_TEST((settle("Nobody", R"(,"retry":5)").kind == Outcome::Kind::retry));
  BOOST_TEST(stage.notes().size() == 2u);  // it belongs to no known job
}

BOOST_AUTO_TEST_CASE(a_crash_is_told_with_its_report_to_every_library) {
  Stage stage{"for_all", "perform_jobs"};
  Failure crash;
  crash.error_class = "SIGSEGV";
  crash.message = "SIGSEGV at 0x10";
  crash.crash = true;
  run_crash_handlers(stage.registry, job("NoArguments"), "pictures", crash, 3, "SIGSEGV at 0x10\n#0 f()");
  BOOST_TEST_LINES(stage.notes(), "all crash of NoArguments in slot 3: SIGSEGV at 0x10", "#0 f()");
  BOOST_TEST(stage.registry.has_failure_handlers("NoArguments"));
  Stage alone{"perform_jobs", "wrapped_jobs"};
  BOOST_TEST(alone.registry.has_failure_handlers("Says"));
}
