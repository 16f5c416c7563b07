#include "supervisor/control/descent.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <csignal>
#include <map>
#include <optional>
#include <vector>

#include "shared/base/check.hpp"

using namespace brood;
using Sight = Ancestor::Sight;

BOOST_TEST_DONT_PRINT_LOG_VALUE(Descent)

namespace {

constexpr pid_t self = 100;

Descent of(pid_t pid, const std::map<pid_t, Ancestor>& processes, pid_t foreign = 0, pid_t us = self) {
  const auto look = [&](pid_t at) {
    const auto found = processes.find(at);
    return found == processes.end() ? Ancestor{} : found->second;
  };
  // Whoever hides says nothing of its children, and is named by its parent.
  const auto children_of = [&](pid_t at) -> std::optional<std::vector<pid_t>> {
    if (at != us && look(at).sight != Sight::seen) return std::nullopt;
    std::vector<pid_t> children;
    for (const auto& [child, seen] : processes) {
      if (seen.parent == at) children.push_back(child);
    }
    return children;
  };
  return descent_of(
      pid, us, {.look = look, .children_of = children_of, .is_foreign = [&](pid_t child) { return child == foreign; }});
}

Ancestor child_of(pid_t parent) { return {Sight::seen, parent}; }

}  // namespace

BOOST_AUTO_TEST_CASE(whoever_comes_from_a_child_is_a_descendant) {
  const std::map<pid_t, Ancestor> processes{{200, child_of(self)}, {201, child_of(200)}, {202, child_of(201)}};
  for (const pid_t pid : {200, 201, 202}) BOOST_CHECK(of(pid, processes) == Descent::descendant);
}

BOOST_AUTO_TEST_CASE(whoever_comes_from_elsewhere_is_a_stranger) {
  const std::map<pid_t, Ancestor> processes{{50, child_of(1)}, {51, child_of(50)}, {60, child_of(0)}};
  for (const pid_t pid : {50, 51, 60, self, 0}) BOOST_CHECK(of(pid, processes) == Descent::stranger);
}

BOOST_AUTO_TEST_CASE(as_the_first_process_of_a_container_it_is_everybodys_parent_but_not_of_who_came_from_outside) {
  const std::map<pid_t, Ancestor> processes{{7, child_of(1)}, {8, child_of(7)}, {9, child_of(0)}, {10, child_of(9)}};
  BOOST_CHECK(of(8, processes, 0, 1) == Descent::descendant);
  BOOST_CHECK(of(10, processes, 0, 1) == Descent::stranger);
}

BOOST_AUTO_TEST_CASE(what_was_there_before_the_supervisor_is_no_jobs) {
  const std::map<pid_t, Ancestor> processes{{90, child_of(self)}, {91, child_of(90)}, {200, child_of(self)}};
  BOOST_CHECK(of(90, processes, 90) == Descent::stranger);
  BOOST_CHECK(of(91, processes, 90) == Descent::stranger);
  BOOST_CHECK(of(200, processes, 90) == Descent::descendant);
}

BOOST_AUTO_TEST_CASE(who_hides_below_us_is_a_descendant_and_elsewhere_a_stranger_if_nobody_below_us_hides) {
  const Ancestor hidden_child{Sight::hidden, self}, hidden_elsewhere{Sight::hidden, 1};
  BOOST_CHECK(of(200, {{200, hidden_child}}) == Descent::descendant);
  BOOST_CHECK(of(201, {{200, child_of(self)}, {201, {Sight::hidden, 200}}}) == Descent::descendant);
  BOOST_CHECK(of(201, {{200, hidden_child}, {201, child_of(200)}}) == Descent::descendant);
  BOOST_CHECK(of(50, {{50, hidden_elsewhere}, {200, child_of(self)}, {201, child_of(200)}}) == Descent::stranger);
  BOOST_CHECK(of(51, {{50, hidden_elsewhere}, {51, child_of(50)}}) == Descent::stranger);
  // It may come from the one that hides.
  BOOST_CHECK(of(50, {{50, hidden_elsewhere}, {200, hidden_child}}) == Descent::unknown);
  BOOST_CHECK(of(50, {{50, child_of(51)}, {51, {Sight::of_another}}}) == Descent::stranger);
}

BOOST_AUTO_TEST_CASE(who_has_gone_is_unknown) {
  BOOST_CHECK(of(50, {}) == Descent::unknown);
  BOOST_CHECK(of(50, {{50, child_of(51)}}) == Descent::unknown);
  std::map<pid_t, Ancestor> endless;
  for (pid_t pid = 1000; pid < 9000; ++pid) endless[pid] = child_of(pid + 1);
  BOOST_CHECK(of(1000, endless) == Descent::unknown);
}

BOOST_AUTO_TEST_CASE(an_ancestor_that_ends_meanwhile_has_left_its_child_to_another_one) {
  int looks = 0;
  const auto look = [&](pid_t pid) {
    if (pid == 50) return child_of(++looks == 1 ? 51 : self);
    return Ancestor{};
  };
  BOOST_CHECK(descent_of(50, self, {.look = look, .children_of = {}, .is_foreign = [](pid_t) { return false; }}) ==
              Descent::descendant);
}

BOOST_AUTO_TEST_CASE(proc_tells_the_children) {
  const pid_t child = check("fork", fork());
  if (child == 0) {
    for (;;) pause();
  }
  BOOST_TEST(children_in_proc(getpid()).value() == std::vector<pid_t>{child}, boost::test_tools::per_element());
  BOOST_TEST(children_in_proc(child).value().empty());
  kill(child, SIGKILL);
  check("waitpid", waitpid(child, nullptr, 0));
  BOOST_CHECK(!children_in_proc(child).has_value());
}

BOOST_AUTO_TEST_CASE(proc_tells_the_parent) {
  BOOST_CHECK(look_at(getpid()).sight == Sight::seen);
  BOOST_TEST(look_at(getpid()).parent == getppid());
  const pid_t child = check("fork", fork());
  if (child == 0) _exit(0);
  check("waitpid", waitpid(child, nullptr, 0));
  BOOST_CHECK(look_at(child).sight == Sight::gone);
}
