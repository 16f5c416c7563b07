#include <sys/stat.h>

#include <boost/test/unit_test.hpp>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "shared/config/config.hpp"
#include "shared/config/reading/load_config.hpp"
#include "tests/support/loaded_config.hpp"
#include "tests/support/temporary_directory.hpp"

using namespace brood;
using namespace brood::loaded_config;
using namespace std::chrono_literals;

namespace {

std::string complaint_about_path(const std::string& path) {
  try {
    load_config(path, {});
    return "";
  } catch (const ConfigError& error) {
    return error.what();
  }
}

std::string complaint_about(const ConfigOverrides& overrides) {
  try {
    load_config("", overrides);
    return "";
  } catch (const ConfigError& error) {
    return error.what();
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_relative_job_library_is_found_from_the_working_directory) {
  const std::string here = std::filesystem::current_path().string();
  BOOST_TEST(load("require = ['./libjobs.so', 'libmore.so']").require ==
                 (std::vector<std::string>{here + "/libjobs.so", here + "/libmore.so"}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(line_ends_of_windows_and_a_byte_order_mark_are_accepted) {
  BOOST_TEST(load("\xef\xbb\xbf"
                  "concurrency = 3\r\ntag = 'x'\r\n")
                 .concurrency() == 3);
}

BOOST_AUTO_TEST_CASE(what_is_no_toml_is_named_with_its_line) {
  for (const auto& [toml, line] : std::vector<std::pair<std::string, std::string>>{
           {"concurrency = 3\nconcurrency = 4", "2: "},
           {"\nconcurrency = ", "2: "},
           {"concurrency = 9223372036854775808", "1: "},
           {"tag = '\xff\xfe'", "1: "},
           {"tag = 'a\x01'", "1: "},
           {"x = " + std::string(100'000, '['), "1: "},
           {std::string("tag = 'a'\0", 10), "1: "},
       }) {
    BOOST_TEST(complaint(toml).starts_with(line), complaint(toml) << " does not begin with " << line);
  }
}

BOOST_AUTO_TEST_CASE(a_path_that_is_no_readable_file_is_refused_without_waiting) {
  const TemporaryDirectory directory;
  BOOST_TEST(complaint_about_path(directory / "missing") == directory / "missing: No such file or directory");
  BOOST_TEST(complaint_about_path(directory.path()) == directory.path() + ": is a directory, not a file");
  BOOST_TEST_REQUIRE(mkfifo((directory / "fifo").c_str(), 0600) == 0);
  BOOST_TEST(complaint_about_path(directory / "fifo") == directory / "fifo: is not a regular file");
  BOOST_TEST(complaint_about_path("/dev/zero") == "/dev/zero: is not a regular file");
  const std::string large = directory.write("large", std::string((1 << 20) + 1, '#'));
  BOOST_TEST(complaint_about_path(large) == large + ": is larger than 1 MB");
  BOOST_TEST(complaint_about_path(directory.write("fits", std::string(1 << 20, '#'))) == "");
}

BOOST_AUTO_TEST_CASE(a_file_that_any_user_may_change_or_that_shows_a_password_is_warned_of) {
  const TemporaryDirectory directory;
  const std::string path = directory.write("brood.toml", "[redis]\nurl = 'redis://:secret@localhost'\n");
  chmod(path.c_str(), 0600);
  BOOST_TEST(load_config(path, {}).warnings.empty());
  chmod(path.c_str(), 0646);
  BOOST_TEST(load_config(path, {}).warnings ==
                 (std::vector<std::string>{path + " can be changed by every user of this machine",
                                           path + " holds a password and can be read by every user of this machine"}),
             boost::test_tools::per_element());
  const std::string harmless = directory.write("harmless.toml", "[redis]\nurl = 'redis://localhost:6379'\n");
  chmod(harmless.c_str(), 0644);
  BOOST_TEST(load_config(harmless, {}).warnings.empty());
}

BOOST_AUTO_TEST_CASE(the_command_line_wins_over_the_file) {
  ConfigOverrides overrides;
  overrides.concurrency = 2;
  overrides.queues = {"critical,3", "default,1"};
  overrides.require = {"/a.so"};
  overrides.shutdown_timeout = "8";
  overrides.environment = "staging";
  overrides.tag = "cli";
  overrides.redis_url = "embedded";
  overrides.log_format = "json";
  overrides.verbose = true;
  const Config config = load(
      "concurrency = 8\nqueues = ['images']\nrequire = ['/b.so', '/c.so']\nshutdown_timeout = 1\nenvironment = "
      "'production'\n"
      "tag = 'file'\n[redis]\nurl = 'redis://localhost'\n[log]\nlevel = 'error'\n[capsules.more]\nconcurrency = 1\n",
      overrides);
  BOOST_TEST(config.concurrency() == 3);
  BOOST_TEST(config.capsules[0].queues.weights().at("critical") == 3);
  BOOST_TEST(config.require == std::vector<std::string>{"/a.so"}, boost::test_tools::per_element());
  BOOST_CHECK(config.shutdown_timeout == 8s);
  BOOST_TEST(config.environment == "staging");
  BOOST_TEST(config.tag == "cli");
  BOOST_TEST(config.redis.url == "embedded");
  BOOST_CHECK(config.log.format == log::Format::json);
  BOOST_CHECK(config.log.level == log::Level::debug);
}

BOOST_AUTO_TEST_CASE(a_wrong_value_of_the_command_line_is_named_by_its_flag) {
  BOOST_TEST(complaint_about({.concurrency = 0}) == "--concurrency: must be between 1 and 10000, not 0");
  BOOST_TEST(complaint_about({.queues = {"*", "*"}}) ==
             "--queue: \"*\" takes every queue that no other entry names, and may stand there once");
  BOOST_TEST(complaint_about({.require = {""}}) == "--require: must not be empty");
  BOOST_TEST(complaint_about({.shutdown_timeout = "soon"}) ==
             "--timeout: must be a duration such as \"25s\", \"2m\" or \"1h30m\", not \"soon\"");
  BOOST_TEST(complaint_about({.shutdown_timeout = "0"}) == "--timeout: must be longer than 0");
  BOOST_TEST(complaint_about({.redis_url = "localhost"}) ==
             "--redis: must begin with redis://, rediss://, unix://, sentinel:// or cluster://, or be \"embedded\"");
  BOOST_TEST(complaint_about({.log_format = "xml"}) == "--log-format: must be \"text\" or \"json\", not \"xml\"");
}

BOOST_AUTO_TEST_CASE(the_environment_is_the_one_that_sidekiq_would_take) {
  setenv("RACK_ENV", "rack", 1);
  BOOST_TEST(load("").environment == "rack");
  setenv("RAILS_ENV", "rails", 1);
  BOOST_TEST(load("").environment == "rails");
  setenv("APP_ENV", "app", 1);
  BOOST_TEST(load("").environment == "app");
  BOOST_TEST(load("environment = 'file'").environment == "file");
  setenv("APP_ENV", "<b>", 1);
  BOOST_TEST(complaint_about({}) == "APP_ENV: \"<b>\" must be made of letters, digits and _ . : @ / - (at most 255)");
  for (const char* const name : {"APP_ENV", "RAILS_ENV", "RACK_ENV"}) unsetenv(name);
}
