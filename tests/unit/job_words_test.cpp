#include <boost/test/unit_test.hpp>

#include "supervisor/cli/jobs/job_text.hpp"
#include "supervisor/cli/status/exposition.hpp"
#include "supervisor/cli/terminal/count_text.hpp"

using namespace brood;

BOOST_AUTO_TEST_CASE(large_numbers_are_grouped) {
  BOOST_TEST(grouped(0) == "0");
  BOOST_TEST(grouped(999) == "999");
  BOOST_TEST(grouped(1'204) == "1,204");
  BOOST_TEST(grouped(1'000'000) == "1,000,000");
  BOOST_TEST(counted(1, "job", "jobs") == "1 job");
  BOOST_TEST(counted(1'000, "job", "jobs") == "1,000 jobs");
}

BOOST_AUTO_TEST_CASE(short_json_stays_on_its_line_and_long_json_keeps_its_spelling) {
  BOOST_TEST(pretty_json("[1.50, {\"a\":[]}]", 0) == "[1.50, {\"a\":[]}]");
  const std::string text(120, 'x');
  BOOST_TEST(pretty_json("{\"a\":1e400,\"b\":[\"" + text + "\",{}]}", 0) ==
             "{\n  \"a\": 1e400,\n  \"b\": [\n    \"" + text + "\",\n    {}\n  ]\n}");
}

BOOST_AUTO_TEST_CASE(label_values_are_escaped_and_no_set_of_labels_is_said_twice) {
  Exposition out;
  out.gauge("brood_queue_size", "Jobs in the queue.");
  out.sample({{"queue", "a\"b\\c\nd"}}, 1);
  out.sample({{"queue", "\xff"}}, 2);
  out.sample({{"queue", "\xfe"}}, 3);
  out.gauge("brood_jobs_dead", "Jobs in the dead set.");
  out.sample({}, 0.5);
  BOOST_TEST(out.text() ==
             "# HELP brood_queue_size Jobs in the queue.\n# TYPE brood_queue_size gauge\n"
             "brood_queue_size{queue=\"a\\\"b\\\\c\\nd\"} 1\nbrood_queue_size{queue=\"\xEF\xBF\xBD\"} 2\n"
             "# HELP brood_jobs_dead Jobs in the dead set.\n# TYPE brood_jobs_dead gauge\nbrood_jobs_dead 0.5\n");
}
