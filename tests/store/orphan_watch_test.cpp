#include "supervisor/recovery/orphan_watch.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <optional>

#include "shared/scoreboard/scoreboard.hpp"
#include "shared/store/identity_record.hpp"
#include "supervisor/report/beat_tokens.hpp"
#include "tests/store/loop_with_redis.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

struct Watching : LoopWithRedis, OrphanWatch::Listener {
  TemporaryDirectory runtime;
  Identity own = identity_in(runtime.path());
  std::set<std::string> living;
  std::vector<DeadSupervisor> dead;
  std::vector<std::string> orphan_fields;
  std::set<std::string> listed;
  std::optional<OrphanWatch> watch;

  Watching() {
    watch.emplace(
        loop, connection, own, [this] { return living; }, *this);
    add(own);
  }
  void handle(const DeadSupervisor& one, SteadyTime) override { dead.push_back(one); }
  void handle_field(const std::string& field) override { orphan_fields.push_back(field); }
  void end_look(const std::set<std::string>& others, SteadyTime) override { listed = others; }

  static Identity identity_in(const std::string& runtime_directory) {
    Identity identity = Identity::of_this_process();
    identity.runtime_directory = runtime_directory;
    return identity;
  }

  void add(const Identity& identity) {
    redis.command({"HSET", "brood:processes", identity.name, identity_record(identity)});
  }
  void add_field(const std::string& field) { redis.command({"HSET", "brood:inflight:" + own.name, field, "0 "}); }

  // The identity of this process under another name.  Only with the right `start_time` it is this very process.
  Identity neighbour(std::uint64_t start_time) {
    Identity identity = own;
    identity.name = "neighbour:1:bbbbbbbbbbbb";
    identity.start_time = start_time;
    return identity;
  }

  // Leaves the files that it would have left here.
  Scoreboard leave_files(const Identity& identity) { return Scoreboard::create(runtime.path(), identity.name, 1); }

  // Waits for the end of a look: then a field is reported.
  bool look() {
    add_field("99.99");
    const auto before = std::count(orphan_fields.begin(), orphan_fields.end(), "99.99");
    const bool looked = run_until([&] {
      watch->look();  // ignored while one is under way, and that one may have read before the field was there
      return std::count(orphan_fields.begin(), orphan_fields.end(), "99.99") > before;
    });
    run_for(50ms);
    return looked;
  }
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(a_supervisor_of_this_host_whose_process_is_gone_is_dead, Watching) {
  add(neighbour(own.start_time + 1));  // its pid was used again
  leave_files(neighbour(own.start_time + 1));
  redis.command({"HSET", "neighbour:1:bbbbbbbbbbbb", "info", "{}"});
  watch->look();
  BOOST_TEST(run_until([&] { return !dead.empty(); }));
  BOOST_TEST(dead[0].identity.name == "neighbour:1:bbbbbbbbbbbb");
  BOOST_TEST(dead[0].same_host);
}

// This machine may be a clone of the machine on which it ran.
BOOST_FIXTURE_TEST_CASE(one_of_the_same_boot_that_has_left_no_files_here_is_let_be, Watching) {
  add(neighbour(own.start_time + 1));
  for (const bool beats : {true, false}) {
    if (beats) redis.command({"HSET", "neighbour:1:bbbbbbbbbbbb", "info", "{}"});
    BOOST_TEST(look());
    BOOST_TEST(look());
    BOOST_TEST(dead.empty());
    redis.command({"DEL", "neighbour:1:bbbbbbbbbbbb"});
  }
}

// The machine was cloned: of the two processes, the one here is dead.
BOOST_FIXTURE_TEST_CASE(one_that_has_left_files_here_and_not_the_heartbeat_is_let_be, Watching) {
  add(neighbour(own.start_time + 1));
  leave_files(neighbour(own.start_time + 1)).note_beat_token(1);
  const auto beat = [this](std::uint64_t token) {
    redis.command({"HSET", "neighbour:1:bbbbbbbbbbbb", "brood_token", token_text(token)});
  };
  beat(2);
  BOOST_TEST(look());
  BOOST_TEST(look());
  BOOST_TEST(dead.empty());

  beat(1);
  watch->look();
  BOOST_TEST(run_until([&] { return !dead.empty(); }));
  BOOST_TEST(dead[0].same_host);
}

BOOST_FIXTURE_TEST_CASE(a_supervisor_that_is_left_alone_is_reported_as_listed, Watching) {
  add(neighbour(own.start_time + 1));
  watch->look();
  BOOST_TEST(run_until([&] { return !listed.empty(); }));
  BOOST_TEST(listed == std::set<std::string>{"neighbour:1:bbbbbbbbbbbb"}, boost::test_tools::per_element());
}

BOOST_FIXTURE_TEST_CASE(it_is_reported_again_until_its_record_is_gone, Watching) {
  add(neighbour(own.start_time + 1));
  leave_files(neighbour(own.start_time + 1));
  watch->look();
  BOOST_TEST(run_until([&] { return dead.size() == 2; }));
  redis.command({"HDEL", "brood:processes", "neighbour:1:bbbbbbbbbbbb"});
  BOOST_TEST(look());
  dead.clear();
  BOOST_TEST(look());
  BOOST_TEST(dead.empty());
}

BOOST_FIXTURE_TEST_CASE(a_living_supervisor_is_left_alone, Watching) {
  add(neighbour(own.start_time));
  Identity stranger = neighbour(1);
  stranger.name = "stranger:1:cccccccccccc";
  stranger.boot_id = "another boot";
  add(stranger);
  BOOST_TEST(look());
  BOOST_TEST(look());
  BOOST_TEST(dead.empty());
}

BOOST_FIXTURE_TEST_CASE(a_record_that_is_not_understood_is_left_alone, Watching) {
  redis.command({"HSET", "brood:processes", "later:1:dddddddddddd", "of a later release"});
  add(neighbour(own.start_time + 1));
  leave_files(neighbour(own.start_time + 1));
  watch->look();
  BOOST_TEST(run_until([&] { return !dead.empty(); }));
  BOOST_TEST(dead.size() == 1u);
}

BOOST_FIXTURE_TEST_CASE(a_field_that_no_slot_names_is_an_orphan, Watching) {
  add_field("0.1");
  add_field("1.2");
  living = {"0.1"};
  BOOST_TEST(look());
  BOOST_TEST(std::count(orphan_fields.begin(), orphan_fields.end(), "1.2") >= 1);
  BOOST_TEST(std::count(orphan_fields.begin(), orphan_fields.end(), "0.1") == 0);
}

BOOST_FIXTURE_TEST_CASE(a_field_that_is_registered_during_the_look_is_no_orphan, Watching) {
  add_field("0.1");
  watch->look();
  living = {"0.1"};
  BOOST_TEST(look());
  BOOST_TEST(std::count(orphan_fields.begin(), orphan_fields.end(), "0.1") == 0);
}

BOOST_FIXTURE_TEST_CASE(keys_of_the_wrong_type_are_survived, Watching) {
  redis.command({"DEL", "brood:processes"});
  redis.command({"SET", "brood:processes", "x"});
  watch->look();
  run_for(100ms);
  redis.command({"DEL", "brood:processes"});
  BOOST_TEST(look());
}

namespace {

// Supervisors of other hosts, all of which beat.
struct LargeFleet : Watching {
  static constexpr int others = 500;

