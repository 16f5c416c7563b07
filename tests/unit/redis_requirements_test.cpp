#include <boost/test/unit_test.hpp>

#include <string>

#include "supervisor/redis/redis_requirements.hpp"

using namespace brood;

namespace {

std::string info(const std::string& version, const std::string& mode = "standalone",
                 const std::string& policy = "noeviction") {
  return "# Server\r\nredis_version:" + version + "\r\nredis_git_sha1:00000000\r\nredis_mode:" + mode +
         "\r\n\r\n# Memory\r\nmaxmemory:0\r\nmaxmemory_policy:" + policy + "\r\n";
}

bool holds(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

BOOST_AUTO_TEST_CASE(redis_6_2_and_later_is_fit) {
  for (const char* version : {"6.2.0", "6.2.19", "7.0.15", "7.2.4", "8.0.0", "10.1.2", "6.10.0", "255.255.255"}) {
    const RedisFitness fitness = judge_redis(info(version));
    BOOST_TEST(fitness.refusal == "");
    BOOST_TEST(fitness.warning == "");
    BOOST_TEST(fitness.version == version);
  }
}

BOOST_AUTO_TEST_CASE(an_older_redis_is_refused_with_both_versions_named) {
  for (const char* version : {"6.0.16", "6.1.240", "5.0.14", "2.8", "4"}) {
    const RedisFitness fitness = judge_redis(info(version));
    BOOST_TEST(holds(fitness.refusal, version), fitness.refusal);
    BOOST_TEST(holds(fitness.refusal, "6.2"), fitness.refusal);
  }
}

BOOST_AUTO_TEST_CASE(a_cluster_is_refused_and_a_single_server_is_not) {
  BOOST_TEST(holds(judge_redis(info("7.2.4", "cluster")).refusal, "cluster"));
  BOOST_TEST(judge_redis(info("7.2.4", "standalone")).refusal == "");
}

BOOST_AUTO_TEST_CASE(an_info_that_says_nothing_is_believed_to_be_fit) {
  for (const char* text : {"", "\r\n", "# Server", "redis_version", "redis_version:", "redis_version:unstable\r\n"}) {
    BOOST_TEST(judge_redis(text).refusal == "");
    BOOST_TEST(judge_redis(text).warning == "");
  }
}

BOOST_AUTO_TEST_CASE(only_the_whole_name_at_the_beginning_of_a_line_counts) {
  BOOST_TEST(judge_redis("x_redis_version:5.0.0\r\nredis_version_extra:5.0.0\r\n").version == "");
  BOOST_TEST(judge_redis("redis_version:7.0.0\nredis_mode:cluster").version == "7.0.0");
  BOOST_TEST(holds(judge_redis("redis_version:7.0.0\nredis_mode:cluster").refusal, "cluster"));
}

BOOST_AUTO_TEST_CASE(a_replica_and_a_server_that_is_loading_are_not_used_now) {
  for (const char* more : {"role:slave\r\n", "role:slave\r\nslave_read_only:0\r\n", "loading:1\r\nrole:master\r\n"}) {
    const RedisFitness fitness = judge_redis(info("7.0.15") + more);
    BOOST_TEST(fitness.refusal == "");
    BOOST_TEST(fitness.not_now != "", more);
  }
  for (const char* more : {"", "role:master\r\n", "loading:0\r\nrole:master\r\n", "x_role:slave\r\n"})
    BOOST_TEST(judge_redis(info("7.0.15") + more).not_now == "", more);
}

BOOST_AUTO_TEST_CASE(a_redis_that_may_evict_jobs_is_warned_of_and_used) {
  const RedisFitness fitness = judge_redis(info("7.2.4", "standalone", "allkeys-lru"));
  BOOST_TEST(fitness.refusal == "");
  BOOST_TEST(holds(fitness.warning, "allkeys-lru"));
  BOOST_TEST(holds(fitness.warning, "noeviction"));
}
