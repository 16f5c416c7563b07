#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <functional>
#include <map>
#include <optional>

#include "shared/job/payload.hpp"
#include "shared/json/json.hpp"
#include "shared/json/json_object.hpp"
#include "shared/store/in_flight/incarnation.hpp"
#include "shared/store/in_flight/settle_and_fetch.hpp"
#include "shared/store/keys.hpp"
#include "shared/store/report/heartbeat_hash.hpp"
#include "shared/store/worker_field.hpp"
#include "supervisor/report/heartbeat.hpp"
#include "supervisor/schedule/due_mover.hpp"
#include "supervisor/schedule/scheduler.hpp"
#include "tests/store/loop_with_redis.hpp"
#include "tests/support/vectors.hpp"

using namespace brood;
using namespace std::chrono_literals;
using Strings = std::vector<std::string>;

// Compares what the store and the heartbeat leave in Redis with what Sidekiq was observed to leave there.  If a vector
// lists commands, only their effect counts: our scripts reach it in another way.

namespace {

WallTime wall_time(double seconds) {
  return WallTime(std::chrono::microseconds(static_cast<std::int64_t>(seconds * 1e6 + 0.5)));
}

std::string kind_of(std::string_view json) {
  switch (json.front()) {
    case '{':
      return "object";
    case '[':
      return "array";
    case '"':
      return "string";
    case 't':
    case 'f':
      return "boolean";
    case 'n':
      return "null";
    default:
      return is_json_integer(json) ? "integer" : "float";
  }
}

// Checks that every member of `captured` is in `ours`, with the same JSON type, at all levels.
void check_shape(const std::string& captured, const std::string& ours, const std::string& path) {
  BOOST_TEST_CONTEXT(path) {
    BOOST_TEST(kind_of(ours) == kind_of(captured));
    if (kind_of(ours) != kind_of(captured)) return;
    if (kind_of(captured) == "object") {
      const JsonObject object = JsonObject::parse(ours);
      for (const auto& part : JsonOutline::of(captured).parts) {
        BOOST_TEST_CONTEXT(part.key) BOOST_TEST(object.raw(part.key).has_value());
        if (const auto raw = object.raw(part.key))
          check_shape(captured.substr(part.value_begin, part.value_end - part.value_begin), std::string(*raw),
                      path + "." + part.key);
      }
    } else if (kind_of(captured) == "array") {
      const Strings expected = json_elements(captured), found = json_elements(ours);
      BOOST_TEST(found.size() == expected.size());
      for (std::size_t i = 0; i < std::min(found.size(), expected.size()); ++i)
        check_shape(expected[i], found[i], path + "[]");
    }
  }
}

bool has_markup(const std::string& text) { return text.find_first_of("<>&'") != text.npos; }

std::string without(std::string text, const std::string& suffix) {
  return text.ends_with(suffix) ? text.substr(0, text.size() - suffix.size()) : text;
}

// A supervisor set up like the captured ones: five workers, the queues default and low, one tag.
struct Supervised : LoopWithRedis, Heartbeat::Workers {
  Identity identity;
  ProcessFacts facts;
  std::vector<SeenSlot> seen;
  int beats = 0;
  std::optional<Heartbeat> heartbeat;

  Supervised() {
    be("app-1:7:aaaaaaaaaaaa");
    facts.capsules = {CapsuleSettings{"default", 5, QueueOrder({{"default", 0}, {"low", 0}})}};
    facts.tag = "mytag";
    facts.version = "0.1.0";
    facts.started_at = wall_time(1795237366.461426);
  }

  // The identity, `<host>:<pid>:<12 hex digits>`, is the key of the process.
  void be(const std::string& name) {
    identity.name = name;
    identity.hostname = name.substr(0, name.find(':'));
    identity.pid = std::stoi(name.substr(name.find(':') + 1));
  }
  Metrics no_metrics;
  std::vector<SeenSlot> slots() const override { return seen; }
  Metrics& metrics() override { return no_metrics; }
  bool observe_classes(SteadyTime) override { return true; }
  void note_beat_token(std::uint64_t) override {}
  void note_beat(BootTime) override { ++beats; }
  bool beat() {
    if (!heartbeat) {
      heartbeat.emplace(loop, connection, identity, facts, *this);
    }
    const int before = beats;
    heartbeat->beat();
    return run_until([&] { return beats > before; });
  }
  void start_anew() {
    heartbeat.reset();
    seen.clear();
    redis.flush();
  }

