#include "supervisor/recovery/judge_supervisor_deaths.hpp"

#include <boost/test/unit_test.hpp>

using namespace brood;
using namespace std::chrono_literals;

namespace {

Identity identity(const std::string& name, const std::string& boot_id, pid_t pid) {
  Identity made;
  made.name = name;
  made.hostname = name;
  made.boot_id = boot_id;
  made.pid_namespace = "pid:[4026531836]";
  made.pid = pid;
  made.start_time = 1000;
  return made;
}

const Identity own = identity("here:10:aaaaaaaaaaaa", "boot-of-here", 10);
const Identity neighbour = identity("here:20:bbbbbbbbbbbb", "boot-of-here", 20);
const Identity stranger = identity("there:20:cccccccccccc", "boot-of-there", 20);

SteadyTime at(std::chrono::nanoseconds since_start) { return SteadyTime(1h + since_start); }

bool nobody_lives(const Identity&) { return false; }
bool everybody_lives(const Identity&) { return true; }
bool left_files(const Identity&, const std::string&) { return true; }
bool left_no_files(const Identity&, const std::string&) { return false; }

std::vector<std::string> names(const std::vector<DeadSupervisor>& dead) {
  std::vector<std::string> all;
  for (const DeadSupervisor& one : dead) all.push_back(one.identity.name);
  return all;
}

const std::vector<std::string> none;

// Looks at the stranger without a heartbeat every ten seconds, from `first` to `last`.
std::vector<DeadSupervisor> watch_missing(SupervisorDeathJudge& judge, std::chrono::seconds first,
                                          std::chrono::seconds last, const std::string& conversation = "run 1") {
  std::vector<DeadSupervisor> dead;
  for (auto t = first; t <= last; t += 10s) dead = judge.judge({{stranger, false}}, conversation, at(t));
  return dead;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_process_of_this_host_that_is_gone_is_dead_at_once_in_spite_of_its_heartbeat) {
  SupervisorDeathJudge judge(own, left_files, nobody_lives);
  const auto dead = judge.judge({{neighbour, true}}, "run 1", at(0s));
  BOOST_TEST(names(dead) == std::vector<std::string>{neighbour.name}, boost::test_tools::per_element());
  BOOST_TEST(dead[0].same_host);
}

BOOST_AUTO_TEST_CASE(a_process_of_this_host_is_judged_without_knowing_the_conversation) {
  SupervisorDeathJudge judge(own, left_files, nobody_lives);
  BOOST_TEST(judge.judge({{neighbour, false}}, "", at(0s)).size() == 1u);
}

// A clone of this machine has the same boot, and its pids mean nothing here.
BOOST_AUTO_TEST_CASE(a_supervisor_of_the_same_boot_that_left_nothing_here_is_judged_by_its_heartbeat) {
  SupervisorDeathJudge judge(own, left_no_files, nobody_lives);
  for (auto t = 0s; t < 300s; t += 10s) BOOST_TEST(judge.judge({{neighbour, true}}, "run 1", at(t)).empty());
  for (auto t = 300s; t < 360s; t += 10s) BOOST_TEST(judge.judge({{neighbour, false}}, "run 1", at(t)).empty());
  const auto dead = judge.judge({{neighbour, false}}, "run 1", at(360s));
  BOOST_TEST(names(dead) == std::vector<std::string>{neighbour.name}, boost::test_tools::per_element());
  BOOST_TEST(!dead[0].same_host);
}

BOOST_AUTO_TEST_CASE(a_supervisor_of_the_same_boot_that_lives_here_needs_no_files) {
  SupervisorDeathJudge judge(own, left_no_files, everybody_lives);
  for (auto t = 0s; t < 300s; t += 10s) BOOST_TEST(judge.judge({{neighbour, false}}, "run 1", at(t)).empty());
}

BOOST_AUTO_TEST_CASE(the_files_and_the_heartbeat_token_of_a_dead_process_are_asked_for) {
  std::vector<std::string> asked;
  SupervisorDeathJudge judge(
      own,
      [&](const Identity& dead, const std::string& beat_token) {
        asked.push_back(dead.name + " " + beat_token);
        return true;
      },
      nobody_lives);
  judge.judge({{neighbour, true, "t1"}, {stranger, true, "t2"}}, "run 1", at(0s));
  BOOST_TEST(asked == std::vector<std::string>{neighbour.name + " t1"}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(the_pid_and_the_start_time_are_asked_for) {
  pid_t asked_pid = 0;
  std::uint64_t asked_start = 0;
  SupervisorDeathJudge judge(own, left_files, [&](const Identity& identity) {
    asked_pid = identity.pid;
    asked_start = identity.start_time;
    return true;
  });
  judge.judge({{neighbour, false}}, "run 1", at(0s));
  BOOST_TEST(asked_pid == 20);
  BOOST_TEST(asked_start == 1000u);
}

BOOST_AUTO_TEST_CASE(a_process_of_this_host_that_lives_is_never_dead_however_long_it_has_not_beaten) {
  SupervisorDeathJudge judge(own, left_files, everybody_lives);
  for (auto t = 0s; t < 1h; t += 10s) {
    BOOST_TEST(names(judge.judge({{neighbour, false}}, "run 1", at(t))) == none, boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_CASE(we_are_not_dead) {
  SupervisorDeathJudge judge(own, left_files, nobody_lives);
  BOOST_TEST(judge.judge({{own, false}}, "run 1", at(0s)).empty());
}

BOOST_AUTO_TEST_CASE(another_host_is_dead_when_its_heartbeat_was_missing_for_a_minute) {
  SupervisorDeathJudge judge(own, left_files, everybody_lives);
  BOOST_TEST(watch_missing(judge, 0s, 50s).empty());
  const auto dead = watch_missing(judge, 60s, 60s);
  BOOST_TEST(names(dead) == std::vector<std::string>{stranger.name}, boost::test_tools::per_element());
  BOOST_TEST(!dead[0].same_host);
  BOOST_TEST(watch_missing(judge, 70s, 70s).size() == 1u);  // until its record is gone
}

BOOST_AUTO_TEST_CASE(another_host_that_beats_again_has_its_minute_anew) {
  SupervisorDeathJudge judge(own, left_files, everybody_lives);
  watch_missing(judge, 0s, 50s);
  judge.judge({{stranger, true}}, "run 1", at(55s));
  BOOST_TEST(watch_missing(judge, 60s, 110s).empty());
  BOOST_TEST(watch_missing(judge, 120s, 120s).size() == 1u);
}

BOOST_AUTO_TEST_CASE(a_new_conversation_with_redis_begins_the_minute_anew) {
  SupervisorDeathJudge judge(own, left_files, everybody_lives);
  watch_missing(judge, 0s, 50s);
  BOOST_TEST(watch_missing(judge, 60s, 110s, "run 2").empty());
  BOOST_TEST(watch_missing(judge, 120s, 120s, "run 2").size() == 1u);
}

BOOST_AUTO_TEST_CASE(a_conversation_that_broke_begins_the_minute_anew) {
  SupervisorDeathJudge judge(own, left_files, everybody_lives);
  watch_missing(judge, 0s, 50s);
  judge.judge({}, "", at(55s));
  BOOST_TEST(watch_missing(judge, 60s, 110s).empty());
}

BOOST_AUTO_TEST_CASE(an_unknown_conversation_kills_no_other_host) {
  SupervisorDeathJudge judge(own, left_files, nobody_lives);
  BOOST_TEST(watch_missing(judge, 0s, 600s, "").empty());
}

BOOST_AUTO_TEST_CASE(looks_too_far_apart_prove_nothing) {
  SupervisorDeathJudge judge(own, left_files, everybody_lives);
  judge.judge({{stranger, false}}, "run 1", at(0s));
  BOOST_TEST(judge.judge({{stranger, false}}, "run 1", at(61s)).empty());  // this supervisor was stopped meanwhile
  BOOST_TEST(watch_missing(judge, 71s, 111s).empty());
  BOOST_TEST(watch_missing(judge, 121s, 121s).size() == 1u);
}

BOOST_AUTO_TEST_CASE(a_record_that_left_and_came_back_has_its_minute_anew) {
  SupervisorDeathJudge judge(own, left_files, everybody_lives);
  watch_missing(judge, 0s, 50s);
  judge.judge({}, "run 1", at(55s));
  BOOST_TEST(watch_missing(judge, 60s, 110s).empty());
}

BOOST_AUTO_TEST_CASE(a_process_seen_here_is_not_asked_for_and_one_that_died_here_is) {
  using Standing = SupervisorDeathJudge::Standing;
  BOOST_CHECK((SupervisorDeathJudge(own, left_files, everybody_lives).standing(neighbour) == Standing::lives));
  BOOST_CHECK((SupervisorDeathJudge(own, left_files, nobody_lives).standing(own) == Standing::lives));
  BOOST_CHECK((SupervisorDeathJudge(own, left_files, nobody_lives).standing(neighbour) == Standing::suspected));
  // The process may live on another machine of the same boot.
  BOOST_CHECK((SupervisorDeathJudge(own, left_no_files, nobody_lives).standing(neighbour) == Standing::beats));
}

BOOST_AUTO_TEST_CASE(another_hosts_is_suspected_from_the_look_that_misses_its_heartbeat_to_the_one_that_finds_it) {
  using Standing = SupervisorDeathJudge::Standing;
  SupervisorDeathJudge judge(own, left_files, nobody_lives);
  BOOST_CHECK((judge.standing(stranger) == Standing::beats));
  judge.judge({{stranger, false}}, "run 1", at(0s));
  BOOST_CHECK((judge.standing(stranger) == Standing::suspected));
  judge.judge({{stranger, true}}, "run 1", at(10s));
  BOOST_CHECK((judge.standing(stranger) == Standing::beats));
}
