#include "supervisor/recovery/liveness.hpp"

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

Liveness judged(const Seen& seen) {
  InFlightHolder holder;
  holder.identity = identity(seen.here ? "boot-of-here" : "boot-of-there");
  holder.has_heartbeat = seen.has_heartbeat;
  return liveness_of(
      holder, own, [&](const Identity&) { return seen.workers_live; },
      [&](const Identity& it) {
        BOOST_TEST(it.pid == 20);
        BOOST_TEST(it.start_time == 1000U);
        return seen.lives;
      });
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_supervisor_of_this_host_lives_if_its_process_is_there_with_or_without_a_heartbeat) {
  BOOST_CHECK(judged({.lives = true}) == Liveness::lives);
  BOOST_CHECK(judged({.lives = true, .has_heartbeat = true}) == Liveness::lives);
}

BOOST_AUTO_TEST_CASE(a_supervisor_of_this_host_is_dead_if_its_process_and_workers_are_gone_whatever_its_heartbeat) {
  BOOST_CHECK(judged({}) == Liveness::dead);
  BOOST_CHECK(judged({.has_heartbeat = true}) == Liveness::dead);
}

BOOST_AUTO_TEST_CASE(a_dead_supervisors_living_workers_may_finish) {
  BOOST_CHECK(judged({.workers_live = true}) == Liveness::finishing);
}

// Clones of this machine have the same boot id.
BOOST_AUTO_TEST_CASE(a_supervisor_that_has_left_nothing_here_is_seen_as_one_of_another_host) {
  BOOST_CHECK(judged({.has_heartbeat = true, .workers_live = std::nullopt}) == Liveness::lives);
  BOOST_CHECK(judged({.has_heartbeat = false, .workers_live = std::nullopt}) == Liveness::silent);
  BOOST_CHECK(judged({.lives = true, .workers_live = std::nullopt}) == Liveness::lives);
}

BOOST_AUTO_TEST_CASE(a_supervisor_of_another_host_shows_only_its_heartbeat_whose_absence_proves_nothing) {
  BOOST_CHECK(judged({.here = false, .lives = true}) == Liveness::silent);
  BOOST_CHECK(judged({.here = false, .has_heartbeat = true}) == Liveness::lives);
}

BOOST_AUTO_TEST_CASE(a_supervisor_without_a_record_is_not_of_this_host) {
  InFlightHolder holder;
  const auto never = [](const Identity&) -> std::optional<bool> { throw std::logic_error("asked"); };
  BOOST_CHECK(liveness_of(holder, own, never) == Liveness::silent);
  holder.has_heartbeat = true;
  BOOST_CHECK(liveness_of(holder, own, never) == Liveness::lives);
}
