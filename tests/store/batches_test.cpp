// What batches count, and the callbacks that they push.
#include "tests/store/counted_batches.hpp"

#include <boost/test/unit_test.hpp>
#include <brood/batch.hpp>
#include <brood/flow.hpp>

#include "shared/job/payload.hpp"
#include "shared/store/batches/batch.hpp"
#include "shared/store/queues/queue_jobs.hpp"
#include "shared/store/sets/set_entries.hpp"
#include "tests/support/redis_server.hpp"
#include "tests/support/tcp_proxy.hpp"

using namespace brood;
using namespace brood::batch_tests;

BOOST_FIXTURE_TEST_CASE(a_batch_counts_its_jobs_and_fires_each_event_once, Batches) {
  Batch batch = batch_with_callbacks({.description = "import 7"});
  push_rows(batch, 4);
  BOOST_TEST(counts(batch.bid()) == "running: 4 = 0 + 4 + 0, 0 failing");
  perform("rows", {Kind::acknowledge, Kind::retry});
  BOOST_TEST(counts(batch.bid()) == "running: 4 = 1 + 3 + 0, 1 failing");
  BOOST_TEST(pushed() == Strings{});
  perform("rows", {Kind::acknowledge, Kind::retry});
  BOOST_TEST(counts(batch.bid()) == "complete: 4 = 2 + 2 + 0, 2 failing");
  BOOST_TEST(pushed() == Strings{"complete"});
  retry_all("retry");
  perform("rows", {Kind::acknowledge, Kind::move_to_dead});
  BOOST_TEST(counts(batch.bid()) == "finished: 4 = 3 + 0 + 1, 0 failing");
  BOOST_TEST(pushed() == (Strings{"complete", "death", "finished"}));
  retry_all("dead");
  perform("rows", {Kind::acknowledge});
  BOOST_TEST(counts(batch.bid()) == "success: 4 = 4 + 0 + 0, 0 failing");
  BOOST_TEST(pushed() == (Strings{"complete", "death", "finished", "success"}));
  BOOST_TEST(record(batch.bid()).description == "import 7");
}

BOOST_FIXTURE_TEST_CASE(a_callback_is_an_ordinary_job_with_its_own_arguments, Batches) {
  Batch batch(client);
  batch.on(BatchEvent::success, Push{.job_class = "Ruby::Alarm", .args = R"([7,{"a":1.50}])", .queue = "alarms"});
  push_rows(batch, 1);
  perform("rows", {Kind::acknowledge});
  const Payload callback = Payload::parse(redis.lrange("queue:alarms").at(0));
  BOOST_TEST(callback.job_class() == "Ruby::Alarm");
  BOOST_TEST(callback.args() == R"([7,{"a":1.50}])");
  BOOST_TEST(callback.string("cbid").value() == batch.bid());
  BOOST_TEST(callback.string("batch_callback").value() == "success");
  BOOST_TEST(callback.jid().size() == 24u);
  BOOST_TEST(callback.time("enqueued_at").has_value());
  BOOST_TEST((std::abs(epoch_seconds(*callback.time("enqueued_at")) - epoch_seconds(wall_now())) < 60));
  BOOST_TEST(!callback.raw("at").has_value());
  BOOST_TEST(!callback.string("bid").has_value());
  BOOST_TEST((redis.smembers("queues") == Strings{"alarms", "rows"}));
}

BOOST_FIXTURE_TEST_CASE(no_callback_is_pushed_before_the_push_has_returned, Batches) {
  Batch batch = batch_with_callbacks();
  batch.push([&](BatchJobs& jobs) {
    for (int row = 0; row < 1000; ++row) jobs.enqueue(ImportRow{row});  // a whole slice, which is sent at once
    perform("rows", std::vector<Kind>(100, Kind::move_to_dead));
    for (int i = 0; i < 9; ++i) perform("rows", std::vector<Kind>(100, Kind::acknowledge));
    BOOST_TEST(counts(batch.bid()) == "open: 1000 = 900 + 0 + 100, 0 failing");
    BOOST_TEST(pushed() == Strings{});
    jobs.enqueue(ImportRow{1});
  });
  BOOST_TEST(pushed() == Strings{"death"});
  perform("rows", {Kind::acknowledge});
  BOOST_TEST(pushed() == (Strings{"death", "complete", "finished"}));
}

