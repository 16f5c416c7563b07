#include <boost/test/unit_test.hpp>
#include <brood/batch.hpp>
#include <brood/client.hpp>
#include <brood/flow.hpp>
#include <brood/testing.hpp>
#include <cstdlib>

using namespace brood;
using testing::Fake;
using testing::FakeBatch;
using testing::Inline;
using testing::Jobs;
using Strings = std::vector<std::string>;

// Written by the jobs below.
static Strings seen;

struct Row {
  std::string name;
  bool fails = false;
  static constexpr JobOptions options{.queue = "rows"};
  void perform(Context& job) {
    seen.push_back(name + (job.bid().empty() ? " alone" : ""));
    if (fails) throw std::runtime_error("no such row");
  }
};

struct Told {
  std::string event;
  void perform() { seen.push_back("told of " + event); }
};

struct AddsRows {
  int count = 0;
  void perform(Context& job) {
    Batch::current(job)->push([&](BatchJobs& jobs) {
      for (int i = 0; i < count; ++i) jobs.enqueue(Row{"added"});
    });
  }
};

struct MakesChild {
  void perform(Context& job) {
    Client client;
    Batch child(client, {.description = "child", .parent = std::string(job.bid())});
    child.on(BatchEvent::success, Told{"child"});
    child.push([](BatchJobs& jobs) { jobs.enqueue(Row{"of child"}); });
  }
};

static Batch* cancelled = nullptr;
struct Cancels {
  void perform(Context& job) {
    const bool before = job.batch_cancelled();
    cancelled->cancel();
    seen.push_back(std::string(before ? "cancelled" : "runs") + (job.batch_cancelled() ? ", cancelled" : ", runs"));
  }
};

