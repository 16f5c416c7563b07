#include "shared/scoreboard/scoreboard.hpp"

#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <thread>

#include "shared/base/check.hpp"

using namespace brood;
using namespace std::chrono_literals;
using enum EntryState;

namespace {

const std::string identity = "host:1:0123456789ab";

class Directory {
 public:
  Directory() { BOOST_REQUIRE(mkdtemp(path_) != nullptr); }
  ~Directory() { std::filesystem::remove_all(path_); }
  std::string path() const { return path_; }

 private:
  char path_[32] = "/tmp/brood-scoreboard-XXXXXX";
};

struct Slot {
  Scoreboard board = Scoreboard::in_memory(1);
  SlotRecord& record = board.slot(0);
  WorkerSlot worker{record};

  void hold(std::uint64_t number, int count) {
    worker.clear_entries();
    worker.set_number(number);
    worker.set_queue("images");
    worker.set_fetched(count);
  }
  bool begin(int entry, const std::string& jid = "jid") {
    return worker.begin(entry, jid, "Job", WallTime(std::chrono::seconds(7)), SteadyTime(std::chrono::seconds(8)),
                        class_has_hooks);
  }
};

}  // namespace

BOOST_AUTO_TEST_CASE(a_batch_goes_through_its_states) {
  Slot slot;
  slot.hold(5, 3);
  BOOST_TEST((snapshot(slot.record).entries == std::vector{fetched, fetched, fetched}));

  BOOST_TEST(slot.begin(0, "b0a1"));
  SlotSnapshot seen = snapshot(slot.record);
  BOOST_TEST((seen.entries == std::vector{running, fetched, fetched}));
  BOOST_TEST(seen.number == 5u);
  BOOST_TEST(seen.current == 0);
  BOOST_TEST(seen.queue == "images");
  BOOST_TEST(seen.jid == "b0a1");
  BOOST_TEST(seen.job_class == "Job");
  BOOST_TEST((seen.started_at == WallTime(std::chrono::seconds(7))));
  BOOST_TEST((seen.started_steady == SteadyTime(std::chrono::seconds(8))));
  BOOST_TEST(seen.class_flags == class_has_hooks);
  BOOST_TEST(seen.processed == 1u);

  slot.worker.end(0, succeeded);
  slot.begin(1);
  slot.worker.end(1, failed);
  seen = snapshot(slot.record);
  BOOST_TEST((seen.entries == std::vector{succeeded, failed, fetched}));
  BOOST_TEST(seen.current == 1);  // its hooks run now
  BOOST_TEST(slot.worker.finish_entry(1, {1, 2.5, "becomes this"}));
  BOOST_TEST(snapshot(slot.record).current == -1);
  BOOST_TEST((snapshot(slot.record).entries == std::vector{succeeded, judged, fetched}));
  BOOST_TEST(seen.processed == 2u);
  BOOST_TEST(seen.failed == 1u);
}

BOOST_AUTO_TEST_CASE(what_becomes_of_failed_entries_is_read_when_their_worker_is_dead) {
  Slot slot;
  slot.hold(5, 3);
  const auto fail = [&](int entry, const OutcomeNote& becomes) {
    slot.begin(entry);
    slot.worker.end(entry, failed);
    slot.worker.finish_entry(entry, becomes);
  };
  fail(0, {1, 2.5, "the first"});
  fail(1, {2, 4e9, std::string("a \0 within", 10)});
  fail(2, {});

  const SlotSnapshot seen = last_words(slot.record);

  BOOST_TEST((seen.entries == std::vector{judged, judged, judged}));
  BOOST_REQUIRE(seen.outcome_notes.size() == 3u);
  for (const auto& note : seen.outcome_notes) BOOST_REQUIRE(note.has_value());
  BOOST_TEST(seen.outcome_notes[0]->kind == 1u);
  BOOST_TEST(seen.outcome_notes[0]->score == 2.5);
  BOOST_TEST(seen.outcome_notes[0]->payload == "the first");
  BOOST_TEST(seen.outcome_notes[1]->payload == std::string("a \0 within", 10));
  BOOST_TEST(seen.outcome_notes[2]->payload == "");

  slot.hold(6, 1);  // the next batch has all of the room again
  fail(0, {1, 1, std::string(OutcomeNotes::text_bytes, 'x')});
  BOOST_TEST((last_words(slot.record).entries == std::vector{judged}));
  BOOST_TEST(last_words(slot.record).outcome_notes.at(0)->payload.size() == OutcomeNotes::text_bytes);
}

