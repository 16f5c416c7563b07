#include "shared/job/job_report.hpp"

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "shared/scoreboard/scoreboard.hpp"
#include "shared/store/kept_report.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

std::string report_of(const std::string& members) { return R"({"jid":"j","state":"done","result":1,)" + members + "}"; }

// The things let go with a job of this payload that ends like this.
std::vector<LetGo> let_go(const std::string& payload, const Outcome* outcome) {
  std::vector<LetGo> all;
  append_report(all, payload, 3, outcome);
  return all;
}

const std::string keeper = R"({"class":"A","args":[],"jid":"j1","keep_result":60})";

}  // namespace

BOOST_AUTO_TEST_CASE(a_report_is_written_and_read) {
  JobReport report{.jid = "j\"1", .state = JobState::dead};
  report.result.text = R"({"a":[1,2.50]})";
  report.error_class = "Error";
  report.error_message = "why\n\"so\"";
  report.elapsed = 1'500us;
  report.ended_at = std::chrono::system_clock::time_point(1'800'000'000'250ms);

  const std::string json = report_json(report);
  const auto read = read_report(json);

  BOOST_TEST(json == R"({"jid":"j\"1","state":"dead","result":{"a":[1,2.50]},"error_class":"Error","error_message":)"
                     R"("why\n\"so\"","elapsed":0.001500,"ended_at":1800000000.250})");
  BOOST_REQUIRE(read);
  BOOST_TEST(read->jid == report.jid);
  BOOST_TEST((read->state == report.state));
  BOOST_TEST(read->result.text == report.result.text);
  BOOST_TEST(read->error_class == report.error_class);
  BOOST_TEST(read->error_message == report.error_message);
  BOOST_TEST((read->elapsed == report.elapsed));
  BOOST_TEST((read->ended_at == report.ended_at));
}

BOOST_AUTO_TEST_CASE(what_a_report_does_not_know_is_null) {
  BOOST_TEST(report_json({.jid = "j", .state = JobState::queued}) ==
             R"({"jid":"j","state":"queued","result":null,"error_class":null,"error_message":null,"elapsed":null,)"
             R"("ended_at":null})");
}

BOOST_AUTO_TEST_CASE(hostile_members_of_a_report_say_nothing) {
  for (const char* const members : {R"("elapsed":-1,"ended_at":-5)", R"("elapsed":1E400,"ended_at":1E400)",
                                    R"("elapsed":"x","ended_at":[1])", R"("error_class":7,"error_message":{"a":1})"}) {
    const auto read = read_report(report_of(members));
    BOOST_REQUIRE(read);
    BOOST_TEST(read->elapsed.count() == 0, members);
    BOOST_TEST(!read->ended_at, members);
    BOOST_TEST(read->error_class + read->error_message == "", members);
  }
  for (const char* const text : {"", "{", "[]", "7", R"({"jid":"j"})", R"({"state":"asleep"})", R"({"state":7})"})
    BOOST_TEST(!read_report(text), text);
}

BOOST_AUTO_TEST_CASE(a_result_is_read_as_a_type) {
  JobReport report{.jid = "j"};
  report.result.text = "[1,2]";

  BOOST_TEST(report.result_as<std::vector<int>>().size() == 2u);
  BOOST_CHECK_THROW(report.result_as<std::string>(), std::invalid_argument);
}

