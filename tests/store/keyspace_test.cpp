#include "shared/redis/keyspace.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <map>

#include "shared/store/batches/batch.hpp"
#include "shared/store/batches/flow.hpp"
#include "shared/store/gem_lock.hpp"
#include "shared/store/identity_record.hpp"
#include "shared/store/in_flight/caps.hpp"
#include "shared/store/in_flight/census.hpp"
#include "shared/store/in_flight/crash_book.hpp"
#include "shared/store/in_flight/entry_mark.hpp"
#include "shared/store/in_flight/incarnation.hpp"
#include "shared/store/in_flight/job_search.hpp"
#include "shared/store/in_flight/lock_list.hpp"
#include "shared/store/in_flight/quarantined_classes.hpp"
#include "shared/store/in_flight/recover_worker.hpp"
#include "shared/store/in_flight/running_lock.hpp"
#include "shared/store/in_flight/settle_and_fetch.hpp"
#include "shared/store/iteration.hpp"
#include "shared/store/job_place.hpp"
#include "shared/store/limits/limit.hpp"
#include "shared/store/limits/take_limits.hpp"
#include "shared/store/periodic/gem_schedules.hpp"
#include "shared/store/periodic/periodic_jobs.hpp"
#include "shared/store/queues/class_pauses.hpp"
#include "shared/store/queues/known_queues.hpp"
#include "shared/store/queues/push_commands.hpp"
#include "shared/store/queues/push_unique.hpp"
#include "shared/store/queues/queue_jobs.hpp"
#include "shared/store/queues/queue_sizes.hpp"
#include "shared/store/queues/set_aside.hpp"
#include "shared/store/report/class_runs.hpp"
#include "shared/store/report/deploy_marks.hpp"
#include "shared/store/report/fleet_lease.hpp"
#include "shared/store/report/heartbeat_hash.hpp"
#include "shared/store/report/owners.hpp"
#include "shared/store/report/process_list.hpp"
#include "shared/store/report/published_builds.hpp"
#include "shared/store/report/supervisor_state.hpp"
#include "shared/store/report/totals.hpp"
#include "shared/store/report/work_entries.hpp"
#include "shared/store/rights.hpp"
#include "shared/store/scan.hpp"
#include "shared/store/sequences/sequences.hpp"
#include "shared/store/sets/due_entries.hpp"
#include "shared/store/sets/due_jobs.hpp"
#include "shared/store/sets/job_sets.hpp"
#include "shared/store/sets/scheduler_lock.hpp"
#include "shared/store/sets/set_entries.hpp"
#include "shared/store/take_aside.hpp"
#include "shared/store/tenants/tenant_look.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/redis_server.hpp"

using namespace brood;
using namespace std::chrono_literals;
using Strings = std::vector<std::string>;

// Shards beside each other: each writes only below its own prefix, and neither sees the other.

namespace {

const std::string identity = "here:7:aaaaaaaaaaaa", neighbour = "there:8:bbbbbbbbbbbb",
                  stranger = "gone:9:cccccccccccc";
const WallTime then = WallTime(1'700'000'000s);

RedisAddress with_prefix(RedisAddress address, const std::string& prefix) {
  address.key_prefix = prefix;
  return address;
}

std::string job(const std::string& jid) { return R"({"class":"A","args":[],"queue":"a","jid":")" + jid + "\"}"; }

Outcome outcome(Outcome::Kind kind) { return {kind, "", epoch_seconds(then)}; }

// One shard, on which nearly everything that brood does is done once.
struct Shard {
  Connection redis;

  explicit Shard(const RedisAddress& address) : redis(address) {}

  // Sends a command that must be answered without an error.
  Reply ask(const Command& command) {
    Reply reply = redis.call(command);
    BOOST_TEST(!reply.view().is_error(), command.args.front() << ": " << reply.view().error());
    return reply;
  }
  void ask_all(const std::vector<Command>& commands) {
    for (const Command& command : commands) ask(command);
  }
  Reply run(const ScriptCall& call) {
    Reply reply = redis.run(call);
    BOOST_TEST(!reply.view().is_error(), call.script->name << ": " << reply.view().error());
    return reply;
  }
  void push(const std::string& queue, const Strings& jids) {
    PushCommands pushes(0);
    for (const std::string& jid : jids) pushes.add(queue, job(jid));
    ask_all(pushes.take());
  }
  std::int64_t length(const std::string& queue) { return ask(ask_queue_length(queue)).view().integer(); }
  std::int64_t size(std::string_view set) { return ask(ask_set_size(set)).view().integer(); }
  Settled settle(const std::string& field, std::uint64_t number, std::vector<Outcome> outcomes, int want,
                 const std::string& held = "a", const std::string& waits = "") {
    return read_settled(run(settle_and_fetch({.identity = identity,
                                              .field = field,
                                              .number = number,
                                              .held_queue = held,
                                              .outcomes = std::move(outcomes),
                                              .draw = {"empty", "a"},
                                              .want = want,
                                              .wait_queue = waits,
                                              .dead_limits = {}},
                                             then))
                            .view());
  }

