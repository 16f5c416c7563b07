#include "worker/admission/admission.hpp"

#include <boost/test/unit_test.hpp>

#include "shared/job/uniqueness.hpp"
#include "tests/store/tapped_worker.hpp"

using namespace brood;
using namespace brood::tapped;
using namespace std::chrono_literals;

namespace {

using Kind = Decision::Kind;
using Why = Deferral::Why;

std::string job(const std::string& job_class, const std::string& more = "") {
  return R"({"class":")" + job_class + R"(","args":[],"jid":"1","queue":"a")" + more + "}";
}

// A worker whose capsule lets one job of class Capped run at a time.
struct Gate : Worker {
  Config config;
  NameSet paused;
  std::vector<CapSettings> caps{{.name = "few", .queues = {}, .most = 1, .classes = {"Capped"}}};
  Admission admission{*session, channel, config, [](const std::string&) { return true; }};

  Gate() {
    next({}, {});
    admission.begin_batch("a", caps);
  }
  Decision decide(const std::string& payload) {
    admission.look_at_classes(&paused);
    const Decision decision = admission.decide(payload);
    if (decision.kind != Kind::not_now) admission.note(decision);
    return decision;
  }
  Kind kind(const std::string& payload) { return decide(payload).kind; }
};

const std::string long_ago = R"(,"expiry":1000000000)";

}  // namespace

BOOST_FIXTURE_TEST_CASE(a_job_that_nothing_keeps_begins, Gate) {
  const Decision decision = decide(job("Any"));
  BOOST_TEST((decision.kind == Kind::run));
  BOOST_TEST(!decision.settles_at_once);
  BOOST_TEST(admission.job().job_class() == "Any");
}

BOOST_FIXTURE_TEST_CASE(what_is_no_job_is_unreadable_and_the_reason_is_told, Gate) {
  const Decision decision = decide("no job");
  BOOST_TEST((decision.kind == Kind::unreadable));
  BOOST_TEST(!decision.why.empty());
}

BOOST_FIXTURE_TEST_CASE(a_capped_class_waits_beside_its_queue_and_a_paused_one_for_its_release, Gate) {
  paused = {"Paused"};
  const Decision capped = decide(job("Capped")), of_paused = decide(job("Paused"));
  BOOST_TEST((capped.kind == Kind::defer && capped.deferral.why == Why::cap));
  BOOST_TEST(capped.deferral.into == "a@few");
  BOOST_TEST((of_paused.kind == Kind::defer && of_paused.deferral.why == Why::pause));
}

BOOST_FIXTURE_TEST_CASE(a_job_that_came_from_beside_its_queue_has_its_place, Gate) {
  admission.begin_batch("a@few", caps);
  BOOST_TEST((kind(job("Capped")) == Kind::run));
}

BOOST_FIXTURE_TEST_CASE(nothing_begins_behind_a_job_that_was_deferred_but_others_may_be_deferred, Gate) {
  BOOST_TEST((kind(job("Capped")) == Kind::defer));
  BOOST_TEST((kind(job("Any")) == Kind::not_now));
  BOOST_TEST((kind("no job") == Kind::not_now));
  BOOST_TEST((kind(job("Capped")) == Kind::defer));
}

BOOST_FIXTURE_TEST_CASE(what_is_done_waits_for_no_class_that_may_be_long, Gate) {
  BOOST_TEST((kind(job("Any")) == Kind::run));
  BOOST_TEST((kind(job("Any")) == Kind::not_now));
  admission.note_run(Payload::parse(job("Any")), 10us);
  BOOST_TEST((kind(job("Any")) == Kind::run));
}

BOOST_FIXTURE_TEST_CASE(a_job_that_came_too_late_expires_though_its_class_is_paused_and_not_while_it_has_no_place,
                        Gate) {
  paused = {"Paused"};
  const Decision decision = decide(job("Paused", long_ago));
  BOOST_TEST((decision.kind == Kind::expire));
  BOOST_TEST((decision.expiry == WallTime(1'000'000'000s)));
  BOOST_TEST((kind(job("Capped", long_ago)) == Kind::defer));
}

BOOST_FIXTURE_TEST_CASE(a_job_whose_lock_another_holds_is_dropped_or_waits_unless_it_came_too_late, Gate) {
  const std::string unique = R"(,"unique_for":60,"unique_until":"running")";
  const std::string after = unique + R"(,"on_conflict":"after")";
  const std::string lock = uniqueness_of(Payload::parse(job("Any", unique))).value().lock;
  redis.call({"SET", keys::running_lock(lock), "host:1:0123456789ab 1.1 2"});
  const auto settles_at_once = [this](const std::string& more, Kind kind) {
    admission.begin_batch("a", caps);
    const Decision decision = decide(job("Any", more));
    return decision.kind == kind && decision.settles_at_once;
  };
  BOOST_TEST(settles_at_once(unique + R"(,"on_conflict":"drop")", Kind::drop));
  BOOST_TEST(settles_at_once(after, Kind::defer));
  BOOST_TEST(settles_at_once(after + long_ago, Kind::expire));
  redis.call({"DEL", keys::running_lock(lock)});
  BOOST_TEST(settles_at_once(unique, Kind::run));
}
