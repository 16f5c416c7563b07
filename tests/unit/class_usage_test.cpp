#include "shared/scoreboard/class_usage.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cstring>
#include <random>

#include "shared/base/check.hpp"
#include "shared/scoreboard/scoreboard.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

UsageEntry& entry_of(Scoreboard& board, std::string_view job_class) {
  return board.usage().at(usage_index(board.usage(), job_class));
}

void run(Scoreboard& board, std::string_view job_class, const JobUsage& usage, bool failed = false) {
  RunCounts runs;
  runs.add({.state = failed ? RunNote::State::failed : RunNote::State::ended_well});
  add_runs(entry_of(board, job_class), usage, runs);
}

// A worker's record with a batch of one class.
struct Batch {
  Scoreboard board = Scoreboard::in_memory(1);
  RunNotes& notes = board.slot(0).run_notes;
  int index = usage_index(board.usage(), "Resize");

  void note(int entry, RunNote::State state, std::uint64_t ms = 0, const RunStart& start = {}) {
    notes[static_cast<std::size_t>(entry)].start.store(start.word());
    notes[static_cast<std::size_t>(entry)].run.store(RunNote{state, index, ms}.word());
  }
  ClassUsage usage() const {
    const std::vector<ClassUsage> all = read_class_usage(board);
    BOOST_REQUIRE(all.size() == 1u);
    return all[0];
  }
  bool forgotten() const {
    return std::all_of(notes.begin(), notes.end(), [](const auto& note) { return note.run.load() == 0; });
  }
};

}  // namespace

