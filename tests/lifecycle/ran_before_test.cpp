#include <boost/test/unit_test.hpp>

#include <random>
#include <string>
#include <vector>

#include "tests/support/brood_process.hpp"
#include "tests/support/enqueue.hpp"
#include "tests/support/eventually.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

const std::string library = BROOD_BINARY_DIR "/tests/job_libraries/libspoiling_jobs.so";

}  // namespace

BOOST_AUTO_TEST_CASE(a_class_after_which_others_crash_is_named_with_its_certainty) {
  RedisServer redis;
  BroodProcess brood(redis, {.workers = 4, .libraries = {library}});
  BOOST_REQUIRE_MESSAGE(brood.wait_ready(), brood.log_tail());
  std::mt19937 random(1);
  std::discrete_distribution<std::size_t> draw{5, 50, 12, 12, 12, 12};
  const std::vector<std::string> classes{"Spoils", "Crashes", "Sends", "Counts", "Prints", "Cleans"};
  long number = 0;
  const bool named = eventually(
      [&] {
        std::vector<std::string> payloads;
        while (redis.size_of("queue:default") + payloads.size() < 500)
          payloads.push_back(payload_text(classes[draw(random)], "[]", ++number, R"("retry":false)"));
        enqueue(redis, payloads);
        return brood.log().find("event=crashes_follow_a_class") != std::string::npos;
      },
      60s);
  BOOST_REQUIRE_MESSAGE(named, brood.log_tail());
  BOOST_TEST(brood.log().find("event=crashes_follow_a_class class=Crashes after=Spoils") != std::string::npos,
             brood.log_tail());

  const std::string text = run_brood({"status"}, brood.environment()).output;
  BOOST_TEST(text.find("crashes followed Spoils in the same worker, as ") != std::string::npos, text);
  const std::string json = run_brood({"status", "--json"}, brood.environment()).output;
  BOOST_TEST(json.find(R"("crashes_follow":{"class":"Spoils","crashes":)") != std::string::npos, json);
  BOOST_TEST(json.find(R"("crashes_follow":null)") != std::string::npos, json);
  const std::string metrics = run_brood({"status", "--format", "prometheus"}, brood.environment()).output;
  const std::size_t at = metrics.find("brood_class_crashes_follow_certainty{");
  BOOST_REQUIRE_MESSAGE(at != std::string::npos, metrics);
  const std::string sample = metrics.substr(at, metrics.find('\n', at) - at);
  BOOST_TEST(sample.find(R"(class="Crashes",after="Spoils"} 0.99)") != std::string::npos, sample);
  BOOST_TEST(metrics.find(R"(class="Spoils",after=)") == std::string::npos);
}
