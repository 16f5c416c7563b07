#include "worker/guard/seccomp_rules.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

using namespace brood;

namespace {

// The calls of this machine, as the compiler's own headers number them.
std::map<long, std::string> calls_of_the_headers() {
  std::map<long, std::string> calls;
  std::ifstream defined(BROOD_SYSTEM_CALLS);
  for (std::string line; std::getline(defined, line);) {
    std::istringstream words(line);
    std::string define, name;
    long number = 0;
    if (words >> define >> name >> number && name.starts_with("__NR_")) calls.emplace(number, name.substr(5));
  }
  return calls;
}

}  // namespace

BOOST_AUTO_TEST_CASE(every_system_call_is_in_the_table) {
  const auto calls = calls_of_the_headers();
  BOOST_TEST_REQUIRE(calls.size() > 250u);
  long newest_known = 0;
  for (const auto& [number, name] : calls) {
    if (reach_of(name)) newest_known = number;
  }
  for (const auto& [number, name] : calls) {
    // Calls that are newer than the table are reported, and do not fail the build of an old brood.
    if (number > newest_known)
      BOOST_TEST_MESSAGE("newer than the table: " << name);
    else
      BOOST_TEST(reach_of(name).has_value(), name << " is not in the table");
  }
}

BOOST_AUTO_TEST_CASE(every_call_is_in_one_group_alone) {
  std::map<std::string, int> found;
  for (const CallGroup& group : call_groups()) {
    std::istringstream names{std::string(group.names)};
    for (std::string name; names >> name;) ++found[name];
  }
  for (const auto& [name, times] : found) BOOST_TEST(times == 1, name);
}

BOOST_AUTO_TEST_CASE(what_a_filter_cannot_judge_by_an_argument_is_refused_altogether) {
  for (const Refusal& refusal : refusals()) {
    if (reach_of(refusal.call) == CallReach::hidden) BOOST_TEST(refusal.conditions.empty(), refusal.call);
    if (reach_of(refusal.call) == CallReach::named) BOOST_TEST(!refusal.conditions.empty(), refusal.call);
  }
  BOOST_TEST(!reach_of("").has_value());
  BOOST_TEST(!reach_of("pidfd").has_value());
}
