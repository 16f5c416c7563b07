#include "worker/job/perform.hpp"
#include "worker/job/hooks.hpp"

#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <sstream>
#include <string>

#include "tests/support/file_text.hpp"
#include "tests/support/temporary_directory.hpp"
#include "tests/support/vectors.hpp"
#include "worker/crash/throw_watch.hpp"
#include "worker/crash/thrown_stack.hpp"

using namespace brood;

namespace {

const JobRegistry& registry() {
  static const JobRegistry loaded = [] {
    JobRegistry registry;
    for (const char* name : {"perform_jobs", "same_name"}) {
      registry.load(std::string(BROOD_BINARY_DIR "/tests/job_libraries/lib") + name + ".so");
    }
    return registry;
  }();
  return loaded;
}

Payload job(const std::string& job_class, const std::string& args = "[]", const std::string& more = "") {
  return Payload::parse(R"({"class":")" + job_class + R"(","args":)" + args + R"(,"jid":"0123456789abcdef01234567")" +
                        more + "}");
}

Performed run(const Payload& payload, bool stopping = false) {
  return perform(registry(), payload, "images", JobHost{[stopping] { return stopping; }});
}

Failure failure_of(const std::string& job_class, const std::string& args = "[]") {
  const Performed performed = run(job(job_class, args));
  BOOST_TEST((performed.kind == Performed::Kind::failed));
  return performed.failure;
}

std::string message_of(const std::string& args, const std::string& job_class = "ResizeImage") {
  const Failure failure = failure_of(job_class, args);
  BOOST_TEST(failure.error_class == "ArgumentError");
  return failure.message;
}

bool succeeds(const std::string& job_class, const std::string& args) {
  const Performed performed = run(job(job_class, args));
  BOOST_TEST_MESSAGE(performed.failure.message);
  return performed.kind == Performed::Kind::succeeded;
}

std::string quoted(const std::string& path) { return "[\"" + path + "\"]"; }

// The value in compact form.
std::string json_of(const test::VectorValue& value) {
  std::string text;
  switch (value.kind) {
    case test::VectorValue::Kind::object:
      for (const auto& [key, member] : value.members)
        text += (text.empty() ? "" : ",") + ('"' + key + "\":") + json_of(member);
      return "{" + text + "}";
    case test::VectorValue::Kind::array:
      for (const auto& element : value.elements) text += (text.empty() ? "" : ",") + json_of(element);
      return "[" + text + "]";
    case test::VectorValue::Kind::string:
      return '"' + value.text + '"';
    default:
      return value.text;
  }
}

Failure crash() {
  Failure failure;
  failure.error_class = "SIGSEGV";
  failure.message = "SIGSEGV (SEGV_MAPERR) at 0x10";
  failure.crash = true;
  return failure;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_job_gets_its_arguments_as_fields) {
  BOOST_TEST(succeeds("ResizeImage", R"(["cat.png", 320])"));
  BOOST_TEST(succeeds("ResizeImage", R"( [ "cat.png" , 320 , null ] )"));
  BOOST_TEST(succeeds("AtLeastOne", "[1]"));
  BOOST_TEST(succeeds("NoArguments", "[]"));
  BOOST_TEST(failure_of("AtLeastOne", "[1,5]").message == "second is 5");
}

BOOST_AUTO_TEST_CASE(jobs_of_other_programs_get_their_arguments) {
  const TemporaryDirectory directory;
  const std::string path = directory.path() + "/echo";
  setenv("PERFORM_TEST_ECHO", path.c_str(), 1);
  for (const test::Vector& vector : test::vectors("foreign-")) {
    BOOST_TEST_CONTEXT(vector.id) {
      const Performed performed = run(Payload::parse(vector.input.members.at(0).value.text));
      BOOST_TEST((performed.kind == Performed::Kind::succeeded), performed.failure.message);

      std::stringstream echo(text_of_file(path));
      const auto& expected = vector.expect["performed_with"].elements;
      std::string argument;
      for (const test::VectorValue& value : expected) {
        BOOST_TEST(static_cast<bool>(std::getline(echo, argument)));
        const bool respelled = value.text.find('.') != std::string::npos;  // 1.50, and in the vector 1.5
        if (respelled)
          BOOST_TEST(std::stod(argument) == value.number());
        else
          BOOST_TEST(argument == json_of(value));
      }
      BOOST_TEST(!std::getline(echo, argument));
    }
  }
  unsetenv("PERFORM_TEST_ECHO");
}

BOOST_AUTO_TEST_CASE(arguments_that_do_not_fit_are_named) {
  BOOST_TEST(message_of(R"(["cat.png","abc"])") ==
             R"(ResizeImage: argument 2 (width): expected an integer, got "abc")");
  BOOST_TEST(message_of(R"(["cat.png",3.5])") == "ResizeImage: argument 2 (width): expected an integer, got 3.5");
  BOOST_TEST(message_of(R"([null,3])") == "ResizeImage: argument 1 (path): expected a string, got null");
  BOOST_TEST(message_of(R"(["x",99999999999])") ==
             "ResizeImage: argument 2 (width): expected an integer from -2147483648 to 2147483647, got 99999999999");
  BOOST_TEST(message_of("[1,2,3,4,5]") == "ResizeImage takes 2 to 3 arguments, got 5");
  BOOST_TEST(message_of("[]") == "ResizeImage takes 2 to 3 arguments, got 0");
  BOOST_TEST(message_of("[1]", "NoArguments") == "NoArguments takes 0 arguments, got 1");
}

BOOST_AUTO_TEST_CASE(an_exception_becomes_its_type_and_its_words) {
  const Failure hot = failure_of("Oddities::ThrowsTooHot", R"(["x"])");
  BOOST_TEST(hot.error_class == "Oddities::TooHot");
  BOOST_TEST(hot.message == "too hot");
  BOOST_TEST(hot.from_job);
  BOOST_TEST(!hot.crash);
  BOOST_TEST(failure_of("Oddities::ThrowsTemplate").error_class == "Oddities::Failure<int>");
  BOOST_TEST(failure_of("Oddities::ThrowsTemplate").message == "");
  BOOST_TEST(failure_of("ThrowsInt").error_class == "int");
  BOOST_TEST(failure_of("ThrowsInt").message == "an exception of type int, which is no std::exception");
  BOOST_TEST(failure_of("ThrowsText").message == "plain text");
  BOOST_TEST(failure_of("ThrowsBytes").message == "caf\xEF\xBF\xBD");
  const Failure nested = failure_of("ThrowsNested");
  BOOST_TEST(nested.error_class == "std::runtime_error");
  BOOST_TEST(nested.message ==
             "cannot print; caused by Oddities::TooHot: too hot; caused by std::out_of_range: page 7");
}

BOOST_AUTO_TEST_CASE(arguments_are_checked_without_performing_anything) {
  const auto why_not = [](const std::string& args, const std::string& job_class) {
    const auto failure = why_not_performable(registry(), job(job_class, args));
    return failure ? failure->message : "";
  };
  BOOST_TEST(why_not(R"(["cat.png","abc"])", "ResizeImage") ==
             R"(ResizeImage: argument 2 (width): expected an integer, got "abc")");
  BOOST_TEST(why_not(R"(["cat.png",3])", "ResizeImage") == "");
  BOOST_TEST(why_not("[1]", "NoArguments") == "NoArguments takes 0 arguments, got 1");
  BOOST_TEST(why_not("[]", "ThrowsInt") == "");
  BOOST_TEST(why_not("[]", "ThrowsIn").starts_with(R"(no job class "ThrowsIn" is loaded; did you mean "ThrowsInt"? )"));
}

BOOST_AUTO_TEST_CASE(interrupted_is_no_failure_and_no_std_exception) {
  BOOST_TEST((run(job("Interrupts")).kind == Performed::Kind::interrupted));
}

BOOST_AUTO_TEST_CASE(an_unknown_class_is_a_name_error_that_names_the_known_ones) {
  const Failure failure = failure_of("Foo");
  BOOST_TEST(failure.error_class == "NameError");
  BOOST_TEST(
      failure.message.starts_with(R"(no job class "Foo" is loaded; known: AtLeastOne, DiscardsItself, EchoJob,)"));
  BOOST_TEST(!failure.from_job);
  BOOST_TEST(!class_retry(registry(), job("Foo")));
}

BOOST_AUTO_TEST_CASE(a_context_tells_the_attempt) {
  const TemporaryDirectory directory;
  const std::string path = directory.path() + "/told";
  const Payload first = job("TellsContext", quoted(path));
  BOOST_TEST((run(first).kind == Performed::Kind::succeeded));
  BOOST_TEST(text_of_file(path) == "0123456789abcdef01234567|TellsContext|images|0|1|0|" + first.text());
  const Payload third = job("TellsContext", quoted(path), R"(,"retry_count":1)");
  BOOST_TEST((run(third, true).kind == Performed::Kind::succeeded));
  BOOST_TEST(text_of_file(path) == "0123456789abcdef01234567|TellsContext|images|2|3|1|" + third.text());
}

BOOST_AUTO_TEST_CASE(retry_in_is_asked_with_the_live_exception) {
  const Payload hot = job("Oddities::ThrowsTooHot", R"(["x"])", R"(,"retry_count":3)");
  const Failure failure = run(hot).failure;
  const HookAnswer answer = ask_retry_in(registry(), hot, "images", failure);
  BOOST_TEST((answer.kind == HookAnswer::Kind::delay));
  BOOST_TEST(answer.delay.count() == 451 + 4);

  const Failure odd = run(job("ThrowsInt")).failure;
  BOOST_TEST(ask_retry_in(registry(), job("ThrowsInt"), "images", odd).delay.count() == 7);
}

BOOST_AUTO_TEST_CASE(retry_in_is_asked_about_a_crash_with_its_words) {
  const TemporaryDirectory directory;
  const std::string path = directory.path() + "/crash";
  const Payload hot = job("Oddities::ThrowsTooHot", quoted(path));
  run(hot);  // the exception of an earlier attempt must not be taken for the crash
  BOOST_TEST((ask_retry_in(registry(), hot, "images", crash()).kind == HookAnswer::Kind::kill));
  BOOST_TEST(text_of_file(path) == "SIGSEGV|SIGSEGV (SEGV_MAPERR) at 0x10");
}

BOOST_AUTO_TEST_CASE(a_hook_answers_with_a_duration_discard_or_nothing) {
  const auto ask = [](const std::string& job_class) {
    const Payload payload = job(job_class);
    return ask_retry_in(registry(), payload, "images", run(payload).failure);
  };
  BOOST_TEST(ask("RetriesSoon").delay.count() == 2);  // 1.5 s, rounded up
  BOOST_TEST((ask("RetriesNegative").kind == HookAnswer::Kind::none));
  BOOST_TEST((ask("DiscardsItself").kind == HookAnswer::Kind::discard));
  BOOST_TEST((ask("ThrowsText").kind == HookAnswer::Kind::none));
  BOOST_TEST((ask("HookThrows").kind == HookAnswer::Kind::none));
  BOOST_TEST((ask("Foo").kind == HookAnswer::Kind::none));
}

BOOST_AUTO_TEST_CASE(retry_in_may_decide_by_the_job) {
  const auto delay = [](const std::string& more) {
    const Payload payload = job("RetriesByJob", "[]", more);
    return ask_retry_in(registry(), payload, "images", run(payload).failure).delay.count();
  };
  BOOST_TEST(delay("") == 6);
  BOOST_TEST(delay(R"(,"patient":true,"retry_count":1)") == 602);
}

BOOST_AUTO_TEST_CASE(a_job_may_put_itself_off) {
  const auto delay = [](const std::string& args) {
    const Performed performed = run(job("PutsItselfOff", args));
    BOOST_TEST((performed.kind == Performed::Kind::interrupted));
    return performed.delay;
  };
  BOOST_TEST(delay("[600]").count() == 600'000);
  BOOST_TEST(delay("[0]").count() == 0);
  BOOST_TEST(delay("[-5]").count() == 0);
  BOOST_TEST(delay("[9000000000]").count() == 999'999'999'000);
}

BOOST_AUTO_TEST_CASE(the_throw_of_what_came_out_is_found) {
  const auto stack = [](const std::string& job_class, const std::string& args) {
    const ThrowWatch throws;
    const Performed performed = run(job(job_class, args));
    std::string text;
    for (const std::string& line : describe_throw(throws.stack_of(performed.thrown))) text += line + "\n";
    return text;
  };
  const std::string rethrown = stack("Rethrows", "[]");
  BOOST_TEST(rethrown.starts_with("#0 Rethrows::first() at perform_jobs.cpp:"), rethrown);
  BOOST_TEST(rethrown.find("#1 Rethrows::perform() at perform_jobs.cpp:") != rethrown.npos, rethrown);
  BOOST_TEST(rethrown.find("again") == rethrown.npos, rethrown);
  BOOST_TEST(rethrown.find("__cxa_throw") == rethrown.npos, rethrown);
  const std::string of_runtime = stack("ThrowsFromRuntime", "[[]]");
  BOOST_TEST(of_runtime.find("ThrowsFromRuntime::look() at perform_jobs.cpp:") != of_runtime.npos, of_runtime);
}

BOOST_AUTO_TEST_CASE(throws_that_are_not_watched_are_not_noted) {
  {
    const ThrowWatch ended;
    run(job("Rethrows"));
  }
  const Performed performed = run(job("Rethrows"));
  BOOST_TEST(performed.thrown != nullptr);
  BOOST_TEST(ThrowWatch().stack_of(performed.thrown).empty());
  BOOST_TEST(ThrowWatch().stack_of(nullptr).empty());
  BOOST_TEST(describe_throw({}).empty());
}

BOOST_AUTO_TEST_CASE(names_that_are_not_found_in_time_are_left_out) {
  const ThrowWatch throws;
  const Performed performed = run(job("Rethrows"));
  const auto lines = describe_throw(throws.stack_of(performed.thrown), std::chrono::milliseconds(0));
  BOOST_TEST(lines.at(0).starts_with("#0 libperform_jobs.so+0x"), lines.at(0));
}

BOOST_AUTO_TEST_CASE(the_exhausted_hook_sees_the_job_and_may_discard_it) {
  const TemporaryDirectory directory;
  const std::string path = directory.path() + "/exhausted";
  const Payload tells = job("TellsExhausted", quoted(path));
  const Failure failure = run(tells).failure;
  BOOST_TEST(!ask_exhausted(registry(), tells, "images", failure));
  BOOST_TEST(text_of_file(path) == "0123456789abcdef01234567|TellsExhausted|images|Oddities::TooHot|too hot|too hot|0");

  BOOST_TEST(!ask_exhausted(registry(), tells, "images", crash()));
  BOOST_TEST(
      text_of_file(path) ==
      "0123456789abcdef01234567|TellsExhausted|images|SIGSEGV|SIGSEGV (SEGV_MAPERR) at 0x10|SIGSEGV (SEGV_MAPERR) at "
      "0x10|1");
  BOOST_TEST(ask_exhausted(registry(), job("DiscardsItself"), "images", run(job("DiscardsItself")).failure));
  BOOST_TEST(!ask_exhausted(registry(), job("HookThrows"), "images", run(job("HookThrows")).failure));
}

BOOST_AUTO_TEST_CASE(a_broken_death_handler_does_not_keep_the_next_from_running) {
  const TemporaryDirectory directory;
  const std::string path = directory.path() + "/deaths";
  setenv("PERFORM_TEST_DEATHS", path.c_str(), 1);
  const Payload text = job("ThrowsText");
  run_death_handlers(registry(), text, "images", run(text).failure);
  run_death_handlers(registry(), job("Unheard"), "images", crash());             // every library's handlers
  run_death_handlers(registry(), job("Other::ResizeImage"), "images", crash());  // its own library's, which has none
  unsetenv("PERFORM_TEST_DEATHS");
  BOOST_TEST(text_of_file(path) ==
             "0123456789abcdef01234567|ThrowsText|plain text\n0123456789abcdef01234567|Unheard|SIGSEGV (SEGV_MAPERR) "
             "at 0x10\n");
}

BOOST_AUTO_TEST_CASE(the_class_says_how_often_it_is_retried) {
  BOOST_TEST((class_retry(registry(), job("ResizeImage"))->kind == RetryOption::Kind::no));
  BOOST_TEST((class_retry(registry(), job("TellsContext"))->kind == RetryOption::Kind::count));
  BOOST_TEST(class_retry(registry(), job("TellsContext"))->count == 3);
  BOOST_TEST((class_retry(registry(), job("NoArguments"))->kind == RetryOption::Kind::yes));
}

BOOST_AUTO_TEST_CASE(two_libraries_may_have_structs_of_one_name) {
  BOOST_TEST(succeeds("ResizeImage", R"(["cat.png", 320])"));
  BOOST_TEST(failure_of("Other::ResizeImage", "[true]").message == "the other one");
  BOOST_TEST(message_of("[1]", "Other::ResizeImage") ==
             "Other::ResizeImage: argument 1 (only): expected true or false, got 1");
}

BOOST_AUTO_TEST_CASE(a_library_that_breaks_its_contract_costs_the_attempt_alone) {
  const auto perform_of = [](const std::string& name) {
    JobRegistry bad;
    bad.load(BROOD_BINARY_DIR "/tests/job_libraries/libbad_" + name + ".so");
    const Performed performed = perform(bad, job("BadFirst"), "default", JobHost{});
    BOOST_TEST((performed.kind == Performed::Kind::failed));
    return performed.failure;
  };
  BOOST_TEST(perform_of("wrong_result").message == "the job library returned an unknown result, 99");
  BOOST_TEST(perform_of("untouched_result").error_class == "LibraryError");
  BOOST_TEST(perform_of("exception_out").message == "an exception left the job library: out of the library");
  BOOST_TEST(perform_of("null_texts").error_class == "UnknownError");
  BOOST_TEST(perform_of("null_texts").message == "");
  BOOST_TEST(perform_of("nothing").message == "\xEF\xBF\xBD\xEF\xBF\xBD");
}
