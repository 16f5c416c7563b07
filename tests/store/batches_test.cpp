#include <fmt/format.h>

#include <boost/test/unit_test.hpp>
#include <brood/batch.hpp>
#include <brood/flow.hpp>
#include <map>

#include "shared/job/batch_membership.hpp"
#include "shared/job/payload.hpp"
#include "shared/store/batches/batch.hpp"
#include "shared/store/batches/flow.hpp"
#include "shared/store/holdings.hpp"
#include "shared/store/in_flight/incarnation.hpp"
#include "shared/store/in_flight/recover_worker.hpp"
#include "shared/store/in_flight/settle_and_fetch.hpp"
#include "shared/store/queues/queue_jobs.hpp"
#include "shared/store/sets/set_entries.hpp"
#include "tests/support/redis_server.hpp"
#include "tests/support/tcp_proxy.hpp"

using namespace brood;

// What batches count, and the callbacks that they push.
namespace {

using Kind = Outcome::Kind;
using Strings = std::vector<std::string>;

const std::string identity = "host:1:0123456789ab";
const std::string field = "2.17";

struct ImportRow {
  int row = 0;
  static constexpr JobOptions options{.queue = "rows"};
  static constexpr std::string_view job_class = "ImportRow";
  void perform() {}
};

struct Report {
  std::string what;
  static constexpr JobOptions options{.queue = "callbacks"};
  static constexpr std::string_view job_class = "Report";
  void perform() {}
};

struct OneAtATime {
  int which = 0;
  static constexpr JobOptions options{.queue = "rows", .unique = true};
  static constexpr std::string_view job_class = "OneAtATime";
  void perform() {}
};

constexpr std::array all_events{BatchEvent::complete, BatchEvent::success, BatchEvent::death, BatchEvent::finished};
constexpr std::array event_names{"complete", "success", "death", "finished"};

// A Redis, a client, and a worker of which each test decides how its jobs end.
struct Batches {
  RedisServer redis;
  Connection connection{redis.address()};
  Client client{redis.url()};
  std::uint64_t number = 0;
  std::string held_queue;
  Strings held = {};

  Batches() { connection.run(register_incarnation(identity, "{}", field)); }

  Batch batch_with_callbacks(const BatchOptions& options = {}) {
    Batch batch(client, options);
    for (std::size_t i = 0; i < all_events.size(); ++i) batch.on(all_events.at(i), Report{event_names.at(i)});
    return batch;
  }
  static void push_rows(Batch& batch, int rows) {
    batch.push([&](BatchJobs& jobs) {
      for (int row = 0; row < rows; ++row) jobs.enqueue(ImportRow{row});
    });
  }

  // Settles what is held by these outcomes, and fetches up to `want` jobs of the queue.
  void settle(const std::vector<Outcome>& outcomes, const std::string& queue, int want) {
    Settlement settlement;
    settlement.identity = identity;
    settlement.field = field;
    settlement.number = number;
    settlement.held_queue = held_queue;
    settlement.outcomes = outcomes;
    for (std::size_t i = 0; i < outcomes.size(); ++i) {
      if (const auto end = end_of_job(outcomes[i].kind)) append_held(settlement.let_go, held.at(i), 0, *end);
    }
    settlement.draw = {queue};
    settlement.want = want;
    const Settled settled = read_settled(connection.run(settle_and_fetch(settlement, wall_now())).view());
    BOOST_REQUIRE(!settled.fenced);
    number = settled.number;
    held_queue = settled.queue;
    held = settled.payloads;
  }
  // Fetches as many jobs as there are kinds, and ends each so.
  void perform(const std::string& queue, const std::vector<Kind>& kinds) {
    settle({}, queue, static_cast<int>(kinds.size()));
    BOOST_REQUIRE_EQUAL(held.size(), kinds.size());
    std::vector<Outcome> outcomes;
    for (std::size_t i = 0; i < kinds.size(); ++i) {
      const bool keeps = kinds[i] == Kind::retry || kinds[i] == Kind::move_to_dead;
      outcomes.push_back({kinds[i], keeps ? held[i] : "", keeps ? 4e9 : 0.0});
    }
    settle(outcomes, "none", 0);
  }
  // Moves all of a sorted set to their queue, as a person does who retries them.
  void retry_all(const std::string& set) {
    for (const auto& [payload, score] : redis.zrange(set)) {
      redis.command({"ZREM", RedisKey(set), payload});
      redis.command({"LPUSH", RedisKey("queue:" + Payload::parse(payload).string("queue").value()), payload});
    }
  }

  BatchRecord record(const std::string& bid) {
    const std::vector<Command> ask = ask_batch(bid);
    const Reply hash = redis.command(ask[0]), children = redis.command(ask[1]);
    return read_batch(bid, hash.view(), children.view()).value();
  }
  std::string counts(const std::string& bid) {
    const BatchRecord batch = record(bid);
    return fmt::format("{}: {} = {} + {} + {}, {} failing", to_string(batch.state), batch.total, batch.succeeded,
                       batch.pending, batch.dead, batch.failing);
  }
  // The events whose callbacks wait in the queue, oldest first.
  Strings pushed(const std::string& queue = "callbacks") {
    Strings events;
    for (const std::string& payload : redis.lrange("queue:" + queue))
      events.insert(events.begin(), Payload::parse(payload).string("batch_callback").value_or("none"));
    return events;
  }
};

}  // namespace

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
    for (int row = 0; row < 1000; ++row) jobs.enqueue(ImportRow{row});  // a whole slice, which is sent
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
  BOOST_TEST(pushed() == (Strings{"complete", "finished"}));  // for these the child has no callbacks
  perform("of_child", {Kind::retry});
  BOOST_TEST(pushed() == (Strings{"complete", "finished"}));
  retry_all("retry");
  perform("of_child", {Kind::acknowledge});
  BOOST_TEST(pushed() == (Strings{"complete", "finished", "success"}));
}

BOOST_FIXTURE_TEST_CASE(a_death_is_told_to_all_parents, Batches) {
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

// The process of a job was killed in the midst of pushing a child: on its next end nobody waits for that child.
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
  perform("rows", {Kind::acknowledge});  // is settled all the same
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

// ---- Flows

namespace {

struct Encode {
  int video = 0;
  static constexpr JobOptions options{.queue = "rows"};
  static constexpr std::string_view job_class = "Encode";
  void perform() {}
};

struct Flows : Batches {
  // The steps by their names, in the order in which they would be fetched.
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
