#include <unistd.h>
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <limits>
#include <string>
#include <vector>

#include "shared/base/identity.hpp"
#include "supervisor/watch/listing.hpp"
#include "supervisor/watch/model.hpp"
#include "supervisor/watch/panes.hpp"
#include "supervisor/watch/rate.hpp"
#include "supervisor/watch/sample.hpp"
#include "supervisor/watch/text.hpp"
#include "tests/support/eventually.hpp"
#include "tests/unit/watched_workers.hpp"

using namespace brood;
using namespace brood::watch;
using namespace std::chrono_literals;

namespace {

constexpr Glyphs full{}, ascii{.utf8 = false, .blocks = false};

SteadyTime at(std::chrono::milliseconds since_start) { return SteadyTime(1h + since_start); }

MachineLook machine(std::chrono::milliseconds when, std::uint64_t processed, std::uint64_t failed = 0) {
  MachineLook look;
  look.at = at(when);
  look.status.workers.push_back(worker(0, "busy"));
  look.status.counters["vm:1:ab"] = {processed, failed};
  return look;
}

RedisLook redis(std::chrono::milliseconds when, std::int64_t processed) {
  RedisLook look;
  look.at = at(when);
  look.wall = WallTime(when);
  look.status.emplace();
  look.status->processed = processed;
  return look;
}

Listing three_rows() {
  Listing listing;
  listing.columns = {{.title = "NAME", .least = 4, .shrinks = true},
                     {.title = "SIZE", .align = Align::right, .importance = 5, .by_number = true}};
  listing.rows = {{"a", {{"Apple"}, {"9", 9}}}, {"b", {{"birne"}, {"10", 10}}}, {"c", {{"citron"}, {"9", 9}}}};
  return listing;
}

std::string keys_of(const Listing& listing) {
  std::string keys;
  for (const Row& row : listing.rows) keys += row.key;
  return keys;
}

}  // namespace

BOOST_AUTO_TEST_CASE(what_steers_a_terminal_is_escaped) {
  BOOST_TEST(clean("a\x1b[31mb\n", full) == "a\\x1b[31mb\\n");
  BOOST_TEST(clean("\xff", full) == "\\xff");
  BOOST_TEST(clean("a\u202eb\u200dc", full).find("\u202e") == std::string::npos);
  BOOST_TEST(clean("a\u200d\ufe0f\u00adb", full) == "ab");
}

BOOST_AUTO_TEST_CASE(outside_utf_8_text_is_ascii) {
  BOOST_TEST(clean("Größe 日本", ascii) == "Gr??e ??");
  BOOST_TEST(cut("abcdef", 4, ascii) == "abc~");
}

BOOST_AUTO_TEST_CASE(wide_and_combining_characters_take_the_columns_that_they_take) {
  BOOST_TEST(width("日本") == 4u);
  BOOST_TEST(width("e\u0301") == 1u);
  BOOST_TEST(width(clean("e\u0301\u0301\u0301\u0301\u0301", full)) == 1u);
  BOOST_TEST(clean("e\u0301\u0301\u0301\u0301\u0301", full) == "e\u0301\u0301");
  BOOST_TEST(clean("\u0301x", full) == "x");
  BOOST_TEST(fit("日本語", 5, Align::left, full) == "日本…");
  BOOST_TEST(fit("日本語", 4, Align::left, full) == "日… ");
  BOOST_TEST(fit("日本", 6, Align::right, full) == "  日本");
  BOOST_TEST(without_prefix("日本", 1) == " 本");
  for (std::size_t columns = 0; columns < 12; ++columns)
    BOOST_TEST(width(fit("a日e\u0301本語x", columns, Align::left, full)) == columns);
}

BOOST_AUTO_TEST_CASE(a_rate_is_the_growth_since_the_value_before) {
  Rate rate(0s);
  BOOST_TEST(!rate.per_second());
  rate.note(at(0s), 100);
  BOOST_TEST(!rate.per_second());
  rate.note(at(1s), 150);
  BOOST_TEST(*rate.per_second() == 50);
  rate.note(at(3s), 150);
  BOOST_TEST(*rate.per_second() == 0);
}