  static std::string name_of(int other) { return "other" + std::to_string(1000 + other) + ":1:cccccccccccc"; }
  LargeFleet() {
    Identity stranger = own;
    stranger.boot_id = "another boot";
    for (int i = 0; i < others; ++i) {
      stranger.name = name_of(i);
      add(stranger);
      redis.command({"HSET", stranger.name, "info", "{}"});
    }
    watch->rely_on_reports(true);
  }
  long calls(const std::string& command) {
    const std::string text(redis.command({"INFO", "commandstats"}).view().text()),
        before = "cmdstat_" + command + ":calls=";
    const auto at = text.find(before);
    return at == std::string::npos ? 0 : std::stol(text.substr(at + before.size()));
  }
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(a_look_costs_a_few_commands_however_many_supervisors_there_are, LargeFleet) {
  BOOST_REQUIRE(look());  // which reads their list
  BOOST_TEST(listed.size() == 500U);
  redis.command({"CONFIG", "RESETSTAT"});
  for (int i = 0; i < 10; ++i) BOOST_REQUIRE(look());
  const long looks = calls("hkeys");  // each asks for our own workers
  BOOST_TEST(looks >= 10);
  BOOST_TEST(calls("exists") <= looks);
  BOOST_TEST(calls("hget") + calls("hgetall") == 0);
}

BOOST_FIXTURE_TEST_CASE(the_list_is_read_again_when_it_has_changed, LargeFleet) {
  BOOST_REQUIRE(look());
  redis.command({"HDEL", "brood:processes", name_of(0)});
  BOOST_REQUIRE(look());
  BOOST_TEST(listed.size() == 500U);  // nothing was reported
  watch->note_change();
  BOOST_REQUIRE(look());
  BOOST_TEST(listed.size() == 499U);
  watch->rely_on_reports(false);
  redis.command({"HDEL", "brood:processes", name_of(1)});
  BOOST_REQUIRE(look());
  BOOST_TEST(listed.size() == 498U);
}

// Shown by the next look, which asks only for this one.
BOOST_FIXTURE_TEST_CASE(one_heartbeat_that_is_missing_among_hundreds_is_found, LargeFleet) {
  redis.command({"DEL", name_of(321)});
  for (int i = 0; i < 6; ++i) BOOST_REQUIRE(look());
  redis.command({"CONFIG", "RESETSTAT"});
  BOOST_REQUIRE(look());
  BOOST_TEST(calls("hget") >= 1);
  BOOST_TEST(calls("hget") <= 4);
}

BOOST_FIXTURE_TEST_CASE(where_all_heartbeats_are_missing_one_look_finds_them_all, LargeFleet) {
  for (int i = 0; i < others; ++i) redis.command({"DEL", name_of(i)});
  BOOST_REQUIRE(look());
  redis.command({"CONFIG", "RESETSTAT"});
  BOOST_REQUIRE(look());
  BOOST_TEST(calls("hget") >= others);
}
