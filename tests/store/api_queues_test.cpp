#include <boost/test/unit_test.hpp>
#include <brood/api.hpp>
#include <set>

#include "shared/job/payload.hpp"
#include "tests/support/redis_server.hpp"

using namespace brood;
using namespace std::chrono_literals;
using Strings = std::vector<std::string>;

namespace {

std::string job(const std::string& jid, const std::string& more = "") {
  return R"({"class":"OkJob","args":[],"jid":")" + jid + '"' + more + "}";
}

// The first is the newest.
void fill(RedisServer& redis, const std::string& queue, const Strings& payloads) {
  redis.command({"SADD", "queues", queue});
  Command push{"RPUSH", "queue:" + queue};
  for (const std::string& payload : payloads) push.add(payload);
  redis.command(push);
}

Strings numbered(int count) {
  Strings payloads;
  for (int i = 0; i < count; ++i) payloads.push_back(job("j" + std::to_string(i)));
  return payloads;
}

std::string milliseconds_ago(std::chrono::milliseconds ago) {
  return json_time(wall_now() - ago, TimeUnit::integer_milliseconds);
}

}  // namespace

BOOST_AUTO_TEST_CASE(queues_are_known_by_name) {
  RedisServer redis;
  fill(redis, "low", numbered(2));
  fill(redis, "high", numbered(3));
  redis.command({"SADD", "queues", "empty"});
  Api api{redis.url()};
  Strings names;
  for (const Queue& queue : api.queues()) names.push_back(queue.name() + " " + std::to_string(queue.size()));
  BOOST_TEST(names == (Strings{"empty 0", "high 3", "low 2"}), boost::test_tools::per_element());
  BOOST_TEST(api.queue("unheard of").size() == 0u);
  BOOST_CHECK_THROW(api.queue(""), std::invalid_argument);
}

BOOST_AUTO_TEST_CASE(latency_is_how_long_the_next_job_has_waited) {
  RedisServer redis;
  fill(redis, "q", {job("new"), job("old", ",\"enqueued_at\":" + milliseconds_ago(90s))});
  fill(redis, "created", {job("x", ",\"created_at\":" + milliseconds_ago(90s))});
  fill(redis, "future", {job("x", ",\"enqueued_at\":" + milliseconds_ago(-90s))});
  fill(redis, "rubbish", {"rubbish"});
  Api api{redis.url()};
  BOOST_TEST(std::abs(api.queue("q").latency() - 90) < 30);
  BOOST_TEST(std::abs(api.queue("created").latency() - 90) < 30);
  for (const char* none : {"future", "rubbish", "empty"}) BOOST_TEST(api.queue(none).latency() == 0);
}

BOOST_AUTO_TEST_CASE(jobs_are_listed_from_the_newest) {
  RedisServer redis;
  Strings payloads = numbered(777);
  payloads[5] = "no job";
  fill(redis, "q", payloads);
  Api api{redis.url()};
  const Queue queue = api.queue("q");
  Strings met;
  queue.each([&](const JobRecord& job) {
    BOOST_TEST(job.queue == "q");  // the payload's own queue does not count
    met.push_back(job.payload);
    return true;
  });
  BOOST_TEST(met == payloads, boost::test_tools::per_element());
  int visited = 0;
  queue.each([&](const JobRecord&) { return ++visited < 60; });
  BOOST_TEST(visited == 60);

  BOOST_TEST(queue.page(0, 3)[1].jid == "j1");
  BOOST_TEST(queue.page(1).front().jid == "j25");
  BOOST_TEST(queue.page(259, 3).empty());
  BOOST_CHECK_THROW(queue.page(0, 0), std::invalid_argument);
  BOOST_TEST(queue.find("j700").value().payload == payloads[700]);
  BOOST_TEST(!queue.find("nobody"));
  BOOST_TEST(!queue.find(""));
}