BOOST_FIXTURE_TEST_CASE(a_batch_without_jobs_fires_at_once, Batches) {
  Batch batch = batch_with_callbacks();
  push_rows(batch, 0);
  BOOST_TEST(pushed() == (Strings{"complete", "success", "finished"}));
  BOOST_TEST(counts(batch.bid()) == "success: 0 = 0 + 0 + 0, 0 failing");
}

BOOST_FIXTURE_TEST_CASE(a_batch_whose_filling_throws_is_cancelled_and_the_exception_goes_on, Batches) {
  Batch batch = batch_with_callbacks();
  const auto fill = [](BatchJobs& jobs) {
    for (int row = 0; row < 1001; ++row) jobs.enqueue(ImportRow{row});
    throw std::domain_error("no more rows");
  };
  BOOST_CHECK_THROW(batch.push(fill), std::domain_error);
  BOOST_TEST(counts(batch.bid()) == "cancelled: 1000 = 0 + 1000 + 0, 0 failing");
  for (int i = 0; i < 10; ++i) perform("rows", std::vector<Kind>(100, Kind::acknowledge));
  BOOST_TEST(pushed() == Strings{"finished"});
}

BOOST_FIXTURE_TEST_CASE(a_job_that_runs_twice_counts_once, Batches) {
  Batch batch = batch_with_callbacks();
  push_rows(batch, 2);
  const std::string twice = redis.lrange("queue:rows").at(1);
  redis.command({"RPUSH", RedisKey("queue:rows"), twice});
  perform("rows", {Kind::acknowledge, Kind::acknowledge});
  BOOST_TEST(counts(batch.bid()) == "running: 2 = 1 + 1 + 0, 0 failing");
  redis.command({"RPUSH", RedisKey("queue:rows"), twice});
  perform("rows", {Kind::move_to_dead});
  BOOST_TEST(counts(batch.bid()) == "running: 2 = 1 + 1 + 0, 0 failing");
  perform("rows", {Kind::acknowledge});
  BOOST_TEST(pushed() == (Strings{"complete", "success", "finished"}));
}

BOOST_FIXTURE_TEST_CASE(jobs_that_end_in_order_are_counted_by_whole_bytes, Batches) {
  Batch batch(client);
  push_rows(batch, 100);
  for (int i = 0; i < 3; ++i) perform("rows", std::vector<Kind>(30, Kind::acknowledge));
  BOOST_TEST(counts(batch.bid()) == "running: 100 = 90 + 10 + 0, 0 failing");
  const Reply calls = redis.command({"INFO", "commandstats"});
  BOOST_TEST(calls.view().text().find("cmdstat_bitfield:") == std::string_view::npos);
}

BOOST_FIXTURE_TEST_CASE(a_failed_job_that_is_stored_nowhere_counts_as_dead, Batches) {
  Batch batch = batch_with_callbacks();
  push_rows(batch, 1);
  perform("rows", {Kind::discard});
  BOOST_TEST(counts(batch.bid()) == "finished: 1 = 0 + 0 + 1, 0 failing");
  BOOST_TEST(pushed() == (Strings{"death", "complete", "finished"}));
  BOOST_TEST(redis.size_of("dead") == 0u);
}

BOOST_FIXTURE_TEST_CASE(a_deleted_job_counts_as_dead, Batches) {
  Batch batch = batch_with_callbacks();
  push_rows(batch, 2);
  connection.run(remove_holding_job("rows", redis.lrange("queue:rows").at(0)));
  BOOST_TEST(counts(batch.bid()) == "running: 2 = 0 + 1 + 1, 0 failing");
  perform("rows", {Kind::retry});
  const auto [payload, score] = redis.zrange("retry").at(0);
  const std::string score_text = brood::score_text(score);
  connection.run(remove_entries("retry", {EntryAsRead{payload, score_text}}));
  BOOST_TEST(counts(batch.bid()) == "finished: 2 = 0 + 0 + 2, 0 failing");
}