BOOST_AUTO_TEST_CASE(runs_and_crashes_of_a_class_add_up) {
  Scoreboard board = Scoreboard::in_memory(2);
  run(board, "Resize", {.cpu = 30ms, .wall = 2s, .peak_rss_kb = 500});
  run(board, "Resize", {.cpu = 10ms, .wall = 1s, .peak_rss_kb = 400}, true);
  add_crash(entry_of(board, "Resize"), {.cpu = 5ms, .wall = 1s, .peak_rss_kb = 900});
  run(board, "Mail", {.cpu = 1us, .wall = 1us, .peak_rss_kb = 1});

  const std::vector<ClassUsage> usage = read_class_usage(board);

  BOOST_TEST_REQUIRE(usage.size() == 2u);
  BOOST_TEST(usage[0].job_class == "Mail");
  BOOST_TEST(usage[1].job_class == "Resize");
  BOOST_TEST(usage[1].runs == 3u);
  BOOST_TEST(usage[1].failed == 1u);
  BOOST_TEST(usage[1].crashed == 1u);
  BOOST_TEST(usage[1].cpu_us == 45'000u);
  BOOST_TEST(usage[1].wall_us == 4'000'000u);
  BOOST_TEST(usage[1].peak_rss_kb == 900u);
}

BOOST_AUTO_TEST_CASE(classes_that_find_no_room_are_counted_together) {
  Scoreboard board = Scoreboard::in_memory(1);
  for (int i = 0; i < max_usage_classes + 44; ++i) run(board, "Class" + std::to_string(i), {});
  run(board, "Class0", {});

  const std::vector<ClassUsage> usage = read_class_usage(board);

  BOOST_TEST_REQUIRE(usage.size() == static_cast<std::size_t>(max_usage_classes) + 1);
  BOOST_TEST(usage.front().job_class == "Class0");
  BOOST_TEST(usage.front().runs == 2u);
  BOOST_TEST(usage.back().job_class == "");
  BOOST_TEST(usage.back().runs == 44u);
}

BOOST_AUTO_TEST_CASE(a_batch_is_counted_run_by_run_and_its_usage_is_shared) {
  Batch batch;
  batch.note(0, RunNote::State::ended_well, 19);
  batch.note(1, RunNote::State::ended_well, 20);
  batch.note(2, RunNote::State::failed, 700);
  batch.note(3, RunNote::State::begun);  // taken back, for example
  batch.index = usage_index(batch.board.usage(), "Mail");
  batch.note(4, RunNote::State::ended_well, 400'000);

  add_noted_runs(batch.board.usage(), batch.notes, {.cpu = 40ms, .wall = 80ms, .peak_rss_kb = 9});

  BOOST_TEST(batch.forgotten());
  const std::vector<ClassUsage> all = read_class_usage(batch.board);
  BOOST_TEST_REQUIRE(all.size() == 2u);
  BOOST_TEST(all[0].job_class == "Mail");
  BOOST_TEST(all[0].runs == 1u);
  BOOST_TEST(all[0].ms == 400'000u);
  BOOST_TEST(all[0].histogram[25] == 1u);
  BOOST_TEST(all[0].cpu_us == 10'000u);
  BOOST_TEST(all[1].runs == 3u);
  BOOST_TEST(all[1].failed == 1u);
  BOOST_TEST(all[1].crashed == 0u);
  BOOST_TEST(all[1].ms == 39u);
  BOOST_TEST(all[1].histogram[0] == 1u);
  BOOST_TEST(all[1].histogram[1] == 1u);
  BOOST_TEST(all[1].cpu_us == 30'000u);
  BOOST_TEST(all[1].wall_us == 60'000u);
  BOOST_TEST(all[1].peak_rss_kb == 9u);
}

BOOST_AUTO_TEST_CASE(what_a_worker_did_not_live_to_add_is_added_for_it) {
  for (const bool crashed : {true, false}) {
    Batch batch;
    batch.note(0, RunNote::State::ended_well, 25);
    batch.note(1, RunNote::State::begun);  // it ran when the worker died
    batch.note(2, RunNote::State::begun);  // noted, and not begun

    add_left_runs(batch.board.usage(), batch.notes, [](int entry) { return entry == 1; },
                  crashed ? std::optional(crash_way("SIGSEGV")) : std::nullopt, {.cpu = 7us, .wall = 9us});

    BOOST_TEST(batch.forgotten());
    const ClassUsage usage = batch.usage();
    BOOST_TEST(usage.runs == 2u);
    BOOST_TEST(usage.crashed == (crashed ? 1u : 0u));
    BOOST_TEST(usage.failed == (crashed ? 0u : 1u));
    BOOST_TEST(usage.histogram[1] == 1u);
    BOOST_TEST(usage.cpu_us == 7u);
    BOOST_TEST(usage.wall_us == 9u);
  }
}

BOOST_AUTO_TEST_CASE(a_failure_whose_hooks_killed_the_worker_is_one_run) {
  Batch batch;
  batch.note(0, RunNote::State::failed, 30);
  add_left_runs(batch.board.usage(), batch.notes, [](int entry) { return entry == 0; }, crash_way("SIGBUS"), {});
  BOOST_TEST(batch.usage().runs == 1u);
  BOOST_TEST(batch.usage().crashed == 1u);
  BOOST_TEST(batch.usage().failed == 0u);
}

BOOST_AUTO_TEST_CASE(scribbled_notes_are_read_within_bounds) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 1'000; ++i) {
    Batch batch;
    for (NotedRun& note : batch.notes) {
      note.run.store(i == 0 ? ~0ULL : random());
      note.start.store(i == 0 ? ~0ULL : random());
    }
    if (i % 2 == 0)
      add_noted_runs(batch.board.usage(), batch.notes, {});
    else
      add_left_runs(batch.board.usage(), batch.notes, [](int) { return false; }, std::nullopt, {});
    std::uint64_t runs = batch.board.usage().others.runs;
    for (const UsageEntry& entry : batch.board.usage().entries) runs += entry.runs;
    BOOST_REQUIRE(runs <= static_cast<std::uint64_t>(max_run_notes));
  }
}

BOOST_AUTO_TEST_CASE(names_that_would_break_a_key_or_a_page_are_counted_with_the_others) {
  for (const std::string name : {"A|p", "<b>", "a b", "a\nb", "\"", "'", "&amp;", ""}) {
    BOOST_TEST(!is_countable(name), name);
    Batch batch;
    BOOST_TEST(usage_index(batch.board.usage(), name) == max_usage_classes, name);
  }
  for (const std::string name : {"A", "Images::Resize", "a-b.c/d", "\xc3\x89t\xc3\xa9"})
    BOOST_TEST(is_countable(name), name);
  BOOST_TEST(is_countable(std::string(255, 'n')));
  BOOST_TEST(!is_countable(std::string(256, 'n')));
}

BOOST_AUTO_TEST_CASE(the_peak_is_taken_once_and_shown_for_good) {
  Scoreboard board = Scoreboard::in_memory(1);
  run(board, "Resize", {.peak_rss_kb = 500});
  BOOST_TEST(take_class_usage(board)[0].peak_rss_kb == 500u);
  run(board, "Resize", {.peak_rss_kb = 400});
  BOOST_TEST(take_class_usage(board)[0].peak_rss_kb == 400u);
  BOOST_TEST(take_class_usage(board)[0].peak_rss_kb == 0u);
  BOOST_TEST(read_class_usage(board)[0].peak_rss_kb == 500u);
}

BOOST_AUTO_TEST_CASE(the_longest_name_of_a_class_is_kept) {
  Scoreboard board = Scoreboard::in_memory(1);
  const std::string name(255, 'n');
  run(board, name, {});
  run(board, name, {});

  const std::vector<ClassUsage> usage = read_class_usage(board);

  BOOST_TEST_REQUIRE(usage.size() == 1u);
  BOOST_TEST(usage[0].runs == 2u);
  BOOST_TEST(usage[0].job_class == name);
}

BOOST_AUTO_TEST_CASE(workers_that_claim_an_entry_at_the_same_time_lose_no_run) {
  constexpr int workers = 4, runs = 2'000, classes = 50;
  Scoreboard board = Scoreboard::in_memory(1);
  for (int worker = 0; worker < workers; ++worker) {
    if (check("fork", fork()) != 0) continue;
    for (int i = 0; i < runs; ++i)
      run(board, "Class" + std::to_string(i % classes), {.cpu = 1us, .peak_rss_kb = 7}, i % 2 == 0);
    _exit(0);
  }
  for (int worker = 0; worker < workers; ++worker) check("wait", wait(nullptr));

  const std::vector<ClassUsage> usage = read_class_usage(board);

  BOOST_TEST(usage.size() == static_cast<std::size_t>(classes));
  std::uint64_t seen = 0, failed = 0;
  for (const ClassUsage& one : usage) {
    seen += one.runs;
    failed += one.failed;
    BOOST_TEST(one.cpu_us == one.runs);
  }
  BOOST_TEST(seen == static_cast<std::uint64_t>(workers) * runs);
  BOOST_TEST(failed == seen / 2);
}

BOOST_AUTO_TEST_CASE(an_entry_whose_claimer_died_before_naming_it_is_named_by_the_next) {
  Scoreboard board = Scoreboard::in_memory(1);
  run(board, "Resize", {});
  for (UsageEntry& entry : board.usage().entries) {
    if (entry.hash.load() == 0) continue;
    entry.named.store(0);
    std::memset(entry.name, 0, sizeof entry.name);
  }
  BOOST_TEST(read_class_usage(board).empty());

  run(board, "Resize", {});

  BOOST_TEST_REQUIRE(read_class_usage(board).size() == 1u);
  BOOST_TEST(read_class_usage(board)[0].runs == 2u);
}

BOOST_AUTO_TEST_CASE(a_scribbled_table_is_read_within_bounds_and_still_counts) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 100; ++i) {
    Scoreboard board = Scoreboard::in_memory(1);
    auto* const bytes = reinterpret_cast<unsigned char*>(&board.usage());
    for (std::size_t at = 0; at < sizeof(UsageTable); ++at)
      bytes[at] = i == 0 ? 0xff : static_cast<unsigned char>(random());

    for (int runs = 0; runs < 3; ++runs) run(board, "Resize", {.cpu = 1us, .peak_rss_kb = 1}, true);

    const std::vector<ClassUsage> usage = read_class_usage(board);
    BOOST_REQUIRE(usage.size() <= static_cast<std::size_t>(max_usage_classes) + 1);
    BOOST_REQUIRE(read_queue_usage(board).size() <= static_cast<std::size_t>(max_usage_queues) + 1);
    for (const ClassUsage& one : usage) {
      BOOST_REQUIRE(one.job_class.size() < sizeof(UsageEntry::name));
      BOOST_REQUIRE(one.runs <= 1ULL << 53);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_class_whose_counts_cannot_be_is_left_out) {
  const std::uint64_t text = 0x6c65'7220'656c'6966;
  const auto is_left_out = [](auto scribble) {
    Scoreboard board = Scoreboard::in_memory(1);
    for (int i = 0; i < 10; ++i) run(board, "Resize", {}, i == 0);
    add_crash(entry_of(board, "Resize"), {}, 1, crash_way("SIGSEGV"));
    run(board, "Mail", {});
    BOOST_TEST_REQUIRE(read_class_usage(board).size() == 2u);
    scribble(entry_of(board, "Resize"));
    return read_class_usage(board).size() == 1u;
  };
  BOOST_TEST(is_left_out([&](UsageEntry& entry) { entry.runs = text; }));
  BOOST_TEST(is_left_out([&](UsageEntry& entry) { entry.expired = text; }));
  BOOST_TEST(is_left_out([](UsageEntry& entry) { entry.runs = 0; }));
  BOOST_TEST(is_left_out([](UsageEntry& entry) { entry.failed = 3; }));
  BOOST_TEST(is_left_out([](UsageEntry& entry) { entry.crashed = 3; }));
  BOOST_TEST(is_left_out([](UsageEntry& entry) { entry.crashed_by[0] = 2; }));
  BOOST_TEST(is_left_out([](UsageEntry& entry) { entry.histogram[3] = 2; }));
  BOOST_TEST(!is_left_out([&](UsageEntry& entry) { entry.peak_rss_kb = text; }));  // no alert looks at it
}

BOOST_AUTO_TEST_CASE(a_queue_whose_counts_cannot_be_is_left_out) {
  const auto is_left_out = [](auto scribble) {
    Scoreboard board = Scoreboard::in_memory(1);
    QueueEntry& entry = board.usage().queues.at(queue_index(board.usage().queues, "mails"));
    QueueRuns runs;
    runs.took.add(1);
    runs.took.add(7);
    runs.waited.add(9);
    add_queue_runs(entry, runs);
    BOOST_TEST_REQUIRE(read_queue_usage(board).size() == 1u);
    scribble(entry);
    return read_queue_usage(board).empty();
  };
  BOOST_TEST(is_left_out([](QueueEntry& entry) { entry.waited.buckets[0] += 2; }));
  BOOST_TEST(is_left_out([](QueueEntry& entry) { entry.failed = 3; }));
  BOOST_TEST(is_left_out([](QueueEntry& entry) { entry.took.buckets[0] = 0x6c65'7220'656c'6966; }));
  BOOST_TEST(!is_left_out([](QueueEntry& entry) { entry.failed = 2; }));
}

BOOST_AUTO_TEST_CASE(runs_are_counted_by_the_generation_of_their_worker_too) {
  Batch batch;
  batch.note(0, RunNote::State::ended_well);
  batch.note(1, RunNote::State::failed);
  add_noted_runs(batch.board.usage(), batch.notes, {}, 2);
  batch.note(0, RunNote::State::failed);
  batch.note(1, RunNote::State::begun);
  add_left_runs(
      batch.board.usage(), batch.notes, [](int entry) { return entry == 1; }, crash_way("SIGABRT"), {}, 3);

  const auto index = static_cast<std::size_t>(batch.index);
  const RunTally second = read_generation(batch.board, 2).at(index), third = read_generation(batch.board, 3).at(index);
  BOOST_TEST((second.runs == 2 && second.failed == 1 && second.crashed == 0));
  BOOST_TEST((third.runs == 2 && third.failed == 1 && third.crashed == 1));
  BOOST_TEST(read_generation(batch.board, 1).at(index).runs == 0u);
  BOOST_TEST(batch.usage().runs == 4u);
  BOOST_TEST(class_of_entry(batch.board, batch.index) == "Resize");
  BOOST_TEST(class_of_entry(batch.board, -1) == "");
  BOOST_TEST(class_of_entry(batch.board, max_usage_classes) == "");
}

BOOST_AUTO_TEST_CASE(a_class_that_precedes_crashes_is_read_as_it_was_noted) {
  Scoreboard board = Scoreboard::in_memory(1);
  const int decode = usage_index(board.usage(), "Decode");
  UsageEntry& mail = entry_of(board, "Mail");
  const auto of_mail = [&] {
    for (const ClassUsage& one : read_class_usage(board)) {
      if (one.job_class == "Mail") return one;
    }
    return ClassUsage{};
  };
  BOOST_TEST(!of_mail().preceding.has_value());
  mail.preceding.note(PrecedingClass{decode, 12, 10, 0.25, 0.9975});
  const ClassUsage read = of_mail();
  BOOST_REQUIRE(read.preceding.has_value());
  BOOST_TEST(read.preceding_name == "Decode");
  BOOST_TEST((read.preceding->crashes == 12 && read.preceding->crashes_after == 10));
  BOOST_TEST(read.preceding->usual == 0.25, boost::test_tools::tolerance(1e-6));
  BOOST_TEST(read.preceding->certainty == 0.9975, boost::test_tools::tolerance(1e-6));
  mail.preceding.note(PrecedingClass{decode, 1'000'000, 1'000'000, 2, 2});
  BOOST_TEST((of_mail().preceding->crashes == 65535 && of_mail().preceding->certainty == 1));
  mail.preceding.note(PrecedingClass{usage_index(board.usage(), "Vacant") + 1, 3, 3, 0, 1});  // a vacant entry
  BOOST_TEST(!of_mail().preceding.has_value());
  mail.preceding.note(std::nullopt);
  BOOST_TEST(!of_mail().preceding.has_value());
}

BOOST_AUTO_TEST_CASE(what_jobs_waited_and_took_is_counted_by_class_and_by_queue) {
  Batch batch;
  const int mails = queue_index(batch.board.usage().queues, "mails"),
            zips = queue_index(batch.board.usage().queues, "zips");
  batch.note(0, RunNote::State::ended_well, 4, {mails, 30});
  batch.note(1, RunNote::State::failed, 700, {mails, 90'000'000});
  batch.note(2, RunNote::State::ended_well, 4, {mails, std::nullopt});
  add_noted_runs(batch.board.usage(), batch.notes, {});
  batch.note(0, RunNote::State::ended_well, 5, {zips, 0});
  batch.note(1, RunNote::State::begun, 0, {zips, 7});
  batch.note(2, RunNote::State::begun, 0, {zips, 8});  // noted, and not begun
  add_left_runs(batch.board.usage(), batch.notes, [](int entry) { return entry == 1; }, crash_way("SIGFPE"),
                {.wall = 2s});

  const ClassUsage usage = batch.usage();
  BOOST_TEST(usage.waited.count() == 4u);
  BOOST_TEST(usage.waited.ms == 90'000'037u);
  BOOST_TEST(usage.waited.buckets[2] == 1u);   // 25 to 100 ms
  BOOST_TEST(usage.waited.buckets[12] == 1u);  // more than six hours
  BOOST_TEST(usage.crashed_by[crash_way("SIGFPE")] == 1u);
  BOOST_TEST(usage.crashed_by[crash_way("SIGSEGV")] == 0u);
  const std::vector<QueueUsage> queues = read_queue_usage(batch.board);
  BOOST_TEST_REQUIRE(queues.size() == 2u);
  BOOST_TEST(queues[0].queue == "mails");
  BOOST_TEST(queues[0].failed == 1u);
  BOOST_TEST(queues[0].waited.count() == 2u);
  BOOST_TEST(queues[0].took.count() == 3u);
  BOOST_TEST(queues[0].took.ms == 708u);
  BOOST_TEST(queues[0].took.buckets[0] == 2u);  // below 5 ms
  BOOST_TEST(queues[1].queue == "zips");
  BOOST_TEST(queues[1].failed == 1u);
  BOOST_TEST(queues[1].waited.ms == 7u);
  BOOST_TEST(queues[1].took.count() == 2u);
  BOOST_TEST(queues[1].took.ms == 2'005u);
}

BOOST_AUTO_TEST_CASE(each_way_to_crash_is_counted_and_whatever_has_no_name_together) {
  for (std::size_t way = 0; way < crash_ways.size(); ++way) BOOST_TEST(crash_way(crash_ways[way]) == way);
  BOOST_TEST(crash_way("signal 65") == crash_ways.size() - 1);
  BOOST_TEST(crash_way("") == crash_ways.size() - 1);
}

BOOST_AUTO_TEST_CASE(queues_that_find_no_room_are_counted_together) {
  Scoreboard board = Scoreboard::in_memory(1);
  const auto run_of = [&](const std::string& queue) {
    QueueRuns runs;
    runs.took.add(1);
    add_queue_runs(board.usage().queues.at(queue_index(board.usage().queues, queue)), runs);
  };
  for (int i = 0; i < max_usage_queues + 30; ++i) run_of("q" + std::to_string(i));
  run_of("q0");
  run_of("");
  run_of(std::string(256, 'q'));
  run_of(std::string("a\0b", 3));

  const std::vector<QueueUsage> usage = read_queue_usage(board);

  BOOST_TEST_REQUIRE(usage.size() == static_cast<std::size_t>(max_usage_queues) + 1);
  BOOST_TEST(usage.front().queue == "q0");
  BOOST_TEST(usage.front().took.count() == 2u);
  BOOST_TEST(usage.back().queue == "");
  BOOST_TEST(usage.back().took.count() == 33u);
}
