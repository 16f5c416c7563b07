#include <array>
#include <boost/test/unit_test.hpp>
#include <brood/iteration.hpp>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <list>
#include <ranges>
#include <span>
#include <sstream>
#include <string>
#include <string_view>

#include "tests/support/file_text.hpp"
#include "tests/support/temporary_directory.hpp"
#include "worker/job/perform.hpp"

using namespace brood;
using namespace std::chrono_literals;
using Strings = std::vector<std::string>;

// The runs of iterable jobs of a real library, over a state that the test keeps.

namespace {

struct Site {
  TemporaryDirectory directory;
  const std::string path = directory / "lines";
  JobRegistry registry;
  IterationState state;  // as it would lie in Redis
  Strings saves;         // "<executions> <cursor>", and "uncounted" where the time of this run so far is missing
  int ends = 0;
  bool loads = true;
  int interrupts_after = -1;  // items; -1: never
  int asked = 0;
  std::function<void()> while_saving = [] {};
  std::chrono::milliseconds max_runtime{0};

  Site() { registry.load(BROOD_BINARY_DIR "/tests/job_libraries/libiterable_jobs.so"); }

  JobHost host() {
    const double seconds_before = state.run_seconds;
    asked = 0;
    return {.iterations =
                IterationHost{.max_runtime = max_runtime,
                              .interrupt = [this] { return interrupts_after >= 0 && asked++ >= interrupts_after; },
                              .load = [this]() -> std::optional<IterationState> {
                                if (!loads) return std::nullopt;
                                return state;
                              },
                              .save =
                                  [this, seconds_before](const IterationState& saved) {
                                    const auto cancelled = state.cancelled;
                                    state = saved;
                                    state.cancelled = cancelled;
                                    saves.push_back(std::to_string(saved.executions) + " " + saved.cursor +
                                                    (saved.run_seconds > seconds_before ? "" : " uncounted"));
                                    while_saving();
                                    return state.cancelled.has_value();
                                  },
                              .end = [this] { ++ends; }}};
  }

  Payload job(const std::string& job_class, const std::string& more = "") const {
    return Payload::parse(R"({"class":")" + job_class + R"(","args":[")" + path + "\"" + more + R"(],"jid":"J"})");
  }
  Performed run(const std::string& job_class, const std::string& more = "") {
    saves.clear();
    return perform(registry, job(job_class, more), "default", host());
  }
  // The lines that the job has written since the last call.
  Strings lines() const {
    Strings lines = lines_of_file(path);
    std::ofstream(path, std::ios::trunc);
    return lines;
  }
};

void check(const Strings& found, const Strings& expected) {
  BOOST_TEST(found == expected, boost::test_tools::per_element());
}

template <typename Function>
Strings all_of(Function items) {
  Strings all;
  while (auto step = items()) {
    std::ostringstream text;
    text << step->cursor << ":" << step->item;
    all.push_back(text.str());
  }
  return all;
}

constexpr auto succeeded = Performed::Kind::succeeded;
constexpr auto failed = Performed::Kind::failed;
constexpr auto interrupted = Performed::Kind::interrupted;

}  // namespace

BOOST_FIXTURE_TEST_CASE(a_new_job_does_each_item_once_and_then_needs_no_state, Site) {
  BOOST_TEST((run("Hooked", ",3").kind == succeeded));

  check(lines(), {"items new", "start", "each 0 after 0 of run 1", "each 1 after 1 of run 1", "each 2 after 2 of run 1",
                  "stop", "complete"});
  check(saves, {"1 0", "1 1", "1 2"});
  BOOST_TEST(ends == 1);
}

BOOST_FIXTURE_TEST_CASE(a_job_without_items_is_done, Site) {
  BOOST_TEST((run("Hooked", ",0").kind == succeeded));
  check(lines(), {"items new", "start", "stop", "complete"});
  BOOST_TEST(saves.empty());
  BOOST_TEST(ends == 1);
}

BOOST_FIXTURE_TEST_CASE(an_interrupted_run_says_where_the_next_begins, Site) {
  interrupts_after = 2;
  BOOST_TEST((run("Hooked", ",4").kind == interrupted));

  check(lines(), {"items new", "start", "each 0 after 0 of run 1", "each 1 after 1 of run 1", "stop"});
  check(saves, {"1 0", "1 1", "1 2", "1 2"});
  BOOST_TEST(ends == 0);

  interrupts_after = -1;
  BOOST_TEST((run("Hooked", ",4").kind == succeeded));
  check(lines(), {"items 2", "resume as 2", "each 2 after 0 of run 2", "each 3 after 1 of run 2", "stop", "complete"});
  BOOST_TEST(ends == 1);
}