  // Adds a worker that runs this payload.
  SlotSnapshot& run(const std::string& queue, const std::string& payload, std::int64_t run_at) {
    SeenSlot slot;
    slot.number = static_cast<int>(seen.size());
    slot.seen.pid = ::getpid();
    slot.seen.incarnation = 17;
    slot.seen.number = 1;
    slot.seen.entries = {EntryState::running};
    slot.seen.current = 0;
    slot.seen.started_at = WallTime(std::chrono::seconds(run_at));
    slot.seen.text_is_whole = true;
    slot.seen.queue = queue;
    const std::string field = worker_field(slot.number, 17);
    redis.command({"HSET", keys::in_flight_hash(identity.name), field, "1 " + queue});
    redis.command({"LPUSH", keys::in_flight_list(identity.name, field, queue), payload});
    seen.push_back(slot);
    return seen.back().seen;
  }
};

// A registered worker, and what it sends next.
struct Worker {
  RedisServer server;
  Connection redis{server.address()};
  Settlement next;

  Worker() {
    next.identity = "host:1:0123456789ab";
    next.field = "0.1";
    redis.run(register_incarnation(next.identity, "{}", next.field));
  }
  // Fetches `want` jobs of one queue.
  Strings fetch(const std::string& queue, int want) {
    next.draw = {queue};
    next.want = want;
    return settle();
  }
  Strings settle() {
    const Settled settled = read_settled(redis.run(settle_and_fetch(next, WallTime(1'800'000'000s))).view());
    BOOST_TEST(!settled.fenced);
    next.number = settled.number;
    next.held_queue = settled.queue;
    next.outcomes.clear();
    return settled.payloads;
  }
  // Moves one more job to the dead set, which has `before` jobs already, none of them old.  Returns the size
  // afterwards.
  std::size_t dead_after(std::size_t before, std::int64_t max_jobs) {
    Command fill{"ZADD", "dead"};
    for (std::size_t i = 0; i < before; ++i) fill.add(std::to_string(1'799'000'000 + i)).add(std::to_string(i));
    redis.call(fill);
    redis.call({"LPUSH", "queue:a", "x"});
    fetch("a", 1);
    next.dead_limits.max_jobs = max_jobs;
    next.want = 0;
    next.outcomes = {{Outcome::Kind::move_to_dead, "x", 1'800'000'000}};
    settle();
    return server.size_of("dead");
  }
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(the_process_hash_has_all_that_sidekiqs_has, Supervised) {
  for (const test::Vector& vector : test::vectors("process-hash-")) {
    BOOST_TEST_CONTEXT(vector.id) {
      start_anew();
      const std::string key = vector.expect["key"].text;
      be(key);
      BOOST_REQUIRE(beat());

      const auto ours = redis.hgetall(key);
      for (const auto& [field, captured] : vector.expect["fields"].members) {
        BOOST_TEST_CONTEXT(field) BOOST_REQUIRE(ours.contains(field));
        check_shape(captured.text, ours.at(field), field);
      }
      const std::int64_t lives = std::lround(vector.expect["ttl"].number());
      BOOST_TEST(redis.integer({"TTL", key}) <= lives);
      BOOST_TEST(redis.integer({"TTL", key}) >= lives - 30);
    }
  }
}

BOOST_FIXTURE_TEST_CASE(running_jobs_are_shown_as_sidekiq_shows_them, Supervised) {
  for (const test::Vector& vector : test::vectors("work-hash-")) {
    BOOST_TEST_CONTEXT(vector.id) {
      start_anew();
      const std::string key = vector.expect["key"].text;
      be(without(without(key, ":work"), ":workers"));
      const auto& captured = vector.expect["fields"].members;
      for (const auto& [thread, entry] : captured) {
        const JsonObject row = JsonObject::parse(entry.text);
        run(row.string("queue").value(), row.string("payload").value(), row.integer("run_at").value());
      }
      BOOST_REQUIRE(beat());

      const auto ours = redis.hgetall(key);
      BOOST_TEST(ours.size() == captured.size());
      for (std::size_t i = 0; i < captured.size(); ++i) {
        const std::string thread = thread_id(static_cast<int>(i), 17);
        BOOST_TEST_CONTEXT(thread) BOOST_REQUIRE(ours.contains(thread));
        BOOST_TEST(thread.find_first_not_of("0123456789abcdefghijklmnopqrstuvwxyz") == thread.npos);
        const std::string& theirs = captured[i].value.text;
        check_shape(theirs, ours.at(thread), "entry");
        const JsonObject expected = JsonObject::parse(theirs), row = JsonObject::parse(ours.at(thread));
        for (const char* member : {"queue", "payload"})
          BOOST_TEST(row.string(member).value() == expected.string(member).value());
        BOOST_TEST(row.integer("run_at").value() == expected.integer("run_at").value());
      }
      const std::int64_t lives = std::lround(vector.expect["ttl"].number());
      BOOST_TEST(redis.integer({"TTL", key}) <= lives);
      BOOST_TEST(redis.integer({"TTL", key}) >= lives - 30);
    }
  }
}

BOOST_FIXTURE_TEST_CASE(info_has_every_member_without_which_the_busy_page_fails, Supervised) {
  BOOST_REQUIRE(beat());
  const JsonObject info = JsonObject::parse(redis.hget(identity.name, "info").value());
  for (const test::Vector& vector : test::vectors("web-busy-required-info-")) {
    for (const test::VectorValue& member : vector.expect["page_fails_without"].elements)
      BOOST_TEST(info.raw(member.text).has_value(), vector.id << ": " << member.text);
  }
}

BOOST_FIXTURE_TEST_CASE(nothing_that_the_busy_page_prints_raw_is_markup, Supervised) {
  const std::string markup = "<script>'&";
  std::map<std::string, std::function<void(SlotSnapshot&)>> put{
      {"hostname", [&](SlotSnapshot&) { identity.hostname = markup; }},
      {"tag", [&](SlotSnapshot&) { facts.tag = markup; }},
      {"labels",
       [&](SlotSnapshot&) {
         facts.labels = {"a", markup};
       }},
      {"queues",
       [&](SlotSnapshot&) {
         facts.capsules[0].queues = QueueOrder({{"default", 0}, {markup, 0}});
       }},
      {"version", [&](SlotSnapshot&) { facts.version = markup; }},
      {"tid", [&](SlotSnapshot& seen) { seen.pid = ::getpid(); }},  // no foreign text
      {"class", [&](SlotSnapshot& seen) { seen.job_class = markup; }},
      {"jid", [&](SlotSnapshot& seen) { seen.jid = markup; }}};
  const ProcessFacts harmless = facts;
  const test::Vector vector = test::vectors("web-busy-escaping").at(0);
  for (const test::VectorValue& member : vector.expect["printed_raw"].elements) {
    const std::string name = member.text.substr(0, member.text.find(' '));
    BOOST_TEST_CONTEXT(name) {
      start_anew();
      be("app-1:7:aaaaaaaaaaaa");
      facts = harmless;
      // The worker marks a job whose own texts are markup.
      const bool of_the_job = name == "class" || name == "jid";
      const Payload plain = Payload::parse(R"({"class":"A","args":[],"jid":"j1"})");
      SlotSnapshot& seen =
          run("default", of_the_job ? plain.with({{name, json_string(markup)}}).text() : plain.text(), 5);
      seen.job_class = "A";
      seen.jid = "j1";
      if (of_the_job) seen.class_flags = class_is_unsafe_html;
      BOOST_REQUIRE(put.contains(name));
      put.at(name)(seen);
      BOOST_REQUIRE(beat());

      BOOST_TEST(redis.hgetall(identity.name + ":work").size() == 1u);
      for (const char* suffix : {"", ":work", ":workers"}) {
        for (const auto& [field, value] : redis.hgetall(identity.name + suffix)) {
          BOOST_TEST(!has_markup(field));
          BOOST_TEST(!has_markup(value));
        }
      }
    }
  }
}

BOOST_FIXTURE_TEST_CASE(signals_are_followed_in_the_order_of_their_sending, Supervised) {
  const test::Vector vector = test::vectors("signals-order").at(0);
  const std::string list = identity.name + "-signals";
  for (const test::VectorValue& signal : vector.input["pushed"].elements) redis.command({"LPUSH", list, signal.text});
  Strings after;
  for (const test::VectorValue& signal : vector.input["list_after"].elements) after.push_back(signal.text);
  BOOST_TEST(redis.lrange(list) == after, boost::test_tools::per_element());

  // Sidekiq takes one a beat; both are followed at once here.
  BOOST_TEST(beat());
  const Strings followed = heartbeat->take_news().signals;
  const Strings expected{vector.expect["first_heartbeat"].text, vector.expect["second_heartbeat"].text};
  BOOST_TEST(followed == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(daily_counters_live_as_long_as_sidekiqs) {
  const test::Vector vector = test::vectors("stat-ttl").at(0);
  const std::string key = vector.input["daily_key"].text;
  const std::int64_t lives = std::lround(vector.expect["ttl_s"].number());
  RedisServer server;
  Connection redis(server.address());
  redis.run(count_jobs(1, 1, key.substr(key.rfind(':') + 1)));
  BOOST_TEST(server.get(key).value() == "1");
  BOOST_TEST(server.integer({"TTL", key}) <= lives);
  BOOST_TEST(server.integer({"TTL", key}) >= lives - 60);
}

BOOST_FIXTURE_TEST_CASE(what_is_due_is_taken_in_the_order_of_its_time, LoopWithRedis) {
  const test::Vector vector = test::vectors("pop-due-order").at(0);
  const auto job = [](const std::string& name) {
    return R"({"class":"A","args":[],"queue":"a","jid":")" + name + "\"}";
  };
  const auto member_of = [&](const test::VectorValue& pair) { return job(pair.elements.at(0).text); };
  for (const test::VectorValue& pair : vector.input["zset"].elements)
    redis.command({"ZADD", "schedule", pair.elements.at(1).text, member_of(pair)});

  std::optional<DueMover::Done> done;
  DueMover mover(loop, connection, {});
  mover.move_all("schedule", wall_time(vector.input["now"].number()), usual_time_unit, Command{"PING"},
                 [&](DueMover::Done how) { done = how; });
  BOOST_REQUIRE(run_until([&] { return done.has_value(); }));

  Strings returned;
  for (const test::VectorValue& name : vector.expect["returned"].elements) {
    if (name.text != "null") returned.push_back(name.text);
  }
  Strings moved;
  const Strings queue = redis.lrange("queue:a");
  for (auto payload = queue.rbegin(); payload != queue.rend(); ++payload)
    moved.push_back(Payload::parse(*payload).jid());
  BOOST_TEST(moved == returned, boost::test_tools::per_element());
  std::vector<std::pair<std::string, double>> left;
  for (const test::VectorValue& pair : vector.expect["left"].elements)
    left.emplace_back(member_of(pair), pair.elements.at(1).number());
  BOOST_TEST((redis.zrange("schedule") == left));
}

// A worker holds jobs of one queue at a time, so each queue of the vector is a batch.
BOOST_AUTO_TEST_CASE(jobs_of_a_stopped_worker_are_next_to_run_with_their_own_bytes) {
  const test::Vector vector = test::vectors("requeue-shutdown").at(0);
  const auto payload = [](const std::string& name) { return R"({ "class":"A","args":[1.50],"jid":")" + name + "\"}"; };
  for (const test::VectorValue& command : vector.expect["commands"].elements) {
    const std::string key = command.elements.at(1).text, queue = key.substr(key.find(':') + 1);
    Strings jobs;
    for (std::size_t i = 2; i < command.elements.size(); ++i) jobs.push_back(payload(command.elements[i].text));
    Strings in_progress;
    for (const test::VectorValue& pair : vector.input["in_progress"].elements) {
      if (pair.elements.at(0).text == key) in_progress.push_back(payload(pair.elements.at(1).text));
    }
    BOOST_TEST(in_progress == jobs, boost::test_tools::per_element());

    for (const bool begun : {false, true}) {
      BOOST_TEST_CONTEXT(key << (begun ? " begun" : " unbegun")) {
        Worker worker;
        for (const std::string& job : jobs) worker.redis.call({"LPUSH", key, job});
        worker.redis.call({"LPUSH", key, "waits"});
        BOOST_REQUIRE(worker.fetch(queue, static_cast<int>(jobs.size())) == jobs);
        if (begun) {
          for (const std::string& job : jobs) worker.next.outcomes.push_back({Outcome::Kind::requeue_head, job, 0});
          worker.next.want = 0;
          worker.settle();
        } else {
          worker.redis.run(give_back(worker.next.identity, worker.next.field, queue, worker.next.number, 0));
        }

        Strings found = worker.server.lrange(key);
        BOOST_REQUIRE(found.size() == jobs.size() + 1);
        BOOST_TEST(found.front() == "waits");
        found.erase(found.begin());
        std::sort(found.begin(), found.end());
        BOOST_TEST(found == jobs, boost::test_tools::per_element());
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(the_dead_set_is_trimmed_to_the_size_that_sidekiq_leaves) {
  for (const char* id : {"dead-trim-count", "dead-trim-below"}) {
    const test::Vector vector = test::vectors(id).at(0);
    BOOST_TEST_CONTEXT(id) {
      const auto size = static_cast<std::size_t>(vector.input["dead_size"].number());  // with the one just moved
      const auto expected = static_cast<std::size_t>(vector.expect["dead_size"].number());
      Worker worker;
      BOOST_TEST(worker.dead_after(size - 1, std::lround(vector.input["dead_max_jobs"].number())) == expected);
    }
  }
}

BOOST_AUTO_TEST_CASE(the_dead_set_is_trimmed_at_the_age_that_sidekiq_trims_at) {
  const test::Vector vector = test::vectors("dead-trim-age").at(0);
  const WallTime now(std::chrono::nanoseconds(std::llround(vector.input["now"].number() * 1e7) * 100));
  const std::string limit = vector.expect["zremrangebyscore_max"].text;
  BOOST_TEST(DeadLimits{}.script_arguments(now).at(0) == limit);

  Worker worker;
  worker.redis.call({"ZADD", "dead", limit, "at the limit", std::to_string(std::stod(limit) + 0.001), "just above"});
  worker.redis.call({"LPUSH", "queue:a", "x"});
  worker.fetch("a", 1);
  worker.next.want = 0;
  worker.next.outcomes = {{Outcome::Kind::move_to_dead, "x", epoch_seconds(now)}};
  BOOST_REQUIRE(!worker.redis.run(settle_and_fetch(worker.next, now)).view().is_error());
  Strings left;
  for (const auto& [member, score] : worker.server.zrange("dead")) left.push_back(member);
  BOOST_TEST(left == (Strings{"just above", "x"}), boost::test_tools::per_element());
}

// A worker gets jobs of other programs byte for byte, from the queue that they chose.
BOOST_FIXTURE_TEST_CASE(jobs_of_other_programs_are_fetched_as_they_are, LoopWithRedis) {
  for (const test::Vector& vector : test::vectors("foreign-")) {
    BOOST_TEST_CONTEXT(vector.id) {
      redis.flush();
      const auto& [command, payload] = vector.input.members.at(0);
      const bool scheduled = command.starts_with("zadd");
      const std::string queue = scheduled ? vector.expect["queue"].text : command.substr(command.find(':') + 1);
      Scheduler scheduler(loop, connection, {"here:1:aaaaaaaaaaaa", {.fixed_average = 1h}, {}});
      if (scheduled) {
        redis.command({"ZADD", "schedule", command.substr(command.rfind(' ') + 1), payload.text});
        scheduler.look();
        BOOST_REQUIRE(run_until([&] { return redis.size_of("queue:" + queue) == 1; }));
      } else {
        redis.command({"LPUSH", "queue:" + queue, payload.text});
      }

      Connection one(redis.address());
      one.run(register_incarnation("host:1:0123456789ab", "{}", "0.1"));
      Settlement next;
      next.identity = "host:1:0123456789ab";
      next.field = "0.1";
      next.draw = {queue};
      next.want = 1;
      const Strings fetched = read_settled(one.run(settle_and_fetch(next, wall_now())).view()).payloads;
      BOOST_REQUIRE(fetched.size() == 1u);
      if (scheduled)
        BOOST_TEST(Payload::parse(fetched[0]).with({{"enqueued_at", std::nullopt}}).text() == payload.text);
      else
        BOOST_TEST(fetched[0] == payload.text);
    }
  }
}
