#include <map>
#include <set>

#include <boost/test/unit_test.hpp>

#include "shared/store/batches/batch.hpp"
#include "shared/store/holdings.hpp"
#include "shared/store/in_flight/incarnation.hpp"
#include "shared/store/in_flight/quarantined_classes.hpp"
#include "shared/store/in_flight/recover_worker.hpp"
#include "shared/store/in_flight/settle_and_fetch.hpp"
#include "shared/store/keys.hpp"
#include "shared/store/periodic/gem_schedules.hpp"
#include "shared/store/periodic/periodic_jobs.hpp"
#include "shared/store/queues/push_commands.hpp"
#include "shared/store/queues/push_unique.hpp"
#include "shared/store/queues/queue_jobs.hpp"
#include "shared/store/queues/set_aside.hpp"
#include "shared/store/sequences/sequences.hpp"
#include "shared/store/sets/due_jobs.hpp"
#include "shared/store/sets/set_entries.hpp"
#include "tests/support/all_entries.hpp"
#include "tests/support/redis_server.hpp"

// A user's rights may change at any moment, and Redis rolls nothing back.  Whichever command of a script is refused, no
// job may be lost or doubled, and the same call must succeed once the right is there again.
using namespace brood;
using namespace std::chrono_literals;
using Strings = std::vector<std::string>;

