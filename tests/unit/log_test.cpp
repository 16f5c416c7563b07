#include "shared/base/log.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <string>

#include "shared/base/check.hpp"
#include "shared/base/log_line.hpp"
#include "shared/base/unique_fd.hpp"
#include "tests/support/file_text.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

const WallTime some_time = WallTime(std::chrono::seconds(1795237777)) + 123ms;

std::string text_line(std::initializer_list<log::Fact> facts, log::Options options = {}) {
  return log::format_line(options, log::Level::info, some_time, 4711, "worker_crashed", facts);
}

std::string json_line(std::initializer_list<log::Fact> facts) {
  return text_line(facts, {.format = log::Format::json});
}

class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string name = (std::filesystem::temp_directory_path() / "brood-log-XXXXXX").string();
    if (!mkdtemp(name.data())) throw std::system_error(errno, std::generic_category(), "mkdtemp");
    path_ = name;
  }
  ~TemporaryDirectory() { std::filesystem::remove_all(path_); }
  std::string file(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

// Standard error replaced for as long as it lives.
class StandardError {
 public:
  explicit StandardError(int fd) : saved_(check("dup", dup(STDERR_FILENO))) { check("dup2", dup2(fd, STDERR_FILENO)); }
  ~StandardError() { dup2(saved_.get(), STDERR_FILENO); }

 private:
  UniqueFd saved_;
};

struct Pipe {
  Pipe() {
    int fds[2];
    check("pipe2", pipe2(fds, O_CLOEXEC));
    read_end.reset(fds[0]);
    write_end.reset(fds[1]);
  }
  // All that is in the pipe now.
  std::string drain() {
    fcntl(read_end.get(), F_SETFL, O_NONBLOCK);
    std::string all;
    char chunk[4096];
    for (ssize_t n; (n = read(read_end.get(), chunk, sizeof chunk)) > 0;)
      all.append(chunk, static_cast<std::size_t>(n));
    return all;
  }
  UniqueFd read_end, write_end;
};

std::size_t lines(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_text_line_is_time_level_pid_event_and_facts) {
  BOOST_TEST(text_line({{"slot", 3}, {"status", "killed by SIGSEGV"}, {"busy", true}, {"load", 0.5}}) ==
             "2026-11-21T05:09:37.123Z INFO pid=4711 event=worker_crashed slot=3 status=\"killed by SIGSEGV\" "
             "busy=true load=0.5\n");
}

BOOST_AUTO_TEST_CASE(values_are_quoted_only_when_they_must_be) {
  BOOST_TEST(
      text_line({{"a", "plain"}, {"b", ""}, {"c", "x=y"}, {"d", "say \"hi\""}, {"e", "back\\slash"}},
                {.journald = true}) ==
      "<6>INFO pid=4711 event=worker_crashed a=plain b=\"\" c=\"x=y\" d=\"say \\\"hi\\\"\" e=\"back\\\\slash\"\n");
}

BOOST_AUTO_TEST_CASE(a_hostile_value_can_neither_forge_a_line_nor_drive_a_terminal) {
  const std::string hostile =
      "x\n2026 ERROR event=forged\r\t\x1b]0;title\x07\x7f\xc2\x9b"
      "31m\xe2\x80\xae\xff\xc3(";
  const std::string text = text_line({{"job", hostile}}, {.journald = true});
  BOOST_TEST(
      text ==
      "<6>INFO pid=4711 event=worker_crashed job=\"x\\n2026 ERROR event=forged\\r\\t\\x1b]0;title\\x07\\x7f\\u009b"
      "31m\\u202e\\xff\\xc3(\"\n");
  BOOST_TEST(json_line({{"job", hostile}}) ==
             "{\"ts\":\"2026-11-21T05:09:37.123Z\",\"level\":\"info\",\"pid\":4711,\"event\":\"worker_crashed\","
             "\"job\":\"x\\n2026 ERROR "
             "event=forged\\r\\t\\u001b]0;title\\u0007\\u007f\\u009b31m\\u202e\xef\xbf\xbd\xef\xbf\xbd(\"}\n");
}

BOOST_AUTO_TEST_CASE(well_formed_utf8_is_kept_and_surrogates_and_overlong_forms_are_not) {
  BOOST_TEST(text_line({{"a", "grün € 😀"}}, {.journald = true}) ==
             "<6>INFO pid=4711 event=worker_crashed a=\"grün € 😀\"\n");
  BOOST_TEST(text_line({{"a", "\xed\xa0\x80"}, {"b", "\xc0\xaf"}, {"c", "\xf4\x90\x80\x80"}, {"d", "\xe2\x82"}},
                       {.journald = true}) ==
             "<6>INFO pid=4711 event=worker_crashed a=\"\\xed\\xa0\\x80\" b=\"\\xc0\\xaf\" c=\"\\xf4\\x90\\x80\\x80\" "
             "d=\"\\xe2\\x82\"\n");
}

BOOST_AUTO_TEST_CASE(a_very_long_value_is_cut_at_a_character) {
  const std::string line =
      text_line({{"message", std::string(16 * 1024 - 1, 'a') + "é" + std::string(1'000'000, 'b')}});
  BOOST_TEST(line.size() < 17 * 1024);
  BOOST_TEST(line.ends_with("aaa...\"\n"));
}

BOOST_AUTO_TEST_CASE(json_keeps_numbers_and_booleans_bare_and_everything_else_a_string) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  BOOST_TEST(json_line({{"slot", 3}, {"load", 1.5}, {"nan", nan}, {"busy", false}, {"jid", "12"}, {"pid", 5}}) ==
             "{\"ts\":\"2026-11-21T05:09:37.123Z\",\"level\":\"info\",\"pid\":4711,\"event\":\"worker_crashed\","
             "\"slot\":3,\"load\":1.5,\"nan\":\"nan\",\"busy\":false,\"jid\":\"12\",\"pid_\":5}\n");
}