BOOST_FIXTURE_TEST_CASE(seldom_saved_is_saved_when_it_ends_too_early, Site) {
  interrupts_after = 1;
  BOOST_TEST((run("Plain", ",3").kind == interrupted));
  check(saves, {"1 1", "1 1"});
  interrupts_after = -1;
  BOOST_TEST((run("Plain", ",3").kind == succeeded));
  check(lines(), {"0", "1", "2"});
  BOOST_TEST(saves.empty());
}

BOOST_FIXTURE_TEST_CASE(between_two_saves_lies_the_interval, Site) {
  BOOST_TEST((run("OneLongItem").kind == succeeded));
  BOOST_TEST(!saves.empty());
  BOOST_TEST(saves.size() < 20u);
}

// A killed run saves nothing more: the next run knows only its last save.
BOOST_FIXTURE_TEST_CASE(the_time_of_a_run_counts_until_its_last_save_however_it_ends, Site) {
  double at_last_save = 0;
  while_saving = [&] { at_last_save = state.run_seconds; };
  state.run_seconds = 5;
  BOOST_TEST((run("Hooked", ",3").kind == succeeded));
  BOOST_TEST(at_last_save > 5);
}

BOOST_FIXTURE_TEST_CASE(a_job_of_a_ruby_process_goes_on_where_that_left_it, Site) {
  state = {.executions = 1, .cursor = "10", .run_seconds = 2.5, .cancelled = {}};
  BOOST_TEST((run("Plain", ",13").kind == succeeded));
  check(lines(), {"10", "11", "12"});
}

BOOST_FIXTURE_TEST_CASE(an_item_that_throws_is_where_the_retry_begins, Site) {
  const Performed performed = run("Plain", ",4,2");
  BOOST_TEST((performed.kind == failed));
  BOOST_TEST(performed.failure.message == "item 2");
  check(saves, {"1 2"});
  BOOST_TEST((run("Plain", ",4").kind == succeeded));
  check(lines(), {"0", "1", "2", "3"});
}

BOOST_FIXTURE_TEST_CASE(an_error_at_the_end_is_retried_from_the_last_item, Site) {
  BOOST_TEST((run("FailsAtTheEnd").kind == failed));
  check(saves, {"1 2"});
  BOOST_TEST(ends == 0);
}

BOOST_FIXTURE_TEST_CASE(an_item_may_interrupt_its_run, Site) {
  BOOST_TEST((run("InterruptsItself").kind == interrupted));
  check(lines(), {"0", "1", "stop"});
  check(saves, {"1 2", "1 2"});
}

BOOST_FIXTURE_TEST_CASE(a_job_that_is_cancelled_by_the_time_it_interrupts_itself_is_done, Site) {
  while_saving = [&] { state.cancelled = 1795237717; };
  BOOST_TEST((run("InterruptsItself").kind == succeeded));
  check(lines(), {"0", "1", "stop"});
  BOOST_TEST(ends == 1);
}

BOOST_FIXTURE_TEST_CASE(an_item_may_be_the_last, Site) {
  BOOST_TEST((run("FinishesEarly").kind == succeeded));
  check(lines(), {"0", "1", "2", "complete"});
  BOOST_TEST(ends == 1);
}

BOOST_FIXTURE_TEST_CASE(a_job_cancelled_before_its_run_does_no_item, Site) {
  state.cancelled = 1795237717;
  BOOST_TEST((run("Hooked", ",3").kind == succeeded));
  check(lines(), {"items new", "start", "cancel J", "stop", "complete"});
  BOOST_TEST(ends == 1);
}

BOOST_FIXTURE_TEST_CASE(a_job_cancelled_meanwhile_ends_at_the_next_save, Site) {
  while_saving = [&] {
    if (state.cursor == "1") state.cancelled = 1795237717;
  };
  BOOST_TEST((run("Hooked", ",3").kind == succeeded));
  check(lines(), {"items new", "start", "each 0 after 0 of run 1", "cancel J", "stop", "complete"});
  BOOST_TEST(ends == 1);
}