namespace {

struct Fresh {
  Fresh() {
    seen.clear();
    setenv("REDIS_URL", "unix:///nonexistent/redis.sock", 1);  // every connection to it is refused
  }
};

Jobs all_jobs() { return Jobs::of<Row, Told, AddsRows, MakesChild, Cancels>(); }

template <typename Of>
void on_all(Of& batch) {
  batch.on(BatchEvent::complete, Told{"complete"});
  batch.on(BatchEvent::success, Told{"success"});
  batch.on(BatchEvent::death, Told{"death"});
  batch.on(BatchEvent::finished, Told{"finished"});
}

// The callbacks that wait.
Strings told(const Fake& fake) {
  Strings events;
  for (const Told& one : fake.jobs_of<Told>()) events.push_back(one.event);
  return events;
}

std::string counts(const FakeBatch& batch) {
  return std::to_string(batch.total) + ": " + std::to_string(batch.succeeded) + " succeeded, " +
         std::to_string(batch.pending) + " pending, " + std::to_string(batch.failing) + " failing, " +
         std::to_string(batch.dead) + " dead";
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(fakes, Fresh)

BOOST_AUTO_TEST_CASE(jobs_of_a_batch_are_counted_and_its_callbacks_pushed) {
  Fake fake(all_jobs());
  Client client;
  Batch batch(client, {.description = "import 7"});
  on_all(batch);
  batch.push([&](BatchJobs& jobs) {
    jobs.enqueue_bulk(std::vector<Row>{{"a"}, {"b"}});
    BOOST_CHECK(fake.batches().at(0).state == FakeBatch::State::open);
  });
  const FakeBatch running = fake.find_batch(batch.bid()).value();
  BOOST_CHECK(running.state == FakeBatch::State::running);
  BOOST_TEST(running.description == "import 7");
  BOOST_TEST(running.parent == "");
  BOOST_TEST(counts(running) == "2: 0 succeeded, 2 pending, 0 failing, 0 dead");

  BOOST_TEST(fake.perform_one());
  BOOST_TEST(told(fake).empty());
  BOOST_TEST(fake.drain("rows") == 1);
  BOOST_TEST(counts(fake.batches().at(0)) == "2: 2 succeeded, 0 pending, 0 failing, 0 dead");
  BOOST_CHECK(fake.batches().at(0).state == FakeBatch::State::success);
  BOOST_TEST(told(fake) == (Strings{"complete", "success", "finished"}), boost::test_tools::per_element());
  BOOST_TEST(fake.jobs().at(1).member("cbid").value() == '"' + batch.bid() + '"');
  BOOST_TEST(fake.jobs().at(1).member("batch_callback").value() == "\"success\"");
  fake.drain();
  BOOST_TEST(seen == (Strings{"a", "b", "told of complete", "told of success", "told of finished"}),
             boost::test_tools::per_element());
  BOOST_CHECK_THROW(batch.push([](BatchJobs& jobs) { jobs.enqueue(Row{"late"}); }), BatchClosed);
}

BOOST_AUTO_TEST_CASE(a_batch_without_jobs_fires_when_its_push_returns) {
  const Fake fake;
  Client client;
  Batch batch(client);
  on_all(batch);
  batch.push([&](BatchJobs&) { BOOST_TEST(fake.size() == 0); });
  BOOST_TEST(told(fake) == (Strings{"complete", "success", "finished"}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_job_that_throws_fails_dies_and_heals_its_batch) {
  Fake fake(all_jobs());
  Client client;
  Batch batch(client);
  on_all(batch);
  std::string jid;
  batch.push([&](BatchJobs& jobs) { jid = jobs.enqueue(Row{"a", true}, {.retry = 1}); });
  BOOST_CHECK_THROW(fake.drain(), std::runtime_error);
  BOOST_TEST(counts(fake.batches().at(0)) == "1: 0 succeeded, 1 pending, 1 failing, 0 dead");
  BOOST_CHECK(fake.batches().at(0).state == FakeBatch::State::complete);
  BOOST_TEST(told(fake) == Strings{"complete"}, boost::test_tools::per_element());
  BOOST_REQUIRE(fake.retries().size() == 1);
  BOOST_TEST(fake.retries().at(0).error_message == "no such row");

  BOOST_TEST(fake.retry(jid));
  BOOST_TEST(!fake.retry(jid));
  BOOST_CHECK_THROW(fake.drain("rows"), std::runtime_error);
  BOOST_TEST(fake.retries().empty());
  BOOST_REQUIRE(fake.dead().size() == 1);
  BOOST_CHECK(fake.batches().at(0).state == FakeBatch::State::finished);
  BOOST_TEST(told(fake) == (Strings{"complete", "death", "finished"}), boost::test_tools::per_element());

  BOOST_TEST(fake.retry(jid));
  client.enqueue(Row{"other"});
  BOOST_CHECK_THROW(fake.drain("rows"), std::runtime_error);
  BOOST_TEST(fake.dead().size() == 1);
  BOOST_TEST(told(fake).size() == 3);  // each event once
}

BOOST_AUTO_TEST_CASE(a_waiting_job_may_be_killed) {
  Fake fake(all_jobs());
  Client client;
  Batch batch(client);
  on_all(batch);
  std::string jid;
  batch.push([&](BatchJobs& jobs) { jid = jobs.enqueue(Row{"a"}); });
  BOOST_TEST(fake.kill(jid));
  BOOST_TEST(!fake.kill(jid));
  BOOST_TEST(told(fake) == (Strings{"death", "complete", "finished"}), boost::test_tools::per_element());
  BOOST_TEST(fake.retry(jid));
  BOOST_TEST(fake.drain("rows") == 1);
  BOOST_CHECK(fake.batches().at(0).state == FakeBatch::State::success);
  BOOST_TEST(told(fake).back() == "success");
}

BOOST_AUTO_TEST_CASE(a_cancelled_scheduled_job_counts_as_dead) {
  Fake fake;
  Client client;
  Batch batch(client);
  std::string jid;
  batch.push([&](BatchJobs& jobs) { jid = jobs.enqueue_in(std::chrono::hours(1), Row{"a"}); });
  BOOST_TEST(client.cancel(jid));
  BOOST_TEST(fake.batches().at(0).dead == 1);
}

BOOST_AUTO_TEST_CASE(a_unique_job_that_is_not_pushed_is_not_counted_and_one_that_is_replaced_has_ended) {
  Fake fake(all_jobs());
  Client client;
  Batch batch(client);
  batch.push([](BatchJobs& jobs) {
    jobs.enqueue(Row{"a"}, {.unique = true});
    jobs.enqueue(Row{"a"}, {.unique = true});
    jobs.enqueue(Row{"b"});
  });
  BOOST_TEST(counts(fake.batches().at(0)) == "2: 0 succeeded, 2 pending, 0 failing, 0 dead");
  client.enqueue(Row{"a"}, {.unique = true, .on_conflict = OnConflict::replace});
  BOOST_TEST(fake.drain() == 2);
  BOOST_TEST(seen == (Strings{"a alone", "b"}), boost::test_tools::per_element());
  BOOST_CHECK(fake.batches().at(0).state == FakeBatch::State::success);
}

BOOST_AUTO_TEST_CASE(a_job_adds_jobs_to_its_batch_and_makes_a_child) {
  Fake fake(all_jobs());
  Client client;
  Batch batch(client);
  on_all(batch);
  batch.push([](BatchJobs& jobs) {
    jobs.enqueue(AddsRows{2});
    jobs.enqueue(MakesChild{});
  });
  fake.drain("default");
  BOOST_TEST(fake.batches().at(0).total == 4);
  BOOST_REQUIRE(fake.batches().size() == 2);
  BOOST_TEST(fake.batches().at(1).parent == batch.bid());
  fake.drain("rows");
  BOOST_TEST(told(fake) == (Strings{"child", "complete", "finished"}), boost::test_tools::per_element());
  fake.perform_one();  // the parent's success waits for the callbacks of its child's
  BOOST_TEST(told(fake) == (Strings{"complete", "finished", "success"}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(jobs_of_a_cancelled_batch_are_skipped) {
  Fake fake(all_jobs());
  Client client;
  Batch batch(client);
  cancelled = &batch;
  on_all(batch);
  batch.push([](BatchJobs& jobs) {
    jobs.enqueue(Cancels{});
    jobs.enqueue(Row{"skipped"});
  });
  BOOST_TEST(fake.drain() == 2);
  BOOST_TEST(seen == (Strings{"runs, cancelled", "told of finished"}), boost::test_tools::per_element());
  BOOST_CHECK(fake.batches().at(0).state == FakeBatch::State::cancelled);
  BOOST_CHECK_THROW(batch.push([](BatchJobs&) {}), BatchClosed);
}

BOOST_AUTO_TEST_CASE(a_push_that_throws_cancels_its_batch) {
  Fake fake(all_jobs());
  Client client;
  Batch batch(client);
  on_all(batch);
  BOOST_CHECK_THROW(batch.push([](BatchJobs&) { throw std::logic_error("no rows"); }), std::logic_error);
  BOOST_TEST(told(fake) == Strings{"finished"}, boost::test_tools::per_element());
  BOOST_CHECK_THROW(Batch(client, {.parent = "none"}).push([](BatchJobs&) {}), BatchClosed);
}

BOOST_AUTO_TEST_CASE(clear_forgets_batches_and_what_has_failed) {
  Fake fake(all_jobs());
  Client client;
  Batch batch(client);
  batch.push([](BatchJobs& jobs) { jobs.enqueue(Row{"a", true}); });
  BOOST_CHECK_THROW(fake.drain(), std::runtime_error);
  fake.clear();
  BOOST_TEST(fake.batches().empty());
  BOOST_TEST(fake.retries().empty());
}

BOOST_AUTO_TEST_CASE(a_step_waits_for_those_before_it) {
  Fake fake(all_jobs());
  Client client;
  Flow flow(client);
  const auto first = flow.add("first", Row{"first"});
  const auto left = flow.add("left", Row{"left"}, {.after = {first}});
  const auto right = flow.add("right", Row{"right"}, {.after = {first}});
  flow.add("last", Row{"last"}, {.after = {left, right}});
  on_all(flow);
  flow.push();
  BOOST_TEST(fake.size() == 1);
  BOOST_TEST(fake.perform_one());
  BOOST_TEST(fake.size() == 2);
  BOOST_TEST(fake.perform_one());
  BOOST_TEST(fake.size() == 1);
  fake.drain();
  BOOST_TEST(
      seen == (Strings{"first", "left", "right", "last", "told of complete", "told of success", "told of finished"}),
      boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(the_steps_after_a_dead_one_fail_run_or_are_skipped_and_heal) {
  Fake fake(all_jobs());
  Client client;
  Flow flow(client);
  const auto first = flow.add("first", Row{"first"});
  const auto fails = flow.add("fails", Row{"fails"}, {.after = {first}});
  flow.add("too", Row{"too"}, {.after = {fails}});
  const auto skipped = flow.add("skipped", Row{"skipped"}, {.after = {first}, .if_failed = IfFailed::skip});
  flow.add("after-skipped", Row{"after-skipped"}, {.after = {skipped}});
  flow.add("runs", Row{"runs"}, {.after = {first}, .if_failed = IfFailed::run});
  on_all(flow);
  flow.push();
  const std::string jid = fake.jobs().at(0).jid;
  BOOST_TEST(fake.kill(jid));
  BOOST_REQUIRE(fake.dead().size() == 3);
  BOOST_TEST(fake.dead().at(1).error_class == "DependencyFailed");
  BOOST_TEST(fake.dead().at(1).error_message == "the step first has died");
  BOOST_TEST(fake.dead().at(2).error_message == "the step fails has died");
  fake.drain("rows");
  BOOST_TEST(seen == (Strings{"runs", "after-skipped"}), boost::test_tools::per_element());
  BOOST_TEST(told(fake) == (Strings{"death", "complete", "finished"}), boost::test_tools::per_element());

  BOOST_TEST(fake.retry(jid));
  fake.drain("rows");
  BOOST_TEST(fake.dead().empty());
  BOOST_TEST(seen == (Strings{"runs", "after-skipped", "first", "fails", "too"}), boost::test_tools::per_element());
  BOOST_CHECK(fake.batches().at(0).state == FakeBatch::State::success);
}

BOOST_AUTO_TEST_CASE(a_failed_step_may_be_retried_alone) {
  Fake fake(all_jobs());
  Client client;
  Flow flow(client);
  const auto first = flow.add("first", Row{"first"});
  flow.add("second", Row{"second"}, {.after = {first}});
  flow.push();
  const std::string jid = fake.jobs().at(0).jid;
  fake.kill(jid);
  BOOST_TEST(fake.retry(fake.dead().at(1).jid));
  BOOST_TEST(fake.retry(jid));
  fake.drain();
  BOOST_TEST(seen == (Strings{"second", "first"}), boost::test_tools::per_element());
  BOOST_CHECK(fake.batches().at(0).state == FakeBatch::State::success);
}

BOOST_AUTO_TEST_CASE(waiting_steps_of_a_cancelled_flow_are_skipped) {
  Fake fake(all_jobs());
  Client client;
  Flow flow(client);
  const auto first = flow.add("first", Row{"first"});
  flow.add("second", Row{"second"}, {.after = {first}});
  on_all(flow);
  flow.push();
  flow.cancel();
  BOOST_TEST(fake.drain("rows") == 0);
  BOOST_TEST(told(fake) == Strings{"finished"}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_step_that_never_runs_leaves_its_report_in_a_fake) {
  Fake fake(all_jobs());
  Client client;
  const auto flow_of = [&](IfFailed if_failed, const std::string& jid) {
    Flow flow(client);
    flow.add("one", Row{"one", true}, {}, {.retry = false});
    flow.add("two", Row{"two"}, {.after = {"one"}, .if_failed = if_failed},
             {.jid = jid, .keep_result = std::chrono::hours(1)});
    flow.push();
    return flow;
  };
  const auto error_of = [&](const std::string& jid) {
    const auto report = client.wait(jid, std::chrono::milliseconds(0));
    return report ? std::string(to_string(report->state)) + " " + report->error_class : "none";
  };
  flow_of(IfFailed::skip, "skipped");
  BOOST_TEST(error_of("skipped") == "none");
  BOOST_TEST((client.find("skipped")->state == JobState::queued));
  BOOST_CHECK_THROW(fake.drain(), std::runtime_error);
  BOOST_TEST(error_of("skipped") == "done StepSkipped");
  flow_of(IfFailed::fail, "failed");
  BOOST_CHECK_THROW(fake.drain(), std::runtime_error);
  BOOST_TEST(error_of("failed") == "dead DependencyFailed");
  flow_of(IfFailed::fail, "cancelled").cancel();
  BOOST_TEST(error_of("cancelled") == "done JobDropped");
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_SUITE(inline_mode, Fresh)

BOOST_AUTO_TEST_CASE(callbacks_run_when_the_push_has_returned) {
  const Inline performs(all_jobs());
  Client client;
  Batch batch(client);
  on_all(batch);
  batch.push([](BatchJobs& jobs) {
    jobs.enqueue(AddsRows{1});
    jobs.enqueue(MakesChild{});
    jobs.enqueue(Row{"a"});
  });
  BOOST_TEST(seen == (Strings{"added", "of child", "told of child", "a", "told of complete", "told of success",
                              "told of finished"}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_job_that_throws_has_died_and_the_others_are_performed) {
  const Inline performs(all_jobs());
  Client client;
  Batch batch(client);
  on_all(batch);
  BOOST_CHECK_THROW(batch.push([](BatchJobs& jobs) {
    jobs.enqueue(Row{"a", true});
    jobs.enqueue(Row{"b"});
  }),
                    std::runtime_error);
  BOOST_TEST(seen == (Strings{"a", "b", "told of death", "told of complete", "told of finished"}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_cancelled_batch_performs_no_more) {
  const Inline performs(all_jobs());
  Client client;
  Batch batch(client);
  cancelled = &batch;
  on_all(batch);
  BOOST_CHECK_THROW(batch.push([](BatchJobs& jobs) {
    jobs.enqueue(Cancels{});
    jobs.enqueue(Row{"a"});
  }),
                    BatchClosed);
  BOOST_TEST(seen == (Strings{"runs, cancelled", "told of finished"}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(steps_are_performed_in_their_order) {
  const Inline performs(all_jobs());
  Client client;
  Flow flow(client);
  flow.add("last", Row{"last"}, {.after = {"first"}});
  flow.add("cleans", Row{"cleans"}, {.after = {"fails"}, .if_failed = IfFailed::run});
  flow.add("never", Row{"never"}, {.after = {"fails"}});
  flow.add("fails", Row{"fails", true}, {.after = {"first"}});
  flow.add("first", Row{"first"});
  on_all(flow);
  BOOST_CHECK_THROW(flow.push(), std::runtime_error);
  BOOST_TEST(
      seen == (Strings{"first", "last", "fails", "cleans", "told of death", "told of complete", "told of finished"}),
      boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()