BOOST_AUTO_TEST_CASE(a_counter_that_was_set_back_is_no_negative_rate) {
  Rate rate(0s);
  rate.note(at(0s), 100);
  rate.note(at(1s), 5);
  BOOST_TEST(*rate.per_second() == 0);
  rate.note(at(2s), 7);
  BOOST_TEST(*rate.per_second() == 2);
  rate.note(at(3s), std::numeric_limits<std::uint64_t>::max());
  BOOST_TEST(*rate.per_second() > 0);
}

BOOST_AUTO_TEST_CASE(a_window_evens_out_the_steps_of_a_counter) {
  Rate rate(20s);
  for (int second = 0; second <= 60; ++second)
    rate.note(at(second * 1s), static_cast<std::uint64_t>(second / 10 * 100));
  BOOST_TEST(*rate.per_second() == 10);
}

BOOST_AUTO_TEST_CASE(a_trend_may_fall) {
  Trend trend(5s);
  trend.note(at(0s), 100);
  trend.note(at(1s), 40);
  BOOST_TEST(*trend.per_second() == -60);
  trend.note(at(2s), std::numeric_limits<std::int64_t>::min());
  trend.note(at(3s), std::numeric_limits<std::int64_t>::max());
}

BOOST_AUTO_TEST_CASE(a_sparkline_tells_nothing_from_little_and_from_unknown) {
  Series series;
  for (const auto value :
       {std::optional<double>(), std::optional(0.0), std::optional(0.001), std::optional(5.0), std::optional(10.0)})
    series.add(value);
  BOOST_TEST(series.sparkline(6, full) == "  ▁▂▅█");
  BOOST_TEST(series.sparkline(6, ascii) == "  _.=#");
  BOOST_TEST(series.sparkline(2, full) == "▅█");
  BOOST_TEST(Series().sparkline(3, full) == "   ");
}

BOOST_AUTO_TEST_CASE(a_bar_of_several_values_is_their_average) {
  Series series(2);
  for (const double value : {0.0, 20.0, 5.0, 5.0, 0.0, 0.0}) series.add(value);
  BOOST_TEST(series.sparkline(3, full) == "█▅▁");
}

BOOST_AUTO_TEST_CASE(a_series_forgets_what_no_terminal_shows) {
  Series series;
  for (int i = 0; i < 1500; ++i) series.add(1.0);
  BOOST_TEST(series.sparkline(1200, ascii) == std::string(200, ' ') + std::string(1000, '#'));
}

BOOST_AUTO_TEST_CASE(a_bar_rounds_neither_the_one_busy_nor_the_one_idle_away) {
  BOOST_TEST(bar(1, 1000, 12, ascii) == "[|         ]");
  BOOST_TEST(bar(999, 1000, 12, ascii) == "[||||||||| ]");
  BOOST_TEST(bar(2000, 1000, 12, ascii) == "[||||||||||]");
  BOOST_TEST(bar(0, 0, 5, ascii) == "[   ]");
  BOOST_TEST(bar(1, 2, 2, ascii) == "  ");
}

BOOST_AUTO_TEST_CASE(rates_of_this_machine_are_exact_and_survive_a_supervisor_that_comes) {
  Model model;
  model.note(machine(0s, 1000, 10));
  model.note(redis(0s, 77));
  model.note(machine(1s, 1005, 11));
  BOOST_TEST((model.source() == Model::Source::machine));
  BOOST_TEST(*model.processed_per_second() == 5);
  BOOST_TEST(*model.failed_per_second() == 1);

  MachineLook look = machine(2s, 1006, 11);
  look.status.counters["vm:2:cd"] = {1'000'000, 0};  // its past is none of this second's
  model.note(look);
  BOOST_TEST(*model.processed_per_second() == 1);
}

BOOST_AUTO_TEST_CASE(without_workers_here_the_rates_are_those_of_the_totals) {
  Model model;
  model.note(MachineLook{});
  for (int second = 0; second <= 40; ++second) model.note(redis(second * 1s, second / 10 * 50));
  BOOST_TEST((model.source() == Model::Source::redis));
  BOOST_TEST(*model.processed_per_second() == 5);
}

BOOST_AUTO_TEST_CASE(workers_that_rest_or_are_gone_are_none) {
  Model model;
  MachineLook look;
  look.status.workers = {worker(0, "resting"), worker(1, "gone")};
  model.note(look);
  RedisLook totals = redis(0s, 7);
  totals.status->processes.resize(1);
  totals.status->processes[0].concurrency = 9;
  totals.status->processes[0].busy = 3;
  model.note(totals);
  BOOST_TEST((model.source() == Model::Source::redis));
  BOOST_TEST(model.busy().all == 9u);
  look.status.workers.push_back(worker(2, "busy"));
  model.note(look);
  BOOST_TEST((model.source() == Model::Source::machine));
  BOOST_TEST(model.busy().all == 1u);
  BOOST_TEST(model.busy().busy == 1u);
}