BOOST_FIXTURE_TEST_CASE(a_cursor_is_of_any_type_that_a_field_may_have, Site) {
  interrupts_after = 1;
  BOOST_TEST((run("Words").kind == interrupted));
  BOOST_TEST(state.cursor == R"("\"b\"")");
  BOOST_TEST((run("Words").kind == interrupted));
  BOOST_TEST(state.cursor == "\"\xC3\xA4\"");
  interrupts_after = -1;
  BOOST_TEST((run("Words").kind == succeeded));
  check(lines(), {"1", "2", "3"});

  state = {};
  interrupts_after = 2;
  BOOST_TEST((run("Places").kind == interrupted));
  BOOST_TEST(state.cursor == R"(["s1",9])");
  BOOST_TEST((run("Places").kind == succeeded));
  check(lines(), {"7", "8", "9"});
}

BOOST_FIXTURE_TEST_CASE(a_cursor_of_another_type_fails_the_job_and_stays, Site) {
  state.cursor = R"("ten")";
  const Performed performed = run("Plain", ",3");
  BOOST_TEST((performed.kind == failed));
  BOOST_TEST(performed.failure.error_class == "ArgumentError");
  BOOST_TEST(performed.failure.message == R"(Plain: the cursor of its last run: expected an integer, got "ten")");
  BOOST_TEST(saves.empty());
  state.cursor = "-1";
  BOOST_TEST(run("Plain", ",3").failure.message == "a cursor that is an index is not negative");
}

BOOST_FIXTURE_TEST_CASE(a_run_that_may_not_last_does_one_item_at_least, Site) {
  BOOST_TEST((run("ShortRuns").kind == interrupted));
  BOOST_TEST((run("ShortRuns").kind == interrupted));
  BOOST_TEST((run("ShortRuns").kind == succeeded));
  check(lines(), {"0", "1", "2"});
  BOOST_TEST(state.executions == 2);
}

BOOST_FIXTURE_TEST_CASE(a_class_has_its_own_limit_of_a_run_and_the_worker_s_is_for_all_others, Site) {
  max_runtime = 1ms;
  BOOST_TEST((run("LongRuns").kind == succeeded));
  Site other;
  other.max_runtime = 1ms;
  BOOST_TEST((other.run("Hooked", ",100000").kind == interrupted));
}

BOOST_FIXTURE_TEST_CASE(without_a_state_from_redis_nothing_runs, Site) {
  loads = false;
  BOOST_TEST((run("Hooked", ",3").kind == interrupted));
  BOOST_TEST(lines().empty());
  BOOST_TEST(saves.empty());
}

BOOST_FIXTURE_TEST_CASE(a_worker_that_keeps_no_states_is_told_apart, Site) {
  const Performed performed = perform(registry, job("Plain", ",3"), "default", JobHost{});
  BOOST_TEST((performed.kind == failed));
  BOOST_TEST(performed.failure.error_class == "LibraryError");
  BOOST_TEST(performed.failure.message.find("keeps no cursors: Plain") != std::string::npos);
  BOOST_TEST(lines().empty());
}

BOOST_AUTO_TEST_CASE(the_elements_of_a_range_are_found_by_their_index) {
  const std::vector<std::string> named{"a", "b", "c"};
  check(all_of(each_of(named, std::optional<std::int64_t>())), {"0:a", "1:b", "2:c"});
  check(all_of(each_of(named, std::optional<unsigned>())), {"0:a", "1:b", "2:c"});
  auto from_second = each_of(named, std::optional<int>(1));
  BOOST_TEST(from_second()->item == "b");
  from_second();
  BOOST_TEST(!from_second());
  BOOST_TEST(!from_second());
  check(all_of(each_of(std::list<int>{5, 6, 7}, std::optional<int>(2))), {"2:7"});
  check(all_of(each_of(named, std::optional<int>(3))), {});
  check(all_of(each_of(named, std::optional<int>(300))), {});
  BOOST_CHECK_THROW(each_of(named, std::optional<int>(-1)), ArgumentError);
#ifndef __clang__  // 14 cannot read g++'s views
  std::istringstream words("x y z");
  check(all_of(each_of(std::ranges::istream_view<std::string>(words), std::optional<int>(1))), {"1:y", "2:z"});
#endif
}