namespace {

const std::string identity = "host:1:0123456789ab";
const std::string field = "2.17";
const std::string hash = keys::in_flight_hash(identity).name();
const std::string list_a = keys::in_flight_list(identity, field, "a").name();

// Every command of a script that may write something.
const Strings commands{"ltrim",
                       "lpush",
                       "rpush",
                       "lmove",
                       "rpop",
                       "lpop",
                       "lrem",
                       "lset",
                       "zadd",
                       "zrem",
                       "sadd",
                       "hset",
                       "hdel",
                       "hincrby",
                       "hsetnx",
                       "set",
                       "del",
                       "expire",
                       "pexpire",
                       "srem",
                       "incr",
                       "setrange",
                       "unlink",
                       "zremrangebyrank",
                       "zremrangebyscore"};
const Strings patterns{"queue:*", "retry", "dead", "schedule", "queues", "brood:*"};

// A payload is "<job>" or "<job>#<its fate>".
std::string job_of(std::string_view payload) { return std::string(payload.substr(0, payload.find('#'))); }

using Places = std::map<std::string, Strings>;  // job -> "<key> <payload>" of each place

struct Operation {
  std::string name;
  std::vector<Command> prepare;
  ScriptCall call;
  std::set<std::string> may_end = {};   // jobs that it may acknowledge or remove
  std::set<std::string> new_jobs = {};  // jobs that it creates
};

const Script* script_named(std::string_view name) {
  for (const Script* const script : scripts::all())
    if (script->name == name) return script;
  return nullptr;
}

std::vector<RedisKey> named(const Strings& names) { return {names.begin(), names.end()}; }

Settlement settlement(std::vector<Outcome> outcomes, Strings draw, int want, std::string wait_queue = "") {
  Settlement one;
  one.identity = identity;
  one.field = field;
  one.number = 1;
  one.held_queue = "a";
  one.outcomes = std::move(outcomes);
  one.draw = std::move(draw);
  one.want = want;
  one.wait_queue = std::move(wait_queue);
  return one;
}

// The jobs that a worker holds of queue a, and those that wait in a and b.
std::vector<Command> held(const Strings& jobs) {
  std::vector<Command> all{{"HSET", hash, field, "1 a"}, {"HSET", "brood:processes", identity, "{}"}};
  for (const std::string& job : jobs) all.push_back({"LPUSH", list_a, job});
  for (const char* job : {"A1", "A2", "A3"}) all.push_back({"LPUSH", "queue:a", job});
  for (const char* job : {"B1", "B2"}) all.push_back({"LPUSH", "queue:b", job});
  return all;
}

std::vector<Command> without_field(std::vector<Command> all) {
  all.push_back({"DEL", hash});
  return all;
}

ScriptCall recovery(std::optional<DeadWorker::Record> record, RecoveryAttempt attempt) {
  return recovery_call({identity, 2, 17, std::move(record), false}, attempt, {}, wall_now());
}

RecoveryAttempt::VerdictOnEntry verdict(std::optional<std::string> entry, Outcome::Kind kind, std::string payload) {
  return {std::move(entry), Outcome{kind, std::move(payload), 4e9}};
}

// The tick one minute after the last.
TickClaim next_tick(TickClaim::WhileHeld while_held, std::optional<std::string> score) {
  return {.name = "report",
          .rule = "* * * * * UTC",
          .last = std::chrono::sys_seconds(1000s),
          .tick = std::chrono::sys_seconds(1060s),
          .missed = 2,
          .entry = "claimed",
          .payload = "N1",
          .jid = "N1",
          .queue = "a",
          .score = std::move(score),
          .while_held = while_held,
          .skipped_entry = "skipped"};
}

std::vector<Operation> operations() {
  using Kind = Outcome::Kind;
  std::vector<Operation> all;
  const auto add = [&](Operation operation) { all.push_back(std::move(operation)); };
  const WallTime now = wall_now();

  for (const int want : {0, 1, 3}) {
    for (const Strings& draw : {Strings{"a", "b"}, Strings{"none", "b"}, Strings{"none"}}) {
      const std::string how = " want " + std::to_string(want) + " from " + draw.front();
      add({"settle a success," + how,
           held({"J1"}),
           settle_and_fetch(settlement({Outcome{}}, draw, want, "b"), now),
           {"J1"}});
      add({"settle some of a batch," + how,
           held({"J1", "J2"}),
           settle_and_fetch(settlement({Outcome{}}, draw, want), now),
           {"J1"}});
      add({"fetch," + how, held({}), settle_and_fetch(settlement({}, draw, want), now)});
      for (const Kind kind : {Kind::retry, Kind::move_to_dead, Kind::schedule, Kind::requeue_back, Kind::requeue_head,
                              Kind::quarantine}) {
        add({"settle " + std::string(to_string(kind)) + how,
             held({"J1", "J2"}),
             settle_and_fetch(settlement({Outcome{}, Outcome{kind, "J2#1", 4e9}}, draw, want), now),
             {"J1"}});
      }
    }
  }
  add({"settle into both ends", held({"J1", "J2", "J3"}),
       settle_and_fetch(settlement({Outcome{Kind::requeue_back, "J1#1", 0}, Outcome{Kind::requeue_head, "J2#1", 0},
                                    Outcome{Kind::retry, "J3#1", 5}},
                                   {"a"}, 2),
                        now)});

  const auto aside = [](const std::string& into) { return Outcome{Kind::beside, "", 0, into}; };
  const std::vector<CapSettings> caps{{"k", {}, 1, {"K"}}, {"a", {"a"}, 1}};
  Settlement sets_aside = settlement({Outcome{}, aside("a@k"), aside("a@l"), aside("a@k"),
                                      Outcome{Kind::requeue_back, "J5#1", 0}, Outcome{Kind::requeue_head, "J6#1", 0}},
                                     {"a@k", "a", "b"}, 2);
  sets_aside.caps = &caps;
  std::vector<Command> to_set_aside = held({"J1", "J2", "J3", "J4", "J5", "J6"});
  to_set_aside.push_back({"LPUSH", "queue:a@k", "K1", "K2", "K3"});
  add({"set some of a batch aside", to_set_aside, settle_and_fetch(sets_aside, now), {"J1"}});
  sets_aside.want = 0;
  add({"set some of a batch aside and fetch nothing", to_set_aside, settle_and_fetch(sets_aside, now), {"J1"}});
  std::vector<Command> waiting_aside = held({});
  for (const char* job : {"K1", "K2"}) waiting_aside.push_back({"LPUSH", "queue:a@k", job});
  Settlement fetches_aside = settlement({}, {"a@k", "a"}, 2);
  fetches_aside.caps = &caps;
  add({"fetch what was set aside", waiting_aside, settle_and_fetch(fetches_aside, now)});
  add({"return what was set aside", waiting_aside, return_set_aside("a@k", "a", 1'000)});

  const auto in_sequence = [](const std::string& jid) {
    return R"({"sequence":"s","queue":"a","jid":")" + jid + "\"}";
  };
  for (const int want : {1, 3}) {
    std::vector<Command> waiting = held({});
    for (const char* const jid : {"S1", "S2", "S3"}) waiting.push_back({"RPUSH", "queue:a", in_sequence(jid)});
    add({"fetch jobs of a sequence", waiting, settle_and_fetch(settlement({}, {"a", "b"}, want), now)});
    Settlement passes_on = settlement({Outcome{}}, {"b"}, want);
    passes_on.let_go = {{0, "sequence", keys::brood_sequences, "S0", "s"}};
    std::vector<Command> holds = held({in_sequence("S0")});
    holds.push_back({"HSET", "brood:sequences", "s", "5 S0"});
    for (const char* const jid : {"S1", "S2"}) holds.push_back({"RPUSH", "brood:sequence:s", in_sequence(jid)});
    if (want == 1)
      add({"pass a sequence on whose holder is gone", holds, pass_sequence_on({.name = "s", .field = "5 S0"})});
    add({"settle what holds a sequence", holds, settle_and_fetch(passes_on, now), {in_sequence("S0")}});
    Settlement lets_first = settlement({Outcome{Kind::requeue_head, "", 0}}, {"b"}, want);
    lets_first.let_go = {{0, "turn_for_lock", keys::unique_lock("l"), "S0", "s"}};
    holds.push_back({"SET", "brood:unique:l", "S2"});
    add({"let the holder of a lock go first", holds, settle_and_fetch(lets_first, now)});
    std::vector<Command> arrived = held({in_sequence("S9")});
    arrived.push_back({"HSET", "brood:sequences", "s", "5 S0"});
    add({"let a job wait that a wait has brought", arrived,
         fetch_after_wait({identity, field, 1, "a", {"none", "b"}, want})});
  }

  for (const int want : {1, 3}) {
    std::vector<Command> waiting = held({});
    waiting.push_back({"DEL", "queue:a"});
    add({"fetch behind a wait", waiting, fetch_after_wait({identity, field, 1, "a", {"none", "b"}, want})});
  }

  add({"recover by the scoreboard",
       held({"J1", "J2", "J3", "J4"}),
       recovery(DeadWorker::Record{1, {}},
                {.queue = "a",
                 .verdicts = {verdict(std::nullopt, Kind::acknowledge, ""), verdict("J2", Kind::retry, "J2#1")},
                 .orphans = {}}),
       {"J1"}});
  add({"recover into dead and both ends", held({"J1", "J2", "J3", "J4"}),
       recovery(DeadWorker::Record{1, {}},
                {.queue = "a",
                 .verdicts = {verdict("J1", Kind::move_to_dead, "J1#1"), verdict("J2", Kind::requeue_back, "J2#1"),
                              verdict("J3", Kind::requeue_head, "J3#1")},
                 .orphans = {}})});
  add({"recover without a scoreboard", held({"J1", "J2"}),
       recovery(std::nullopt, {.queue = "a", .verdicts = {}, .orphans = {}})});
  std::vector<Command> orphans = held({"J1", "J2"});
  orphans.push_back({"EVAL", "redis.call('SET', 'brood:recovered:' .. redis.sha1hex('J1'), 2)", "0"});
  add({"recover an orphan", orphans,
       recovery(std::nullopt,
                {.queue = "a", .verdicts = {}, .orphans = {verdict("J1", Kind::move_to_dead, "J1#orphan")}})});
  add({"recover nothing", held({}),
       recovery(DeadWorker::Record{1, {}}, {.queue = "a", .verdicts = {}, .orphans = {}})});

  for (const Kind kind : {Kind::acknowledge, Kind::retry, Kind::move_to_dead, Kind::requeue_back, Kind::requeue_head}) {
    const bool ends = kind == Kind::acknowledge;
    add({"settle without a field, " + std::string(to_string(kind)), without_field(held({"J1", "J2"})),
         settle_without_field({identity, field, "a", {{"J1", {kind, ends ? "" : "J1#1", 4e9}}}, {}}, now),
         ends ? std::set<std::string>{"J1"} : std::set<std::string>{}});
  }
  Strings many;
  for (int i = 0; i < 250; ++i) many.push_back("M" + std::to_string(i));
  add({"give back a list without a field",
       without_field(held(many)),
       {&scripts::recover_orphans, named({hash, list_a, "queue:a"}), {field, "0"}}});
  add({"give back what is unbegun", held(many), give_back(identity, field, "a", 1, 1)});

  static const Strings due{"D1", "D2", "D3"};
  std::vector<Command> waiting_for_time;
  for (const std::string& job : due) waiting_for_time.push_back({"ZADD", "schedule", "5", job});
  add({"move due jobs", waiting_for_time,
       move_due("schedule", {{due[0], "5", "a", "D1#1"}, {due[1], "5", "b", "D2#1"}, {due[2], "5", "a", "D3#1"}})});
  add({"bury a due job",
       waiting_for_time,
       {&scripts::move_due_to_dead, named({"schedule", "dead"}), {"D1", "5", "D1#1", "9", "1", "10000", "0"}}});
  add({"move a due job as it is", waiting_for_time, move_due_as_it_is("schedule", due[1], "5", "a")});
  add({"bury a due job as it is", waiting_for_time, move_due_to_dead_as_it_is("schedule", due[1], "5", now, {})});
  add({"kill entries",
       waiting_for_time,
       {&scripts::kill_entries, named({"schedule", "dead"}), {"9", "1", "10000", "D1", "D2", "5", "5", "0"}}});
  add({"kill the dead",
       {{"ZADD", "dead", "5", "D1"}, {"ZADD", "dead", "6", "D2"}},
       {&scripts::kill_entries, named({"dead", "dead"}), {"9", "1", "10000", "D1", "5", "0"}}});
  add({"reschedule an entry", waiting_for_time, {&scripts::reschedule_entry, named({"schedule"}), {"D1", "5", "7"}}});
  add({"remove entries", waiting_for_time, {&scripts::remove_entries, named({"schedule"}), {"D1", "5", "0"}}, {"D1"}});
  for (const char* before : {"", "1"}) {
    std::vector<Command> pushed{{"SET", "other", "x"}};
    if (*before != 0) pushed.push_back({"SET", "brood:pushes:c", before});
    add({"push once",
         pushed,
         {&scripts::push_once, named({"brood:pushes:c", "queue:a", "queues"}), {"2", "60", "N1", "N2"}},
         {},
         {"N1", "N2"}});
    add({"push once for later",
         pushed,
         {&scripts::push_once, named({"brood:pushes:c", "schedule"}), {"2", "60", "5", "N1"}},
         {},
         {"N1"}});
  }
  const std::vector<LetGo> lock{{0, "unique", keys::unique_lock("L"), "J1"}};
  const auto holding = [](std::vector<Command> all) {
    all.push_back({"SET", keys::unique_lock("L"), "J1"});
    return all;
  };
  Settlement ends_with_lock = settlement({Outcome{}}, {"a", "b"}, 1);
  ends_with_lock.let_go = lock;
  add({"settle what holds a lock", holding(held({"J1"})), settle_and_fetch(ends_with_lock, now), {"J1"}});
  ScriptCall removes_holder{&scripts::remove_entries, named({"schedule"}), {"D1", "5"}};
  append(removes_holder, {{1, "unique", keys::unique_lock("L"), "J1"}});
  add({"remove an entry that holds a lock", holding(waiting_for_time), removes_holder, {"D1"}});
  for (const bool later : {false, true})
    add({"push a unique job",
         {{"SET", "other", "x"}},
         push_unique_once({"c", 2}, later ? "" : "a", {{"L", "N1", {}, later ? "5" : "", "N1"}}),
         {},
         {"N1"}});
  const std::vector<Command> open{{"HSET", keys::batch("b"), "total", "0", "open", "1"}};
  add({"push into a batch",
       open,
       push_to_batch({"b", "token", "h 1 2"}, 1, 0, "a", {{"N1", "", "N1#}"}, {"N2", "", "N2#}"}}),
       {},
       {"N1", "N2"}});
  for (const bool later : {false, true})
    add({"push a unique job into a batch",
         open,
         push_to_batch({"b", "token", "h 1 2"}, 1, 0, later ? "" : "a",
                       {{"N1", later ? "5" : "", "N1#}", BatchJob::Lock{"L", {}, OnConflict::drop}}}),
         {},
         {"N1"}});
  for (const bool later : {false, true}) {
    const UniqueJob job{"L", "N1", {}, later ? "6" : "", "N1"};
    const std::string target = later ? "" : "a";
    add({"replace a unique job of a queue",
         holding(held({})),
         replace_unique(target, {"J1", "A2", {.key = keys::queue("a")}, ""}, job, BatchNumber{"c", 2}),
         {"A2"},
         {"N1"}});
    add({"replace a unique job of the schedule",
         holding(waiting_for_time),
         replace_unique(target, {"J1", "D1", {.key = keys::schedule}, "5"}, job),
         {"D1"},
         {"N1"}});
  }
  add({"raise a dead job of which there is to be one",
       {{"ZADD", "dead", "5", "D1"}},
       raise_unique({"D1", "5", "a", "D1#again"}, {"L", "J1"}),
       {}});
  for (const auto while_held : {TickClaim::WhileHeld::no_matter, TickClaim::WhileHeld::skip}) {
    for (const char* score : {"", "2000"}) {
      add({"claim a tick " + std::string(score),
           {{"HSET", keys::periodic_state("report"), "rule", "* * * * * UTC", "last", "1000"}},
           claim_tick(next_tick(while_held, *score == 0 ? std::nullopt : std::optional<std::string>(score))),
           {},
           {"N1"}});
    }
  }
  add({"claim a tick of the gem's",
       {{"HSET", keys::gem_schedule("g"), "status", "enabled", "last_enqueue_time", ""}},
       claim_gem_tick({.schedule = "g",
                       .tick = std::chrono::sys_seconds(1060s),
                       .queue = "a",
                       .payload = "N1",
                       .jid = "N1",
                       .last_push = "",
                       .now = std::chrono::sys_seconds(1061s)}),
       {},
       {"N1"}});
  add({"remove jobs of a queue",
       held({}),
       {&scripts::remove_jobs, named({"queue:a"}), {"10", "0", "A3", "1", "A2", "0"}},
       {"A2", "A3"}});
  add({"remove a job of a queue", held({}), {script_named("remove_job"), named({"queue:a"}), {"A2", "0"}}, {"A2"}});
  add({"release a job from quarantine",
       {{"ZADD", "brood:quarantined", "5", "Q1"}, {"LPUSH", "queue:a", "A1"}},
       release_quarantined("Q1", "a")});
  return all;
}

struct Site {
  RedisServer server{RedisServer::Options{.append_only = false, .extra = {"--save", ""}}};
  Connection redis{server.address()};
  Connection other{server.address()};

  Site() { other.call({"ACL", "SETUSER", "limited", "on", "nopass", "+@all", "~*"}); }

  void prepare(const Operation& operation) {
    other.call({"FLUSHALL"});
    for (const Command& command : operation.prepare) other.call(command);
  }
  Places places() {
    Places found;
    for (const auto& [key, payload] : all_entries(other)) found[job_of(payload)].push_back(key + " " + payload);
    return found;
  }
  std::map<std::string, std::string> locks() {
    std::map<std::string, std::string> found;
    const Reply keys = other.call({"KEYS", RedisKey("brood:unique:*")});
    for (std::size_t i = 0; i < keys.view().size(); ++i) {
      const RedisKey key(keys.view()[i].text());
      found[key.name()] = other.call({"GET", key}).view().text();
    }
    return found;
  }
  // Whether a job is in flight but in no list that a field names, where no recovery would look.
  bool strands(const Operation& operation, const Places& places) {
    if (operation.call.script == &scripts::recover_orphans || operation.call.script == &scripts::settle_without_field)
      return false;
    const Reply value = other.call({"HGET", hash, field});
    const auto named = value.view().is_nil() ? std::nullopt : parse_last_settle(value.view().text());
    const std::string owned = named ? keys::in_flight_list(identity, field, named->queue).name() + " " : "nowhere";
    for (const auto& [job, at] : places) {
      if (at.front().starts_with("brood:inflight:") && !at.front().starts_with(owned)) return true;
    }
    return false;
  }
  void limit(const Strings& rules) {
    Command command{"ACL", "SETUSER", "limited", "reset", "on", "nopass", "+@all", "~*"};
    for (const std::string& rule : rules) command.args.push_back(rule);
    BOOST_REQUIRE(other.call(command).view().error().empty());
  }
  bool send_as_limited(const ScriptCall& call) {
    redis.call({"AUTH", "limited", "any"});
    return redis.run(call).view().error().empty();
  }
};

void check(Site& site, const Operation& operation, const Strings& rules) {
  site.limit({});
  site.prepare(operation);
  Places before = site.places();
  BOOST_REQUIRE(site.send_as_limited(operation.call));
  const Places undisturbed = site.places();
  const auto undisturbed_locks = site.locks();
  site.prepare(operation);

  site.limit(rules);
  const bool answered = site.send_as_limited(operation.call);
  site.limit({});

  const Places then = site.places();
  for (const auto& [job, at] : before) {
    const auto now = then.find(job);
    if (now == then.end()) {
      BOOST_TEST(operation.may_end.contains(job), job << " is lost");
      BOOST_TEST(answered, job << " has ended though the call was refused");
    } else {
      BOOST_TEST(now->second.size() == 1U, job << " is doubled: " << now->second[0] << ", " << now->second.back());
    }
  }
  BOOST_TEST(!site.strands(operation, then), "a job is in a list that no field names");

  const bool again = site.send_as_limited(operation.call);
  const Places in_the_end = site.places();
  BOOST_TEST(again);
  if (!answered) {
    BOOST_TEST((in_the_end == undisturbed), "the same call with all rights does something else now");
    BOOST_TEST((site.locks() == undisturbed_locks), "a lock is left, or was never taken");
  }
  for (const auto& [job, at] : in_the_end) BOOST_TEST(at.size() == 1U, job << " is doubled in the end");
  for (const std::string& job : operation.new_jobs) BOOST_TEST(in_the_end.contains(job), job << " was never pushed");
}

}  // namespace

BOOST_AUTO_TEST_CASE(each_script_that_moves_or_removes_jobs_is_tried) {
  const std::set<std::string_view> others = {
      "begin_probe", "pause_class", "unpause_class", "end_class_pause", "stray_sequences", "count",
      "count_quarantine_crash", "count_runs", "count_waiting", "find_job", "find_step", "forget_holder",
      "forget_process", "free_places", "give_back_limits", "heartbeat", "keep_scheduler_lock", "leave_probe",
      "let_go_at_begin", "let_go_of_stray", "list_process", "marked_jobs", "note_crash", "orphan_return_count",
      "pass_probe", "pause_periodic", "put_periodic_rule", "read_periodic_rules", "remove_periodic_rule", "queue_page",
      "queue_sizes", "register_incarnation", "release_lock", "reset_limit", "save_iteration", "serve_periodic",
      "set_page", "show_cap", "show_limit", "take_limits", "take_running_lock", "take_unique_lock", "try_rights",
      "work", "keep_probe", "first_score", "take_aside", "fleet_lease", "enter_sequence", "publish_classes",
      "sequence_page", "held_in_flight", "enter_filled_tenants", "forget_idle_tenants",
      // What these push comes with no job: callbacks, and steps of flows.
      "add_steps", "cancel_batch", "close_push", "delete_batch", "end_in_batch", "find_states", "open_batch",
      "release_steps", "reopen_batch"};  // of jobs that are to be deleted
  std::set<std::string_view> tried;
  for (const Operation& operation : operations()) tried.insert(operation.call.script->name);
  for (const Script* const script : scripts::all())
    BOOST_TEST(tried.contains(script->name) != others.contains(script->name), script->name);
}

BOOST_AUTO_TEST_CASE(whatever_command_is_refused_no_job_is_lost_or_doubled) {
  Site site;
  for (const Operation& operation : operations()) {
    for (const std::string& command : commands) {
      BOOST_TEST_CONTEXT(operation.name << ", -" << command) { check(site, operation, {"-" + command}); }
    }
  }
}

BOOST_AUTO_TEST_CASE(whatever_keys_are_refused_no_job_is_lost_or_doubled) {
  Site site;
  for (const Operation& operation : operations()) {
    for (const std::string& left_out : patterns) {
      for (const bool readable : {false, true}) {
        Strings rules{"resetkeys", "~other"};
        for (const std::string& pattern : patterns) {
          if (pattern != left_out) rules.push_back("~" + pattern);
        }
        if (readable) rules.push_back("%R~" + left_out);
        BOOST_TEST_CONTEXT(operation.name << ", " << (readable ? "read-only " : "without ") << left_out) {
          check(site, operation, rules);
        }
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(two_commands_refused_at_once_lose_nothing) {
  Site site;
  for (const Operation& operation : operations()) {
    for (const char* other : {"-rpush", "-zadd", "-ltrim"}) {
      for (const std::string& command : commands) {
        BOOST_TEST_CONTEXT(operation.name << ", " << other << " -" << command) {
          check(site, operation, {other, "-" + command});
        }
      }
    }
  }
}
