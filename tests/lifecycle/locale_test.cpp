#include <boost/test/unit_test.hpp>

#include <string>
#include <vector>

#include "tests/support/brood_process.hpp"
#include "tests/support/enqueue.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/file_text.hpp"
#include "tests/support/german_locale.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

const std::string library = BROOD_BINARY_DIR "/tests/job_libraries/liblocale_jobs.so";
const std::string as_at_first = "point ., of C++ C, of the thread none";
const std::string german = "point ,, of C++ de_DE.UTF-8, of the thread none";

// One worker, whose library sets a German locale at that moment.
struct Server {
  const GermanLocale locale;
  RedisServer redis;
  TemporaryDirectory directory;
  const std::string path = directory / "lines";
  BroodProcess brood;

  explicit Server(const std::string& set_at = "", const std::string& config = "")
      : brood(redis,
              {.workers = 1, .libraries = {library}, .config = config, .environment = {{"LOCALE_SET_AT", set_at}}}) {}

  // The lines that jobs of these classes write, run one after the other.
  std::vector<std::string> run(const std::vector<std::string>& classes, std::size_t lines) {
    std::vector<std::string> payloads;
    for (const std::string& one : classes)
      payloads.push_back(
          payload_text(one, one == "SetC" ? "[]" : "[\"" + path + "\"]", static_cast<long>(payloads.size()) + 1));
    enqueue(redis, payloads);
    BOOST_TEST(eventually([&] { return lines_of_file(path).size() >= lines && no_job_is_left(redis); }, 20s),
               brood.log_tail());
    return lines_of_file(path);
  }
};

using Lines = std::vector<std::string>;

}  // namespace

BOOST_AUTO_TEST_CASE(a_worker_puts_the_locale_back_that_a_job_has_set) {
  Server server;
  BOOST_TEST(server.run({"SayLocale", "SetGerman", "SayLocale"}, 3) == (Lines{as_at_first, "pushed 10", as_at_first}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(an_isolated_job_finds_no_locale_of_another_and_pushes_in_its_own) {
  Server server;
  BOOST_TEST(server.run({"SetGermanApart", "SayLocaleApart", "SetGerman", "SayLocaleApart"}, 4) ==
                 (Lines{"pushed 10", as_at_first, "pushed 00", as_at_first}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_worker_puts_the_locale_back_that_middleware_has_set) {
  Server server("middleware");
  BOOST_TEST(server.run({"SetC", "SayLocale"}, 1) == Lines{as_at_first}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_locale_that_a_startup_handler_sets_is_that_of_every_job) {
  Server server("startup");
  BOOST_TEST(server.run({"SayLocale", "SetC", "SayLocale", "SayLocaleApart", "SetGerman"}, 4) ==
                 (Lines{german, german, german, "pushed 10"}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_locale_that_is_set_before_workers_are_copied_is_that_of_every_job) {
  Server server("preload", "[worker]\npreload = \"auto\"\n");
  BOOST_TEST(server.run({"SayLocale", "SetC", "SayLocale", "SayLocaleApart", "SetGerman"}, 4) ==
                 (Lines{german, german, german, "pushed 10"}),
             boost::test_tools::per_element());
}
