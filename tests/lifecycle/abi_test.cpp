// A job library that was built once, against the first headers, runs under today's program.
#include <boost/test/unit_test.hpp>

#include <fstream>
#include <string>
#include <vector>

#include "tests/support/brood_process.hpp"
#include "tests/support/enqueue.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/file_text.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

std::string library(const std::string& name) { return BROOD_BINARY_DIR "/tests/job_libraries/lib" + name + ".so"; }

// brood itself must catch crashes, also in a build with a sanitizer.
const std::pair<const std::string, std::string> leave_crashes{
    "ASAN_OPTIONS", "abort_on_error=1:handle_abort=0:handle_segv=0:detect_leaks=0:use_sigaltstack=0"};

// A brood with these libraries, which note what they receive.
struct Site {
  RedisServer redis;
  TemporaryDirectory directory;
  const std::string ledger = directory / "notes";
  BroodProcess brood;

  explicit Site(std::vector<std::string> libraries)
      : brood(
            redis,
            {.workers = 1, .libraries = std::move(libraries), .environment = {{"ABI_NOTES", ledger}, leave_crashes}}) {
    BOOST_REQUIRE_MESSAGE(brood.wait_ready(), brood.log_tail());
  }

  void run(const std::string& job_class, const std::string& args, const std::string& more = "") {
    enqueue(redis, {payload_text(job_class, args, 1, more)});
  }
  std::string notes() const { return text_of_file(ledger); }
  // Waits for a line with this beginning.
  bool notes_line(const std::string& line) const {
    const bool noted = eventually([&] { return ("\n" + notes()).find("\n" + line) != std::string::npos; }, 30s);
    BOOST_TEST(noted, "not noted: " << line << "\n" << notes() << brood.log_tail());
    return noted;
  }
  int times(const std::string& line) const {
    int found = 0;
    std::ifstream file(ledger);
    for (std::string noted; std::getline(file, noted);) found += noted == line;
    return found;
  }
};

// The message of `brood run` about a library that it refuses.
struct Refusal {
  int status = -1;
  std::string words;
};
Refusal refusal_of(const RedisServer& redis, const std::string& name) {
  BroodProcess brood(redis, {.workers = 1, .libraries = {library(name)}, .environment = {leave_crashes}});
  const auto status = brood.wait_exit();
  return {status.value_or(-1), brood.log()};
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_library_of_the_first_abi_performs_is_told_all_and_answers) {
  Site site({library("abi_witness")});
  site.run("Witness", R"(["deadline"])");
  site.notes_line(R"(perform Witness ["deadline"] of default in default, attempt 1, payload whole, sizes right)");
  site.notes_line("deadline within its timeout, then moved, going on");
  BOOST_TEST(eventually([&] { return site.brood.log().find("greetings from C") != std::string::npos; }));

  site.run("Witness", R"(["fail"])", R"("retry":2)");
  site.notes_line(R"(error ["fail"]: Witness::Error)");
  site.notes_line("retry_in Witness 0: Witness::Error, as it was asked");
  BOOST_REQUIRE(eventually([&] { return site.redis.size_of("retry") == 1; }));
  const auto [payload, due] = site.redis.zrange("retry").front();
  BOOST_TEST(payload.find(R"("error_class":"Witness::Error")") != std::string::npos);
  const double now = std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  BOOST_TEST((due > now + 4000 && due < now + 6000));

  site.run("Witness", R"(["fail, discard"])", R"("retry":0)");
  site.notes_line(R"(exhausted ["fail, discard"]: as it was asked)");
  site.notes_line(R"(death ["fail, discard"]: Witness::Error)");
  site.run("Witness", R"(["fail, keep"])", R"("retry":0)");
  BOOST_TEST(eventually([&] { return site.redis.size_of("dead") == 1; }));
}

