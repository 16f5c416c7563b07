#include <boost/test/unit_test.hpp>
#include <chrono>
#include <stdexcept>
#include <string>
#include <vector>

#include "shared/config/config.hpp"
#include "tests/support/loaded_config.hpp"

using namespace brood;
using namespace brood::loaded_config;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_CASE(a_capsule_without_settings_takes_as_many_workers_as_the_default_one_and_the_default_queue) {
  const Config config = load("concurrency = 3\n[capsules.more]\n");
  BOOST_TEST(config.capsules[1].concurrency == 3);
  BOOST_TEST(config.capsules[1].queues.names() == std::vector<std::string>{"default"},
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_capsule_has_the_limits_of_its_own_that_it_names_and_the_general_ones_otherwise) {
  const Config config = load(R"(
[capsules.images]
memory_limit = "2G"
job_timeout = "10m"
max_batch = 1
seccomp = false
threads = "allow"
[capsules.mail]
[worker]
max_jobs = 100
max_crashes = 5
memory_limit = "1G"
)");
  const auto worker_of = [&](const std::string& name) {
    for (std::size_t i = 0; i < config.capsules.size(); ++i) {
      if (config.capsules[i].name == name) return config.worker_of(static_cast<int>(i));
    }
    throw std::out_of_range(name);
  };
  const WorkerSettings images = worker_of("images"), mail = worker_of("mail"), general = worker_of("default");
  BOOST_TEST(images.memory_limit_bytes == 2ull << 30);
  BOOST_CHECK(images.job_timeout == 10min);
  BOOST_TEST(images.max_batch == 1);
  BOOST_TEST(!images.seccomp);
  BOOST_CHECK(images.threads == LeftThreads::allow);
  BOOST_TEST(images.max_jobs == 100u);
  BOOST_TEST(images.max_crashes == 5);
  for (const WorkerSettings& other : {mail, general}) {
    BOOST_TEST(other.memory_limit_bytes == 1ull << 30);
    BOOST_CHECK(other.job_timeout == 0s);
    BOOST_TEST(other.max_batch == 32);
    BOOST_TEST(other.seccomp);
    BOOST_CHECK(other.threads == LeftThreads::replace);
    BOOST_TEST(other.max_jobs == 100u);
  }
}

BOOST_AUTO_TEST_CASE(the_default_capsule_may_be_without_workers_beside_another_one) {
  const Config config = load("concurrency = 0\n[capsules.images]\nconcurrency = 4\n[capsules.mail]\n");
  BOOST_TEST(config.capsules[0].concurrency == 0);
  BOOST_TEST(config.capsules[1].concurrency + config.capsules[2].concurrency == config.concurrency());
  BOOST_TEST(config.capsules[1].concurrency >= 1);
  BOOST_TEST(config.capsules[2].concurrency >= 1);
}

BOOST_AUTO_TEST_CASE(queues_are_names_pairs_or_names_with_a_comma_and_a_weight) {
  BOOST_CHECK(load("queues = ['critical', 'default']").capsules[0].queues.mode() == QueueOrder::Mode::strict);
  BOOST_TEST(load("queues = ['critical,3', 'default,1']").capsules[0].queues.weights().at("critical") == 3);
  BOOST_TEST(load("queues = ['critical,3', ['default', 0]]").capsules[0].queues.weights().at("default") == 0);
}

BOOST_AUTO_TEST_CASE(a_star_follows_every_known_queue_alone_or_among_others) {
  const CapsuleSettings capsule = load("queues = ['*']").capsules[0];
  BOOST_TEST(capsule.queues.has_patterns());
  BOOST_TEST(capsule.queues.names() == std::vector<std::string>{"*"}, boost::test_tools::per_element());
  BOOST_TEST(!load("queues = ['star']").capsules[0].queues.has_patterns());
  const CapsuleSettings mixed = load("queues = ['critical', '*', 'low']").capsules[0];
  BOOST_TEST(mixed.queues.has_patterns());
  BOOST_TEST(mixed.queues.names() == (std::vector<std::string>{"critical", "*", "low"}),
             boost::test_tools::per_element());
  BOOST_CHECK(load("queues = ['critical,3', '*,1']").capsules[0].queues.mode() == QueueOrder::Mode::weighted);
  BOOST_TEST(complaint("queues = ['*', 'a', '*']") ==
             "1: queues: \"*\" takes every queue that no other entry names, and may stand there once");
}

BOOST_AUTO_TEST_CASE(patterns_and_exclusions_are_entries_too) {
  const CapsuleSettings capsule = load("queues = ['critical', 'mail*', '!mail_bulk', '*']").capsules[0];
  BOOST_TEST(capsule.queues.has_patterns());
  BOOST_TEST(capsule.queues.names() == (std::vector<std::string>{"critical", "mail*!mail_bulk", "*!mail_bulk"}),
             boost::test_tools::per_element());
  BOOST_TEST(
      complaint("queues = ['mail', '!mail_bulk']") ==
      "1: queues: queue \"!mail_bulk\": it is excluded from patterns, and the list has none, such as \"mail*\" or "
      "\"*\"");
  BOOST_TEST(complaint("queues = ['*', 'mail', '!mail']") ==
             "1: queues: queue \"!mail\": it is both listed and excluded");
}