BOOST_FIXTURE_TEST_CASE(the_callbacks_of_a_parent_wait_until_those_of_its_children_have_run, Batches) {
  Batch parent = batch_with_callbacks();
  std::optional<Batch> child;
  parent.push([&](BatchJobs&) {
    child.emplace(client, BatchOptions{.parent = parent.bid()});
    child->on(BatchEvent::success, Push{.job_class = "OfChild", .queue = "of_child"});
    push_rows(*child, 1);
  });
  BOOST_TEST(record(parent.bid()).children == Strings{child->bid()});
  BOOST_TEST(record(child->bid()).parent == parent.bid());
  BOOST_TEST(pushed() == Strings{});
  perform("rows", {Kind::acknowledge});
  BOOST_TEST(pushed("of_child") == Strings{"success"});
  BOOST_TEST(pushed() == (Strings{"complete", "finished"}));                 // for these the child has no callbacks
  BOOST_TEST(counts(parent.bid()) == "complete: 0 = 0 + 0 + 0, 0 failing");  // no job is dead
  perform("of_child", {Kind::retry});
  BOOST_TEST(pushed() == (Strings{"complete", "finished"}));
  retry_all("retry");
  perform("of_child", {Kind::acknowledge});
  BOOST_TEST(pushed() == (Strings{"complete", "finished", "success"}));
  BOOST_TEST(counts(parent.bid()) == "success: 0 = 0 + 0 + 0, 0 failing");
}

BOOST_FIXTURE_TEST_CASE(a_death_fires_its_event_in_all_parents, Batches) {
  Batch top = batch_with_callbacks();
  Batch middle(client, {.parent = ""}), bottom(client);
  top.push([&](BatchJobs&) {
    middle = Batch(client, {.parent = top.bid()});
    middle.push([&](BatchJobs&) {
      bottom = Batch(client, {.parent = middle.bid()});
      push_rows(bottom, 1);
    });
  });
  perform("rows", {Kind::move_to_dead});
  BOOST_TEST(pushed() == (Strings{"death", "complete", "finished"}));
  BOOST_TEST(counts(top.bid()) == "finished: 0 = 0 + 0 + 0, 0 failing");  // the dead job is its child's
  retry_all("dead");
  perform("rows", {Kind::acknowledge});
  BOOST_TEST(pushed() == (Strings{"death", "complete", "finished", "success"}));
}

BOOST_FIXTURE_TEST_CASE(a_cancelled_batch_fires_finished_alone, Batches) {
  Batch batch = batch_with_callbacks();
  push_rows(batch, 2);
  batch.cancel();
  BOOST_TEST(read_batch_cancelled(connection.call(ask_batch_cancelled(batch.bid())).view()));
  BOOST_TEST(counts(batch.bid()) == "cancelled: 2 = 0 + 2 + 0, 0 failing");
  BOOST_CHECK_THROW(push_rows(batch, 1), BatchClosed);
  perform("rows", {Kind::move_to_dead, Kind::acknowledge});
  BOOST_TEST(pushed() == Strings{"finished"});
  BOOST_TEST(counts(batch.bid()) == "cancelled: 2 = 1 + 0 + 1, 0 failing");
}

// The process of a job was killed while it pushed a child.  Once the job ends, its parent no longer waits for that
// child.
BOOST_FIXTURE_TEST_CASE(a_child_whose_push_never_returned_is_cancelled_when_the_job_that_pushed_it_ends, Batches) {
  Batch parent = batch_with_callbacks();
  push_rows(parent, 1);
  const auto job = batch_named_by(redis.lrange("queue:rows").at(0)).value();
  NewBatch child{.push = {"child", "token", "host 1 2"},
                 .description = "",
                 .parent = parent.bid(),
                 .made_in = job.bid,
                 .made_by = std::to_string(job.index),
                 .callbacks = {}};
  BOOST_TEST((read_batch_answer(connection.run(open_batch(child, wall_now())).view()) == BatchAnswer::ok));
  perform("rows", {Kind::retry});
  BOOST_TEST((record("child").state == BatchState::cancelled));
  retry_all("retry");
  perform("rows", {Kind::acknowledge});
  BOOST_TEST(pushed() == (Strings{"complete", "success", "finished"}));
}

