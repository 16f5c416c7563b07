#include "shared/store/identity_record.hpp"
#include "supervisor/upgrade/handover_file.hpp"
#include "supervisor/upgrade/handover_record.hpp"

#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <csignal>
#include <string>

using namespace brood;
using namespace std::chrono_literals;

namespace {

Handover example() {
  Handover handover;
  handover.version = "1.2.3";
  handover.identity = {.name = "host:42:0123456789ab",
                       .hostname = "host",
                       .boot_id = "b",
                       .pid_namespace = "pid:[1]",
                       .pid = 42,
                       .start_time = 99,
                       .runtime_directory = "/run/\"brood\"",
                       .user = 1'000};
  handover.redis = "redis://localhost";
  handover.is_empty_place = true;
  handover.started_at = WallTime(1'795'237'318'514'000'001ns);
  handover.quiet = true;
  handover.last_incarnation = 1'000'000'000'000;
  handover.used_slots = 9;
  CapsuleSettings images{.name = "images", .concurrency = 4, .queues = QueueOrder({{"a", 5}, {"b", 1}})};
  CapsuleSettings all{.name = "all", .concurrency = 1, .queues = QueueOrder({{"*", 0}})};
  all.worker = WorkerSettings{.max_jobs = 7};
  all.caps = {{"erp", {"erp", "crm"}, 4}};
  handover.generations = {{.number = 1, .capsules = {{}}, .worker = {}},
                          {.number = 2,
                           .capsules = {images, all},
                           .worker = {.timeout_grace = 70ms, .seccomp = false, .preload = Preload::never}}};
  handover.present = 2;
  handover.workers = {{.pid = 43,
                       .slot = 8,
                       .generation = 2,
                       .capsule = 1,
                       .number = 3,
                       .incarnation = 12,
                       .finishing = true,
                       .flags = 3,
                       .processed_before = 7,
                       .occupied_since = SteadyTime(5ns),
                       .ready_at = SteadyTime(6ns),
                       .control = 10,
                       .output = 11,
                       .output_token = "0a1b"}};
  handover.templates = {{.pid = 44, .generation = 2, .slots = 26, .line = 14}};
  handover.control_listener = 12;
  handover.log = 13;
  handover.program = "/usr/bin/brood";
  handover.config = {"tag = \"new\"\n", 0100640};
  handover.former_config = {"tag = \"old\"\n", 0100600};
  handover.counted = {{.slot = 8, .counts = {.processed = 100, .failed = 3}}};
  handover.uncounted = {.processed = 2, .failed = 1};
  handover.beat_tokens = "0000000000000001 0000000000000002";
  Handover::Left left{.shard = 2, .death = {}};
  left.death.worker = {
      .identity = handover.identity.name,
      .slot = 8,
      .incarnation = 11,
      .record = DeadWorker::Record{.number = 5,
                                   .entries = {EntryState::judged, EntryState::running},
                                   .queue = "a",
                                   .jid = "\xff\n",
                                   .outcomes = {Outcome{Outcome::Kind::retry, "{\"a\":\"\xc3\"}", 1.5}, std::nullopt}},
      .ended_by_brood = false};
  left.death.cause = WorkerDeath::Cause{.error_class = "SIGSEGV", .message = "at 0x10", .counts_as_crash = true};
  CrashFacts& facts = left.death.cause->facts.emplace();
  facts.pid = 45;
  facts.core_dumped = true;
  facts.working_directory = "/tmp/\xff";
  facts.uptime = 12s;
  facts.max_rss_kb = 77;
  facts.ran_before = {{.job_class = "Before", .runs_ago = 2}};
  facts.libraries = ~std::uint64_t{0};
  facts.stack.state = StackState::complete;
  facts.stack.signal = SIGSEGV;
  facts.stack.address = 0xffff'8000'0000'0010;  // more than a signed number holds
  facts.stack.what = "\xc3";
  facts.stack.frames = {0x1000, 0xffff'ffff'ffff'ffff};
  facts.stack.modules = {{.begin = 0x1000, .end = 0x2000, .bias = 16, .build_id = "ab12", .path = "/lib/a b.so"}};
  left.death.run = {WallTime(5s), 3s};
  left.slot = {.generation = 2, .capsule = 1, .number = 4, .never_fetched = true, .ended_at = SteadyTime(7s)};
  left.death.worker.ran_out_of_memory = true;
  left.death.fate = WorkerDeath::Fate::dead;
  left.death.class_flags = 3;
  left.death.max_crashes = 2;
  handover.left = {std::move(left)};
  handover.other_shards = {{}, {.counted = {}, .uncounted = {}, .beat_tokens = "t", .is_empty_place = true}};
  return handover;
}

void check_same(const Handover& found, const Handover& expected) {
  BOOST_TEST(to_json(found) == to_json(expected));
  BOOST_REQUIRE(found.workers.size() == 1U);
  BOOST_TEST(found.workers[0].output_token == "0a1b");
  BOOST_TEST((found.workers[0].ready_at == SteadyTime(6ns)));
  BOOST_TEST((found.started_at == expected.started_at));
  BOOST_TEST((found.empty_places() == std::vector<int>{0, 2}));
  BOOST_TEST(identity_record(found.identity) == identity_record(expected.identity));
  BOOST_REQUIRE(found.generations.size() == 2U);
  BOOST_TEST((found.generations[0].capsules.at(0).queues.mode() == QueueOrder::Mode::strict));
  BOOST_TEST((found.generations[1].capsules.at(0).queues.mode() == QueueOrder::Mode::weighted));
  BOOST_TEST(found.generations[1].capsules.at(1).queues.has_patterns());
  BOOST_TEST(found.generations[1].capsules.at(1).worker.value().max_jobs == 7U);
  BOOST_TEST(!found.generations[1].capsules.at(0).worker);
  BOOST_TEST(found.generations[1].capsules.at(0).caps.empty());
  const std::vector<const CapSettings*> caps = caps_of(found.generations[1].capsules.at(1).caps, "crm");
  const CapSettings* const cap = caps.empty() ? nullptr : caps.front();
  BOOST_TEST((cap != nullptr && cap->name == "erp" && cap->most == 4 && cap->queues.size() == 2));
  BOOST_TEST((found.generations[1].worker.timeout_grace == 70ms));
  BOOST_TEST(!found.generations[1].worker.seccomp);
  BOOST_TEST((found.generations[0].worker.preload == Preload::automatic));
  BOOST_TEST((found.generations[1].worker.preload == Preload::never));
  BOOST_REQUIRE(found.templates.size() == 1u);
  BOOST_TEST(found.templates[0].slots == 26);
  BOOST_TEST(found.counted.at(0).counts.processed == 100U);
  BOOST_REQUIRE(found.left.size() == 1U);
  const WorkerDeath& death = found.left[0].death;
  BOOST_TEST(found.left[0].shard == 2);
  BOOST_REQUIRE(death.worker.record);
  BOOST_TEST((death.worker.record->entries == std::vector{EntryState::judged, EntryState::running}));
  BOOST_TEST(death.worker.record->jid == "\xff\n");
  BOOST_TEST(death.worker.record->outcomes.at(0)->payload == "{\"a\":\"\xc3\"}");
  BOOST_TEST(death.worker.record->outcomes[0]->score == 1.5);
  BOOST_TEST(!death.worker.record->outcomes.at(1));
  BOOST_TEST(death.cause->error_class == "SIGSEGV");
  BOOST_REQUIRE(death.cause->facts);
  BOOST_TEST(death.cause->facts->working_directory == "/tmp/\xff");
  BOOST_TEST((death.cause->facts->uptime == 12s));
  BOOST_TEST(death.cause->facts->ran_before.at(0).job_class == "Before");
  BOOST_TEST(death.cause->facts->libraries == ~std::uint64_t{0});
  const CapturedStack& stack = death.cause->facts->stack;
  BOOST_TEST((stack.state == StackState::complete && stack.signal == SIGSEGV));
  BOOST_TEST(stack.address == 0xffff'8000'0000'0010);
  BOOST_TEST((stack.frames == std::vector<std::uint64_t>{0x1000, 0xffff'ffff'ffff'ffff}));
  BOOST_TEST(stack.modules.at(0).path == "/lib/a b.so");
  BOOST_REQUIRE(found.left[0].slot);
  BOOST_TEST((found.left[0].slot->generation == 2U && found.left[0].slot->capsule == 1));
  BOOST_TEST((found.left[0].slot->never_fetched && found.left[0].slot->ended_at == SteadyTime(7s)));
  BOOST_REQUIRE(death.run);
  BOOST_TEST((death.run->began == WallTime(5s) && death.run->took == 3s));
  BOOST_TEST(death.worker.ran_out_of_memory);
  BOOST_TEST((death.fate == WorkerDeath::Fate::dead));
  BOOST_TEST(*death.max_crashes == 2);
}

std::string refusal(const std::string& json) {
  try {
    parse_handover(json);
  } catch (const BadHandover& bad) {
    return bad.what();
  }
  return "none";
}

}  // namespace

BOOST_AUTO_TEST_CASE(what_is_written_is_read_again) { check_same(parse_handover(to_json(example())), example()); }

BOOST_AUTO_TEST_CASE(it_can_be_read_twice_from_its_descriptor) {
  const UniqueFd file = write_handover(example());
  check_same(read_handover(file.get()), example());
  check_same(read_handover(file.get()), example());
}

BOOST_AUTO_TEST_CASE(a_handover_cannot_be_changed_and_a_rehearsal_is_signed) {
  const UniqueFd file = write_handover(example());
  BOOST_CHECK_THROW(sign_rehearsal(file.get()), std::system_error);
  BOOST_TEST(!is_signed(file.get()));
  Handover rehearsal = example();
  rehearsal.rehearsal = true;
  const UniqueFd copy = write_handover(rehearsal);
  BOOST_TEST(!is_signed(copy.get()));
  sign_rehearsal(copy.get());
  BOOST_TEST(is_signed(copy.get()));
  BOOST_TEST(read_handover(copy.get()).rehearsal);
}

BOOST_AUTO_TEST_CASE(all_descriptors_go_along_but_standard_ones) {
  BOOST_TEST(descriptors_of(example()) == (std::vector<int>{12, 13, 10, 11, 14}), boost::test_tools::per_element());
  Handover bare = example();
  bare.log = 2;
  bare.workers[0].output = -1;
  BOOST_TEST(descriptors_of(bare) == (std::vector<int>{12, 10, 14}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(members_of_another_version_are_passed_over_and_missing_ones_have_their_usual_values) {
  const Handover read = parse_handover(
      R"({"format":7,"identity":{"name":"h:1:0","pid":1,"new":[1]},"later":{"x":1},"workers":[{"pid":5,"slot":0}]})");
  BOOST_TEST(read.format == 7);
  BOOST_TEST(read.present == 1U);
  BOOST_TEST(read.workers.at(0).control == -1);
  BOOST_TEST(read.control_listener == -1);
}

BOOST_AUTO_TEST_CASE(what_no_supervisor_writes_is_refused) {
  const std::string whole = to_json(example());
  for (std::size_t length = 0; length < whole.size(); length += 7)
    BOOST_TEST(refusal(whole.substr(0, length)) != "none", length);
  for (const char* bad :
       {"", "[]", "{}", "null", R"({"identity":{"name":"h:1:0"}})",
        R"({"identity":{"name":"h:1:0","pid":1},"workers":[{"pid":0,"slot":1}]})",
        R"({"identity":{"name":"h:1:0","pid":1},"workers":[{"pid":7,"slot":-1}]})",
        R"({"identity":{"name":"h:1:0","pid":1},"workers":[7]})", R"({"identity":{"name":"h:1:0","pid":99999999999}})",
        R"({"identity":{"name":"h:1:0","pid":1},"generations":[{"capsules":[{"queues":["a b"]}]}]})"})
    BOOST_TEST(refusal(bad) != "none", bad);
  int ends[2];
  BOOST_REQUIRE(pipe(ends) == 0);
  for (const int fd : {ends[0], -1, 12345}) BOOST_CHECK_THROW(read_handover(fd), BadHandover);
}
