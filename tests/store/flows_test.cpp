// The steps of a flow are pushed when those before them are settled.
#include "tests/store/counted_batches.hpp"

#include <boost/test/unit_test.hpp>
#include <brood/flow.hpp>
#include <thread>

#include "shared/job/payload.hpp"
#include "shared/store/batches/flow.hpp"
#include "shared/store/in_flight/job_search.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/redis_server.hpp"

using namespace brood;
using namespace brood::batch_tests;

namespace {

struct Encode {
  int video = 0;
  static constexpr JobOptions options{.queue = "rows"};
  static constexpr std::string_view job_class = "Encode";
  void perform() {}
};

struct Flows : Batches {
  // The names of the waiting steps, in the order in which they would be fetched.
  Strings waiting_in(const std::string& queue = "rows") {
    Strings names;
    for (const std::string& payload : redis.lrange("queue:" + queue))
      names.insert(names.begin(), Payload::parse(payload).string("step").value_or("none"));
    return names;
  }
  std::string steps(const std::string& bid) {
    const std::vector<Command> ask = ask_steps(bid);
    const Reply steps = redis.command(ask[0]), states = redis.command(ask[1]);
    std::string text;
    for (const FlowStep& step : read_steps(steps.view(), states.view()))
      text += (text.empty() ? "" : ", ") + step.name + " " + std::string(to_string(step.state));
    return text;
  }
  Flow diamond(IfFailed if_failed = IfFailed::fail) {
    Flow flow(client, {.description = "video 7"});
    const auto split = flow.add("split", Encode{1});
    const auto small = flow.add("720p", Encode{2}, {.after = {split}, .if_failed = if_failed});
    flow.add("1080p", Encode{3}, {.after = {"split"}, .if_failed = if_failed});
    flow.add("merge", Encode{4}, {.after = {small, "1080p"}, .if_failed = if_failed});
    for (std::size_t i = 0; i < all_events.size(); ++i) flow.on(all_events.at(i), Report{event_names.at(i)});
    return flow;
  }
};

// Flows whose step "two" waits for "one" and keeps a report, and whose step "three" keeps none.
struct StepReports : Flows {
  EnqueueOptions keeps{.jid = "j1", .keep_result = std::chrono::hours(1)};

