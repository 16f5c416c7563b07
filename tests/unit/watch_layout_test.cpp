#include <boost/test/unit_test.hpp>
#include <chrono>
#include <string>
#include <vector>

#include "supervisor/watch/action.hpp"
#include "supervisor/watch/apply_action.hpp"
#include "supervisor/watch/layout.hpp"
#include "supervisor/watch/line.hpp"
#include "supervisor/watch/panes.hpp"
#include "tests/unit/watched_workers.hpp"

using namespace brood;
using namespace brood::watch;
using namespace std::chrono_literals;

namespace {

constexpr const char* long_jid = "0123456789abcdef01234567";

// A view on a machine with `workers` busy workers, driven as the program drives it.
struct Watched {
  Model model;
  View view;
  Glyphs glyphs;
  Size size{24, 80};
  WallTime now{10h};

  explicit Watched(int workers = 3) {
    MachineLook look;
    for (int i = 0; i < workers; ++i) {
      look.status.workers.push_back(i % 2 == 0 ? worker(i, "busy", "Resize" + std::to_string(i), long_jid)
                                               : worker(i, "idle"));
    }
    model.note(look);
    RedisLook said;
    said.wall = now;
    said.status.emplace();
    said.status->enqueued = 4711;
    Crash& crash = said.status->crashes.emplace_back();
    crash.fingerprint = "f1";
    crash.job_class = "Zip";
    crash.message = "SIGSEGV at 0x10\x1b[31m";
    for (int i = 0; i < 30; ++i) crash.frames.push_back("#" + std::to_string(i) + " step()");
    said.status->queues.push_back({.name = "日本語のとても長い名前のキュー日本語のとても長い名前のキュー", .size = 5});
    model.note(said);
  }

  Listing listing() const { return arrange(listing_of(model, view.pane, now, glyphs), view.choice()); }

  std::vector<std::string> screen() {
    const Listing rows = listing();
    const Frame frame = lay_out(view, {model, rows, "redis://127.0.0.1:6379/0", now, glyphs}, size);
    std::vector<std::string> lines;
    for (const Line& line : frame.lines) {
      BOOST_TEST(width_of(line) == size.columns);
      lines.emplace_back();
      for (const Span& span : line) lines.back() += span.text;
    }
    BOOST_TEST(lines.size() == size.rows);
    return lines;
  }

  std::string text() {
    std::string all;
    for (const std::string& line : screen()) all += line + "\n";
    return all;
  }

  Effect press(const KeyPress& press) {
    screen();
    const Listing rows = listing();
    return apply(view, action_for(view, press), {model, rows, body_rows(size), body_lines(view, glyphs, size), now});
  }
  Effect press(const std::string& character) { return press({Key::character, character}); }
  Effect press(Key key) { return press({key, ""}); }

  std::string chosen() { return listing().rows.at(position_of(listing(), view.choice())).key; }
};

bool holds(const std::string& text, const std::string& wanted) { return text.find(wanted) != std::string::npos; }

}  // namespace

BOOST_AUTO_TEST_CASE(eighty_columns_hold_a_worker_with_its_job) {
  Watched watched;
  const std::vector<std::string> lines = watched.screen();
  BOOST_TEST(lines[0].starts_with("brood 0.1.0  redis://127.0.0.1:6379/0  answers in 0.0ms"), lines[0]);
  BOOST_TEST(holds(lines[1], "enqueued      4711  retries      0"), lines[1]);
  BOOST_TEST(lines[3].starts_with("busy         2 of 3 ["), lines[3]);
  BOOST_TEST(lines[4].starts_with("[1 Workers 3] 2 Queues 1  3 Classes 0  4 Crashes 1  5 Processes 0"), lines[4]);
  BOOST_TEST(lines[5].starts_with("   SLOT     PID STATE"), lines[5]);
  BOOST_TEST(lines[6].starts_with(">     0    1000 busy"), lines[6]);
  BOOST_TEST(holds(lines[6], "Resize0"), lines[6]);
  BOOST_TEST(lines[23].starts_with("? help"), lines[23]);
}

BOOST_AUTO_TEST_CASE(a_wide_screen_holds_all_columns) {
  Watched watched;
  watched.size = {50, 200};
  const std::string text = watched.text();
  BOOST_TEST(holds(text, long_jid), text);
  BOOST_TEST(holds(text, "GENERATION"), text);
}