BOOST_FIXTURE_TEST_CASE(a_unique_job_whose_lock_another_holds_is_not_in_the_batch, Batches) {
  client.enqueue(OneAtATime{1});
  Batch batch = batch_with_callbacks();
  batch.push([](BatchJobs& jobs) { jobs.enqueue_bulk(std::vector<OneAtATime>{{1}, {2}, {2}, {3}}); });
  BOOST_TEST(counts(batch.bid()) == "running: 2 = 0 + 2 + 0, 0 failing");
  BOOST_TEST(redis.size_of("queue:rows") == 3u);
  perform("rows", {Kind::acknowledge, Kind::acknowledge, Kind::acknowledge});
  BOOST_TEST(counts(batch.bid()) == "success: 2 = 2 + 0 + 0, 0 failing");
  BOOST_TEST(redis.keys("brood:unique:*") == Strings{});
}

BOOST_FIXTURE_TEST_CASE(a_job_that_another_replaces_is_counted_as_skipped, Batches) {
  Batch batch = batch_with_callbacks();
  batch.push([](BatchJobs& jobs) { jobs.enqueue(OneAtATime{1}); });
  client.enqueue(OneAtATime{1}, {.on_conflict = OnConflict::replace});
  BOOST_TEST(redis.size_of("queue:rows") == 1u);
  BOOST_TEST(counts(batch.bid()) == "success: 1 = 1 + 0 + 0, 0 failing");
}

BOOST_FIXTURE_TEST_CASE(every_key_of_a_batch_expires, Batches) {
  Batch parent = batch_with_callbacks();
  parent.push([&](BatchJobs& jobs) {
    for (int row = 0; row < 20; ++row) jobs.enqueue(ImportRow{row});
    Batch child(client, {.parent = parent.bid()});
    push_rows(child, 1);
  });
  Flow flow(client);
  flow.add("one", ImportRow{1});
  flow.add("two", ImportRow{2}, {.after = {"one"}});
  flow.push();
  perform("rows", std::vector<Kind>(12, Kind::acknowledge));
  perform("rows", {Kind::retry, Kind::move_to_dead});
  for (const std::string& key : redis.keys("brood:batch:*")) BOOST_TEST(redis.integer({"TTL", RedisKey(key)}) > 0, key);
}

BOOST_FIXTURE_TEST_CASE(scheduled_jobs_count_too, Batches) {
  Batch batch = batch_with_callbacks();
  batch.push([](BatchJobs& jobs) {
    jobs.enqueue_in(std::chrono::hours(1), ImportRow{1});
    jobs.enqueue(ImportRow{2});
  });
  BOOST_TEST(redis.size_of("schedule") == 1u);
  perform("rows", {Kind::acknowledge});
  retry_all("schedule");
  perform("rows", {Kind::acknowledge});
  BOOST_TEST(counts(batch.bid()) == "success: 2 = 2 + 0 + 0, 0 failing");
}

