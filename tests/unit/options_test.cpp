#include <boost/test/unit_test.hpp>
#include <chrono>
#include <cstdlib>
#include <string>
#include <vector>

#include "supervisor/cli/arguments/command_line.hpp"
#include "supervisor/cli/run_options.hpp"
#include "supervisor/cli/terminal/iso_time.hpp"
#include "supervisor/cli/terminal/terminal.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

// The complaint about a command line; "" if there is none.
std::string complaint(const std::vector<std::string>& args) {
  try {
    parse_run_options(args);
    return "";
  } catch (const UsageError& error) {
    return error.what();
  }
}

std::string answer(const std::vector<std::string>& args) {
  try {
    parse_run_options(args);
    return "";
  } catch (const Answer& answer) {
    return answer.text;
  }
}

std::string shown(const std::string& time) {
  const auto parsed = parse_iso_time(time);
  return parsed ? iso_time(*parsed) : "none";
}

}  // namespace

BOOST_AUTO_TEST_CASE(without_flags_nothing_is_overridden) {
  const RunOptions options = parse_run_options({});
  BOOST_TEST(!options.check);
  BOOST_TEST(!options.overrides.concurrency.has_value());
  BOOST_TEST(options.overrides.queues.empty());
  BOOST_TEST(options.overrides.require.empty());
  BOOST_TEST(!options.overrides.shutdown_timeout.has_value());
  BOOST_TEST(!options.overrides.redis_url.has_value());
  BOOST_TEST(!options.overrides.verbose);
}

BOOST_AUTO_TEST_CASE(sidekiqs_letters_and_our_long_names_mean_the_same) {
  const std::vector<std::vector<std::string>> spellings = {
      {"-C", "/x.toml", "-c", "8", "-q", "a,2", "-q", "b", "-r", "l.so", "-r", "m.so", "-t", "8", "-e", "prod", "-g",
       "web", "-v"},
      {"--config", "/x.toml", "--concurrency", "8", "--queue", "a,2", "--queue", "b", "--require", "l.so", "--require",
       "m.so", "--timeout", "8", "--environment", "prod", "--tag", "web", "--verbose"},
      {"--config=/x.toml", "--concurrency=8", "--queue=a,2", "--queue=b", "--require=l.so", "--require=m.so",
       "--timeout=8", "--environment=prod", "--tag=web", "-v"},
      {"-vC/x.toml", "-c8", "-qa,2", "-qb", "-rl.so", "-rm.so", "-t8", "-eprod", "-gweb"},
  };
  for (const auto& args : spellings) {
    const RunOptions options = parse_run_options(args);
    BOOST_TEST(options.config_path == "/x.toml");
    BOOST_TEST(options.overrides.concurrency.value() == 8);
    BOOST_TEST(options.overrides.queues == (std::vector<std::string>{"a,2", "b"}), boost::test_tools::per_element());
    BOOST_TEST(options.overrides.require == (std::vector<std::string>{"l.so", "m.so"}),
               boost::test_tools::per_element());
    BOOST_TEST(options.overrides.shutdown_timeout.value() == "8");
    BOOST_TEST(options.overrides.environment.value() == "prod");
    BOOST_TEST(options.overrides.tag.value() == "web");
    BOOST_TEST(options.overrides.verbose);
  }
}

BOOST_AUTO_TEST_CASE(redis_log_format_and_check_have_long_names_alone) {
  const RunOptions options = parse_run_options({"--redis", "unix:///r.sock", "--log-format", "json", "--check"});
  BOOST_TEST(options.overrides.redis_url.value() == "unix:///r.sock");
  BOOST_TEST(options.overrides.log_format.value() == "json");
  BOOST_TEST(options.check);
}

BOOST_AUTO_TEST_CASE(the_last_one_counts_of_a_flag_given_twice) {
  BOOST_TEST(parse_run_options({"-c", "1", "-c", "2"}).overrides.concurrency.value() == 2);
  BOOST_TEST(parse_run_options({"-g", "a", "--tag=b"}).overrides.tag.value() == "b");
}

BOOST_AUTO_TEST_CASE(a_value_is_taken_as_it_is) {
  BOOST_TEST(parse_run_options({"-q", "[a,b]"}).overrides.queues == std::vector<std::string>{"[a,b]"},
             boost::test_tools::per_element());
  BOOST_TEST(parse_run_options({"-C", "-"}).config_path == "-");
  BOOST_TEST(parse_run_options({"-c", "-1"}).overrides.concurrency.value() == -1);
  BOOST_TEST(parse_run_options({"-r", std::string(1'000'000, 'x')}).overrides.require[0].size() == 1'000'000u);
}