BOOST_AUTO_TEST_CASE(a_failed_entry_without_room_for_its_note_stays_failed) {
  Slot slot;
  slot.hold(5, 2);
  for (const int entry : {0, 1}) {
    slot.begin(entry);
    slot.worker.end(entry, failed);
    BOOST_TEST(slot.worker.finish_entry(entry, {1, 1, std::string(OutcomeNotes::text_bytes / 2 + 1, 'x')}));
  }
  BOOST_TEST((snapshot(slot.record).entries == std::vector{judged, failed}));
  BOOST_TEST(snapshot(slot.record).current == -1);
}

BOOST_AUTO_TEST_CASE(a_note_that_was_scribbled_over_is_none) {
  Slot slot;
  slot.hold(5, 1);
  slot.begin(0);
  slot.worker.end(0, failed);
  slot.worker.finish_entry(0, {1, 1, "a payload of some bytes"});
  OutcomeNotes& notes = slot.record.outcome_notes;
  const auto is_read = [&] { return last_words(slot.record).outcome_notes.at(0).has_value(); };
  const OutcomeNotes whole = notes;
  BOOST_TEST(is_read());

  notes.text[22] ^= 1;
  BOOST_TEST(!is_read());
  const std::size_t padding = offsetof(OutcomeNotes::Head, size) + sizeof whole.heads[0].size;
  for (std::size_t i = 0; i < sizeof(OutcomeNotes::Head); ++i) {
    if (i >= padding && i < offsetof(OutcomeNotes::Head, sum)) continue;
    notes = whole;
    reinterpret_cast<unsigned char*>(&notes.heads[0])[i] ^= 0x81;
    BOOST_TEST(!is_read());
  }
  notes = whole;
  BOOST_TEST(is_read());
}

BOOST_AUTO_TEST_CASE(states_of_another_number_are_none) {
  Slot slot;
  slot.hold(5, 2);
  slot.worker.set_number(6);
  BOOST_TEST(snapshot(slot.record).entries.empty());
  BOOST_TEST(!slot.begin(0));
  BOOST_TEST((slot.worker.entry(0) == none));
}

BOOST_AUTO_TEST_CASE(the_supervisor_takes_back_from_the_last_to_the_first_that_was_begun) {
  Slot slot;
  slot.hold(5, 4);
  slot.begin(0);

  BOOST_TEST(take_back_unbegun(slot.record, 5, 4) == 1);

  BOOST_TEST((snapshot(slot.record).entries == std::vector{running, taken_back, taken_back, taken_back}));
  BOOST_TEST(!slot.begin(1));
  BOOST_TEST(take_back_unbegun(slot.record, 5, 4) == 4);  // nothing left to take
}

BOOST_AUTO_TEST_CASE(nothing_is_taken_back_from_a_newer_batch) {
  Slot slot;
  slot.hold(6, 4);
  BOOST_TEST(take_back_unbegun(slot.record, 5, 4) == 4);
  BOOST_TEST(take_back_unbegun(slot.record, 6, 1'000'000) == 32);
  BOOST_TEST(take_back_unbegun(slot.record, 6, -1) == 0);
  BOOST_TEST(slot.begin(3));
}