// Each kind of range, as a temporary that is gone when the items are walked.
BOOST_AUTO_TEST_CASE(items_own_the_range_that_they_walk) {
  using Cursor = std::optional<int>;
  using Texts = Items<std::string, int>;
  const std::string one(40, 'a'), two(40, 'b');  // too long to lie in a std::string itself
  const Strings expected{"0:" + one, "1:" + two};
  const auto of_variable = [&]() -> Texts {
    Strings local{one, two};
    return each_of(local, Cursor());
  };
  const auto of_constant = [&]() -> Items<const std::string&, int> {
    const std::list<std::string> local{one, two};
    return each_of(local, Cursor());
  };
  const auto given_up = [&]() -> Items<std::string&, int> {
    Strings local{one, two};
    return each_of(std::move(local), Cursor());
  };
  const auto of_array = [&]() -> Texts {
    const std::string local[]{one, two};
    return each_of(local, Cursor());
  };
  const auto of_initializer_list = [&]() -> Texts {
    const std::initializer_list<std::string> local{one, two};
    return each_of(local, Cursor());
  };
  const auto of_steps = [&]() -> Texts {
    std::vector<Step<std::string, int>> local{{one, 0}, {two, 1}};
    return local;
  };
  check(all_of(of_variable()), expected);
  check(all_of(of_constant()), expected);
  check(all_of(given_up()), expected);
  check(all_of(of_array()), expected);
  check(all_of(of_initializer_list()), expected);
  check(all_of(of_steps()), expected);

  const auto batches = [&]() -> Items<Strings, int> {
    Strings local{one, two};
    return batches_of(2, each_of(local, Cursor()));
  };
  BOOST_TEST(batches()()->item == (Strings{one, two}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(items_that_have_begun_may_move) {
  auto items = each_of(std::array<std::string, 2>{"a", "b"}, std::optional<int>());
  BOOST_TEST(items()->item == "a");
  auto moved = std::move(items);
  BOOST_TEST(moved()->item == "b");
}

BOOST_AUTO_TEST_CASE(a_view_that_says_so_refers_to_what_it_shows) {
  const Strings rows{"a", "b"};
  auto items = each_of(std::span(rows), std::optional<int>(1));
  BOOST_TEST(&items()->item == &rows[1]);
}

// A literal is never gone, and a place in a directory holds the directory.
BOOST_AUTO_TEST_CASE(so_do_views_whose_range_cannot_be_gone) {
  check(all_of(each_of(std::string_view("ab"), std::optional<int>(1))), {"1:b"});
#ifndef __clang__  // 14 cannot read g++'s views
  const TemporaryDirectory directory;
  std::ofstream(directory / "file") << "one";
  const std::filesystem::directory_iterator files(directory.path());
  auto items = each_of(std::ranges::subrange(files, std::filesystem::directory_iterator()), std::optional<int>());
  BOOST_TEST(items()->item.path().filename() == "file");
  BOOST_TEST(!items());
  check(all_of(each_of(Strings{"a", "b"} | std::views::drop(1), std::optional<int>())), {"0:b"});
#endif
}

BOOST_AUTO_TEST_CASE(the_lines_of_a_file_are_found_by_their_offset) {
  const TemporaryDirectory directory;
  std::ofstream(directory / "file") << "one\n\nthree\nlast";
  const auto from = [&](std::optional<std::int64_t> cursor) { return all_of(each_line(directory / "file", cursor)); };
  check(from({}), {"0:one", "4:", "5:three", "11:last"});
  check(from(5), {"5:three", "11:last"});
  check(from(100), {});
  BOOST_CHECK_THROW(each_line(directory / "none", {}), std::system_error);
  BOOST_CHECK_THROW(from(-1), std::system_error);
}

BOOST_AUTO_TEST_CASE(batches_are_found_by_their_first) {
  const std::vector<int> numbers{10, 11, 12, 13, 14};
  const auto sizes = [&](std::size_t size, std::optional<int> cursor) {
    Strings batches;
    auto items = batches_of(size, each_of(numbers, cursor));
    while (auto batch = items()) {
      batches.push_back(std::to_string(batch->cursor) + ":");
      for (const int number : batch->item) batches.back() += " " + std::to_string(number);
    }
    return batches;
  };
  check(sizes(2, {}), {"0: 10 11", "2: 12 13", "4: 14"});
  check(sizes(2, 3), {"3: 13 14"});
  check(sizes(5, {}), {"0: 10 11 12 13 14"});
  check(sizes(0, 4), {"4: 14"});
  check(sizes(2, 5), {});
}

BOOST_AUTO_TEST_CASE(a_source_that_has_reported_its_end_is_not_asked_again) {
  int asked = 0;
  auto items = batches_of(2, [&]() -> std::optional<Step<int>> {
    return ++asked == 4 ? std::nullopt : std::optional(Step<int>{asked, asked});
  });
  BOOST_TEST(items()->item.size() == 2u);
  BOOST_TEST(items()->item.size() == 1u);
  BOOST_TEST(!items());
  BOOST_TEST(!items());
  BOOST_TEST(asked == 4);
}
