#include "supervisor/recovery/standing.hpp"

#include <boost/test/unit_test.hpp>

using namespace brood;

namespace {

Identity identity(const std::string& boot_id) {
  Identity made;
  made.name = "host:20:bbbbbbbbbbbb";
  made.boot_id = boot_id;
  made.pid_namespace = "pid:[4026531836]";
  made.pid = 20;
  made.start_time = 1000;
  return made;
}

const Identity own = identity("boot-of-here");

struct Seen {
  bool here = true, lives = false, has_heartbeat = false;
  std::optional<bool> workers_live = false;
};

Standing judged(const Seen& seen) {
  InFlightHolder holder;
  holder.identity = identity(seen.here ? "boot-of-here" : "boot-of-there");
  holder.has_heartbeat = seen.has_heartbeat;
  return standing_of(
      holder, own, [&](const Identity&) { return seen.workers_live; },
      [&](const Identity& it) {
        BOOST_TEST(it.pid == 20);
        BOOST_TEST(it.start_time == 1000U);
        return seen.lives;
      });
}

}  // namespace

BOOST_AUTO_TEST_CASE(of_this_host_lives_whose_process_is_there_with_or_without_a_heartbeat) {
  BOOST_CHECK(judged({.lives = true}) == Standing::lives);
  BOOST_CHECK(judged({.lives = true, .has_heartbeat = true}) == Standing::lives);
}

BOOST_AUTO_TEST_CASE(of_this_host_is_dead_whose_process_and_workers_are_gone_whatever_its_heartbeat_says) {
  BOOST_CHECK(judged({}) == Standing::dead);
  BOOST_CHECK(judged({.has_heartbeat = true}) == Standing::dead);
}

BOOST_AUTO_TEST_CASE(a_dead_supervisors_living_workers_may_finish) {
  BOOST_CHECK(judged({.workers_live = true}) == Standing::finishing);
}

// Of the same boot are clones of this machine, too.
BOOST_AUTO_TEST_CASE(who_has_left_nothing_here_is_seen_as_one_of_another_host) {
  BOOST_CHECK(judged({.has_heartbeat = true, .workers_live = std::nullopt}) == Standing::lives);
  BOOST_CHECK(judged({.has_heartbeat = false, .workers_live = std::nullopt}) == Standing::silent);
  BOOST_CHECK(judged({.lives = true, .workers_live = std::nullopt}) == Standing::lives);
}

BOOST_AUTO_TEST_CASE(of_another_host_only_the_heartbeat_is_seen_and_its_absence_proves_nothing) {
  BOOST_CHECK(judged({.here = false, .lives = true}) == Standing::silent);
  BOOST_CHECK(judged({.here = false, .has_heartbeat = true}) == Standing::lives);
}

BOOST_AUTO_TEST_CASE(without_a_record_nobody_is_of_this_host) {
  InFlightHolder holder;
  const auto never = [](const Identity&) -> std::optional<bool> { throw std::logic_error("asked"); };
  BOOST_CHECK(standing_of(holder, own, never) == Standing::silent);
  holder.has_heartbeat = true;
  BOOST_CHECK(standing_of(holder, own, never) == Standing::lives);
}