BOOST_AUTO_TEST_CASE(an_entry_is_begun_or_taken_back_but_never_both) {
  Slot slot;
  for (std::uint64_t number = 1; number <= 2'000; ++number) {
    slot.hold(number, 8);
    int kept = 8, begun = 0;
    std::thread supervisor([&] { kept = take_back_unbegun(slot.record, number, 8); });
    while (begun < 8 && slot.begin(begun)) ++begun;
    supervisor.join();
    BOOST_REQUIRE(begun <= kept);
    // The one that stopped early did so because of the other.
    BOOST_REQUIRE(begun == kept);
  }
}

BOOST_AUTO_TEST_CASE(a_new_incarnation_starts_with_nothing) {
  Slot slot;
  slot.hold(5, 2);
  slot.worker.adopt_incarnation(18);
  const SlotSnapshot seen = snapshot(slot.record);
  BOOST_TEST(seen.incarnation == 18u);
  BOOST_TEST(seen.number == 0u);
  BOOST_TEST(seen.entries.empty());
}

// As seen after a kill at each of the writes that begin a job.
BOOST_AUTO_TEST_CASE(what_is_begun_is_never_called_by_the_name_of_what_was_begun_before) {
  Slot slot;
  slot.hold(5, 2);
  slot.begin(0, "before");
  slot.worker.end(0, succeeded);
  struct Seen {
    SlotRecord& record;
    std::set<std::string> jids = {};
  } seen{slot.record};
  slot.worker.after_write_argument = &seen;
  slot.worker.after_write = [](void* argument) {
    Seen& killed = *static_cast<Seen*>(argument);
    killed.jids.insert(last_words(killed.record).jid);
  };
  slot.begin(1, "present");
  BOOST_TEST((seen.jids == std::set<std::string>{"", "present"}));
}

BOOST_AUTO_TEST_CASE(a_vacated_slot_keeps_only_its_counters) {
  Slot slot;
  slot.hold(5, 2);
  slot.begin(0);
  slot.record.flags.store(slot_stop);
  slot.record.retired.store(1);
  vacate(slot.record, 19, 3);

  const SlotSnapshot seen = snapshot(slot.record);
  BOOST_TEST(slot.record.incarnation.load() == 19u);
  BOOST_TEST(seen.incarnation == 0u);
  BOOST_TEST(seen.generation == 3u);
  BOOST_TEST(seen.entries.empty());
  BOOST_TEST(!seen.retired);
  BOOST_TEST(seen.queue == "");
  BOOST_TEST(seen.processed == 1u);
  BOOST_TEST(!slot.worker.told_to_stop());
}

BOOST_AUTO_TEST_CASE(flags_tell_the_worker) {
  Slot slot;
  BOOST_TEST(!slot.worker.told_to_quiet());
  slot.record.flags.store(slot_quiet);
  BOOST_TEST(slot.worker.told_to_quiet());
  BOOST_TEST(!slot.worker.told_to_stop());
  slot.record.flags.store(slot_stop);
  BOOST_TEST(slot.worker.told_to_quiet());
  BOOST_TEST(slot.worker.told_to_stop());
}