BOOST_AUTO_TEST_CASE(a_queue_grows_and_shrinks_by_so_many_a_second) {
  Model model;
  const auto note = [&](std::chrono::milliseconds when, std::int64_t size) {
    RedisLook look = redis(when, 0);
    look.status->queues.push_back({.name = "images", .size = size});
    model.note(look);
  };
  note(0s, 100);
  BOOST_TEST(!model.queue_change("images"));
  note(2s, 120);
  BOOST_TEST(*model.queue_change("images") == 10);
  note(4s, 60);
  BOOST_TEST(*model.queue_change("images") == -10);
  BOOST_TEST(!model.queue_change("other"));
  model.note(redis(5s, 0));  // it is gone, and its past with it
  BOOST_TEST(!model.queue_change("images"));
}

BOOST_AUTO_TEST_CASE(while_redis_is_away_what_it_said_stays) {
  Model model;
  BOOST_TEST(model.redis() == nullptr);
  BOOST_TEST(!model.away_since());
  model.note(redis(1s, 5));
  RedisLook lost;
  lost.wall = WallTime(2s);
  lost.error = "connection refused";
  model.note(lost);
  lost.wall = WallTime(3s);
  model.note(lost);
  BOOST_TEST((*model.away_since() == WallTime(2s)));
  BOOST_TEST(model.redis()->processed == 5);
  model.note(redis(4s, 6));
  BOOST_TEST(!model.away_since());
}

BOOST_AUTO_TEST_CASE(processor_time_is_that_of_the_same_process) {
  Model model;
  MachineLook look = machine(0s, 0);
  look.use[10] = ProcessUse{.start_time = 5, .cpu_s = 1.0, .rss_kb = 1};
  model.note(look);
  look.at = at(2s);
  look.use[10].cpu_s = 2.0;
  model.note(look);
  BOOST_TEST(*model.cpu_percent(10) == 50);
  model.note(look);  // the same moment again
  BOOST_TEST(!model.cpu_percent(10));
  look.at = at(2500ms);
  look.use[10].cpu_s = 1.9;  // the kernel's sums may go back a little
  model.note(look);
  BOOST_TEST(*model.cpu_percent(10) == 0);
  look.at = at(3s);
  look.use[10] = ProcessUse{.start_time = 6, .cpu_s = 0.1, .rss_kb = 1};
  model.note(look);
  BOOST_TEST(!model.cpu_percent(10));
  BOOST_TEST(!model.cpu_percent(11));
}

BOOST_AUTO_TEST_CASE(the_kernel_says_what_a_process_uses) {
  const auto use = use_of_process(getpid());
  BOOST_REQUIRE(use.has_value());
  BOOST_TEST(use->start_time == process_start_time(getpid()));
  BOOST_TEST(use->rss_kb > 1000u);
  BOOST_TEST(use->rss_kb < 10'000'000u);
  BOOST_TEST(eventually([] { return use_of_process(getpid())->cpu_s > 0; }));
  BOOST_TEST(!use_of_process(999'999'999));
}

BOOST_AUTO_TEST_CASE(a_machine_without_scoreboards_has_no_workers) {
  const MachineLook look = look_at_machine("/nonexistent");
  BOOST_TEST(look.status.workers.empty());
  BOOST_TEST(look.use.empty());
}