// Every line is checked to be exactly as wide as the screen, and the frame as high.
BOOST_AUTO_TEST_CASE(every_size_has_its_frame_in_every_state) {
  for (const std::size_t rows : {1, 2, 3, 4, 5, 7, 8, 10, 16, 24})
    for (const std::size_t columns : {1, 2, 3, 5, 10, 20, 40, 59, 60, 79, 80}) {
      Watched watched(40);
      watched.size = {rows, columns};
      for (std::size_t pane = 0; pane < panes; ++pane) {
        watched.press(std::to_string(pane + 1));
        watched.press(Key::end);
        watched.press(Key::enter);
        watched.press(Key::end);
        watched.screen();
        watched.press(Key::escape);
        watched.press("?");
        watched.press(Key::page_down);
        watched.screen();
        watched.press("?");
        watched.press("/");
        for (int i = 0; i < 5; ++i) watched.press("日");
        watched.screen();
        watched.press(Key::escape);
        watched.press("p");
        watched.press("s");
        watched.screen();
      }
      watched.press("1");
      watched.press(Key::home);
      watched.press("K");
      watched.screen();
    }
}

BOOST_AUTO_TEST_CASE(keys_mean_what_they_mean_in_htop_less_and_vim) {
  using Kind = Action::Kind;
  const View view;
  const auto kind = [&](const std::string& character) { return action_for(view, {Key::character, character}).kind; };
  BOOST_TEST((kind("q") == Kind::quit));
  BOOST_TEST((kind("j") == Kind::move && action_for(view, {Key::character, "j"}).number == 1));
  BOOST_TEST((action_for(view, {Key::up, ""}).number == -1));
  BOOST_TEST((kind(" ") == Kind::move_pages));
  BOOST_TEST((kind("G") == Kind::last));
  BOOST_TEST((kind("h") == Kind::help && kind("?") == Kind::help));
  BOOST_TEST((action_for(view, {Key::character, "5"}).number == 4));
  BOOST_TEST((kind("6") == Kind::none && kind("日") == Kind::none && kind("") == Kind::none));
}

BOOST_AUTO_TEST_CASE(the_choice_moves_and_is_always_on_the_screen) {
  Watched watched(40);
  BOOST_TEST(watched.chosen() == "vm:1:ab:0");
  watched.press("j");
  BOOST_TEST(watched.chosen() == "vm:1:ab:1");
  watched.press(Key::end);
  BOOST_TEST(watched.chosen() == "vm:1:ab:39");
  BOOST_TEST(holds(watched.text(), ">    39    1039"));
  watched.press(Key::page_up);
  BOOST_TEST(watched.chosen() == "vm:1:ab:22");
  watched.press("g");
  watched.press(Key::up);
  BOOST_TEST(watched.chosen() == "vm:1:ab:0");
  BOOST_TEST(holds(watched.text(), "> "));
}

BOOST_AUTO_TEST_CASE(a_filter_is_typed_and_forgotten) {
  Watched watched(8);
  watched.press("/");
  for (const char* c : {"r", "e", "s", "i", "z", "e", "6", "7"}) watched.press(c);
  watched.press(Key::backspace);
  BOOST_TEST(holds(watched.text(), "/resize6"));
  BOOST_TEST(watched.listing().rows.size() == 1u);
  watched.press(Key::enter);
  BOOST_TEST(holds(watched.text(), "filter \"resize6\"  1 of 1"));
  watched.press("/");
  watched.press("x");
  watched.press(Key::escape);
  BOOST_TEST(watched.listing().rows.size() == 1u);
  watched.press(Key::escape);
  BOOST_TEST(watched.listing().rows.size() == 8u);
}

BOOST_AUTO_TEST_CASE(a_crash_opens_its_whole_stack_and_scrolls) {
  Watched watched;
  watched.press("4");
  watched.press(Key::enter);
  std::string text = watched.text();
  BOOST_TEST(holds(text, "SIGSEGV at 0x10\\x1b[31m"), text);
  BOOST_TEST(holds(text, "#0 step()"), text);
  BOOST_TEST(!holds(text, "#29 step()"));
  watched.press("G");
  text = watched.text();
  BOOST_TEST(holds(text, "#29 step()"), text);
  watched.press("k");
  watched.press("q");
  BOOST_TEST(!watched.view.detail.has_value());
  BOOST_TEST(watched.press("q").quit);
}