BOOST_AUTO_TEST_CASE(long_texts_are_cut) {
  Slot slot;
  slot.worker.set_queue(std::string(1'000, 'q'));
  BOOST_TEST(snapshot(slot.record).queue == std::string(255, 'q'));
}

BOOST_AUTO_TEST_CASE(a_writer_that_died_while_writing_leaves_no_text_and_no_lock) {
  Slot slot;
  slot.hold(5, 1);
  slot.record.text_sequence.store(7);
  BOOST_TEST(!snapshot(slot.record).text_is_whole);
  BOOST_TEST(snapshot(slot.record).queue == "");

  slot.worker.set_queue("next");
  BOOST_TEST(snapshot(slot.record).text_is_whole);
  BOOST_TEST(snapshot(slot.record).queue == "next");
}

BOOST_AUTO_TEST_CASE(a_reader_never_sees_half_a_text) {
  Slot slot;
  const std::string one(200, '1'), two(100, '2');
  slot.worker.set_queue(one);
  std::atomic<bool> stop = false;
  std::thread writer([&] {
    while (!stop) {
      slot.worker.set_queue(two);
      slot.worker.set_queue(one);
      std::this_thread::sleep_for(std::chrono::microseconds(20));  // a worker does not write all the time either
    }
  });
  int whole = 0;
  for (int i = 0; i < 2'000'000 && whole < 2'000; ++i) {
    const SlotSnapshot seen = snapshot(slot.record);
    if (!seen.text_is_whole) continue;
    ++whole;
    if (seen.queue != one && seen.queue != two) BOOST_ERROR("half a text: " << seen.queue);
  }
  stop = true;
  writer.join();
  BOOST_TEST(whole > 0);
}

BOOST_AUTO_TEST_CASE(a_scribbled_record_is_read_within_bounds) {
  Slot slot;
  std::mt19937_64 random(1);
  for (int i = 0; i < 1'000; ++i) {
    std::vector<unsigned char> rubbish(sizeof(SlotRecord));
    for (unsigned char& byte : rubbish) byte = static_cast<unsigned char>(i == 0 ? 0xff : random());
    std::memcpy(static_cast<void*>(&slot.record), rubbish.data(), rubbish.size());
    const SlotSnapshot seen = last_words(slot.record);
    BOOST_REQUIRE(seen.entries.size() <= 32u);
    BOOST_REQUIRE(seen.current >= -1);
    BOOST_REQUIRE(seen.current < 32);
    BOOST_REQUIRE(seen.queue.size() <= 256u);
    BOOST_REQUIRE(seen.jid.size() <= 128u);
    BOOST_REQUIRE(seen.job_class.size() <= 256u);
    for (const EntryState state : seen.entries) BOOST_REQUIRE(state <= judged);
  }
  BOOST_TEST(!slot.begin(-1));
  BOOST_TEST(!slot.begin(32));
  slot.worker.end(99, succeeded);
  slot.worker.set_fetched(1'000);
}

BOOST_AUTO_TEST_CASE(a_file_is_private_and_outlives_its_maker) {
  const Directory directory;
  const std::string path = scoreboard_path(directory.path(), "a/b:1:0123456789ab");
  BOOST_TEST(path == directory.path() + "/a_b_1_0123456789ab.scoreboard");
  {
    Scoreboard made = Scoreboard::create(directory.path(), identity, 3);
    WorkerSlot(made.slot(2)).set_number(42);
    made.last_beat().store(77);
    struct stat status {};
    check("stat", stat(made.path().c_str(), &status));
    BOOST_TEST((status.st_mode & 07777) == 0600u);
    BOOST_TEST(static_cast<std::size_t>(status.st_blocks) * 512 >=
               static_cast<std::size_t>(status.st_size));  // no holes
  }

  Scoreboard read = Scoreboard::open(scoreboard_path(directory.path(), identity), false);

  BOOST_TEST(read.slots() == 3);
  BOOST_TEST(read.identity() == identity);
  BOOST_TEST(snapshot(read.slot(2)).number == 42u);
  BOOST_TEST(read.last_beat().load() == 77);
  BOOST_CHECK_THROW(read.slot(3), std::out_of_range);
  read.remove_file();
  BOOST_TEST(!std::filesystem::exists(read.path()));
}

BOOST_AUTO_TEST_CASE(a_heartbeat_that_comes_again_after_it_was_old_is_counted_as_a_lapse) {
  Scoreboard board = Scoreboard::in_memory(1);
  const BootTime begun{1h};
  board.last_beat().store(begun.time_since_epoch().count());
  board.note_beat(begun + 10s);
  board.note_beat(begun + 55s);
  BOOST_TEST(board.lapses() == 0U);
  BOOST_TEST(!is_old(board.last_beat(), begun + 100s));
  BOOST_TEST(is_old(board.last_beat(), begun + 101s));
  board.note_beat(begun + 101s);
  BOOST_TEST(board.lapses() == 1U);
  BOOST_TEST(board.last_beat() == (begun + 101s).time_since_epoch().count());
}

BOOST_AUTO_TEST_CASE(a_shard_that_has_moved_is_no_news_for_the_workers_of_others) {
  Scoreboard board = Scoreboard::in_memory(1);
  board.note_redis_moved(1);
  BOOST_TEST(board.beats()[1].redis_moves == 1U);
  BOOST_TEST(board.beats()[0].redis_moves == 0U);
  BOOST_TEST(board.beats()[2].redis_moves == 0U);
}

// Whatever a job has written over it.
BOOST_AUTO_TEST_CASE(a_heartbeat_at_any_time_at_all_is_old_or_not) {
  Scoreboard board = Scoreboard::in_memory(1);
  board.last_beat().store(std::numeric_limits<std::int64_t>::min());
  BOOST_TEST(is_old(board.last_beat(), BootTime{1s}));
  board.last_beat().store(std::numeric_limits<std::int64_t>::max());
  BOOST_TEST(!is_old(board.last_beat(), BootTime{1s}));
}

BOOST_AUTO_TEST_CASE(the_last_four_noted_tokens_are_known) {
  const Directory directory;
  Scoreboard made = Scoreboard::create(directory.path(), identity, 1);
  const Scoreboard read = Scoreboard::open(made.path(), false);
  BOOST_TEST(read.beat_tokens().empty());
  made.note_beat_token(1);
  BOOST_TEST(read.beat_tokens() == std::vector<std::uint64_t>{1}, boost::test_tools::per_element());
  for (std::uint64_t token = 2; token <= 5; ++token) made.note_beat_token(token);
  const std::vector<std::uint64_t> newest_first{5, 4, 3, 2};
  BOOST_TEST(read.beat_tokens() == newest_first, boost::test_tools::per_element());
  made.grow(3);
  BOOST_TEST(made.beat_tokens() == newest_first, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(processes_share_it) {
  const Directory directory;
  Scoreboard board = Scoreboard::create(directory.path(), identity, 1);
  const pid_t child = check("fork", fork());
  if (child == 0) {
    WorkerSlot(board.slot(0)).set_number(9);
    _exit(0);
  }
  check("waitpid", waitpid(child, nullptr, 0));
  BOOST_TEST(snapshot(board.slot(0)).number == 9u);
}

BOOST_AUTO_TEST_CASE(what_exists_is_not_overwritten_and_no_link_is_followed) {
  const Directory directory;
  Scoreboard::create(directory.path(), identity, 1);
  BOOST_CHECK_THROW(Scoreboard::create(directory.path(), identity, 1), std::system_error);
  const std::string link = directory.path() + "/link.scoreboard";
  std::filesystem::create_symlink(scoreboard_path(directory.path(), identity), link);
  BOOST_CHECK_THROW(Scoreboard::open(link, false), std::system_error);
  BOOST_CHECK_THROW(Scoreboard::create("/nowhere", identity, 1), std::system_error);
}

BOOST_AUTO_TEST_CASE(a_file_of_another_kind_is_refused) {
  const Directory directory;
  const std::string path = scoreboard_path(directory.path(), identity);
  Scoreboard::create(directory.path(), identity, 2);
  const auto size = std::filesystem::file_size(path);
  std::string whole(size, '\0');
  std::ifstream(path, std::ios::binary).read(whole.data(), static_cast<std::streamsize>(size));

  const auto open_with = [&](const std::string& bytes) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
    return Scoreboard::open(path, false);
  };
  BOOST_TEST(open_with(whole).slots() == 2);
  BOOST_CHECK_THROW(open_with(""), std::runtime_error);
  BOOST_CHECK_THROW(open_with(whole.substr(0, 100)), std::runtime_error);
  BOOST_CHECK_THROW(open_with(whole.substr(0, size - 1)), std::runtime_error);
  BOOST_CHECK_THROW(open_with(whole.substr(0, size - sizeof(SlotRecord))), std::runtime_error);
  for (const std::size_t at : {0, 8, 12, 16}) {  // magic, version, record size, slots
    std::string wrong = whole;
    wrong[at] = static_cast<char>(wrong[at] ^ 1);
    BOOST_CHECK_THROW(open_with(wrong), std::runtime_error);
  }
  BOOST_CHECK_THROW(Scoreboard::open(directory.path(), false), std::runtime_error);
}

BOOST_AUTO_TEST_CASE(a_scoreboard_grows_under_those_who_look_at_it) {
  const Directory directory;
  Scoreboard board = Scoreboard::create(directory.path(), identity, 2);
  SlotRecord& first = board.slot(0);
  UsageTable& usage = board.usage();
  board.grow(300);
  BOOST_TEST(board.slots() == 300);
  BOOST_TEST(&board.usage() != &usage);
  board.slot(299).pid.store(4711);
  first.pid.store(42);  // a worker that began before

  BOOST_TEST(board.slot(0).pid.load() == 42);
  const Scoreboard read = Scoreboard::open(board.path(), false);
  BOOST_TEST(read.slots() == 300);
  BOOST_TEST(read.identity() == identity);
  BOOST_TEST(read.slot(0).pid.load() == 42);
  BOOST_TEST(read.slot(299).pid.load() == 4711);
  board.grow(10);  // never smaller
  BOOST_TEST(board.slots() == 300);
}

BOOST_AUTO_TEST_CASE(a_record_says_where_its_worker_runs_and_what_it_has_done_itself) {
  Slot slot;
  slot.record.processed.store(7);
  vacate(slot.record, 3, 2);
  set_place(slot.record, std::string(100, 'c'), 5);
  slot.record.processed.store(9);
  const SlotSnapshot seen = snapshot(slot.record);
  BOOST_TEST(seen.capsule == std::string(63, 'c'));
  BOOST_TEST(seen.number_in_capsule == 5);
  BOOST_TEST(seen.processed_before == 7U);
  BOOST_TEST(seen.processed == 9U);
  slot.record.processed.store(1);  // scribbled over
  BOOST_TEST(snapshot(slot.record).processed_before == 1U);
}

BOOST_AUTO_TEST_CASE(an_entry_being_killed_is_no_longer_its_worker_s) {
  Slot slot;
  slot.hold(5, 3);
  slot.begin(0);
  BOOST_TEST(!mark_being_killed(slot.record, 4, 0));  // of another batch
  BOOST_TEST(!mark_being_killed(slot.record, 5, 1));  // not begun
  BOOST_TEST(!mark_being_killed(slot.record, 5, 99));
  BOOST_TEST(mark_being_killed(slot.record, 5, 0));

  BOOST_TEST(!slot.worker.end(0, succeeded));
  BOOST_TEST((snapshot(slot.record).entries.front() == EntryState::being_killed));
  BOOST_TEST(snapshot(slot.record).current == 0);
}

BOOST_AUTO_TEST_CASE(an_entry_that_has_ended_cannot_be_marked) {
  Slot slot;
  slot.hold(5, 2);
  slot.begin(0);
  BOOST_TEST(slot.worker.end(0, succeeded));
  BOOST_TEST(!mark_being_killed(slot.record, 5, 0));
}

BOOST_AUTO_TEST_CASE(the_hooks_of_a_failed_entry_can_be_killed) {
  Slot slot;
  slot.hold(5, 1);
  slot.begin(0);
  BOOST_TEST(slot.worker.end(0, failed));
  BOOST_TEST(mark_being_killed(slot.record, 5, 0));
  BOOST_TEST(!slot.worker.finish_entry(0, {}));
  BOOST_TEST((snapshot(slot.record).entries.front() == EntryState::being_killed));
}
