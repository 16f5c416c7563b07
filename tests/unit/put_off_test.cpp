#include "worker/job/put_off.hpp"

#include <boost/test/unit_test.hpp>

using namespace brood;
using namespace std::chrono_literals;

namespace {

Payload job(const std::string& more = "") { return Payload::parse(R"({"class":"A","args":[],"jid":"1")" + more + "}"); }

Performed over_limit(std::int64_t most, std::chrono::milliseconds in = -1ms) {
  Performed performed;
  performed.kind = Performed::Kind::failed;
  performed.most_put_off = most;
  performed.put_off = in;
  return performed;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_job_over_a_limit_is_put_off_five_minutes_more_each_time) {
  const Performed first = put_off_over_limit(over_limit(20), job(), 0);
  BOOST_TEST((first.kind == Performed::Kind::over_limit));
  BOOST_TEST((first.delay == 301s));
  BOOST_TEST((put_off_over_limit(over_limit(20), job(), 0.5).delay == 451s));
  BOOST_TEST((put_off_over_limit(over_limit(20), job(R"(,"overrated":3)"), 0).delay == 1201s));
  BOOST_TEST((put_off_over_limit(over_limit(20, 70ms), job(R"(,"overrated":3)"), 0.9).delay == 70ms));
  BOOST_TEST((put_off_over_limit(over_limit(20, 0ms), job(), 0.9).delay == 0ms));
}

BOOST_AUTO_TEST_CASE(one_that_was_put_off_often_enough_or_has_another_failure_has_failed) {
  BOOST_TEST((put_off_over_limit(over_limit(20), job(R"(,"overrated":20)"), 0).kind == Performed::Kind::failed));
  BOOST_TEST((put_off_over_limit(over_limit(20), job(R"(,"overrated":19)"), 0).kind == Performed::Kind::over_limit));
  BOOST_TEST((put_off_over_limit(over_limit(0), job(), 0).kind == Performed::Kind::failed));
  BOOST_TEST((put_off_over_limit({}, job(), 0).kind == Performed::Kind::succeeded));
}

BOOST_AUTO_TEST_CASE(its_payload_counts_how_often_and_a_failure_begins_anew) {
  BOOST_TEST(job().with(put_off_once_more(job())).text() == R"({"class":"A","args":[],"jid":"1","overrated":1})");
  const Payload seven = job(R"(,"overrated":7)");
  BOOST_TEST(seven.with(put_off_once_more(seven)).integer("overrated").value() == 8);
  const Payload strange = job(R"(,"overrated":"x")");
  BOOST_TEST(strange.with(put_off_once_more(strange)).integer("overrated").value() == 1);
  BOOST_TEST(!without_put_offs(job()).has_value());
  BOOST_TEST(without_put_offs(seven)->text() == R"({"class":"A","args":[],"jid":"1"})");
}