BOOST_AUTO_TEST_CASE(json_has_durations_as_numbers_beside_their_texts) {
  BOOST_TEST(
      json_line({{"refill_in", "1500ms"}, {"uptime", "12m"}, {"took", "1.4s"}})
          .find(
              R"("refill_in":"1500ms","refill_in_s":1.500,"uptime":"12m","uptime_s":720.000,"took":"1.4s","took_s":1.400)") !=
      std::string::npos);
  BOOST_TEST(json_line({{"class", "5m"}, {"after", "a while"}}).find("_s\"") == std::string::npos);
}

BOOST_AUTO_TEST_CASE(whatever_acts_on_a_terminal_is_escaped_in_text_and_in_json) {
  const auto acts = [](unsigned c) {
    return c < 0x20 || (c >= 0x7f && c <= 0x9f) || c == 0x61c || c == 0x200e || c == 0x200f ||
           (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
  };
  for (unsigned c = 1; c < 0x3000; ++c) {
    std::string character;
    if (c < 0x80) {
      character = static_cast<char>(c);
    } else if (c < 0x800) {
      character = {static_cast<char>(0xc0 | c >> 6), static_cast<char>(0x80 | (c & 0x3f))};
    } else {
      character = {static_cast<char>(0xe0 | c >> 12), static_cast<char>(0x80 | (c >> 6 & 0x3f)),
                   static_cast<char>(0x80 | (c & 0x3f))};
    }
    BOOST_TEST((log::printable(character) != character) == acts(c), "U+" << c << " in text");
    const bool is_white_space = c == '\n' || c == '\r' || c == '\t';  // between values
    BOOST_TEST((log::printable_json(character) != character) == (acts(c) && !is_white_space), "U+" << c << " in JSON");
  }
  BOOST_TEST(log::printable_json("[\"\xc2\x9b\xe2\x80\xae\x7f\"]\n") == "[\"\\u009b\\u202e\\u007f\"]\n");
}

BOOST_AUTO_TEST_CASE(colour_touches_the_level_alone) {
  BOOST_TEST(text_line({}, {.colour = true}) ==
             "2026-11-21T05:09:37.123Z \x1b[32mINFO\x1b[0m pid=4711 event=worker_crashed\n");
}

BOOST_AUTO_TEST_CASE(lines_go_to_a_file_and_to_its_successor_after_reopen) {
  const TemporaryDirectory directory;
  log::open({.level = log::Level::info, .file = directory.file("log")});
  log::info("one");
  log::debug("hidden");
  std::filesystem::rename(directory.file("log"), directory.file("log.1"));
  log::reopen();
  log::error("three");

  BOOST_TEST(lines(text_of_file(directory.file("log.1"))) == 1u);
  BOOST_TEST(text_of_file(directory.file("log")).find("ERROR pid=" + std::to_string(getpid()) + " event=three") !=
             std::string::npos);
  struct stat status {};
  BOOST_TEST(stat(directory.file("log").c_str(), &status) == 0);
  BOOST_TEST((status.st_mode & 07) == 0u);
}

BOOST_AUTO_TEST_CASE(a_file_that_was_moved_away_is_followed_by_its_successor_in_each_process) {
  const TemporaryDirectory directory;
  const std::string file = directory.file("log"), moved = directory.file("log.1");
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(directory.file(""));
  log::open({.file = "log"});
  std::filesystem::current_path(before);  // as a job may do it
  log::info("one");

  std::filesystem::rename(file, moved);
  const pid_t child = fork();
  if (child == 0) {
    log::info("two");
    _exit(0);
  }
  waitpid(child, nullptr, 0);
  log::info("three");

  BOOST_TEST(lines(text_of_file(moved)) == 1u);
  BOOST_TEST(text_of_file(file).find("event=two") != std::string::npos, text_of_file(file));
  BOOST_TEST(text_of_file(file).find("event=three") != std::string::npos, text_of_file(file));
  BOOST_TEST(!std::filesystem::exists(before / "log"));
}

// A worker's standard error is not its supervisor's.
BOOST_AUTO_TEST_CASE(a_name_that_means_something_else_in_another_process_is_not_followed) {
  const TemporaryDirectory directory;
  const std::string one = directory.file("one"), two = directory.file("two");
  const UniqueFd first(::open(one.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  const UniqueFd second(::open(two.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  {
    const StandardError replaced(first.get());
    log::open({.file = "/dev/stderr"});
    const StandardError again(second.get());
    log::info("one");
  }
  BOOST_TEST(lines(text_of_file(one)) == 1u);
  BOOST_TEST(text_of_file(two).empty());
}

BOOST_AUTO_TEST_CASE(where_the_successor_cannot_be_opened_the_old_file_says_so_once) {
  const TemporaryDirectory directory;
  const std::string file = directory.file("log"), moved = directory.file("log.1");
  log::open({.file = file});
  std::filesystem::rename(file, moved);
  std::filesystem::create_directory(file);

  log::info("one");
  log::info("two");
  std::filesystem::remove(file);
  log::info("three");

  const std::string old = text_of_file(moved);
  BOOST_TEST(lines(old) == 3u, old);
  BOOST_TEST(old.find("event=log_not_reopened reason=") != std::string::npos, old);
  BOOST_TEST(lines(text_of_file(file)) == 1u, text_of_file(file));
}

BOOST_AUTO_TEST_CASE(a_file_that_cannot_be_opened_is_reported_and_the_old_one_stays_in_use) {
  const TemporaryDirectory directory;
  BOOST_CHECK_THROW(log::open({.file = directory.file("missing/log")}), std::system_error);
  std::filesystem::create_directory(directory.file("d"));
  log::open({.file = directory.file("d/log")});
  std::filesystem::rename(directory.file("d"), directory.file("e"));
  BOOST_CHECK_THROW(log::reopen(), std::system_error);
  log::info("still_here");
  BOOST_TEST(text_of_file(directory.file("e/log")).find("event=still_here") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_full_pipe_without_a_reader_delays_no_writer_and_what_does_not_fit_is_counted_and_reported) {
  Pipe pipe;
  const StandardError replaced(pipe.write_end.get());
  log::open({});
  const std::uint64_t dropped_before = log::dropped();
  constexpr int written = 5'000;  // 100 bytes each: more than the pipe's 64 KiB and the ring's 256 KiB together
  for (int i = 0; i < written; ++i) log::info("tick", {{"n", i}, {"filler", std::string(60, 'x')}});

  const std::uint64_t dropped = log::dropped() - dropped_before;
  BOOST_TEST(dropped > 0u);
  BOOST_TEST((fcntl(STDERR_FILENO, F_GETFL) & O_NONBLOCK) == 0);
  BOOST_TEST(log::waiting_descriptor() >= 0);

  std::string all;
  while (log::waiting_descriptor() >= 0) {
    all += pipe.drain();
    log::flush();
  }
  all += pipe.drain();
  BOOST_TEST(lines(all) == written - dropped + 1);
  BOOST_TEST(all.find("event=log_lines_dropped lines=" + std::to_string(dropped) + "\n") != std::string::npos);
  BOOST_TEST(all.find("n=0 ") < all.find("n=1 "));
}

BOOST_AUTO_TEST_CASE(a_file_that_cannot_be_written_is_told_of_on_standard_error) {
  Pipe pipe;
  const StandardError replaced(pipe.write_end.get());
  log::open({.file = "/dev/full"});
  const std::uint64_t dropped_before = log::dropped();
  log::info("tick");
  log::info("tick");

  BOOST_TEST(log::trouble() == "No space left on device");
  BOOST_TEST(log::dropped() - dropped_before == 2u);
  const std::string told = pipe.drain();
  BOOST_TEST(lines(told) == 1u);
  BOOST_TEST(told.find("event=log_not_written file=/dev/full reason=\"No space left on device\"") != std::string::npos,
             told);

  const TemporaryDirectory directory;
  log::open({.file = directory.file("log")});
  log::info("tick");
  BOOST_TEST(log::trouble() == "");
}

BOOST_AUTO_TEST_CASE(the_log_is_behind_while_more_than_half_its_ring_waits) {
  Pipe pipe;
  const StandardError replaced(pipe.write_end.get());
  log::open({});
  while (log::waiting_descriptor() < 0) log::info("tick");
  BOOST_TEST(!log::behind());
  for (int i = 0; i < 2'000; ++i) log::info("tick", {{"filler", std::string(60, 'x')}});
  BOOST_TEST(log::behind());
  while (log::waiting_descriptor() >= 0) {
    pipe.drain();
    log::flush();
  }
  BOOST_TEST(!log::behind());
}

BOOST_AUTO_TEST_CASE(a_child_that_keeps_the_descriptor_logs_there_whatever_becomes_of_its_standard_error) {
  Pipe ours, of_the_job;
  const StandardError replaced(ours.write_end.get());
  log::open({});
  BOOST_TEST(log::descriptor() > STDERR_FILENO);
  BOOST_TEST((fcntl(log::descriptor(), F_GETFD) & FD_CLOEXEC) != 0);
  const pid_t child = check("fork", fork());
  if (child == 0) {
    dup2(of_the_job.write_end.get(), STDERR_FILENO);
    log::info("to_the_log");
    close(log::descriptor());
    log::info("to_what_is_left");
    _exit(0);
  }
  waitpid(child, nullptr, 0);
  const std::string logged = ours.drain(), left = of_the_job.drain();
  BOOST_TEST(logged.find("event=to_the_log\n") != std::string::npos);
  BOOST_TEST(lines(logged) == 1u);
  BOOST_TEST(left.find("event=to_what_is_left\n") != std::string::npos);
  BOOST_TEST(lines(left) == 1u);
}

BOOST_AUTO_TEST_CASE(a_full_socket_delays_no_writer) {
  int fds[2];
  check("socketpair", socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds));
  const UniqueFd ours(fds[0]), theirs(fds[1]);
  const StandardError replaced(ours.get());
  log::open({.journald = true});
  while (log::waiting_descriptor() < 0) log::info("tick");
  char prefix[3];
  BOOST_TEST(read(theirs.get(), prefix, sizeof prefix) == 3);
  BOOST_TEST(std::string_view(prefix, 3) == "<6>");
  log::forget_waiting();
  BOOST_TEST(log::waiting_descriptor() == -1);
}

BOOST_AUTO_TEST_CASE(a_reader_that_went_away_costs_the_lines_and_nothing_else) {
  signal(SIGPIPE, SIG_IGN);
  Pipe pipe;
  const StandardError replaced(pipe.write_end.get());
  log::open({});
  const std::uint64_t before = log::dropped();
  pipe.read_end.reset();
  log::info("nobody_reads");
  BOOST_TEST(log::dropped() == before + 1);
  BOOST_TEST(log::waiting_descriptor() == -1);
}

BOOST_AUTO_TEST_CASE(a_descriptor_that_was_closed_behind_our_back_is_opened_again_and_its_number_left_alone) {
  const TemporaryDirectory directory;
  log::open({.file = directory.file("log")});
  log::info("before");
  for (int fd = 3; fd < 64; ++fd) {
    struct stat status {
    }, log_status{};
    if (fstat(fd, &status) != 0 || stat(directory.file("log").c_str(), &log_status) != 0 ||
        status.st_ino != log_status.st_ino)
      continue;
    const UniqueFd other(check("open", open(directory.file("other").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)));
    check("dup2", dup2(other.get(), fd));
  }
  log::info("after");
  BOOST_TEST(text_of_file(directory.file("log")).find("event=after") != std::string::npos);
  BOOST_TEST(text_of_file(directory.file("other")).empty());
}

BOOST_AUTO_TEST_CASE(lines_appended_to_a_redirected_standard_error_keep_its_offset) {
  const TemporaryDirectory directory;
  const UniqueFd file(check("open", open(directory.file("err").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600)));
  const StandardError replaced(file.get());
  BOOST_TEST(write(STDERR_FILENO, "job output\n", 11) == 11);
  log::open({});
  log::info("tick");
  BOOST_TEST(write(STDERR_FILENO, "more\n", 5) == 5);
  const std::string all = text_of_file(directory.file("err"));
  BOOST_TEST(all.starts_with("job output\n"));
  BOOST_TEST(all.ends_with("event=tick\nmore\n"));
}

BOOST_AUTO_TEST_CASE(the_journal_is_recognised_by_device_and_inode) {
  struct stat status {};
  check("fstat", fstat(STDERR_FILENO, &status));
  setenv("JOURNAL_STREAM", fmt::format("{}:{}", status.st_dev, status.st_ino).c_str(), 1);
  BOOST_TEST(log::standard_error_is_the_journal());
  setenv("JOURNAL_STREAM", "8:12345", 1);
  BOOST_TEST(!log::standard_error_is_the_journal());
  unsetenv("JOURNAL_STREAM");
  BOOST_TEST(!log::standard_error_is_the_journal());
}

BOOST_AUTO_TEST_CASE(what_stands_in_every_line_gives_way_to_what_a_line_has) {
  BOOST_TEST(log::set_standing_fact("user", "41"));
  BOOST_TEST(log::set_standing_fact("user", "42"));
  BOOST_TEST(log::set_standing_fact("slot", "of a job"));
  BOOST_TEST(log::set_standing_fact("long", std::string(2'000, 'x')));
  const auto line = [](const log::Options& options) {
    return log::format_line(options, log::Level::info, some_time, 4711, "one", {{"slot", 3}}, log::standing_facts());
  };
  BOOST_TEST(line({}).find("event=one slot=3 user=42 long=xxx") != std::string::npos, line({}));
  BOOST_TEST(line({}).find("of a job") == std::string::npos);
  BOOST_TEST(line({}).size() < 1'200U);
  BOOST_TEST(line({.format = log::Format::json}).find(R"("slot":3,"user":"42","long":"xxx)") != std::string::npos);

  for (const std::string name : {"", "pid", "event", "two words", "a=b", "a\nb"})
    BOOST_TEST(!log::set_standing_fact(name, "1"), name);
  BOOST_TEST(!log::set_standing_fact(std::string(65, 'a'), "1"));
  for (int i = 0; i < 13; ++i) BOOST_TEST(log::set_standing_fact("n" + std::to_string(i), "1"));
  BOOST_TEST(!log::set_standing_fact("seventeenth", "1"));
  log::clear_standing_facts();
  BOOST_TEST(line({}).ends_with("event=one slot=3\n"), line({}));
}