BOOST_AUTO_TEST_CASE(a_job_is_ended_only_after_a_yes) {
  Watched watched;
  BOOST_TEST(watched.press("K").command.empty());
  BOOST_TEST(holds(watched.text(), "End Resize0 0123456789abcdef01234567 of worker 0?"));
  BOOST_TEST(watched.press("n").command.empty());
  BOOST_TEST(!watched.view.proposal.has_value());
  watched.press("K");
  watched.press("");  // as when the terminal was resized
  BOOST_TEST(watched.view.proposal.has_value());
  BOOST_TEST(watched.press(Key::enter).command.empty());
  watched.press("K");
  BOOST_TEST(watched.press("y").command == (std::vector<std::string>{"kill", "--", long_jid}),
             boost::test_tools::per_element());
  BOOST_TEST(watched.press("y").command.empty());
}

BOOST_AUTO_TEST_CASE(the_job_that_is_ended_is_the_one_that_was_asked_for) {
  Watched watched;
  watched.press("K");
  MachineLook look;
  look.status.workers.push_back(worker(0, "busy", "Other", "other"));
  watched.model.note(look);
  BOOST_TEST(watched.press("y").command.back() == long_jid);
}

BOOST_AUTO_TEST_CASE(what_to_answer_is_to_be_read_however_narrow_the_terminal_is) {
  for (const std::size_t columns : {120, 80, 70, 60, 50, 40, 34}) {
    Watched watched;
    watched.size.columns = columns;
    watched.press("K");
    const std::string question = watched.screen().back();
    BOOST_TEST(holds(question, "y/n"), columns << ": " << question);
    BOOST_TEST(holds(question, "worker 0?"), columns << ": " << question);
  }
}

BOOST_AUTO_TEST_CASE(only_a_busy_worker_has_a_job_to_end) {
  Watched watched;
  watched.press("j");
  watched.press("K");
  BOOST_TEST(!watched.view.proposal.has_value());
  BOOST_TEST(holds(watched.text(), "K ends the job of a busy worker"));
  watched.press("4");
  watched.press("K");
  BOOST_TEST(!watched.view.proposal.has_value());
  BOOST_TEST(watched.press("d").command.empty());
}

BOOST_AUTO_TEST_CASE(a_detail_follows_its_row_and_outlives_it) {
  Watched watched;
  watched.press(Key::enter);
  BOOST_TEST(holds(watched.text(), "Resize0"));
  MachineLook look;
  look.status.workers.push_back(worker(0, "busy", "Other"));
  watched.model.note(look);
  refresh_detail(watched.view, watched.model, watched.now);
  BOOST_TEST(holds(watched.text(), "Other"));
  watched.model.note(MachineLook{});
  refresh_detail(watched.view, watched.model, watched.now);
  BOOST_TEST(holds(watched.text(), "Other"));
}

BOOST_AUTO_TEST_CASE(the_first_line_says_since_when_redis_is_silent) {
  Watched watched;
  RedisLook lost;
  lost.wall = watched.now;
  lost.error = "refused\x1b";
  watched.model.note(lost);
  watched.now += 125s;
  const std::string first = watched.screen()[0];
  BOOST_TEST(holds(first, "no answer since"), first);
  BOOST_TEST(holds(first, ", 2m5s "), first);
  BOOST_TEST(holds(watched.text(), "Resize0"));
}

BOOST_AUTO_TEST_CASE(the_first_line_names_the_shards_that_are_away) {
  Watched watched;
  RedisLook look;
  look.status = RedisStatus{};
  look.away = "east, west";
  watched.model.note(look);
  BOOST_TEST(holds(watched.screen()[0], "away: east, west"), watched.screen()[0]);
  look.away.clear();
  watched.model.note(look);
  BOOST_TEST(holds(watched.screen()[0], "answers"), watched.screen()[0]);
}

BOOST_AUTO_TEST_CASE(outside_utf_8_everything_is_ascii) {
  Watched watched;
  watched.glyphs = {.utf8 = false, .blocks = false};
  for (const char* pane : {"1", "2", "4"}) {
    watched.press(pane);
    watched.press("s");
    for (const char c : watched.text()) BOOST_REQUIRE(static_cast<unsigned char>(c) < 0x80);
  }
}
