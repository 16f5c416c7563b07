#include <boost/test/unit_test.hpp>

#include <brood/api.hpp>
#include <chrono>
#include <stdexcept>
#include <string>

#include "shared/store/queues/class_pauses.hpp"
#include "shared/store/queues/known_queues.hpp"
#include "tests/support/redis_server.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

const std::string paused = "brood:paused_classes", why = "brood:class_pauses";

struct Site {
  RedisServer redis;
  Connection connection{redis.address()};

  std::int64_t pause(const std::string& reason = "", std::optional<std::chrono::seconds> length = {}) {
    return connection.run(pause_class("A", reason, length)).view().integer();
  }
  ClassPause known() { return read_class_pauses(connection.call(ask_class_pauses()).view())["A"]; }
  std::int64_t end(const ClassPause& pause) { return connection.run(end_class_pause("A", pause)).view().integer(); }
  bool is_paused() { return redis.integer({"SISMEMBER", paused, "A"}) == 1; }
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(a_pause_has_a_reason_and_an_end_and_may_get_others, Site) {
  BOOST_TEST(pause("the ERP is down", 3600s) == 1);
  const ClassPause first = known();
  BOOST_TEST(first.reason == "the ERP is down");
  BOOST_TEST(first.until.value() - first.since.value() == 3600);
  redis.command({"HSET", why, "A", "1700000000 1900000000 x"});
  BOOST_TEST(pause() == 0);
  BOOST_TEST(known().since.value() == 1'700'000'000);  // it goes on
  BOOST_TEST(!known().until.has_value());
  BOOST_TEST(known().reason.empty());
}

BOOST_FIXTURE_TEST_CASE(a_pause_ends_once_and_not_before_its_time, Site) {
  pause("x", 3600s);
  BOOST_TEST(end(known()) == 0);
  BOOST_TEST(is_paused());
  redis.command({"HSET", why, "A", "1700000000 1700000001 x"});
  const ClassPause over = known();
  redis.command({"HSET", why, "A", "1700000000 1700000002 x"});  // it was paused anew
  BOOST_TEST(end(over) == 0);
  BOOST_TEST(is_paused());
  BOOST_TEST(end(known()) == 1);
  BOOST_TEST(!is_paused());
  BOOST_TEST(redis.keys().empty());
  BOOST_TEST(end(over) == 0);
}

// An earlier release unpauses a class without removing the text.
BOOST_FIXTURE_TEST_CASE(a_text_whose_class_is_not_paused_goes, Site) {
  redis.command({"HSET", why, "A", "1700000000 1900000000 x"});
  BOOST_TEST(end(known()) == 0);
  BOOST_TEST(redis.keys().empty());
}

BOOST_FIXTURE_TEST_CASE(a_key_of_another_type_refuses_a_pause_and_loses_nothing, Site) {
  redis.command({"SET", why, "text"});
  BOOST_TEST(connection.run(pause_class("A")).view().is_error());
  BOOST_TEST(!is_paused());
  BOOST_TEST(read_class_pauses(connection.call(ask_class_pauses()).view()).empty());
}

BOOST_FIXTURE_TEST_CASE(a_program_pauses_and_unpauses_a_class, Site) {
  Api api(redis.url());
  BOOST_TEST(api.paused_classes().empty());
  api.pause_class("A", "the ERP is down", 1h);
  api.pause_class("B");
  const std::vector<PausedClass> classes = api.paused_classes();
  BOOST_REQUIRE(classes.size() == 2u);
  BOOST_TEST(classes[0].job_class == "A");
  BOOST_TEST(classes[0].reason == "the ERP is down");
  BOOST_TEST((classes[0].until.value() - classes[0].since.value() == 1h));
  BOOST_TEST(!classes[1].until.has_value());
  BOOST_TEST(api.unpause_class("A"));
  BOOST_TEST(!api.unpause_class("A"));
  BOOST_TEST(!redis.hget(why, "A").has_value());
  BOOST_TEST(api.paused_classes().size() == 1u);
  BOOST_TEST(redis.size_of(why) == 1u);
  BOOST_CHECK_THROW(api.pause_class(""), std::invalid_argument);
  BOOST_CHECK_THROW(api.pause_class("A", std::string(501, 'x')), std::invalid_argument);
  BOOST_CHECK_THROW(api.pause_class("A", "", -1s), std::invalid_argument);
}

BOOST_AUTO_TEST_CASE(a_class_is_unpaused_whatever_lies_in_the_place_of_reasons) {
  RedisServer redis;
  redis.command({"SADD", "brood:paused_classes", "A"});
  redis.command({"SET", why, "x"});
  Api api(redis.url());
  BOOST_TEST(api.unpause_class("A"));
  BOOST_TEST(!api.unpause_class("A"));
}