  void fetch_and_settle();
  void count_in_batches();
  void wait();
  void recover_the_dead();
  void move_due_jobs();
  void change_sets();
  void look_at_queues();
  void report();
  void note_crashes();
  void keep_iteration();
  void hold();
  void limit();
  void keep_order(const Fence& fence);
  void repeat();
  void do_everything() {
    fetch_and_settle();
    wait();
    recover_the_dead();
    move_due_jobs();
    change_sets();
    look_at_queues();
    report();
    note_crashes();
    keep_iteration();
    hold();
    limit();
    repeat();
    count_in_batches();
    ask(ask_rights({.queues = {"a"}}).front());
  }
};

void Shard::fetch_and_settle() {
  push("a", {"1", "2", "3", "4", "5"});
  run(register_incarnation(identity, "{}", "0.1"));
  Settled settled = settle("0.1", 0, {}, 4, "");
  BOOST_TEST(settled.queue == "a");
  BOOST_TEST(settled.payloads.size() == 4u);
  BOOST_TEST(run(give_back(identity, "0.1", "a", 1, 3)).view().integer() == 1);
  settled = settle("0.1", 1, {outcome(Outcome::Kind::acknowledge), outcome(Outcome::Kind::retry)}, 0);
  BOOST_TEST(settled.payloads.size() == 1u);
  settled = settle("0.1", 2, {outcome(Outcome::Kind::move_to_dead)}, 1);
  BOOST_TEST(settled.payloads == Strings{job("4")}, boost::test_tools::per_element());
  settled = settle("0.1", 3, {outcome(Outcome::Kind::requeue_back)}, 0);
  BOOST_TEST(length("a") == 2);
  BOOST_TEST(size(retry_set) == 1);
  BOOST_TEST(size(dead_set) == 1);
  BOOST_TEST(read_taken_aside(run(take_queue_aside("a")).view()).taken);
  ask(drop_queue(queue_aside("a")));
  BOOST_TEST(read_taken_aside(run(take_set_aside(scheduled_set)).view()).taken);
  ask(drop_set(set_aside_for_clearing(scheduled_set)));
}

void Shard::count_in_batches() {
  const BatchPush push{"b1", "token", "here 7 1"}, again{"b1", "other", "here 7 1"};
  const auto answer = [&](const ScriptCall& call) { return read_batch_answer(run(call).view()); };
  const std::string callback = callback_value("a", false, "c1", R"({"class":"A","args":[],"queue":"a","jid":"c1"})");
  NewBatch batch{push, "", "", "", "", {{callback_field("success", 1), callback}}};
  BOOST_TEST((answer(open_batch(batch, then)) == BatchAnswer::ok));
  BOOST_TEST((read_pushed_to_batch(run(push_to_batch(push, 1, 0, "a", {{"1", "", job("1")}})).view()).answer ==
              BatchAnswer::ok));
  BOOST_TEST((answer(close_push(push, true)) == BatchAnswer::ok));
  BOOST_TEST((answer(reopen_batch(again)) == BatchAnswer::ok));
  BOOST_TEST((answer(close_push(again, true)) == BatchAnswer::ok));
  BOOST_TEST(read_unended(run(find_unended("b1", 0, 10)).view()).size() == 1u);
  run(end_jobs_in_batch("b1", "0", "done"));
  BOOST_TEST(read_batches(ask(ask_batches(0, 9)).view()) == Strings{"b1"}, boost::test_tools::per_element());

  const BatchPush flow{"b2", "token", "here 7 1"};
  batch = {flow, "", "b1", "", "", {}};
  BOOST_TEST((answer(open_batch(batch, then)) == BatchAnswer::parent_ended));
  batch.parent.clear();
  BOOST_TEST((answer(open_batch(batch, then)) == BatchAnswer::ok));
  BOOST_TEST((answer(add_steps(flow, 1, 0, {{"one", callback, 0, {}, "fail"}})) == BatchAnswer::ok));
  BOOST_TEST(find_waiting_step(redis, "c1").value().bid == "b2");
  BOOST_TEST((answer(release_steps("b2", {0})) == BatchAnswer::ok));
  BOOST_TEST((answer(cancel_batch("b2")) == BatchAnswer::ok));
  BOOST_TEST(run(delete_batch("b2")).view().integer() == 1);
}

void Shard::wait() {
  Settled settled = settle("0.1", 4, {}, 1, "", "a");
  BOOST_TEST(settled.queue == "a");
  push("a", {"1"});
  BOOST_TEST(read_peek(ask(peek("a", 1s)).view()) == job("1"));
  run(before_wait({.identity = identity, .field = "0.1", .wait_queue = "a", .draw = {}}));
  BOOST_TEST(read_arrived(ask(wait_on_queue(identity, "0.1", "a", 1s)).view()).value() == job("1"));
  settle("0.1", settled.number, {Outcome{}}, 0, "a", "a");
  push("b", {"2"});
  settled = read_settled(run(fetch_after_wait({.identity = identity,
                                               .field = "0.1",
                                               .number = settled.number + 1,
                                               .wait_queue = "a",
                                               .draw = {"a", "b"}}))
                             .view());
  BOOST_TEST(settled.queue == "b");
  settle("0.1", settled.number, {Outcome{}}, 0, "b");
}

void Shard::recover_the_dead() {
  push("a", {"1", "2", "3"});
  run(register_incarnation(stranger, "{}", "1.2"));
  const auto fetch = [&](const std::string& who, const std::string& field) {
    run(settle_and_fetch({.identity = who,
                          .field = field,
                          .held_queue = "",
                          .outcomes = {},
                          .draw = {"a"},
                          .want = 1,
                          .wait_queue = "",
                          .dead_limits = {}},
                         then));
  };
  const auto kill = [](const std::string&, const std::string&) { return outcome(Outcome::Kind::move_to_dead); };
  fetch(stranger, "1.2");
  const std::vector<InFlightHolder> holders = thorough_in_flight_census(redis);
  const auto holder =
      std::find_if(holders.begin(), holders.end(), [](const auto& one) { return one.name == stranger; });
  BOOST_REQUIRE((holder != holders.end()));
  BOOST_TEST(holder->jobs() == 1);
  const RecoveryResult result =
      recover(redis, {.identity = stranger, .slot = 1, .incarnation = 2, .record = {}, .only_while_silent = true}, {},
              kill, kill);
  BOOST_TEST(result.given_back == 1);
  BOOST_TEST(run(orphan_return_count(job("1"))).view().integer() == 1);

  // Lists without a field, known by their keys alone.
  run(register_incarnation(stranger, "{}", "1.3"));
  fetch(stranger, "1.3");
  ask(ask_incarnations(stranger));
  redis.call(Command{"DEL", RedisKey(name_of_incarnations(stranger))});
  BOOST_TEST(give_back_lists_without_field(redis, [](const InFlightList&) { return false; }) == 1);
  run(register_incarnation(neighbour, "{}", "1.4"));
  fetch(neighbour, "1.4");
  redis.call(Command{"DEL", RedisKey(name_of_incarnations(neighbour))});
  const auto kept = read_settled_without_field(
      run(settle_without_field({neighbour, "1.4", "a", {{job("1"), outcome(Outcome::Kind::give_back)}}, {}}, then))
          .view());
  BOOST_TEST(kept.settled == 1u);
  BOOST_TEST(run(orphan_return_count(job("1"))).view().integer() == 2);

  run(register_incarnation(neighbour, "{}", "1.5"));
  ask(unlist({neighbour}));
  ask(Command{"DEL", RedisKey("brood:processes")});
  BOOST_TEST(list_unlisted_processes(redis) == 2);
  BOOST_TEST(read_name_list(ask(ask_owners()).view()).size() == 2u);
  ask(Command{"DEL", RedisKey(name_of_incarnations(neighbour))});
  forget_process(redis, neighbour);
  BOOST_TEST(!read_is_owner(ask(ask_is_owner(neighbour)).view()));
  BOOST_TEST(in_flight_census(redis).size() == 1u);
  ask(ask_owner_records());
  BOOST_TEST(length("a") == 3);
}

void Shard::move_due_jobs() {
  PushCommands pushes(0);
  for (const std::string jid : {"d1", "d2", "d3", "d4"}) pushes.add_scheduled("5", job(jid));
  ask_all(pushes.take());
  ask_all(take_scheduler_lock(identity, 1min));
  BOOST_TEST(ask(keep_scheduler_lock(identity, 1min)).view().integer() == 1);
  BOOST_TEST(read_first_score(ask(ask_first_score(scheduled_set, std::nullopt)).view()).value() == "-inf");
  BOOST_TEST(read_scheduled_below(ask(ask_scheduled_below("6")).view()) == 4);
  BOOST_TEST(DueEntries(redis.call(ask_due_entries(scheduled_set, "6", 0, 10))).size() == 4u);
  const std::string first = job("d1"), third = job("d3");
  BOOST_TEST(read_moved(run(move_due(scheduled_set, {{first, "5", "due", first}})).view()).moved == 1u);
  BOOST_TEST(read_moved(run(move_due_to_dead(scheduled_set, job("d2"), "5", job("d2"), then, {})).view()).moved == 1u);
  BOOST_TEST(read_moved(run(move_due_as_it_is(scheduled_set, third, "5", "large")).view()).moved == 1u);
  BOOST_TEST(read_moved(run(move_due_to_dead_as_it_is(scheduled_set, job("d4"), "5", then, {})).view()).moved == 1u);
  ask(end_scheduler_lock());
  BOOST_TEST(length("due") == 1);
  BOOST_TEST(length("large") == 1);
  const auto names = read_queue_names(ask(ask_queue_names()).view()).value();
  BOOST_TEST(names == (Strings{"a", "b", "due", "large"}), boost::test_tools::per_element());
}

void Shard::change_sets() {
  const std::string first = job("s1"), second = job("s2"), third = job("s3");
  PushCommands pushes(0);
  for (const std::string& payload : {first, second, third}) pushes.add_scheduled("9", payload);
  ask_all(pushes.take());
  BOOST_TEST(run(set_page(scheduled_set, false, 10, nullptr, nullptr)).view().size() == 6u);
  BOOST_TEST(run(reschedule_entry(scheduled_set, {first, "9"}, "10")).view().integer() == 1);
  BOOST_TEST(run(remove_entries(scheduled_set, {{second, "9"}})).view().integer() == 1);
  BOOST_TEST(read_killed(run(kill_entries(scheduled_set, {{third, "9"}}, then, {})).view()).moved == 1u);
  ask(ask_entries_at(scheduled_set, "0", "-1", true));
  ask(ask_highest_members(scheduled_set, 3));
  ask(scan_set(scheduled_set, "0", "*", 10));
  const std::string_view member = first;
  BOOST_TEST(read_scores({&member, 1}, ask(ask_scores(scheduled_set, {&member, 1})).view()).size() == 1u);
  BOOST_TEST(read_job_place(ask(find_job("s1")).view()).score_text == "10");
  BOOST_TEST(read_waiting_jobs(ask(count_waiting_jobs()).view()) == 5u);
  const std::string fourth = job("s4");
  ask({"ZADD", RedisKey("brood:quarantined"), "5", fourth});
  BOOST_TEST((read_job_place(ask(find_job("s4")).view()).kind == JobPlace::Kind::quarantine));
  ask({"ZREM", RedisKey("brood:quarantined"), fourth});
  BOOST_TEST(run(remove_entries(scheduled_set, {{first, "10"}})).view().integer() == 1);
}

void Shard::look_at_queues() {
  push("q", {"1", "2", "3"});
  BOOST_TEST(run(push_once("me", 1, "q", {job("4")})).view().integer() == 1);
  BOOST_TEST(run(push_once("me", 1, "q", {job("4")})).view().integer() == 0);
  BOOST_TEST(run(push_once("me", 2, "", {"7", job("5")})).view().integer() == 1);
  BOOST_TEST(read_queue_page(run(queue_page("q", {}, 10)).view()).payloads.size() == 4u);
  BOOST_TEST(read_removed(run(remove_jobs("q", {{1, job("3")}}, 5)).view()).removed == 1u);
  BOOST_TEST(read_job_was_removed(ask(remove_job("q", job("4"))).view()));
  const QueueSizes sizes = read_queue_sizes({"none", "q"}, run(queue_sizes({"none", "q"})).view());
  BOOST_TEST(sizes.filled.size() == 1u);
  ask(ask_jobs_at("q", "0", "-1"));
  ask(ask_next_job("q"));
  ask(pause_queue("q"));
  BOOST_TEST(read_is_paused(ask(ask_is_paused("q")).view()));
  BOOST_TEST(read_paused(ask(ask_paused_queues()).view())->size() == 1u);
  ask(unpause_queue("q"));
  BOOST_TEST(run(pause_class("C", "why", 1h)).view().integer() == 1);
  const ClassPauses pauses = read_class_pauses(ask(ask_class_pauses()).view());
  BOOST_TEST(run(end_class_pause("C", pauses.at("C"))).view().integer() == 0);
  BOOST_TEST(read_paused(ask(ask_paused_classes()).view())->size() == 1u);
  BOOST_TEST(run(unpause_class("C")).view().integer() == 1);
  ask(NamePages::of_queues().ask("0", 10));
  BOOST_TEST(read_is_set(ask(NamePages::of_queues().ask_kind()).view()));
  BOOST_TEST(read_queue_count(ask(ask_queue_count()).view()) == 5);
  ask(push_aside("x").add(job("6")));
  ask_all({{"MULTI"}, offer_laid_aside("x"), {"EXEC"}});
  BOOST_TEST(length("x") == 1);
  ask(push_unregistered("x", job("7")));
  ask(drop_queues({"x", "y"}));
  BOOST_TEST(length("x") == 0);
}

void Shard::report() {
  Beat beat;
  beat.info = "{}";
  beat.token = "token";
  beat.state = R"({"phase":"running","generation":2})";
  ask_all(leave_signal(identity, "TSTP"));
  const BeatAnswer answer = read_beat(run(send_beat(identity, "{}", "*", beat)).view());
  BOOST_TEST(answer.signals == Strings{"TSTP"}, boost::test_tools::per_element());
  BOOST_TEST(read_beat_token(ask(ask_beat_token(identity)).view()) == "token");
  BOOST_TEST(read_whether_beats(ask(ask_whether_beats(identity)).view()).value());
  BOOST_TEST(read_info(ask(ask_info(identity)).view()).value() == "{}");
  BOOST_TEST(read_process_hash(ask(ask_process_hash(identity)).view()).has_value());
  BOOST_TEST(read_supervisor_state(ask(ask_supervisor_state(identity)).view()).value().generation == 2U);
  const FleetLease lease{.id = "a", .by = "ann@host"}, other{.id = "b", .by = "bob@host"};
  BOOST_TEST(read_other_holder(run(hold_fleet_lease(lease, 30s)).view()).empty());
  BOOST_TEST(read_other_holder(run(hold_fleet_lease(other, 30s)).view()).starts_with("ann@host restarts the fleet"));
  run(hold_fleet_lease(other, 0s));  // it does not hold the lease
  BOOST_TEST(read_other_holder(run(hold_fleet_lease(lease, 30s)).view()).empty());
  run(hold_fleet_lease(lease, 0s));
  BOOST_TEST(read_other_holder(run(hold_fleet_lease(other, 30s)).view()).empty());
  run(hold_fleet_lease(other, 0s));
  ask(ask_info_and_quiet(identity));
  ask(ask_busy(identity));
  ask(take_signals(identity));
  BOOST_TEST(read_process_count(ask(ask_process_count()).view()) == 1);
  ask(ask_is_process(identity));
  ask(ask_leader());
  ask(may_prune());
  push("w", {"1"});
  const Settled held = read_settled(run(settle_and_fetch({.identity = identity,
                                                          .field = "0.1",
                                                          .number = 8,
                                                          .held_queue = "",
                                                          .outcomes = {},
                                                          .draw = {"w"},
                                                          .want = 1,
                                                          .wait_queue = "",
                                                          .dead_limits = {}},
                                                         then))
                                        .view());
  BOOST_TEST(
      run(work_entries(
              identity,
              {{.field = "0.1", .number = held.number, .thread_id = "t", .queue = held.queue, .neutral_payload = ""}}))
          .view()
          .integer() == 1);
  BOOST_TEST(read_running(ask(ask_running(identity)).view()).size() == 1u);
  ask_all(ask_work({identity}));
  run(count_jobs(3, 1, "2026-11-24"));
  ask_all(ask_totals());
  BOOST_TEST(read_counts_of_days({"2026-11-24"}, ask(ask_counts_of_days({"2026-11-24"})).view()).front().processed ==
             3u);
  ClassUsage usage;
  usage.job_class = "A";
  usage.runs = usage.ms = 1;
  usage.histogram[3] = 1;
  run(count_runs({usage}, then));
  ask_all(ask_runs_of_all(then, 2h));
  ask_all(ask_runs_by_minute("A", {then}));
  ask(may_mark_deploy("label", then));
  ask_all(mark_deploy("label", then));
  BOOST_TEST(read_deploy_marks(ask(ask_deploy_marks(then)).view()).size() == 1u);
  ask_all(leave(identity));
  ask_all(remove_process(neighbour));
  ask(reset_totals());
}

void Shard::note_crashes() {
  note_crash(redis, {.fingerprint = "f",
                     .at = 5,
                     .job_class = "A",
                     .error_class = "SIGSEGV",
                     .message = "",
                     .jid = "1",
                     .queue = "a",
                     .identity = identity,
                     .frames = {}});
  BOOST_TEST(read_crashes(redis).size() == 1u);
  BOOST_TEST(!latest_crash_mark(redis).empty());
  BOOST_TEST(read_counted_crash(run(count_quarantine_crash({"A", "f", "lib", "w"}, {1, 600s})).view()).begins);
  BOOST_TEST(read_quarantined(ask(ask_quarantined()).view()).size() == 1u);
  BOOST_TEST(run(begin_probe("A", "1", "new")).view().integer() == 1);
  BOOST_TEST(run(keep_probe("A", "1")).view().integer() == 1);
  BOOST_TEST(ask(ask_probe("A")).view().integer() == 1);
  BOOST_TEST(run(leave_probe("A", "1")).view().integer() == 1);
  run(begin_probe("A", "1", "new"));
  run(pass_probe("A", "1"));
  BOOST_TEST(read_claimed_look(ask(claim_quarantine_look("lib", 1min)).view()));
  ask(Command{"ZADD", RedisKey(quarantined_set), "1", job("k")});
  BOOST_TEST(run(release_quarantined(job("k"), "a")).view().integer() == 1);
  ask(forget_quarantine_crashes("f"));
}

void Shard::keep_iteration() {
  IterationState state;
  state.cursor = "5";
  run(save_iteration("1", state));
  ask_all(cancel_iteration("1", 9));
  BOOST_TEST(read_iteration(ask(load_iteration("1")).view()).cursor == "5");
  ask(is_iteration_cancelled("1"));
  ask(drop_iteration("2"));
}

void Shard::hold() {
  const std::string holding = R"({"class":"U","args":[],"queue":"u","jid":"u1","unique_lock":"digest"})";
  const auto unique = [&] {
    std::vector<UniqueJob> jobs(1);
    jobs.front() = {.lock = "digest", .jid = "u1", .score_text = "", .payload = holding};
    return jobs;
  };
  BOOST_TEST(read_holders(run(push_unique("u", unique())).view()).front() == "");
  run(push_unique_once({"client"}, "u", unique()));
  BOOST_TEST(read_holder(ask(ask_holder("digest")).view()) == "u1");
  std::vector<UniqueLock> locks = all_locks(redis);
  BOOST_REQUIRE(locks.size() == 1u);
  BOOST_TEST(find_jobs_of(redis, locks) >= 1u);
  BOOST_TEST(locks.front().has_job);
  BOOST_TEST(find_lock(redis, locks.front().key).value().jid == "u1");
  BOOST_TEST(!find_lock(redis, "queue:u"));
  const std::vector<PlacedJob> placed = search_job(redis, "u1");
  BOOST_REQUIRE(!placed.empty());
  BOOST_TEST(placed.front().queue == "u");
  const auto waits = find_waiting_holder([&](const ScriptCall& call) { return run(call); }, {"u"}, {}, "digest", "u1");
  BOOST_REQUIRE(waits.has_value());
  BOOST_TEST(read_replaced(
      run(replace_unique("u", *waits, {"digest", "u2", {}, "", holding}, BatchNumber{"client", 2})).view()));
  BOOST_TEST(!read_replaced(run(replace_unique("", *waits, {"digest", "u3", {}, "5", holding})).view()));
  BOOST_TEST(read_holder(ask(ask_holder("digest")).view()) == "u2");
  run(remove_holding_job("u", holding));
  BOOST_TEST(release_lock(redis, all_locks(redis).front()));
  run(push_unique("u", unique()));
  BOOST_TEST(release_lock(redis, all_locks(redis).front()));

  ask({"ZADD", RedisKey("dead"), "5", holding});
  const auto lock_again =
      lock_of_dead(R"({"class":"U","args":[],"jid":"u1","unique_lock":"digest","unique_until":"done"})");
  BOOST_REQUIRE(lock_again.has_value());
  BOOST_TEST(
      (read_raised(run(raise_unique({holding, "5", "u", holding}, *lock_again)).view()).kind == Raised::Kind::moved));
  run(remove_holding_job("u", holding));

  const Fence fence{identity, "5.5", 0};
  run(register_incarnation(identity, "{}", fence.field));
  IncarnationHoldings held;
  held.add(running_lock(fence, "running", "u1"));
  BOOST_TEST((read_taken(run(take_running_lock(fence, held)).view()) == Taken::yes));
  keep_order(fence);
  BOOST_TEST((read_taken(run(take_unique_lock(fence, "waited for", "u1", {})).view()) == Taken::yes));
  BOOST_TEST((read_taken(run(take_unique_lock(fence, "waited for", "u1", {})).view()) == Taken::yes));
  BOOST_TEST((read_taken(run(take_unique_lock(fence, "waited for", "u2", {})).view()) == Taken::no));
  BOOST_TEST((read_taken(run(take_unique_lock({identity, "5.5", 1}, "waited for", "u1", {})).view()) == Taken::fenced));
  for (const UniqueLock& lock : all_locks(redis)) {
    if (lock.holder == "u1") BOOST_TEST(release_lock(redis, lock));
  }
  std::vector<LetGo> going;
  append_held(going, held, identity);
  run(let_go_at_begin(fence, going));
  const GemLock of_gem{"uniquejobs:" + std::string(32, 'a'), "u1", GemLock::Until::expiry};
  going.clear();
  append_held(going, of_gem, 0);
  for (const LetGo& one : going) {
    if (one.what == "gem_holders") ask({"HSET", one.key, "u1", "1"});
    if (one.what == "gem_text") ask({"SET", one.key, "u1"});
    if (one.what == "gem_primed") ask({"RPUSH", one.key, "u1"});
    if (one.what == "gem_index") ask({"ZADD", one.key, "1", one.member});
  }
  run(let_go_at_begin(fence, going));
  for (const LetGo& one : going) BOOST_TEST(ask({"EXISTS", one.key}).view().integer() == 0, one.key.name());
  const Fence of_nobody{stranger, "6.6", 0};
  const IncarnationHoldings::Held lost = running_lock(of_nobody, "lost", "u2");
  ask(Command{"SET", lost.key, lost.member});
  BOOST_TEST(let_go_of_stray_locks(redis, [](const RunningHolder&) { return false; }) == 1);
}

void Shard::limit() {
  const LimitHolder holder{identity, "5.5", 0};
  const Limit slots{.name = "erp", .amount = 2, .known_for = 24h};
  run(take_limits(holder, {slots}, 0ms, 0ms));
  BOOST_TEST(read_limit_view(run(show_limit("erp")).view())->held == 1);
  run(give_back_limits(holder, {{"erp", LimitKind::concurrent, 0}}));
  run(forget_holders("erp", {holder}));
  run(reset_limit("erp"));
  run(return_set_aside("a@cap", "a", 1));
  run(free_places({"a"}, {{.name = "cap", .queues = {"a"}, .most = 1}}));
  run(show_cap("cap"));
}

// What tenants, sequences and published classes keep.
void Shard::keep_order(const Fence& fence) {
  BOOST_TEST((read_taken(run(enter_sequence(fence, "orders", "first")).view()) == Taken::yes));
  BOOST_TEST((read_taken(run(enter_sequence(fence, "orders", "second")).view()) == Taken::no));
  BOOST_TEST(read_held_in_flight(run(held_in_flight({{.name = "orders", .holder = "first"}})).view()).empty());
  const SequencePage page = read_sequence_page(run(sequence_page(first_sequence_page)).view());
  BOOST_REQUIRE(page.sequences.size() == 1u);
  ask({"RPUSH", RedisKey("brood:sequence:stray"), job("s")});
  BOOST_TEST(read_stray_sequences(run(stray_sequences(first_sequence_page)).view()).names ==
             std::vector<std::string>{"stray"});
  ask({"DEL", RedisKey("brood:sequence:stray")});
  BOOST_TEST(read_passed_on(run(pass_sequence_on(page.sequences[0])).view()).is_done);
  run(publish_classes("build", "{}"));
  run(enter_filled_tenants({"a~acme"}));
  run(forget_idle_tenants({"a~acme"}, 1'700'000'000));
}

void Shard::repeat() {
  run(serve_periodic({.name = "report", .rule = "@daily UTC", .definition = "{}"}));
  BOOST_TEST(run(pause_periodic("report", true)).view()[0].integer() == 1);
  run(pause_periodic("report", false));
  run(claim_tick({.name = "report", .entry = "{}", .payload = job("p"), .jid = "p", .queue = "a"}));
  run(claim_gem_tick({.schedule = "cron_job:default:x",
                      .tick = std::chrono::sys_seconds(1'700'000'000s),
                      .queue = "a",
                      .payload = job("g"),
                      .jid = "g",
                      .last_push = "",
                      .now = std::chrono::sys_seconds(1'700'000'001s)}));
  ask(leave_periodic("report"));
  run(put_periodic_rule(
      {.name = "added", .rule = "{}", .rule_text = "@daily UTC", .definition = "{}", .by = "a test"}));
  BOOST_TEST(read_periodic_rules(run(ask_periodic_rules()).view()).count == 1);
  run(remove_periodic_rule("added"));
}

// All keys and values without times.
std::map<std::string, std::string> without_prefix(RedisServer& server, const std::string& prefix) {
  std::map<std::string, std::string> all;
  for (const std::string& key : server.keys(prefix + "*"))
    all[key.substr(prefix.size())] = server.command({"TYPE", key}).view().text();
  return all;
}

}  // namespace

BOOST_AUTO_TEST_CASE(two_shards_of_one_redis_do_not_see_each_other) {
  RedisServer server;
  Shard first(with_prefix(server.address(), "{brood:0}"));
  first.do_everything();
  for (const std::string& key : server.keys()) BOOST_TEST(key.starts_with("{brood:0}"), key);
  const std::map<std::string, std::string> of_first = without_prefix(server, "{brood:0}");
  BOOST_TEST(of_first.size() > 20u);

  // The other begins with nothing, and has the same content in the end.
  Shard second(with_prefix(server.address(), "{brood:1}"));
  second.do_everything();
  BOOST_TEST((without_prefix(server, "{brood:0}") == of_first));
  BOOST_TEST((without_prefix(server, "{brood:1}") == of_first));
  BOOST_TEST(server.keys().size() == 2 * of_first.size());
}

BOOST_AUTO_TEST_CASE(without_a_prefix_the_keys_are_sidekiqs_and_scripts_are_not_guarded) {
  RedisServer server;
  Shard(server.address()).do_everything();
  RedisServer other;
  Shard(with_prefix(other.address(), "{brood:0}")).do_everything();
  BOOST_TEST((without_prefix(server, "") == without_prefix(other, "{brood:0}")));
  for (const std::string key : {"queue:a", "queues", "retry", "dead", "schedule"})
    BOOST_TEST(server.keys(key).size() == 1u, key);
  for (const Script* script : scripts::all()) {
    BOOST_TEST(server.command({"SCRIPT", "EXISTS", script->sha}).view()[0].integer() == 1, script->name);
    BOOST_TEST(server.command({"SCRIPT", "EXISTS", script->guarded_sha}).view()[0].integer() == 0, script->name);
  }
}

// A server of a cluster refuses a command whose keys are in several slots, or in a slot that it does not serve.
BOOST_AUTO_TEST_CASE(all_keys_of_a_shard_lie_in_one_slot_of_a_cluster) {
  RedisServer server({.extra = {"--cluster-enabled", "yes"}, .tcp = true});
  Command serve{"CLUSTER", "ADDSLOTS"};
  const std::int64_t slot = server.integer({"CLUSTER", "KEYSLOT", "{brood:0}"});
  for (std::int64_t other = 0; other < 16384; ++other) serve.add(std::to_string(other));
  server.command(serve);
  BOOST_REQUIRE(eventually([&] {
    return server.command({"CLUSTER", "INFO"}).view().text().find("cluster_state:ok") != std::string_view::npos;
  }));
  Shard shard(with_prefix(server.address(), "{brood:0}"));
  shard.do_everything();
  for (const std::string& key : server.keys()) BOOST_TEST(server.integer({"CLUSTER", "KEYSLOT", key}) == slot, key);
  // Each script was run at least once, and all with keys had the guard behind them.
  for (const Script* script : scripts::all()) {
    const std::string_view sha = script->name == "try_rights" ? script->sha : script->guarded_sha;
    BOOST_TEST(server.command({"SCRIPT", "EXISTS", sha}).view()[0].integer() == 1, script->name);
  }
}

// While a slot moves, a script that found some of its keys gone would have done half of its work.
BOOST_AUTO_TEST_CASE(no_script_runs_while_the_slot_of_its_shard_moves) {
  RedisServer server({.extra = {"--cluster-enabled", "yes"}, .tcp = true});
  RedisServer target({.extra = {"--cluster-enabled", "yes"}, .tcp = true});
  Command serve{"CLUSTER", "ADDSLOTS"};
  for (int slot = 0; slot < 16384; ++slot) serve.add(std::to_string(slot));
  server.command(serve);
  server.command({"CLUSTER", "MEET", "127.0.0.1", std::to_string(target.port())});
  const auto is_ok = [](RedisServer& one) {
    return one.command({"CLUSTER", "INFO"}).view().text().find("cluster_state:ok") != std::string_view::npos;
  };
  BOOST_REQUIRE(eventually([&] { return is_ok(server) && is_ok(target); }, 30s));
  const std::string slot = std::to_string(server.integer({"CLUSTER", "KEYSLOT", "{brood:0}"}));
  const std::string from(server.command({"CLUSTER", "MYID"}).view().text());
  const std::string to(target.command({"CLUSTER", "MYID"}).view().text());

  Shard shard(with_prefix(server.address(), "{brood:0}"));
  shard.push("a", {"1", "2"});
  shard.run(register_incarnation(identity, "{}", "0.1"));
  const Settled held = shard.settle("0.1", 0, {}, 1, "");
  BOOST_REQUIRE(held.payloads.size() == 1u);
  target.command({"CLUSTER", "SETSLOT", slot, "IMPORTING", from});
  server.command({"CLUSTER", "SETSLOT", slot, "MIGRATING", to});

  // Every key that is named is there, but for the guard.
  const ScriptCall call = settle_and_fetch({.identity = identity,
                                            .field = "0.1",
                                            .number = held.number,
                                            .held_queue = "a",
                                            .outcomes = {Outcome{}},
                                            .draw = {"a"},
                                            .want = 1,
                                            .wait_queue = "",
                                            .dead_limits = {}},
                                           then);
  const Reply reply = shard.redis.run(call);
  BOOST_TEST(reply.view().error().starts_with("TRYAGAIN"), reply.view().error());
  server.command({"CLUSTER", "SETSLOT", slot, "STABLE"});
  BOOST_TEST(read_settled(shard.redis.run(call).view()).payloads == Strings{job("2")},
             boost::test_tools::per_element());
}
