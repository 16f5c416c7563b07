#include "shared/statsd/statsd_lines.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>

using namespace brood;

namespace {

StatsdSettings for_dogstatsd() { return {.address = "127.0.0.1:1", .tags = {"env:test"}}; }

}  // namespace

BOOST_AUTO_TEST_CASE(runs_are_told_by_the_names_of_the_documents_and_counts_of_the_same_tags_together) {
  StatsdLines lines(for_dogstatsd());
  lines.add_run(false, 12, {"Images::Resize", "bulk", {}});
  lines.add_run(false, 13, {"Images::Resize", "bulk", {}});
  lines.add_run(true, 14, {"Images::Resize", "bulk", "SIGSEGV"});

  const std::vector<std::string> datagrams = lines.take();

  BOOST_TEST_REQUIRE(datagrams.size() == 1u);
  BOOST_TEST(datagrams[0] ==
             "sidekiq.jobs.count:3|c|#worker:Images::Resize,queue:bulk,env:test\n"
             "sidekiq.jobs.success:2|c|#worker:Images::Resize,queue:bulk,env:test\n"
             "sidekiq.jobs.failure:1|c|#worker:Images::Resize,queue:bulk,error_type:SIGSEGV,env:test\n"
             "sidekiq.jobs.perform:12|ms|#worker:Images::Resize,queue:bulk,env:test\n"
             "sidekiq.jobs.perform_dist:12|d|#worker:Images::Resize,queue:bulk,env:test\n"
             "sidekiq.jobs.perform:13|ms|#worker:Images::Resize,queue:bulk,env:test\n"
             "sidekiq.jobs.perform_dist:13|d|#worker:Images::Resize,queue:bulk,env:test");
  BOOST_TEST(lines.empty());
  BOOST_TEST(lines.take().empty());
}

BOOST_AUTO_TEST_CASE(a_plain_server_is_sent_no_tags_and_no_distributions) {
  StatsdLines lines({.address = "127.0.0.1:1", .prefix = "", .tags = {}, .has_tags = false});
  lines.add_run(false, 12, {"Resize", "bulk", {}});
  lines.add_run(true, 1, {"Mail", "bulk", "Error"});
  BOOST_TEST(lines.take().at(0) == "jobs.count:2|c\njobs.success:1|c\njobs.failure:1|c\njobs.perform:12|ms");
}

BOOST_AUTO_TEST_CASE(what_is_empty_is_no_tag_and_nothing_counted_is_no_line) {
  StatsdLines lines({.address = "127.0.0.1:1", .tags = {}});
  lines.count("jobs.recovered.fetch", 0);
  BOOST_TEST(lines.empty());
  lines.count("jobs.recovered.fetch", 2);
  BOOST_TEST(lines.take().at(0) == "sidekiq.jobs.recovered.fetch:2|c");
}

BOOST_AUTO_TEST_CASE(no_name_breaks_out_of_its_tag) {
  StatsdLines lines({.address = "127.0.0.1:1", .tags = {}});
  lines.count("jobs.count", 1, {"A|c\njobs.count:9|c", "a,b#c d", {}});
  lines.count("jobs.count", 1, {std::string(5'000, 'x'), {}, {}});
  const std::vector<std::string> datagrams = lines.take();
  BOOST_TEST_REQUIRE(datagrams.size() == 1u);
  BOOST_TEST(datagrams[0] ==
             "sidekiq.jobs.count:1|c|#worker:A_c_jobs.count:9_c,queue:a_b_c_d\nsidekiq.jobs.count:1|c|#worker:" +
                 std::string(200, 'x'));
}

BOOST_AUTO_TEST_CASE(datagrams_hold_whole_lines_and_pass_through_every_network) {
  StatsdLines lines(for_dogstatsd());
  for (int run = 0; run < 100; ++run) lines.add_run(false, 1'000'000, {"SomeClassWithALongName", "default", {}});
  const std::vector<std::string> datagrams = lines.take();
  BOOST_TEST(datagrams.size() > 5u);
  std::ptrdiff_t count = 0;
  for (const std::string& datagram : datagrams) {
    BOOST_TEST(datagram.size() <= longest_datagram);
    BOOST_TEST(datagram.starts_with("sidekiq."));
    BOOST_TEST(datagram.ends_with("env:test"));
    count += std::count(datagram.begin(), datagram.end(), '\n') + 1;
  }
  BOOST_TEST(count == 202);
}

BOOST_AUTO_TEST_CASE(what_was_taken_is_told_no_second_time_however_many_classes_there_are) {
  StatsdLines lines(for_dogstatsd());
  for (int batch = 0; batch < 3; ++batch) {
    for (int job_class = 0; job_class < 40; ++job_class)
      lines.add_run(job_class % 2 == 0, 1, {"Class" + std::to_string(job_class), "default", {}});
    BOOST_TEST(!lines.empty());
    std::string all;
    for (const std::string& datagram : lines.take()) all += datagram + "\n";
    BOOST_TEST(std::count(all.begin(), all.end(), '\n') == 40 * 2 + 20 * 2);
    BOOST_TEST(lines.empty());
    BOOST_TEST(lines.take().empty());
  }
  lines.add_run(false, 0, {"Class1", "default", {}});
  BOOST_TEST(lines.take().at(0).find("jobs.perform:0|ms") != std::string::npos);
}