  Flow two_steps(IfFailed if_failed) {
    Flow flow(client);
    flow.add("one", Encode{1});
    flow.add("two", Encode{2}, {.after = {"one"}, .if_failed = if_failed}, keeps);
    flow.add("three", Encode{3}, {.after = {"one"}, .if_failed = if_failed});
    flow.push();
    return flow;
  }
  std::string report() {
    const auto left = client.wait("j1", std::chrono::milliseconds(0));
    if (!left) return "none";
    BOOST_TEST(left->jid == "j1");
    BOOST_TEST(left->ended_at.has_value());
    BOOST_TEST(redis.keys("brood:report:*") == Strings{"brood:report:j1"});
    const std::int64_t lives = redis.command({"TTL", RedisKey("brood:report:j1")}).view().integer();
    BOOST_TEST((lives > 3'500 && lives <= 3'600));
    return std::string(to_string(left->state)) + " " + left->error_class + ": " + left->error_message;
  }
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(a_step_is_pushed_when_the_last_one_before_it_is_settled, Flows) {
  Flow flow = diamond();
  flow.push();
  BOOST_TEST(steps(flow.bid()) == "split pending, 720p waiting, 1080p waiting, merge waiting");
  BOOST_TEST(waiting_in() == Strings{"split"});
  perform("rows", {Kind::acknowledge});
  BOOST_TEST(waiting_in() == (Strings{"720p", "1080p"}));
  perform("rows", {Kind::acknowledge});
  perform("rows", {Kind::retry});
  BOOST_TEST(waiting_in() == Strings{});
  retry_all("retry");
  perform("rows", {Kind::acknowledge});
  BOOST_TEST(waiting_in() == Strings{"merge"});
  const Payload merge = Payload::parse(redis.lrange("queue:rows").at(0));
  BOOST_TEST(merge.args() == "[4]");
  BOOST_TEST(merge.string("bid").value() == flow.bid());
  BOOST_TEST(merge.integer("batch_index").value() == 3);
  BOOST_TEST(merge.time("enqueued_at").has_value());
  BOOST_TEST(pushed() == Strings{});
  perform("rows", {Kind::acknowledge});
  BOOST_TEST(pushed() == (Strings{"complete", "success", "finished"}));
  BOOST_TEST(counts(flow.bid()) == "success: 4 = 4 + 0 + 0, 0 failing");
}

BOOST_FIXTURE_TEST_CASE(the_steps_after_a_dead_one_die_visibly_and_heal_with_it, Flows) {
  Flow flow = diamond();
  flow.push();
  perform("rows", {Kind::move_to_dead});
  BOOST_TEST(redis.size_of("dead") == 4u);
  BOOST_TEST(counts(flow.bid()) == "finished: 4 = 0 + 0 + 4, 0 failing");
  for (const auto& [payload, score] : redis.zrange("dead")) {
    const Payload job = Payload::parse(payload);
    if (job.string("step") == "split") continue;
    BOOST_TEST(job.string("error_class").value() == "DependencyFailed");
    BOOST_TEST(job.string("error_message").value().find("has died") != std::string::npos);
  }
  for (const auto& [payload, score] : redis.zrange("dead")) {
    if (Payload::parse(payload).string("step") != "split") continue;
    redis.command({"ZREM", RedisKey("dead"), payload});
    redis.command({"LPUSH", RedisKey("queue:rows"), payload});
  }
  perform("rows", {Kind::acknowledge});
  BOOST_TEST(redis.size_of("dead") == 1u);  // merge
  BOOST_TEST(counts(flow.bid()) == "finished: 4 = 1 + 2 + 1, 0 failing");
  perform("rows", {Kind::acknowledge, Kind::acknowledge});
  BOOST_TEST(redis.size_of("dead") == 0u);
  perform("rows", {Kind::acknowledge});
  BOOST_TEST(counts(flow.bid()) == "success: 4 = 4 + 0 + 0, 0 failing");
  BOOST_TEST(pushed() == (Strings{"death", "complete", "finished", "success"}));
}

BOOST_FIXTURE_TEST_CASE(a_step_whose_dependency_failed_may_be_retried_by_hand, Flows) {
  Flow flow(client);
  flow.add("one", Encode{1});
  flow.add("two", Encode{2}, {.after = {"one"}});
  flow.push();
  perform("rows", {Kind::move_to_dead});
  retry_all("dead");  // both
  perform("rows", {Kind::acknowledge, Kind::acknowledge});
  BOOST_TEST(redis.size_of("queue:rows") == 0u);
  BOOST_TEST(counts(flow.bid()) == "success: 2 = 2 + 0 + 0, 0 failing");
}

BOOST_FIXTURE_TEST_CASE(steps_after_a_dead_one_run_or_are_skipped_where_they_say_so, Flows) {
  Flow runs = diamond(IfFailed::run);
  runs.push();
  perform("rows", {Kind::move_to_dead});
  BOOST_TEST(waiting_in() == (Strings{"720p", "1080p"}));
  perform("rows", {Kind::move_to_dead, Kind::acknowledge});
  BOOST_TEST(waiting_in() == Strings{"merge"});
  perform("rows", {Kind::acknowledge});
  BOOST_TEST(counts(runs.bid()) == "finished: 4 = 2 + 0 + 2, 0 failing");
  Flow skips = diamond(IfFailed::skip);
  skips.push();
  perform("rows", {Kind::move_to_dead});
  BOOST_TEST(steps(skips.bid()) == "split dead, 720p succeeded, 1080p succeeded, merge pending");
  BOOST_TEST(waiting_in() == Strings{"merge"});
}

BOOST_FIXTURE_TEST_CASE(a_cancelled_flow_skips_the_steps_that_wait, Flows) {
  Flow flow = diamond();
  flow.push();
  flow.cancel();
  BOOST_TEST(counts(flow.bid()) == "cancelled: 4 = 3 + 1 + 0, 0 failing");
  perform("rows", {Kind::acknowledge});
  BOOST_TEST(redis.size_of("queue:rows") == 0u);
  BOOST_TEST(pushed() == Strings{"finished"});
}

BOOST_FIXTURE_TEST_CASE(the_report_of_a_skipped_step_names_the_dead_one, StepReports) {
  two_steps(IfFailed::skip);
  BOOST_TEST(report() == "none");
  perform("rows", {Kind::move_to_dead});
  BOOST_TEST(report() == "done StepSkipped: the step one has died");
}

BOOST_FIXTURE_TEST_CASE(a_step_whose_dependency_failed_leaves_a_report_until_it_goes_on, StepReports) {
  two_steps(IfFailed::fail);
  perform("rows", {Kind::move_to_dead});
  BOOST_TEST(report() == "dead DependencyFailed: the step one has died");
  retry_all("dead");
  BOOST_TEST((client.find("j1").value().state == JobState::queued));
}

BOOST_FIXTURE_TEST_CASE(a_step_of_a_cancelled_flow_leaves_a_report, StepReports) {
  two_steps(IfFailed::fail).cancel();
  BOOST_TEST(report() == "done JobDropped: its batch was cancelled");
}

BOOST_FIXTURE_TEST_CASE(a_step_that_is_deleted_with_its_flow_leaves_a_report, StepReports) {
  const Flow flow = two_steps(IfFailed::fail);
  connection.run(delete_batch(flow.bid()));
  BOOST_TEST(report() == "dead JobDeleted: its batch was deleted");
}

BOOST_FIXTURE_TEST_CASE(a_step_that_no_queue_takes_leaves_a_report, StepReports) {
  keeps.queue = "away";
  two_steps(IfFailed::fail);
  redis.command({"SET", RedisKey("queue:away"), "no list"});
  perform("rows", {Kind::acknowledge});
  BOOST_TEST(report() == "dead NoQueue: queue:away is no list, or may not be written to");
}

BOOST_AUTO_TEST_CASE(a_client_with_the_least_rights_writes_the_reports_of_the_steps_that_it_cancels) {
  RedisServer redis({.users = true});
  Client client(redis.url_of("brood-client"));
  Flow flow(client);
  flow.add("one", Encode{1});
  flow.add("two", Encode{2}, {.after = {"one"}}, {.jid = "j1", .keep_result = std::chrono::hours(1)});
  flow.push();
  flow.cancel();
  const auto report = client.wait("j1", std::chrono::milliseconds(0));
  BOOST_REQUIRE(report.has_value());
  BOOST_TEST(report->error_class == "JobDropped");
}

BOOST_FIXTURE_TEST_CASE(the_end_of_a_step_that_never_runs_wakes_those_who_wait_for_it, StepReports) {
  Flow flow = two_steps(IfFailed::fail);
  std::optional<JobReport> report;
  std::thread waits([&] { report = Client(redis.url()).wait("j1", std::chrono::seconds(60)); });
  BOOST_TEST(eventually([&] { return redis.figure("clients", "blocked_clients") == 1; }));
  flow.cancel();
  waits.join();
  BOOST_REQUIRE(report.has_value());
  BOOST_TEST(report->error_class == "JobDropped");
}

BOOST_FIXTURE_TEST_CASE(a_step_that_waits_for_others_is_found_by_its_jid, Flows) {
  Flow other = diamond();
  other.push();
  perform("rows", {Kind::acknowledge});
  Flow flow(client);
  flow.add("one", Encode{1});
  flow.add("two", Encode{2});
  flow.add("last", Encode{3}, {.after = {"one", "two"}}, {.jid = "j1"});
  flow.push();
  const auto place = [&] {
    const std::vector<PlacedJob> found = search_job(connection, "j1");
    BOOST_REQUIRE(found.size() == 1u);
    return found[0];
  };
  BOOST_TEST((client.find("j1").value().state == JobState::queued));
  BOOST_TEST((place().place == PlacedJob::Place::flow));
  BOOST_TEST(place().bid == flow.bid());
  BOOST_TEST(place().waits_for == 2);
  BOOST_TEST(Payload::parse(place().payload).string("class").value() == "Encode");
  perform("rows", {Kind::acknowledge, Kind::acknowledge, Kind::acknowledge});  // two of the other flow come first
  BOOST_TEST(place().waits_for == 1);
  redis.command({"DEL", RedisKey("queue:rows")});
  connection.run(end_jobs_in_batch(flow.bid(), "1", "dead 100"));
  BOOST_TEST((place().place == PlacedJob::Place::dead));
  BOOST_TEST(!client.find("j2").has_value());
}

BOOST_FIXTURE_TEST_CASE(circles_and_unknown_names_are_refused_before_anything_is_sent, Flows) {
  Flow circle(client);
  circle.add("one", Encode{1}, {.after = {"three"}});
  circle.add("two", Encode{2}, {.after = {"one"}});
  circle.add("three", Encode{3}, {.after = {"two"}});
  BOOST_CHECK_THROW(circle.push(), std::invalid_argument);
  Flow unknown(client);
  unknown.add("one", Encode{1}, {.after = {"none"}});
  BOOST_CHECK_THROW(unknown.push(), std::invalid_argument);
  BOOST_CHECK_THROW(unknown.add("one", Encode{1}), std::invalid_argument);
  BOOST_CHECK_THROW(unknown.add("a step", Encode{1}), std::invalid_argument);
  BOOST_CHECK_THROW(unknown.add("unique", OneAtATime{1}); unknown.push(), std::invalid_argument);
  BOOST_TEST(redis.keys("brood:batch*") == Strings{});
}

BOOST_FIXTURE_TEST_CASE(a_flow_of_a_thousand_steps_is_pushed_in_slices, Flows) {
  Flow flow(client);
  flow.add("s0", Encode{0});
  for (int i = 1; i < 999; ++i)
    flow.add("s" + std::to_string(i), Encode{i}, {.after = {"s" + std::to_string((i - 1) / 2)}});
  flow.add("last", Encode{999}, {.after = {"s998"}});
  BOOST_CHECK_THROW(flow.add("more", Encode{1}), std::invalid_argument);
  flow.push();
  for (std::size_t left = 1000; left > 0;) {
    const std::size_t now = std::min<std::size_t>(redis.size_of("queue:rows"), 100);
    BOOST_REQUIRE(now > 0);
    perform("rows", std::vector<Kind>(now, Kind::acknowledge));
    left -= now;
  }
  BOOST_TEST(counts(flow.bid()) == "success: 1000 = 1000 + 0 + 0, 0 failing");
}
