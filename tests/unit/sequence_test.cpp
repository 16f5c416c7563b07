#include "shared/job/sequence.hpp"

#include <boost/test/unit_test.hpp>

#include "shared/store/holdings.hpp"

using namespace brood;

namespace {

std::string payload(const std::string& members) {
  return R"({"class":"C","args":[{"sequence":"of an argument"}],"jid":"j1")" + members + "}";
}
std::string problem(const std::string& members) { return problem_of_sequence(Payload::parse(payload(members))); }

std::size_t lets_go(const std::string& members, JobEnding end) {
  std::vector<LetGo> all;
  append_held(all, payload(members), 1, end);
  for (const LetGo& one : all) BOOST_TEST(one.what == "sequence");
  return all.size();
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_payload_names_its_sequence_among_its_own_members) {
  const auto named = sequence_named_by(payload(R"(,"sequence":"caf\u00e9 7","if_failed":"pass")"));
  BOOST_REQUIRE(named.has_value());
  BOOST_TEST(named->name == "caf\xc3\xa9 7");
  BOOST_TEST(named->jid == "j1");
  BOOST_TEST(named->lets_pass);
  BOOST_TEST(!sequence_named_by(payload(R"(,"sequence":"s")"))->lets_pass);
  for (const char* const members : {"", R"(,"sequence":null)", R"(,"sequence":false)", R"(,"sequence":"")",
                                    R"(,"sequence":7)", R"(,"sequence":["s"])"})
    BOOST_TEST(!sequence_named_by(payload(members)).has_value(), members);
  BOOST_TEST(!sequence_named_by(R"({"sequence":"s"})").has_value());
  BOOST_TEST(!sequence_named_by(R"({"sequence":"s",)").has_value());
}

BOOST_AUTO_TEST_CASE(what_is_wrong_with_a_sequence_is_explained) {
  for (const char* const members :
       {"", R"(,"sequence":null)", R"(,"sequence":"s")", R"(,"sequence":"s","if_failed":"wait")"})
    BOOST_TEST(problem(members) == "", members);
  BOOST_TEST(problem(R"(,"sequence":7)") == "sequence is no text: 7");
  BOOST_TEST(problem(R"(,"sequence":"")") == "sequence is empty");
  BOOST_TEST(problem(R"(,"sequence":")" + std::string(256, 'x') + '"') == "sequence is longer than 255 bytes");
  BOOST_TEST(problem(R"(,"sequence":"s","if_failed":true)") == R"(if_failed is neither "pass" nor "wait": true)");
  BOOST_TEST(problem_of_sequence(Payload::parse(R"({"class":"C","args":[],"sequence":"s"})")) ==
             "a job of a sequence needs a jid");
}

BOOST_AUTO_TEST_CASE(a_sequence_goes_with_the_end_of_its_job_and_with_a_failure_that_lets_pass) {
  const std::string waits = R"(,"sequence":"s")", passes = waits + R"(,"if_failed":"pass")";
  for (const JobEnding end : {JobEnding::done, JobEnding::gone}) {
    BOOST_TEST(lets_go(waits, end) == 1u);
    BOOST_TEST(lets_go(passes, end) == 1u);
    BOOST_TEST(lets_go("", end) == 0u);
  }
  BOOST_TEST(lets_go(waits, JobEnding::failed) == 0u);
  BOOST_TEST(lets_go(passes, JobEnding::failed) == 1u);
}