BOOST_AUTO_TEST_CASE(none_that_stays_is_passed_over_while_others_come_and_go) {
  RedisServer redis;
  fill(redis, "q", numbered(1000));
  Api api{redis.url()};
  Queue queue = api.queue("q");
  std::set<std::string> met;
  int visited = 0;
  queue.each([&](const JobRecord& record) {
    met.insert(record.jid);
    ++visited;
    if (visited % 7 == 0) redis.command({"LPUSH", "queue:q", job("new" + std::to_string(visited))});
    if (visited % 11 == 0) queue.remove(record);
    if (visited % 50 == 0) redis.command({"RPOP", "queue:q"});
    return true;
  });
  for (const std::string& payload : redis.lrange("queue:q")) {
    const JobRecord record = JobRecord::read(payload);
    if (!record.jid.starts_with("new")) BOOST_TEST(met.contains(record.jid), record.jid);
  }
}

BOOST_AUTO_TEST_CASE(one_job_is_removed_by_its_bytes) {
  RedisServer redis;
  fill(redis, "q", {job("a"), job("b"), job("a"), job("c")});
  Api api{redis.url()};
  Queue queue = api.queue("q");
  const JobRecord a = queue.page(0).front();
  BOOST_TEST(queue.remove(a));
  BOOST_TEST(redis.lrange("queue:q") == (Strings{job("b"), job("a"), job("c")}), boost::test_tools::per_element());
  BOOST_TEST(queue.remove(a));
  BOOST_TEST(!queue.remove(a));
}