BOOST_AUTO_TEST_CASE(a_report_is_kept_for_a_positive_number_of_seconds) {
  const std::map<std::string, std::int64_t> kept{{"60", 60}, {"\"60\"", 60}, {"0.5", 1}, {"1E400", 1'000'000'000}};
  for (const auto& [text, seconds] : kept) BOOST_TEST(keeps_report_for(text).value_or(0) == seconds, text);
  for (const char* const text : {"0", "-1", "null", "false", "true", "\"x\"", "[]", "\"\""})
    BOOST_TEST(!keeps_report_for(text), text);
  BOOST_TEST(!keeps_report_for(std::nullopt));
}

BOOST_AUTO_TEST_CASE(a_job_that_keeps_no_report_pays_nothing) {
  const Outcome done;
  BOOST_TEST(let_go(R"({"class":"A","args":[],"jid":"j1"})", &done).empty());
  BOOST_TEST(let_go(R"({"class":"A","args":["keep_result"],"jid":"j1"})", &done).empty());
  BOOST_TEST(let_go(R"({"class":"A","args":[],"jid":"j1","keep_result":0})", &done).empty());
  BOOST_TEST(let_go(R"({"class":"A","args":[],"keep_result":60})", &done).empty());
  BOOST_TEST(let_go("\"keep_result\" is no job", &done).empty());
}

BOOST_AUTO_TEST_CASE(a_report_says_how_its_job_was_settled) {
  Outcome done;
  done.last_run = std::make_shared<const EndOfRun>(EndOfRun{.result = "[7]", .elapsed = 2});
  const Outcome died{Outcome::Kind::move_to_dead, R"({"class":"A","error_class":"E","error_message":"m"})", 5};
  Outcome discarded{.kind = Outcome::Kind::discard};
  discarded.last_run = std::make_shared<const EndOfRun>(EndOfRun{.error_class = "E", .message = "m"});

  const auto report = [](const Outcome* outcome) {
    const std::vector<LetGo> all = let_go(keeper, outcome);
    BOOST_REQUIRE(all.size() == 1u);
    BOOST_TEST(all[0].of == 3u);
    BOOST_TEST(all[0].key.name() == "brood:report:j1");
    BOOST_TEST(all[0].verdict == "60");
    return read_report(all[0].member).value();
  };
  BOOST_TEST((report(&done).state == JobState::done));
  BOOST_TEST(report(&done).result.text == "[7]");
  BOOST_TEST((report(&done).elapsed == 2s));
  for (const Outcome* outcome : {&died, static_cast<const Outcome*>(&discarded)}) {
    BOOST_TEST((report(outcome).state == JobState::dead));
    BOOST_TEST(report(outcome).error_class == "E");
    BOOST_TEST(report(outcome).error_message == "m");
  }
  BOOST_TEST(report(nullptr).error_class == "JobDeleted");
}

BOOST_AUTO_TEST_CASE(a_result_that_redis_refuses_for_its_size_is_not_kept) {
  Outcome large, small;
  large.last_run = std::make_shared<const EndOfRun>(EndOfRun{.result = std::string(1 << 20, '1'), .elapsed = 2});
  small.last_run = std::make_shared<const EndOfRun>(EndOfRun{.result = "[1]"});

  resize({&large, &small}, OutcomeSize::in_short);

  BOOST_TEST(large.last_run->result == "");
  BOOST_TEST(large.last_run->elapsed == 2);
  BOOST_TEST(small.last_run->result == "[1]");
}

BOOST_AUTO_TEST_CASE(the_progress_of_a_run_is_seen_until_it_ends) {
  Scoreboard board = Scoreboard::in_memory(1);
  vacate(board.slot(0), 1, 1);
  WorkerSlot slot(board.slot(0));
  slot.adopt_incarnation(1);
  slot.set_number(1);
  slot.set_fetched(2);
  BOOST_REQUIRE(slot.begin(0, "j1", "A", wall_now(), steady_now(), 0));
  BOOST_TEST(!snapshot(board.slot(0)).progress);

  slot.set_progress({3, 10, std::string(500, 'p')});
  const auto seen = snapshot(board.slot(0)).progress;

  BOOST_REQUIRE(seen);
  BOOST_TEST(seen->done == 3);
  BOOST_TEST(seen->total == 10);
  BOOST_TEST(seen->note == std::string(127, 'p'));
  slot.end(0, EntryState::succeeded);
  BOOST_REQUIRE(slot.begin(1, "j2", "A", wall_now(), steady_now() + 1ms, 0));
  BOOST_TEST(!snapshot(board.slot(0)).progress);  // that of the job before
}

BOOST_AUTO_TEST_CASE(a_progress_that_a_job_scribbled_over_does_no_harm) {
  Scoreboard board = Scoreboard::in_memory(1);
  SlotRecord& record = board.slot(0);
  vacate(record, 1, 1);
  WorkerSlot slot(record);
  slot.adopt_incarnation(1);
  slot.set_number(1);
  slot.set_fetched(1);
  BOOST_REQUIRE(slot.begin(0, "j1", "A", wall_now(), steady_now(), 0));
  slot.set_progress({1, 2, "x"});
  std::memset(record.progress.note, 'y', sizeof record.progress.note);
  record.progress.done.store(-7);
  record.progress.total.store(INT64_MIN);

  const auto seen = snapshot(record).progress;
  BOOST_REQUIRE(seen);
  BOOST_TEST(seen->done == 0);
  BOOST_TEST(seen->total == 0);
  BOOST_TEST(seen->note.size() == sizeof record.progress.note);
  record.progress.sequence.store(7);
  BOOST_TEST(!snapshot(record).progress);
}

BOOST_AUTO_TEST_CASE(a_result_is_among_the_last_words_of_a_worker) {
  Scoreboard board = Scoreboard::in_memory(1);
  vacate(board.slot(0), 1, 1);
  WorkerSlot slot(board.slot(0));
  slot.adopt_incarnation(1);
  slot.set_number(1);
  slot.set_fetched(2);
  for (int entry : {0, 1}) {
    BOOST_REQUIRE(slot.begin(entry, "j", "A", wall_now(), steady_now(), 0));
    slot.note_result(entry, note_of_result({.result = entry == 0 ? "[1]" : std::string(20'000, '1'), .elapsed = 2}));
    slot.end(entry, EntryState::succeeded);
  }

  const SlotSnapshot words = last_words(board.slot(0));

  BOOST_REQUIRE(words.outcome_notes.at(0));
  const Outcome outcome = succeeded_with(*words.outcome_notes[0]);
  BOOST_TEST((outcome.kind == Outcome::Kind::acknowledge));
  BOOST_TEST(outcome.last_run->result == "[1]");
  BOOST_TEST(outcome.last_run->elapsed == 2);
  BOOST_TEST(!words.outcome_notes.at(1));  // there is no room for it
  BOOST_TEST(succeeded_with({0, -1, "no JSON"}).last_run->result == "");
}
