#include <boost/test/unit_test.hpp>
#include <brood/api.hpp>

#include "tests/support/redis_server.hpp"

using namespace brood;
using namespace std::chrono_literals;
using Strings = std::vector<std::string>;

namespace {

const std::string info =
    R"({"hostname":"web1","started_at":1795237318.5,"pid":17,"tag":"shop","concurrency":5,"queues":["high","low"],)"
    R"("capsules":{"default":{"concurrency":3,"mode":"weighted","weights":{"high":2,"low":1}},)"
    R"("single":{"concurrency":2,"mode":"strict","weights":{"one":0}}},)"
    R"("labels":["reliable"],"identity":"web1:17:abc","version":"8.1.7","embedded":false})";

void beat(RedisServer& redis, const std::string& identity, const std::string& info) {
  redis.command({"SADD", "processes", identity});
  redis.command({"HSET", identity, "info", info, "concurrency", "6", "busy", "2", "beat", "1795237400.25", "quiet",
                 "true", "rss", "123456", "rtt_us", "89"});
}

Strings identities(const std::vector<Process>& processes) {
  Strings all;
  for (const Process& process : processes) all.push_back(process.identity);
  return all;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_process_is_what_its_heartbeat_says) {
  RedisServer redis;
  beat(redis, "web1:17:abc", info);
  Api api{redis.url()};
  const std::vector<Process> processes = api.processes();
  BOOST_REQUIRE(processes.size() == 1u);
  const Process& process = processes.front();
  BOOST_TEST(process.identity == "web1:17:abc");
  BOOST_TEST(process.hostname == "web1");
  BOOST_TEST(process.tag == "shop");
  BOOST_TEST(process.version == "8.1.7");
  BOOST_TEST(process.pid == 17);
  BOOST_TEST(process.queues == (Strings{"high", "low"}), boost::test_tools::per_element());
  BOOST_TEST(process.labels == Strings{"reliable"}, boost::test_tools::per_element());
  BOOST_REQUIRE(process.capsules.size() == 2u);
  BOOST_TEST(process.capsules[0].name == "default");
  BOOST_TEST(process.capsules[0].concurrency == 3);
  BOOST_TEST(process.capsules[0].mode == "weighted");
  BOOST_TEST(process.capsules[0].weights.at("high") == 2);
  BOOST_TEST(process.capsules[1].name == "single");
  BOOST_TEST(process.concurrency == 6);  // from the field, which may change
  BOOST_TEST(process.busy == 2);
  BOOST_TEST(process.rss_kb == 123456);
  BOOST_TEST(process.rtt_us == 89);
  BOOST_TEST(process.quiet);
  BOOST_TEST(!process.embedded);
  BOOST_TEST((process.started_at == Time(1795237318500ms)));
  BOOST_TEST((process.beat == Time(1795237400250ms)));
  BOOST_TEST(api.process("web1:17:abc").value().hostname == "web1");
  BOOST_TEST(!api.process("web1:17:abd"));

  redis.command({"HDEL", "web1:17:abc", "concurrency"});  // as release 7 writes it
  BOOST_TEST(api.processes().front().concurrency == 5);
}

BOOST_AUTO_TEST_CASE(processes_without_a_heartbeat_are_forgotten_once_a_minute) {
  RedisServer redis;
  beat(redis, "a", info);
  redis.command({"SADD", "processes", "gone"});
  Api api{redis.url()};
  BOOST_TEST(identities(api.processes()) == Strings{"a"}, boost::test_tools::per_element());
  BOOST_TEST(redis.smembers("processes") == Strings{"a"}, boost::test_tools::per_element());
  BOOST_TEST(redis.get("process_cleanup").value() == "1");
  const std::int64_t ttl = redis.integer({"TTL", "process_cleanup"});
  BOOST_TEST(ttl > 0);
  BOOST_TEST(ttl <= 60);

  redis.command({"SADD", "processes", "gone"});
  BOOST_TEST(identities(api.processes()) == Strings{"a"}, boost::test_tools::per_element());
  BOOST_TEST(redis.size_of("processes") == 2u);
}

BOOST_AUTO_TEST_CASE(hostile_processes_hide_no_other) {
  RedisServer redis;
  beat(redis, "good", R"({"pid":"x","started_at":1e400,"queues":{},"labels":[1,"l"],"capsules":[1],"embedded":1})");
  redis.command({"HSET", "good", "busy", "many", "beat", "nan", "rss", "-", "concurrency", "99999999999999999999999"});
  beat(redis, "no json", "{");
  beat(redis, "no object", "[1]");
  redis.command({"SADD", "processes", "no hash"});
  redis.command({"SET", "no hash", "text"});
  Api api{redis.url()};
  const std::vector<Process> processes = api.processes();
  BOOST_TEST(identities(processes) == Strings{"good"}, boost::test_tools::per_element());
  BOOST_TEST(processes.front().busy == 0);
  BOOST_TEST(processes.front().concurrency == 0);
  BOOST_TEST((processes.front().beat == Time{}));
  BOOST_TEST((processes.front().started_at == Time{}));
  BOOST_TEST(processes.front().labels == Strings{"l"}, boost::test_tools::per_element());
  BOOST_TEST(processes.front().embedded);
  BOOST_TEST(redis.size_of("processes") == 4u);
  BOOST_TEST(!api.process("no hash"));
  BOOST_TEST(!api.quiet("no hash"));
  redis.command({"DEL", "processes"});
  redis.command({"SET", "processes", "text"});
  BOOST_CHECK_THROW(api.processes(), RedisError);
}

BOOST_AUTO_TEST_CASE(a_process_is_asked_by_its_list_of_signals) {
  RedisServer redis;
  beat(redis, "a", info);
  beat(redis, "in a program", R"({"embedded":true})");
  Api api{redis.url()};
  BOOST_TEST(api.quiet("a"));
  BOOST_TEST(api.stop("a"));
  BOOST_TEST(api.dump("a"));
  BOOST_TEST(redis.lrange("a-signals") == (Strings{"TTIN", "TERM", "TSTP"}), boost::test_tools::per_element());
  const std::int64_t ttl = redis.integer({"TTL", "a-signals"});
  BOOST_TEST(ttl > 0);
  BOOST_TEST(ttl <= 60);
  BOOST_TEST(!api.quiet("nobody"));
  BOOST_TEST(!api.quiet("in a program"));
  BOOST_TEST(!api.stop("in a program"));
  BOOST_TEST(api.dump("in a program"));
  BOOST_TEST(redis.size_of("nobody-signals") == 0u);
  BOOST_TEST(redis.lrange("in a program-signals") == Strings{"TTIN"}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_supervisor_of_brood_is_asked_to_resume_and_no_process_of_ruby) {
  RedisServer redis;
  beat(redis, "web1:17:abcdefabcdef", info);
  Api api{redis.url()};
  BOOST_TEST(!api.resume("web1:17:abcdefabcdef"));
  BOOST_TEST(redis.size_of("web1:17:abcdefabcdef-signals") == 0u);
  redis.command({"HSET", "brood:processes", "web1:17:abcdefabcdef", "{}"});
  BOOST_TEST(api.resume("web1:17:abcdefabcdef"));
  BOOST_TEST(redis.lrange("web1:17:abcdefabcdef-signals") == Strings{R"(brood ["resume"])"},
             boost::test_tools::per_element());
  redis.command({"DEL", "web1:17:abcdefabcdef"});  // its heartbeat has ended
  BOOST_TEST(!api.resume("web1:17:abcdefabcdef"));
}

BOOST_AUTO_TEST_CASE(the_leader_is_named) {
  RedisServer redis;
  Api api{redis.url()};
  BOOST_TEST(api.leader().empty());
  redis.command({"SET", "dear-leader", "a"});
  BOOST_TEST(api.leader() == "a");
}

BOOST_AUTO_TEST_CASE(running_jobs_are_listed_the_longest_running_first) {
  RedisServer redis;
  beat(redis, "a", info);
  beat(redis, "six", info);
  const std::string payload = R"({\"class\":\"X\",\"args\":[1.0],\"jid\":\"j\"})";
  redis.command({"HSET", "a:work", "t1", R"({"queue":"q","payload":")" + payload + R"(","run_at":1795237319})", "bad",
                 "{", "none", "{}"});
  redis.command({"HSET", "a:workers", "t1", R"({"queue":"q","payload":")" + payload + R"(","run_at":1795237319})"});
  redis.command({"HSET", "six:workers", "t2",
                 R"({"queue":"r","payload":{"class":"Y","args":[],"jid":"k"},"run_at":1795237318.5})"});
  Api api{redis.url()};
  const std::vector<Work> work = api.work();
  BOOST_REQUIRE(work.size() == 2u);
  BOOST_TEST(work[0].identity == "six");
  BOOST_TEST(work[0].tid == "t2");
  BOOST_TEST(work[0].queue == "r");
  BOOST_TEST(work[0].job.job_class == "Y");
  BOOST_TEST((work[0].run_at == Time(1795237318500ms)));
  BOOST_TEST(work[1].job.args == "[1.0]");
  BOOST_TEST(work[1].job.payload == R"({"class":"X","args":[1.0],"jid":"j"})");
  BOOST_TEST((work[1].run_at == Time(1795237319s)));
}
