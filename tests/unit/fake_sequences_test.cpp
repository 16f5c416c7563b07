// Jobs of one sequence are performed in order in a Fake and an Inline, as by workers.
#include <boost/test/unit_test.hpp>
#include <brood/client.hpp>
#include <brood/testing.hpp>

#include <stdexcept>

using namespace brood;
using Strings = std::vector<std::string>;

namespace {

Strings ran;
int failures = 0;  // of jobs whose name begins with "f", to come

struct Stage {
  std::string name, pushes;
  static constexpr std::string_view job_class = "Stage";
  void perform() {
    if (name.starts_with('f') && failures > 0) {
      --failures;
      throw std::runtime_error("not yet");
    }
    ran.push_back(name + " begins");
    if (!pushes.empty()) Client().enqueue(Stage{pushes, ""}, {.sequence = "s"});
    ran.push_back(name + " ends");
  }
};

Strings begun() {
  Strings names;
  for (const std::string& line : ran) {
    if (line.ends_with(" begins")) names.push_back(line.substr(0, line.find(' ')));
  }
  return names;
}

struct Stages {
  Stages() {
    ran.clear();
    failures = 0;
  }
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(a_fake_performs_jobs_of_one_sequence_in_order_whatever_is_drained, Stages) {
  testing::Fake fake(testing::Jobs::of<Stage>());
  Client client;
  client.enqueue(Stage{"a", ""}, {.queue = "low", .sequence = "s"});
  client.enqueue(Stage{"b", ""}, {.sequence = "s"});
  client.enqueue(Stage{"c", ""});
  BOOST_TEST(fake.drain("default") == 1u);
  BOOST_TEST(begun() == Strings{"c"});
  BOOST_TEST(fake.drain() == 2u);
  BOOST_TEST(begun() == (Strings{"c", "a", "b"}), boost::test_tools::per_element());
}

BOOST_FIXTURE_TEST_CASE(a_failed_job_in_a_fake_holds_up_its_sequence_until_it_succeeds_or_is_killed, Stages) {
  testing::Fake fake(testing::Jobs::of<Stage>());
  Client client;
  failures = 1;
  const std::string failing = client.enqueue(Stage{"f", ""}, {.sequence = "s"});
  client.enqueue(Stage{"b", ""}, {.sequence = "s"});
  BOOST_CHECK_THROW(fake.drain(), std::runtime_error);
  BOOST_TEST(fake.drain() == 0u);
  BOOST_TEST(fake.retry(failing));
  BOOST_TEST(fake.drain() == 2u);
  BOOST_TEST(begun() == (Strings{"f", "b"}), boost::test_tools::per_element());

  failures = 1;
  const std::string killed = client.enqueue(Stage{"f2", ""}, {.sequence = "s"});
  client.enqueue(Stage{"d", ""}, {.sequence = "s"});
  BOOST_CHECK_THROW(fake.drain(), std::runtime_error);
  BOOST_TEST(fake.kill(killed));
  BOOST_TEST(fake.drain() == 1u);
}

BOOST_FIXTURE_TEST_CASE(a_failed_job_in_a_fake_may_let_others_pass, Stages) {
  testing::Fake fake(testing::Jobs::of<Stage>());
  Client client;
  failures = 1;
  const std::string failing = client.enqueue(Stage{"f", ""}, {.sequence = "s", .if_failed = "pass"});
  client.enqueue(Stage{"b", ""}, {.sequence = "s"});
  BOOST_CHECK_THROW(fake.drain(), std::runtime_error);
  BOOST_TEST(fake.drain() == 1u);
  BOOST_TEST(fake.retry(failing));
  BOOST_TEST(fake.drain() == 1u);
  BOOST_TEST(begun() == (Strings{"b", "f"}), boost::test_tools::per_element());
}

BOOST_FIXTURE_TEST_CASE(a_job_that_pushes_the_next_of_its_sequence_ends_before_that_begins_in_an_inline, Stages) {
  testing::Inline inline_jobs(testing::Jobs::of<Stage>());
  Client().enqueue(Stage{"a", "b"}, {.sequence = "s"});
  BOOST_TEST(ran == (Strings{"a begins", "a ends", "b begins", "b ends"}), boost::test_tools::per_element());
  failures = 1;
  BOOST_CHECK_THROW(Client().enqueue(Stage{"f", ""}, {.sequence = "s"}), std::runtime_error);
  Client().enqueue(Stage{"c", ""}, {.sequence = "s"});
  BOOST_TEST(begun() == (Strings{"a", "b", "c"}), boost::test_tools::per_element());
}
