#include "shared/store/report/work_entries.hpp"

#include <boost/test/unit_test.hpp>

#include "shared/store/keys.hpp"
#include "tests/support/redis_server.hpp"

using namespace brood;

namespace {

const std::string identity = "host:1:0123456789ab";

struct Beat {
  RedisServer server;
  Connection redis{server.address()};

  void hold(const std::string& field, const std::string& value, const std::string& queue,
            const std::vector<std::string>& payloads) {
    redis.call({"HSET", keys::in_flight_hash(identity), field, value});
    for (const std::string& payload : payloads)
      redis.call({"LPUSH", keys::in_flight_list(identity, field, queue), payload});
  }
  std::int64_t write(const std::vector<BusyWorker>& workers) {
    return redis.run(work_entries(identity, workers)).view().integer();
  }
};

BusyWorker busy(const std::string& field, std::uint64_t number, int entry, const std::string& thread_id) {
  return {field, number, entry, thread_id, "a", 1'795'237'318, ""};
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_running_entry_is_shown_as_a_string_with_its_bytes) {
  Beat beat;
  beat.hold("0.1", "4 a", "a", {R"({"args":[1]})", R"({"args":["a/b",12345678901234567890,[],1.0]})", "next"});

  BOOST_TEST(beat.write({busy("0.1", 4, 1, "awq")}) == 1);

  const std::string entry =
      R"({"queue":"a","payload":"{\"args\":[\"a\/b\",12345678901234567890,[],1.0]}","run_at":1795237318})";
  BOOST_TEST(beat.server.hget(identity + ":work", "awq").value() == entry);
  BOOST_TEST(beat.server.hget(identity + ":workers", "awq").value() == entry);
  BOOST_TEST(beat.server.integer({"TTL", identity + ":work"}) > 50);
  BOOST_TEST(beat.server.integer({"TTL", identity + ":workers"}) > 50);
}

BOOST_AUTO_TEST_CASE(workers_that_have_moved_on_or_were_recovered_are_left_out) {
  Beat beat;
  beat.hold("0.1", "5 a", "a", {"x"});
  beat.hold("1.1", "4 a", "a", {"x"});
  beat.redis.call({"HDEL", keys::in_flight_hash(identity), "1.1"});
  beat.hold("2.1", "4 a", "a", {"x"});
  beat.hold("3.1", "4 a", "a", {"x"});
  beat.redis.call({"SET", keys::in_flight_list(identity, "3.1", "a"), "dead"});

  BOOST_TEST(beat.write({busy("0.1", 4, 0, "a"), busy("1.1", 4, 0, "b"), busy("2.1", 4, 1, "c"), busy("2.1", 4, 0, "d"),
                         busy("3.1", 4, 0, "e")}) == 1);
  BOOST_TEST(beat.server.hgetall(identity + ":work").size() == 1u);
  BOOST_TEST(beat.server.hget(identity + ":work", "d").has_value());
}

BOOST_AUTO_TEST_CASE(what_was_shown_before_is_gone) {
  Beat beat;
  beat.redis.call({"HSET", identity + ":work", "old", "x"});
  beat.redis.call({"SET", identity + ":workers", "of another type"});
  BOOST_TEST(beat.write({}) == 0);
  BOOST_TEST(beat.server.keys().empty());
}

BOOST_AUTO_TEST_CASE(a_neutral_payload_is_shown_instead) {
  Beat beat;
  beat.hold("0.1", "4 a", "a", {"<script>"});
  BusyWorker worker = busy("0.1", 4, 0, "a");
  worker.neutral_payload = R"({"class":"?"})";
  beat.write({worker});
  BOOST_TEST(beat.server.hget(identity + ":work", "a").value() ==
             R"({"queue":"a","payload":"{\"class\":\"?\"}","run_at":1795237318})");
}

BOOST_AUTO_TEST_CASE(queue_names_are_encoded_and_carry_no_markup) {
  Beat beat;
  beat.hold("0.1", "4 x\\<y>", "x\\<y>", {"1"});
  BusyWorker worker = busy("0.1", 4, 0, "a");
  worker.queue = "x\\<y>";
  beat.write({worker});
  BOOST_TEST(beat.server.hget(identity + ":work", "a").value() ==
             R"({"queue":"x\\_y_","payload":"1","run_at":1795237318})");
}

BOOST_AUTO_TEST_CASE(a_full_redis_takes_it) {
  Beat beat;
  beat.hold("0.1", "4 a", "a", {"1"});
  beat.redis.call({"CONFIG", "SET", "maxmemory", "1"});
  BOOST_TEST(beat.write({busy("0.1", 4, 0, "a")}) == 1);
}