// Whichever reply is lost, each slice is in Redis once.
BOOST_FIXTURE_TEST_CASE(a_spread_gives_each_job_of_a_batch_its_time, Batches) {
  Batch batch(client);
  batch.push([](BatchJobs& jobs) {
    jobs.enqueue_bulk(std::vector<ImportRow>(200), {.spread = std::chrono::hours(1)});
    jobs.enqueue(ImportRow{1}, {.spread = std::chrono::hours(1)});
    jobs.enqueue_in(std::chrono::seconds(0), ImportRow{1}, {.spread = std::chrono::hours(1)});
    for (const std::chrono::hours spread : {std::chrono::hours(0), std::chrono::hours(-1)})
      BOOST_CHECK_THROW(jobs.enqueue(ImportRow{1}, {.spread = spread}), std::invalid_argument);
    BOOST_CHECK_THROW(jobs.enqueue_in(std::chrono::hours(1), ImportRow{1}, {.spread = std::chrono::hours(1)}),
                      std::invalid_argument);
    BOOST_CHECK_THROW(
        jobs.enqueue_at(std::chrono::system_clock::now(), ImportRow{1}, {.spread = std::chrono::hours(1)}),
        std::invalid_argument);
  });
  BOOST_TEST(redis.size_of("queue:rows") == 0u);
  BOOST_TEST(redis.size_of("schedule") == 202u);
  const double now = epoch_seconds(wall_now());
  std::size_t early = 0;
  for (const auto& [payload, score] : redis.zrange("schedule")) {
    BOOST_TEST((score > now - 60 && score < now + 3'600));
    early += score < now + 1'800 ? 1 : 0;
  }
  BOOST_TEST((early > 50 && early < 150));
}

BOOST_FIXTURE_TEST_CASE(a_callback_and_a_step_are_not_spread, Batches) {
  const EnqueueOptions spread{.spread = std::chrono::hours(1)};
  Batch batch(client);
  BOOST_CHECK_THROW(batch.on(BatchEvent::success, Report{"success"}, spread), std::invalid_argument);
  Flow flow(client);
  BOOST_CHECK_THROW(flow.on(BatchEvent::success, Report{"success"}, spread), std::invalid_argument);
  BOOST_CHECK_THROW(flow.add("one", ImportRow{1}, {}, spread), std::invalid_argument);
}

BOOST_FIXTURE_TEST_CASE(a_jid_is_for_one_job_of_a_bulk, Batches) {
  Batch batch(client);
  BOOST_CHECK_THROW(batch.push([](BatchJobs& jobs) { jobs.enqueue_bulk(std::vector<ImportRow>(2), {.jid = "j1"}); }),
                    std::invalid_argument);
  BOOST_TEST(redis.size_of("queue:rows") == 0u);
  Batch one(client);
  one.push([](BatchJobs& jobs) { BOOST_TEST(jobs.enqueue_bulk(std::vector<ImportRow>(1), {.jid = "j1"}) == 1u); });
  BOOST_TEST(redis.size_of("queue:rows") == 1u);
}

BOOST_FIXTURE_TEST_CASE(the_place_of_a_job_in_its_batch_is_given_by_the_batch_alone, Batches) {
  for (const std::string name : {"bid", "batch_index"}) {
    const Push job{.job_class = "ImportRow", .queue = "rows", .members = {{name, "7"}}};
    Batch batch(client);
    BOOST_CHECK_THROW(batch.push([&](BatchJobs& jobs) { jobs.push(job); }), std::invalid_argument);
    Flow flow(client);
    flow.add("one", job);
    BOOST_CHECK_THROW(flow.push(), std::invalid_argument);
  }
  BOOST_TEST(redis.size_of("queue:rows") == 0u);
}

BOOST_FIXTURE_TEST_CASE(a_push_is_whole_whichever_reply_is_lost, Batches) {
  for (std::size_t bytes = 0; bytes < 600; bytes += 10) {
    redis.flush();
    TcpProxy proxy(redis.socket_path());
    Client remote{proxy.url()};
    Batch batch(remote);
    batch.on(BatchEvent::success, Report{"success"});
    proxy.cut_replies_after(bytes);
    push_rows(batch, 3);
    BOOST_TEST(counts(batch.bid()) == "running: 3 = 0 + 3 + 0, 0 failing", "cut after " << bytes);
    BOOST_TEST(redis.size_of("queue:rows") == 3u, "cut after " << bytes);
  }
}

BOOST_FIXTURE_TEST_CASE(a_callback_for_a_queue_that_is_no_list_goes_to_the_dead_set, Batches) {
  redis.command({"SET", RedisKey("queue:callbacks"), "x"});
  Batch batch = batch_with_callbacks();
  push_rows(batch, 1);
  perform("rows", {Kind::acknowledge});
  const auto dead = redis.zrange("dead");
  BOOST_REQUIRE_EQUAL(dead.size(), 3u);
  const Payload callback = Payload::parse(dead.front().first);
  BOOST_TEST(callback.string("error_class").value() == "NoQueue");
}

BOOST_FIXTURE_TEST_CASE(hostile_places_in_a_batch_count_nowhere, Batches) {
  Batch batch = batch_with_callbacks();
  push_rows(batch, 1);
  const std::string job = redis.lrange("queue:rows").at(0);
  for (const char* index : {"4000000000", "-1", "1", "\"x\"", "1e300", "99999999999999999999"}) {
    std::string hostile = job;
    const auto at = hostile.find("\"batch_index\":0");
    hostile.replace(at, 15, std::string("\"batch_index\":") + index);
    redis.command({"RPUSH", RedisKey("queue:rows"), hostile});
    perform("rows", {Kind::acknowledge});
    BOOST_TEST(counts(batch.bid()) == "running: 1 = 0 + 1 + 0, 0 failing", index);
  }
  BOOST_TEST(redis.get("brood:batch:" + batch.bid() + ":states").value() == std::string(1, '\0'));
  redis.command({"DEL", RedisKey("brood:batch:" + batch.bid())});
  redis.command({"SET", RedisKey("brood:batch:" + batch.bid()), "no hash"});
  perform("rows", {Kind::acknowledge});  // is settled anyway
  BOOST_TEST(redis.size_of("queue:rows") == 0u);
}

BOOST_FIXTURE_TEST_CASE(nesting_deeper_than_32_is_refused, Batches) {
  std::vector<Batch> all;
  all.emplace_back(client);
  std::function<void()> deeper = [&] {
    all.emplace_back(client, BatchOptions{.parent = all.back().bid()});
    Batch& batch = all.back();
    batch.push([&](BatchJobs&) { deeper(); });
  };
  all.reserve(40);
  BOOST_CHECK_THROW(all.front().push([&](BatchJobs&) { deeper(); }), BatchClosed);
  BOOST_TEST(all.size() == 33u);
}

BOOST_FIXTURE_TEST_CASE(a_batch_is_kept_for_a_day_after_its_success_and_for_the_dead_timeout_after_a_death, Batches) {
  Batch batch = batch_with_callbacks();
  push_rows(batch, 2);
  const auto ttl = [&](const std::string& suffix = "") {
    return redis.integer({"TTL", RedisKey("brood:batch:" + batch.bid() + suffix)}) / 86'400.0;
  };
  BOOST_TEST(std::abs(ttl() - 30) < 0.1);
  perform("rows", {Kind::move_to_dead});
  BOOST_TEST(std::abs(ttl() - 180) < 0.1);
  BOOST_TEST(std::abs(ttl(":states") - 180) < 0.1);
  retry_all("dead");
  perform("rows", {Kind::acknowledge, Kind::acknowledge});
  perform("callbacks", std::vector<Kind>(4, Kind::acknowledge));
  BOOST_TEST(std::abs(ttl() - 1) < 0.1);
  BOOST_TEST(redis.size_of("brood:batches") == 1u);
}

BOOST_FIXTURE_TEST_CASE(a_deleted_batch_leaves_nothing_and_its_parent_waits_no_more, Batches) {
  Batch parent = batch_with_callbacks();
  std::optional<Batch> child;
  parent.push([&](BatchJobs&) {
    child.emplace(client, BatchOptions{.parent = parent.bid()});
    push_rows(*child, 2);
  });
  perform("rows", {Kind::acknowledge});
  connection.run(delete_batch(child->bid()));
  BOOST_TEST(redis.keys("brood:batch:" + child->bid() + "*") == Strings{});
  BOOST_TEST(pushed() == (Strings{"complete", "success", "finished"}));
  perform("rows", {Kind::acknowledge});
}