BOOST_AUTO_TEST_CASE(a_library_of_the_first_abi_goes_on_where_it_was) {
  Site site({library("abi_witness")});
  site.run("WitnessRows", "[]");
  site.notes_line("rows from 0, 0 runs before, wanted");
  site.notes_line("rows from 1, 1 runs before, wanted");
  site.notes_line("row 2");
  for (const char* row : {"row 0", "row 1", "row 2"}) BOOST_TEST(site.times(row) == 1);
  BOOST_TEST(eventually([&] { return site.redis.keys("it-*").empty(); }));
}

BOOST_AUTO_TEST_CASE(a_library_of_the_first_abi_hears_of_events_and_of_a_crash) {
  Site site({library("abi_witness")});
  for (const char* event : {"0", "1", "2", "3"})
    site.notes_line("event " + std::string(event) + " in slot 0 of default");
  site.run("Witness", R"(["crash"])");
  site.notes_line(R"(event 7: ["crash"], SIGSEGV, report whole)");
  site.notes_line(R"(error ["crash"]: SIGSEGV, crashed)");
  site.notes_line("retry_in Witness 0: SIGSEGV, ");
  BOOST_REQUIRE(eventually([&] { return site.redis.size_of("retry") == 1; }));
  BOOST_TEST(site.brood.wait_ready());
  site.brood.term();
  BOOST_TEST(site.brood.wait_exit().value_or(-1) == 0);
  for (const char* event : {"4", "5", "6"}) site.notes_line("event " + std::string(event) + " in slot ");
}

BOOST_AUTO_TEST_CASE(middleware_of_the_first_abi_is_around_the_jobs_of_others) {
  Site site({library("abi_witness_middleware"), library("abi_witness")});
  site.run("Witness", R"(["change"])");
  site.notes_line(R"(perform Witness ["changed"] of default)");
  site.notes_line("around Witness: 0");
  site.run("Witness", R"(["fail"])");
  site.notes_line("around Witness: 1");
  site.run("WitnessRows", "[]");
  site.notes_line("around WitnessRows: 2");
  site.notes_line("row 2");
}

BOOST_AUTO_TEST_CASE(what_a_shorter_library_lacks_is_absent_and_what_a_longer_one_has_more_is_passed_over) {
  Site site({library("abi_witness_older"), library("abi_witness_newer")});
  site.run("Older", "[1]");
  site.notes_line("perform Older [1] of default");
  site.run("Newer", "[2]");
  site.notes_line("perform Newer [2] of default");
  site.run("Older", R"(["fail"])", R"("retry":2)");
  BOOST_TEST(eventually([&] { return site.redis.size_of("retry") == 1; }));
  site.run("Older", R"(["fail"])", R"("retry":0)");
  BOOST_TEST(eventually([&] { return site.redis.size_of("dead") == 1; }));
  site.run("Newer", R"(["fail"])", R"("retry":2)");
  site.notes_line("retry_in Newer 0: Witness::Error");
  BOOST_TEST(site.notes().find("retry_in Older") == std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_library_that_says_something_wrong_of_itself_is_refused_with_a_sentence_and_78) {
  const RedisServer redis;
  const std::vector<std::pair<const char*, const char*>> libraries{
      {"bad_foreign_abi", "is built for ABI 7, this brood speaks ABI 1; build it again with this brood's headers"},
      {"bad_garbage", "is built for ABI 1768693857"},
      {"bad_small_library", "says that its abi::Library has 16 bytes"},
      {"bad_countless_jobs", "says that it has 18446744073709551615 job classes"},
      {"bad_endless_name", "job class 1 has no usable name"},
      {"bad_lost_function", "registers death handlers, and has a null pointer"},
      {"bad_unknown_registration", "registers what this brood does not know"},
      {"bad_wild_pointer", "killed by SIGSEGV"},
  };
  for (const auto& [name, sentence] : libraries) {
    const Refusal refusal = refusal_of(redis, name);
    BOOST_TEST(refusal.status == 78, name << " ended it with " << refusal.status);
    BOOST_TEST(refusal.words.find(sentence) != std::string::npos, name << ": " << refusal.words);
  }
}
