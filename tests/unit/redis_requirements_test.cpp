#include <boost/test/unit_test.hpp>

#include <sysexits.h>

#include <string>
#include <utility>
#include <vector>

#include "supervisor/redis/redis_requirements.hpp"
#include "tests/support/reply_from_wire.hpp"

using namespace brood;

namespace {

std::string info(const std::string& version, const std::string& mode = "standalone",
                 const std::string& policy = "noeviction") {
  return "# Server\r\nredis_version:" + version + "\r\nredis_git_sha1:00000000\r\nredis_mode:" + mode +
         "\r\n\r\n# Memory\r\nmaxmemory:0\r\nmaxmemory_policy:" + policy + "\r\n";
}

using Settings = std::vector<std::pair<std::string, std::string>>;

std::string bulk(const std::string& text) { return "$" + std::to_string(text.size()) + "\r\n" + text + "\r\n"; }

Reply config(const Settings& settings) {
  std::string wire = "*" + std::to_string(2 * settings.size()) + "\r\n";
  for (const auto& [name, value] : settings) wire += bulk(name) + bulk(value);
  return reply_from_wire(wire);
}

std::vector<Reply> answers(const Settings& cluster, const std::string& appendonly, const std::string& save,
                           const std::string& state) {
  std::vector<Reply> all;
  all.push_back(config(cluster));
  all.push_back(config({{"appendonly", appendonly}}));
  all.push_back(config({{"save", save}}));
  all.push_back(reply_from_wire(bulk(state)));
  return all;
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

BOOST_AUTO_TEST_CASE(a_client_names_its_library_from_redis_7_2_on) {
  for (const char* version : {"7.2.0", "7.2.4", "7.10.1", "8.0.2", "10.0.0"})
    BOOST_TEST(judge_redis(info(version)).knows_set_info, version);
  for (const char* version : {"6.2.19", "7.0.15", "7.1.240"})
    BOOST_TEST(!judge_redis(info(version)).knows_set_info, version);
  BOOST_TEST(!judge_redis("").knows_set_info);
}

BOOST_AUTO_TEST_CASE(an_older_redis_is_refused_with_both_versions_named) {
  for (const char* version : {"6.0.16", "6.1.240", "5.0.14", "2.8", "4"}) {
    const RedisFitness fitness = judge_redis(info(version));
    BOOST_TEST(holds(fitness.refusal, version), fitness.refusal);
    BOOST_TEST(holds(fitness.refusal, "6.2"), fitness.refusal);
  }
}

BOOST_AUTO_TEST_CASE(a_server_is_refused_that_is_not_what_the_url_says) {
  BOOST_TEST(holds(judge_redis(info("7.2.4", "cluster")).refusal, "use cluster://"));
  BOOST_TEST(judge_redis(info("7.2.4", "standalone")).refusal == "");
  BOOST_TEST(holds(judge_redis(info("7.2.4", "standalone"), Topology::cluster).refusal, "use redis://"));
  BOOST_TEST(judge_redis(info("7.2.4", "cluster"), Topology::cluster).refusal == "");
  BOOST_TEST(judge_redis("", Topology::cluster).refusal == "");
}

BOOST_AUTO_TEST_CASE(valkey_is_known_by_its_own_names) {
  const auto valkey = [](const std::string& mode) {
    return "# Server\r\nredis_version:7.2.4\r\nserver_name:valkey\r\nvalkey_version:8.1.1\r\nserver_mode:" + mode +
           "\r\nmaxmemory_policy:noeviction\r\n";
  };
  BOOST_TEST(judge_redis(valkey("standalone")).refusal == "");
  BOOST_TEST(judge_redis(valkey("standalone")).server == "Valkey 8.1.1");
  BOOST_TEST(judge_redis(valkey("standalone")).knows_set_info);
  BOOST_TEST(holds(judge_redis(valkey("cluster")).refusal, "use cluster://"));
  BOOST_TEST(holds(judge_redis(valkey("standalone"), Topology::cluster).refusal, "use redis://"));
  BOOST_TEST(judge_redis(info("8.0.2")).server == "8.0.2");
}

BOOST_AUTO_TEST_CASE(a_cluster_that_may_evict_jobs_is_refused) {
  BOOST_TEST(
      holds(judge_redis(info("7.2.4", "cluster", "allkeys-lru"), Topology::cluster).refusal, "maxmemory-policy"));
}

BOOST_AUTO_TEST_CASE(a_node_without_a_replica_is_warned_of) {
  const std::string alone = info("7.2.4", "cluster") + "role:master\r\nconnected_slaves:0\r\n";
  BOOST_TEST(holds(judge_redis(alone, Topology::cluster).warning, "replica"));
  BOOST_TEST(judge_redis(info("7.2.4") + "role:master\r\nconnected_slaves:0\r\n").warning == "");
}

BOOST_AUTO_TEST_CASE(a_cluster_that_is_set_to_lose_what_it_confirmed_is_refused_by_the_name_of_the_setting) {
  const auto judge = [](const Settings& cluster, const std::string& appendonly, const std::string& save,
                        const std::string& state = "cluster_state:ok\r\ncluster_size:3\r\n") {
    const std::vector<Reply> replies = answers(cluster, appendonly, save, state);
    std::vector<ReplyView> views;
    for (const Reply& reply : replies) views.push_back(reply.view());
    return judge_cluster(views);
  };
  const Settings good{{"cluster-require-full-coverage", "no"}, {"cluster-replica-validity-factor", "10"}};
  BOOST_TEST(judge(good, "yes", "").refusal == "");
  BOOST_TEST(judge(good, "yes", "").warning == "");
  BOOST_TEST(holds(judge(good, "no", "").refusal, "appendonly is no and save is empty"));
  BOOST_TEST(judge(good, "no", "3600 1").refusal == "");
  BOOST_TEST(holds(judge(good, "no", "3600 1").warning, "appendonly is no"));
  BOOST_TEST(
      holds(judge({{"cluster-replica-validity-factor", "0"}}, "yes", "").refusal, "cluster-replica-validity-factor"));
  BOOST_TEST(
      holds(judge({{"cluster-require-full-coverage", "yes"}}, "yes", "").warning, "cluster-require-full-coverage"));
  BOOST_TEST(holds(judge(good, "yes", "", "cluster_size:1\r\n").warning, "1 master:"));
  BOOST_TEST(holds(judge(good, "yes", "", "cluster_size:2\r\n").warning, "2 masters:"));
}

BOOST_AUTO_TEST_CASE(what_a_user_may_not_ask_for_is_not_judged) {
  const Reply refused = reply_from_wire(refused_on_wire);
  const RedisFitness fitness = judge_cluster(std::vector<ReplyView>(4, refused.view()));
  BOOST_TEST(fitness.refusal == "");
  BOOST_TEST(fitness.warning == "");
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

BOOST_AUTO_TEST_CASE(two_shards_are_not_the_same_data) {
  const RedisData one{"a", "0123", 0, ""};
  BOOST_TEST(why_not_beside(one, {{"b", "4567", 0, ""}, {"c", "0123", 1, ""}, {"d", "0123", 0, "{brood:1}"}}) == "");
  const std::string why = why_not_beside(one, {{"b", "4567", 0, ""}, {"c", "0123", 0, ""}});
  BOOST_TEST(why.find("the shards c and a are the same Redis") == 0U, why);
}

BOOST_AUTO_TEST_CASE(servers_that_do_not_say_who_they_are_are_not_compared) {
  BOOST_TEST(why_not_beside({"a", "", 0, ""}, {{"b", "", 0, ""}}) == "");
  BOOST_TEST(judge_redis(info("7.0.15") + "run_id:0123\r\n").run_id == "0123");
}

BOOST_AUTO_TEST_CASE(an_unusable_redis_ends_the_service_that_has_no_other) {
  BOOST_TEST(exit_status_for(RedisTrouble::unfit, false, true).value_or(0) == EX_CONFIG);
  BOOST_TEST(exit_status_for(RedisTrouble::refuses_us, false, true).value_or(0) == EX_TEMPFAIL);
  BOOST_TEST(!exit_status_for(RedisTrouble::unfit, true, true));
  BOOST_TEST(!exit_status_for(RedisTrouble::refuses_us, true, true));
}

BOOST_AUTO_TEST_CASE(one_redis_named_twice_is_a_mistake_at_the_start_alone) {
  BOOST_TEST(exit_status_for(RedisTrouble::same_as_another, true, true).value_or(0) == EX_CONFIG);
  BOOST_TEST(!exit_status_for(RedisTrouble::same_as_another, true, false));
}