BOOST_AUTO_TEST_CASE(what_is_not_understood_is_answered_with_a_sentence) {
  BOOST_TEST(complaint({"--cofig", "x"}) == "unknown option \"--cofig\"; did you mean \"--config\"?");
  BOOST_TEST(complaint({"--queues=a"}) == "unknown option \"--queues\"; did you mean \"--queue\"?");
  BOOST_TEST(complaint({"--daemon"}) == "unknown option \"--daemon\"");
  BOOST_TEST(complaint({"-x"}) == "unknown option \"-x\"");
  BOOST_TEST(complaint({"-c"}) == "--concurrency needs a value");
  BOOST_TEST(complaint({"--config="}) == "--config needs a value");
  BOOST_TEST(complaint({"--config=", "x"}) == "--config needs a value");
  BOOST_TEST(complaint({"-c", "many"}) == "--concurrency must be a whole number, not \"many\"");
  BOOST_TEST(complaint({"-c", "99999999999"}) == "--concurrency must be a whole number, not \"99999999999\"");
  BOOST_TEST(complaint({"-c", "0x10"}) == "--concurrency must be a whole number, not \"0x10\"");
  BOOST_TEST(complaint({"status"}) == "unexpected argument \"status\"");
  BOOST_TEST(complaint({"--", "-c"}) == "unexpected argument \"-c\"");
  BOOST_TEST(complaint({"a\x1b[31m\xff"}) == "unexpected argument \"a\\x1b[31m\\xff\"");
  BOOST_TEST(complaint({"--" + std::string(1'000'000, 'x')}).size() < 200u);
}

BOOST_AUTO_TEST_CASE(help_and_version_win_over_everything_else) {
  BOOST_TEST(answer({"-c", "8", "--help"}).find("--concurrency N") != std::string::npos);
  BOOST_TEST(answer({"-h"}).find("Examples:") != std::string::npos);
  BOOST_TEST(answer({"-V"}).starts_with("brood "));
}

BOOST_AUTO_TEST_CASE(times_are_iso_8601) {
  setenv("TZ", "UTC-2", 1);  // two hours east
  BOOST_TEST(shown("2026-12-01T08:00:00Z") == "2026-12-01T08:00:00Z");
  BOOST_TEST(shown("2026-12-01t08:00:00z") == "2026-12-01T08:00:00Z");
  BOOST_TEST(shown("2026-12-01T08:00:00+01:00") == "2026-12-01T07:00:00Z");
  BOOST_TEST(shown("2026-12-01T08:00:00-0330") == "2026-12-01T11:30:00Z");
  BOOST_TEST(shown("2026-12-01T08:00:00+01") == "2026-12-01T07:00:00Z");
  BOOST_TEST(shown("2026-12-01 08:00") == "2026-12-01T06:00:00Z");
  BOOST_TEST(shown("2028-02-29T00:00:00Z") == "2028-02-29T00:00:00Z");
  BOOST_CHECK(*parse_iso_time("2026-12-01T08:00:00.25Z") - *parse_iso_time("2026-12-01T08:00:00Z") == 250ms);
  for (const std::string text :
       {"", "now", "2026", "2026-12-01", "2026-13-01T00:00:00Z", "2026-02-29T00:00:00Z", "2026-12-01T24:00:00Z",
        "2026-12-01T08:60:00Z", "2026-12-01T08:00:00.Z", "2026-12-01T08:00:00ZZ", "2026-12-01T08:00:00+1",
        "2026-12-01T08:00:00+99:00", "26-12-01T08:00:00Z", "9999-12-01T08:00:00Z", " 2026-12-01T08:00:00Z"}) {
    BOOST_TEST(shown(text) == "none", "\"" << text << "\" was accepted");
  }
}

BOOST_AUTO_TEST_CASE(a_table_aligns_its_columns_and_shows_no_control_characters) {
  Table table({{"QUEUE"}, {"SIZE", Table::Align::right}});
  table.add({"grün", "5"});
  table.add({"a\nb\x1b[31m", "12345"});
  table.add({std::string(500, 'x'), "1"});
  const std::string text = table.text(Style(false));
  // Output that is no terminal gets each cell whole.
  BOOST_TEST(text.find("  grün" + std::string(496, ' ') + "      5\n") != std::string::npos);
  BOOST_TEST(text.find("  a\\nb\\x1b[31m ") != std::string::npos);
  BOOST_TEST(text.find("  " + std::string(500, 'x') + "      1\n") != std::string::npos);
  BOOST_TEST(text.find('\x1b') == std::string::npos);
  BOOST_TEST(Style(true).red("x") == "\x1b[31mx\x1b[0m");
}