BOOST_AUTO_TEST_CASE(a_deadline_is_shown_when_it_is_near) {
  Model model;
  MachineLook look;
  const auto add = [&](double age, std::optional<double> deadline_in) {
    look.status.workers.push_back(worker(0, "busy"));
    look.status.workers.back().age = age;
    look.status.workers.back().deadline_in = deadline_in;
  };
  add(10, 50);
  add(8, 2);
  add(12, -2);
  add(12, std::nullopt);
  model.note(look);
  const Listing listing = listing_of(model, Pane::workers, WallTime(), full);
  std::vector<std::string> ages;
  for (const Row& row : listing.rows) ages.push_back(row.cells[4].text);
  BOOST_TEST(ages == (std::vector<std::string>{"10s", "8s/10s", "12s!10s", "12s"}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(every_pane_has_a_cell_for_each_column_and_a_sentence_for_nothing) {
  Model model;
  MachineLook look = machine(0s, 0);
  look.status.classes.emplace_back().job_class = "Zip";
  model.note(look);
  for (const bool answered : {false, true}) {
    if (answered) {
      RedisLook said = redis(0s, 0);
      said.status->queues.emplace_back().name = "default";
      said.status->crashes.emplace_back().fingerprint = "f";
      said.status->processes.emplace_back().identity = "p";
      model.note(said);
    }
    for (std::size_t i = 0; i < panes; ++i) {
      const Listing listing = listing_of(model, static_cast<Pane>(i), WallTime(), full);
      BOOST_TEST(!listing.when_empty.empty());
      for (const Row& row : listing.rows) {
        BOOST_TEST(row.cells.size() == listing.columns.size());
        BOOST_TEST(detail_of(model, static_cast<Pane>(i), row.key, WallTime()).has_value());
      }
      if (answered) BOOST_TEST(listing.rows.size() == 1u);
    }
  }
  BOOST_TEST(!detail_of(model, Pane::queues, "gone", WallTime()));
}

BOOST_AUTO_TEST_CASE(rows_are_sorted_by_number_or_by_text_and_equal_ones_keep_their_order) {
  Choice choice;
  BOOST_TEST(keys_of(arrange(three_rows(), choice)) == "abc");
  choice.sort = "SIZE";
  BOOST_TEST(keys_of(arrange(three_rows(), choice)) == "acb");
  choice.descending = true;
  BOOST_TEST(keys_of(arrange(three_rows(), choice)) == "bac");
  choice.sort = "NAME";
  BOOST_TEST(keys_of(arrange(three_rows(), choice)) == "cba");
  choice.sort = "none of them";
  BOOST_TEST(keys_of(arrange(three_rows(), choice)) == "abc");
}

BOOST_AUTO_TEST_CASE(the_sort_column_turns_through_all_and_back_to_the_panes_own_order) {
  const Listing listing = three_rows();
  Choice choice;
  choose_sort(choice, listing, 1);
  BOOST_TEST(*choice.sort == "NAME");
  BOOST_TEST(!choice.descending);
  choose_sort(choice, listing, 1);
  BOOST_TEST(*choice.sort == "SIZE");
  BOOST_TEST(choice.descending);
  choose_sort(choice, listing, 1);
  BOOST_TEST(!choice.sort);
  choose_sort(choice, listing, -1);
  BOOST_TEST(*choice.sort == "SIZE");
}

BOOST_AUTO_TEST_CASE(a_filter_takes_rows_that_hold_it_in_any_case) {
  Choice choice;
  choice.filter = "IR";
  BOOST_TEST(keys_of(arrange(three_rows(), choice)) == "b");
  choice.filter = "nothing";
  const Listing none = arrange(three_rows(), choice);
  BOOST_TEST(none.rows.empty());
  BOOST_TEST(none.when_empty == "no row here has \"nothing\"");
}

BOOST_AUTO_TEST_CASE(the_choice_stays_with_its_row_and_then_with_its_place) {
  Choice choice;
  choice.row = "c";
  choice.position = 1;
  BOOST_TEST(position_of(three_rows(), choice) == 2u);
  choice.row = "gone";
  BOOST_TEST(position_of(three_rows(), choice) == 1u);
  choice.position = 9;
  BOOST_TEST(position_of(three_rows(), choice) == 2u);
  BOOST_TEST(position_of(Listing{}, choice) == 0u);
}

BOOST_AUTO_TEST_CASE(columns_shrink_and_then_the_least_important_go) {
  const Listing listing = three_rows();
  const auto widths = [&](std::size_t room) { return column_widths(listing, room, 1); };
  BOOST_TEST(widths(40) == (std::vector<std::size_t>{6, 5}), boost::test_tools::per_element());
  BOOST_TEST(widths(11) == (std::vector<std::size_t>{5, 5}), boost::test_tools::per_element());
  BOOST_TEST(widths(10) == (std::vector<std::size_t>{6, 0}), boost::test_tools::per_element());
  BOOST_TEST(widths(3) == (std::vector<std::size_t>{3, 0}), boost::test_tools::per_element());
  BOOST_TEST(widths(0) == (std::vector<std::size_t>{0, 0}), boost::test_tools::per_element());
}
