#include "worker/recovery/free_slots.hpp"

#include <boost/test/unit_test.hpp>

#include "shared/store/in_flight/incarnation.hpp"
#include "shared/store/limits/limit.hpp"
#include "tests/store/limit_samples.hpp"
#include "tests/support/redis_server.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

const std::string own = "host:1:0123456789ab", other = "host:2:0123456789ab", silent = "host:3:0123456789ab";

struct Site {
  RedisServer limits, jobs;
  Connection here{limits.address()}, there{jobs.address()};

  void take(const std::string& identity, const std::string& field, const std::string& elsewhere = "",
            unsigned taking = 0) {
    const Reply taken =
        here.run(take_limits({identity, field, 0, elsewhere, taking}, {limit(LimitKind::concurrent, 99)}, 0ms, 0ms));
    BOOST_REQUIRE(read_limit_answer(taken.view()).kind == LimitAnswer::Kind::taken);
  }
  void register_worker(Connection& where, const std::string& identity, const std::string& field) {
    BOOST_REQUIRE(where.run(register_incarnation(identity, "{}", field)).view().error().empty());
  }
  std::set<std::string> holders() {
    std::set<std::string> names;
    for (const auto& [name, score] : limits.zrange("brood:limit:erp:used")) names.insert(name);
    return names;
  }

  std::set<std::string> asked;  // the holders that were checked for silence
  int sweep() {
    return free_slots_of_the_gone(here, {.own = {own, {"0.1"}, 5},
                                         .shards = {"", "b"},
                                         .shard = [&](const std::string&) -> Channel& { return there; },
                                         .silent =
                                             [&](const std::set<std::string>& supervisors) {
                                               asked = supervisors;
                                               return std::set{silent};
                                             }});
  }
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(slots_are_freed_whose_holders_are_known_not_to_hold_them, Site) {
  take(own, "0.1");  // settled since
  take(own, "0.2");
  register_worker(here, own, "0.2");
  take(other, "0.1", "b");
  take(other, "0.2", "b", 5);
  register_worker(there, other, "0.2");
  take(own, "0.1", "removed");
  take(own, "0.4", "removed");  // died
  take(own, "0.6", "removed");  // came since we looked
  take(other, "0.7", "removed");
  take(silent, "0.8", "removed");
  BOOST_TEST(sweep() == 4);
  BOOST_TEST(holders() == (std::set{own + "/0.2", other + "/0.2/b", own + "/0.1/removed", own + "/0.6/removed",
                                    other + "/0.7/removed"}),
             boost::test_tools::per_element());
  BOOST_TEST(asked == (std::set{other, silent}), boost::test_tools::per_element());
  BOOST_TEST(sweep() == 0);
}

BOOST_FIXTURE_TEST_CASE(slots_stay_held_from_a_shard_that_does_not_answer, Site) {
  take(other, "0.1", "b");
  take(own, "0.1");
  jobs.kill9();
  BOOST_TEST(sweep() == 1);
  BOOST_TEST(holders() == std::set{other + "/0.1/b"}, boost::test_tools::per_element());
  BOOST_TEST(asked.empty());
}

BOOST_FIXTURE_TEST_CASE(a_slot_that_was_taken_anew_while_its_holder_was_asked_about_is_left, Site) {
  take(silent, "0.1", "removed");
  const int freed = free_slots_of_the_gone(
      here, {.own = {own, {}, 0}, .shards = {}, .shard = {}, .silent = [&](const std::set<std::string>&) {
               take(silent, "0.1", "removed", 1);
               return std::set{silent};
             }});
  BOOST_TEST(freed == 0);
  BOOST_TEST(holders() == std::set{silent + "/0.1/removed"}, boost::test_tools::per_element());
}

BOOST_FIXTURE_TEST_CASE(limits_without_slots_and_what_is_none_of_ours_are_left_alone, Site) {
  for (const LimitKind kind : {LimitKind::window, LimitKind::bucket}) {
    Limit one = limit(kind, 9, 1h);
    one.name = std::string(to_string(kind));
    here.run(take_limits({own, "0.1"}, {one}, 0ms, 0ms));
  }
  take(own, "0.1");
  limits.command({"ZADD", "brood:limit:erp:used", "1", "nobody"});
  BOOST_TEST(sweep() == 1);
  BOOST_TEST(holders() == std::set<std::string>{"nobody"}, boost::test_tools::per_element());
  BOOST_TEST(limits.size_of("brood:limit:window:used") == 2U);
  limits.command({"DEL", "brood:limits"});
  limits.command({"SET", "brood:limits", "no set"});
  BOOST_TEST(sweep() == 0);
}