BOOST_AUTO_TEST_CASE(a_cleared_queue_is_forgotten) {
  RedisServer redis;
  fill(redis, "q", numbered(3));
  fill(redis, "other", numbered(1));
  Api api{redis.url()};
  api.queue("q").clear();
  BOOST_TEST(redis.keys() == (Strings{"queue:other", "queues"}), boost::test_tools::per_element());
  BOOST_TEST(redis.smembers("queues") == Strings{"other"}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_queue_is_paused_and_goes_on) {
  RedisServer redis;
  Api api{redis.url()};
  Queue queue = api.queue("q");
  BOOST_TEST(!queue.paused());
  queue.pause();
  queue.pause();
  BOOST_TEST(queue.paused());
  BOOST_TEST(redis.smembers("paused") == Strings{"q"}, boost::test_tools::per_element());
  queue.unpause();
  BOOST_TEST(!queue.paused());
  BOOST_TEST(redis.keys().empty());
}

BOOST_AUTO_TEST_CASE(jobs_are_removed_from_the_midst_and_the_others_keep_their_order) {
  RedisServer redis;
  const Strings payloads = numbered(3001);
  fill(redis, "q", payloads);
  Api api{redis.url()};
  std::size_t told = 0;
  const BulkResult result = api.queue("q").remove_if([](const JobRecord& job) { return job.jid.ends_with('3'); },
                                                     [&](std::size_t done, std::size_t total) {
                                                       BOOST_TEST(total == 3001u);
                                                       BOOST_TEST(done > told);
                                                       told = done;
                                                       return true;
                                                     });
  BOOST_TEST(result.looked_at == 3001u);
  BOOST_TEST(result.wanted == 300u);
  BOOST_TEST(result.done == 300u);
  BOOST_TEST(result.gone == 0u);
  BOOST_TEST(!result.stopped);
  BOOST_TEST(told == 3001u);
  Strings kept;
  for (const std::string& payload : payloads) {
    if (!payload.ends_with("3\"}")) kept.push_back(payload);
  }
  BOOST_TEST(redis.lrange("queue:q") == kept, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(of_equal_jobs_those_go_that_were_meant) {
  RedisServer redis;
  Strings payloads;
  for (int i = 0; i < 50; ++i) {
    payloads.push_back(job("same"));
    payloads.push_back(job("j" + std::to_string(i)));
  }
  fill(redis, "q", payloads);
  Api api{redis.url()};
  std::set<std::string> seen;  // for each payload, all jobs but the newest
  const BulkResult result =
      api.queue("q").remove_if([&](const JobRecord& job) { return !seen.insert(job.payload).second; });
  BOOST_TEST(result.done == 49u);
  const Strings left = redis.lrange("queue:q");
  BOOST_TEST(left.size() == 51u);
  BOOST_TEST(left.front() == job("same"));
}

BOOST_AUTO_TEST_CASE(removal_holds_while_jobs_come_and_go) {
  RedisServer redis;
  fill(redis, "q", numbered(2000));
  Api api{redis.url()};
  int judged = 0, fetched = 0;
  std::set<std::string> taken;
  const BulkResult result = api.queue("q").remove_if([&](const JobRecord& record) {
    ++judged;
    if (judged % 2 == 0) redis.command({"LPUSH", "queue:q", job("new" + std::to_string(judged))});
    if (judged % 5 == 0 && fetched < 300) {
      ++fetched;
      taken.insert(JobRecord::read(std::string(redis.command({"RPOP", "queue:q"}).view().text())).jid);
    }
    return !record.jid.starts_with("new") && record.jid.size() % 2 == 0;
  });
  BOOST_TEST(result.done + result.gone == result.wanted);
  std::set<std::string> left;
  for (const std::string& payload : redis.lrange("queue:q")) left.insert(JobRecord::read(payload).jid);
  for (const std::string& payload : numbered(2000)) {
    const std::string jid = JobRecord::read(payload).jid;
    const bool stays = jid.size() % 2 != 0;
    BOOST_TEST((left.contains(jid) || taken.contains(jid)) == (stays || taken.contains(jid)), jid);
  }
}

BOOST_AUTO_TEST_CASE(a_removal_stops_when_its_callback_returns_false) {
  RedisServer redis;
  fill(redis, "q", numbered(2000));
  Api api{redis.url()};
  const BulkResult result = api.queue("q").remove_if({}, [](std::size_t, std::size_t) { return false; });
  BOOST_TEST(result.stopped);
  BOOST_TEST(result.done > 0u);
  BOOST_TEST(redis.size_of("queue:q") == 2000 - result.done);
}

BOOST_AUTO_TEST_CASE(summaries_are_of_every_known_queue) {
  RedisServer redis;
  fill(redis, "a", {job("x", ",\"enqueued_at\":" + milliseconds_ago(90s))});
  redis.command({"SADD", "queues", "no list", "empty"});
  redis.command({"SET", "queue:no list", "text"});
  redis.command({"SADD", "paused", "empty"});
  Api api{redis.url()};
  const std::vector<QueueSummary> summaries = api.queue_summaries();
  BOOST_REQUIRE(summaries.size() == 3u);
  BOOST_TEST(summaries[0].name == "a");
  BOOST_TEST(summaries[0].size == 1u);
  BOOST_TEST(std::abs(summaries[0].latency - 90) < 30);
  BOOST_TEST(!summaries[0].paused);
  BOOST_TEST(summaries[1].name == "empty");
  BOOST_TEST(summaries[1].paused);
  BOOST_TEST(summaries[1].is_list);
  BOOST_TEST(summaries[2].name == "no list");
  BOOST_TEST(!summaries[2].is_list);
  BOOST_TEST(summaries[2].size == 0u);
  BOOST_CHECK_THROW(api.queue("no list").size(), RedisError);
  BOOST_CHECK_THROW(api.queue("no list").each([](const JobRecord&) { return true; }), RedisError);
  redis.command({"DEL", "queues"});
  redis.command({"SET", "queues", "text"});
  BOOST_CHECK_THROW(api.queues(), RedisError);
}

BOOST_AUTO_TEST_CASE(tenants_are_summed_up_and_listed_by_their_base) {
  RedisServer redis;
  fill(redis, "images~a", {job("1")});
  fill(redis, "images~b", {job("2"), job("3"), job("4")});
  fill(redis, "images", {job("5")});
  redis.command({"SADD", "paused", "images~a"});
  Api api{redis.url()};
  const std::vector<QueueSummary> bases = api.queue_summaries_by_base();
  BOOST_REQUIRE(bases.size() == 2u);
  BOOST_TEST(bases[0].name == "images");
  BOOST_TEST(bases[0].size == 1u);
  BOOST_TEST(bases[1].name == "images~*");
  BOOST_TEST(bases[1].size == 4u);
  BOOST_TEST(!bases[1].paused);  // only one tenant is
  const std::vector<QueueSummary> tenants = api.tenants("images");
  BOOST_REQUIRE(tenants.size() == 2u);
  BOOST_TEST(tenants[0].name == "images~b");
  BOOST_TEST(tenants[0].size == 3u);
  BOOST_TEST(tenants[1].paused);
  BOOST_TEST(api.tenants("images~b*").size() == 1u);
  BOOST_TEST(api.tenants("image").empty());
}
