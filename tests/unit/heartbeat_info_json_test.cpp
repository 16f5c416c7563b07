#include "supervisor/report/heartbeat_info_json.hpp"

#include <boost/test/unit_test.hpp>

#include <set>

using namespace brood;
using namespace std::chrono_literals;

namespace {

Identity app_1() {
  Identity identity;
  identity.name = "app-1:12503:f7d58f814dc9";
  identity.hostname = "app-1";
  identity.pid = 12503;
  return identity;
}

CapsuleSettings capsule(const std::string& name, int concurrency, std::vector<QueueOrder::Entry> queues) {
  return {name, concurrency, QueueOrder(std::move(queues))};
}

ProcessFacts facts() {
  ProcessFacts facts;
  facts.capsules = {capsule("default", 5, {{"default", 0}, {"low", 0}})};
  facts.tag = "mytag";
  facts.version = "8.1.7";
  facts.started_at = WallTime(1795237366627552300ns);
  return facts;
}

}  // namespace

// Captured from Sidekiq 8.1.7, with `concurrency`, which the page of 7 does not do without.
BOOST_AUTO_TEST_CASE(info_is_what_sidekiq_writes) {
  BOOST_TEST(heartbeat_info(app_1(), facts()) ==
             R"({"hostname":"app-1","started_at":1795237366.6275523,"pid":12503,"tag":"mytag","concurrency":5,)"
             R"("capsules":{"default":{"concurrency":5,"mode":"strict","weights":{"default":0,"low":0}}},)"
             R"("queues":["default","low"],"weights":[{"default":0,"low":0}],"labels":[],)"
             R"("identity":"app-1:12503:f7d58f814dc9","version":"8.1.7","embedded":false})");
}

BOOST_AUTO_TEST_CASE(every_capsule_is_listed_and_every_queue_once) {
  ProcessFacts two = facts();
  two.capsules = {capsule("default", 5, {{"critical", 3}, {"default", 1}}),
                  capsule("images", 2, {{"images", 1}, {"default", 1}})};
  const std::string info = heartbeat_info(app_1(), two);
  BOOST_TEST(info.find(R"("concurrency":7,"capsules":{)") != info.npos);
  BOOST_TEST(info.find(R"("default":{"concurrency":5,"mode":"weighted","weights":{"critical":3,"default":1}})") !=
             info.npos);
  BOOST_TEST(info.find(R"("images":{"concurrency":2,"mode":"random","weights":{"images":1,"default":1}})") !=
             info.npos);
  BOOST_TEST(info.find(R"("queues":["critical","default","images"])") != info.npos);
  BOOST_TEST(info.find(R"("weights":[{"critical":3,"default":1},{"images":1,"default":1}])") != info.npos);
}

// The Busy page of 8.1 shows the weights as they come.
BOOST_AUTO_TEST_CASE(queues_of_a_capsule_are_told_in_the_order_of_the_configuration) {
  ProcessFacts strict = facts();
  strict.capsules = {capsule("default", 5, {{"urgent", 0}, {"default", 0}, {"bulk", 0}})};
  const std::string info = heartbeat_info(app_1(), strict);
  BOOST_TEST(info.find(R"("weights":{"urgent":0,"default":0,"bulk":0})") != info.npos, info);
  BOOST_TEST(info.find(R"("weights":[{"urgent":0,"default":0,"bulk":0}])") != info.npos, info);
}

BOOST_AUTO_TEST_CASE(whole_seconds_keep_their_fraction) {
  ProcessFacts whole = facts();
  whole.started_at = WallTime(1795237366s);
  const std::string info = heartbeat_info(app_1(), whole);
  BOOST_TEST(info.find(R"("started_at":1795237366.0,)") != info.npos);
}

BOOST_AUTO_TEST_CASE(nothing_that_html_understands_is_written) {
  Identity identity = app_1();
  identity.hostname = "<h>";
  ProcessFacts markup = facts();
  markup.tag = "a<script>\"'&b c";
  markup.labels = {"<i>", "line\nbreak", "gr\xC3\xBC\xC3\x9F"};
  markup.version = "1<2";
  markup.capsules[0].name = "<b>";
  const std::string info = heartbeat_info(identity, markup);
  BOOST_TEST(info.find_first_of("<>&'\\\n") == info.npos);
  BOOST_TEST(info.find(R"("tag":"a-script----b-c")") != info.npos);
  BOOST_TEST(info.find(R"("labels":["-i-","line-break","gr----"])") != info.npos);
}

BOOST_AUTO_TEST_CASE(the_wildcard_queue_is_shown) {
  ProcessFacts all = facts();
  all.capsules = {capsule("default", 1, {{"*", 0}})};
  const std::string info = heartbeat_info(app_1(), all);
  BOOST_TEST(info.find(R"("queues":["*"])") != info.npos);
}

// Other processes match queues with them.
BOOST_AUTO_TEST_CASE(patterns_with_exclusions_and_of_tenants_are_told_whole) {
  ProcessFacts all = facts();
  all.capsules = {capsule("default", 1, {{"mail*", 0}, {"!mail_bulk", 0}, {"images~*", 0}, {"*", 0}})};
  const std::string info = heartbeat_info(app_1(), all);
  BOOST_TEST(info.find(R"("queues":["mail*!mail_bulk","images~*!mail_bulk","*!mail_bulk"])") != info.npos, info);
}

BOOST_AUTO_TEST_CASE(thread_ids_are_short_and_differ_by_slot_and_incarnation) {
  std::set<std::string> ids;
  for (int slot = 0; slot < 100; ++slot) {
    for (std::uint64_t incarnation = 1; incarnation <= 100; ++incarnation) {
      const std::string id = thread_id(slot, incarnation);
      BOOST_TEST(id.size() <= 6u);
      BOOST_TEST(id.find_first_not_of("0123456789abcdefghijklmnopqrstuvwxyz") == id.npos);
      ids.insert(id);
    }
  }
  BOOST_TEST(ids.size() == 10'000u);
}

BOOST_AUTO_TEST_CASE(a_thread_id_is_base_36) {
  BOOST_TEST(thread_id(0, 0) == "0");
  BOOST_TEST(thread_id(35, 0) == "z");
  BOOST_TEST(thread_id(36, 0) == "10");
  BOOST_TEST(thread_id(0, 1) == "35s");
}
