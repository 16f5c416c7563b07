#include "worker/crash/signs_of_life.hpp"

#include <boost/test/unit_test.hpp>

using namespace brood;
using namespace std::chrono_literals;

using Names = std::set<std::string>;

namespace {
const SteadyTime begun{1h};
}

BOOST_AUTO_TEST_CASE(a_supervisor_without_a_heartbeat_for_a_minute_is_silent) {
  const SignsOfLife signs({"a"}, begun);
  BOOST_TEST((signs.doubtful(begun + 59s) == Names{"a"}));
  BOOST_TEST(signs.silent(begun + 59s).empty());
  BOOST_TEST(signs.doubtful(begun + 60s).empty());
  BOOST_TEST((signs.silent(begun + 60s) == Names{"a"}));
}

BOOST_AUTO_TEST_CASE(a_heartbeat_that_the_dead_may_have_left_proves_nothing) {
  SignsOfLife signs({"a"}, begun);
  for (auto at = 2s; at <= 58s; at += 2s) signs.seen("a", begun + at);
  BOOST_TEST((signs.doubtful(begun + 60s) == Names{"a"}));
  BOOST_TEST((signs.doubtful(begun + 117s) == Names{"a"}));
  BOOST_TEST(signs.doubtful(begun + 118s).empty());
  BOOST_TEST((signs.silent(begun + 118s) == Names{"a"}));
}

BOOST_AUTO_TEST_CASE(a_heartbeat_that_is_newer_than_the_look_proves_life) {
  SignsOfLife signs({"a"}, begun);
  signs.seen("a", begun + 30s);
  signs.seen("a", begun + 62s);
  BOOST_TEST(signs.doubtful(begun + 62s).empty());
  BOOST_TEST(signs.silent(begun + 62s).empty());
}

// A supervisor that has beaten is not checked again while another is in doubt.
BOOST_AUTO_TEST_CASE(a_supervisor_that_has_proved_its_life_need_not_do_so_again) {
  SignsOfLife signs({"a", "b"}, begun);
  signs.seen("a", begun + 61s);
  signs.seen("b", begun + 60s);
  BOOST_TEST((signs.silent(begun + 122s) == Names{"b"}));
}

// As after a flush: the first heartbeat is missing until the next beat.
BOOST_AUTO_TEST_CASE(a_supervisor_that_beats_again_before_the_minute_is_over_lives) {
  SignsOfLife signs({"a", "b"}, begun);
  for (auto at = 10s; at <= 62s; at += 2s) signs.seen("a", begun + at);
  BOOST_TEST(signs.doubtful(begun + 62s).empty());
  BOOST_TEST((signs.silent(begun + 62s) == Names{"b"}));
}
