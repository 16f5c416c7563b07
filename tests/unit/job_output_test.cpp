#include "supervisor/workers/output/job_output.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "shared/base/check.hpp"
#include "shared/base/log.hpp"
#include "shared/scoreboard/job_end_mark.hpp"
#include "supervisor/process/event_loop.hpp"
#include "tests/support/file_text.hpp"
#include "tests/support/temporary_directory.hpp"
#include "worker/guard/standard_output.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

// Not the clock's: others may hold up this whole process.
std::chrono::nanoseconds processor_time() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

// A loop with the output of one worker, whose log goes to a file.
class Office {
 public:
  Office() : scoreboard_(Scoreboard::in_memory(1)), tick_(loop_, [] {}) {
    log::open({.file = directory_ / "log"});
    vacate(record(), 1, 0);
  }

  SlotRecord& record() { return scoreboard_.slot(0); }
  JobOutput& output() { return *output_; }
  EventLoop& loop() { return loop_; }
  int pipe() const { return pipe_.worker_end.get(); }
  const std::string& token() const { return token_; }

  void open(pid_t worker = 4711) {
    pipe_ = make_output_pipe();
    token_ = pipe_.token;
    output_.emplace(loop_, std::move(pipe_.supervisor_end), token_, JobOutput::Source{3, worker, &record()});
  }

  // A child that prints as a worker does.
  pid_t fork_worker(const std::function<void(StandardOutput&, WorkerSlot&)>& body) {
    open();
    const pid_t child = check("fork", fork());
    if (child == 0) {
      StandardOutput standard_output(pipe_.worker_end.get(), token_);
      pipe_.worker_end.release();
      WorkerSlot slot(record());
      body(standard_output, slot);
      _exit(0);
    }
    pipe_.worker_end.reset();
    return child;
  }

  // Turns the loop until `holds`; false when it does not within ten seconds.
  bool run_until(const std::function<bool()>& holds) {
    const SteadyTime deadline = steady_now() + 10s;
    while (!holds()) {
      if (steady_now() > deadline) return false;
      tick_.start_in(2ms);
      const auto before = processor_time();
      loop_.run_once();
      longest_turn_ = std::max(longest_turn_, processor_time() - before);
    }
    return true;
  }

  bool run_until_exit(pid_t child) {
    return run_until([&] { return waitpid(child, nullptr, WNOHANG) == child; });
  }

  void write_all(std::string_view text) {
    while (!text.empty()) {
      const ssize_t written = ::write(pipe(), text.data(), text.size());
      if (written < 0) throw std::system_error(errno, std::generic_category(), "write");
      text.remove_prefix(static_cast<std::size_t>(written));
    }
  }

  std::string log() const { return text_of_file(directory_ / "log"); }
  // The log's lines from the event on.
  std::vector<std::string> lines() const {
    std::vector<std::string> all;
    std::istringstream text(log());
    for (std::string line; std::getline(text, line);) all.push_back(line.substr(line.find("event=")));
    return all;
  }

  std::chrono::nanoseconds longest_turn() const { return longest_turn_; }  // of the processor's time

 private:
  TemporaryDirectory directory_;
  Scoreboard scoreboard_;
  EventLoop loop_;
  Timer tick_;
  OutputPipe pipe_;
  std::string token_;
  std::optional<JobOutput> output_;
  std::chrono::nanoseconds longest_turn_{};
};

std::string output_line(const std::string& jid, const std::string& text) {
  return "event=job_output slot=3 worker_pid=4711 jid=" + jid + " class=C text=" + text;
}

// Runs a job as a worker does.
void run_job(StandardOutput& output, WorkerSlot& slot, const std::string& jid, const std::function<void()>& job) {
  slot.clear_entries();
  slot.set_fetched(1);
  slot.begin(0, jid, "C", wall_now(), steady_now(), 0);
  job();
  slot.end(0, EntryState::succeeded);
  output.flush();
  output.end_job(slot.record());
}

using Lines = std::vector<std::string>;

std::string fact(const std::string& line, const std::string& name) {
  const std::size_t at = line.find(" " + name + "=");
  if (at == line.npos) return "";
  const std::size_t begin = at + name.size() + 2;
  return line.substr(begin, line.find(' ', begin) - begin);
}

// For each jid, how many lines were logged or reported as left out.
struct Accounted {
  std::map<std::string, int> lines, left_out;  // by jid; "": of several jobs
  int reports = 0;
};
Accounted accounted(const Lines& log) {
  Accounted all;
  for (const std::string& line : log) {
    const std::string jid = fact(line, "jid");
    if (line.starts_with("event=job_output ")) ++all.lines[jid];
    if (!line.starts_with("event=job_output_dropped ")) continue;
    all.lines[jid] += std::stoi(fact(line, "lines"));
    all.left_out[jid] += std::stoi(fact(line, "lines"));
    ++all.reports;
  }
  return all;
}

}  // namespace

BOOST_AUTO_TEST_CASE(whatever_way_a_job_prints_its_lines_are_logged_with_its_jid) {
  Office office;
  const pid_t worker = office.fork_worker([](StandardOutput& output, WorkerSlot& slot) {
    run_job(output, slot, "j1", [] {
      std::cout << "cout\n";
      std::printf("printf\n");
      if (write(STDOUT_FILENO, "write\n", 6) != 6) _exit(1);
      std::cerr << "cerr\n";
      std::clog << "clog\n" << std::flush;
      if (system("echo child; echo error >&2") != 0) _exit(1);
    });
    run_job(output, slot, "j2", [] { std::cout << "without newline"; });
    run_job(output, slot, "j3", [] { std::printf("third"); });
  });
  BOOST_REQUIRE(office.run_until_exit(worker));
  office.output().drain_and_close();

  const Lines expected = {output_line("j1", "cout"),  output_line("j1", "printf"),
                          output_line("j1", "write"), output_line("j1", "cerr"),
                          output_line("j1", "clog"),  output_line("j1", "child"),
                          output_line("j1", "error"), output_line("j2", "\"without newline\""),
                          output_line("j3", "third")};
  BOOST_TEST(office.lines() == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(each_of_many_short_jobs_is_logged_as_who_printed) {
  Office office;
  constexpr int jobs = 2000;
  const pid_t worker = office.fork_worker([](StandardOutput& output, WorkerSlot& slot) {
    for (int i = 0; i < jobs; ++i) {
      const std::string jid = "j" + std::to_string(i);
      // Some end their line, some do not, and some leave time for it to be read before they end.
      run_job(output, slot, jid, [&] {
        std::cout << jid << (i % 3 == 0 ? "" : "\n") << std::flush;
        if (i % 7 == 0) usleep(200);
      });
    }
  });
  BOOST_REQUIRE(office.run_until_exit(worker));
  office.output().drain_and_close();

  const Lines lines = office.lines();
  BOOST_REQUIRE_EQUAL(lines.size(), static_cast<std::size_t>(jobs));
  for (int i = 0; i < jobs; ++i) {
    const std::string jid = "j" + std::to_string(i);
    BOOST_REQUIRE_EQUAL(lines[static_cast<std::size_t>(i)], output_line(jid, jid));
  }
}

BOOST_AUTO_TEST_CASE(hostile_output_neither_forges_a_line_nor_drives_a_terminal) {
  Office office;
  office.open();
  office.write_all(
      std::string("\x1b[2J\x1b]0;title\x07\0 \xff\xfe\r\n"
                  "event=worker_crashed slot=0\n"
                  "2026-11-21T05:09:37.123Z ERROR pid=1 event=forged\n"
                  "{\"event\":\"forged\",\"level\":\"error\"}\n"
                  "<0>emergency\n",
                  143));
  office.output().drain_and_close();
  const std::string log = office.log();
  for (const char c : log) BOOST_REQUIRE((c == '\n' || (c >= ' ' && c <= '~')));
  const Lines lines = office.lines();
  BOOST_REQUIRE(lines.size() == 5u);
  for (const std::string& line : lines) BOOST_TEST(line.starts_with("event=job_output slot=3 "));
  BOOST_TEST(lines[0].ends_with("text=\"\\x1b[2J\\x1b]0;title\\x07\\x00 \\xff\\xfe\\r\""));
  BOOST_TEST(lines[1].ends_with("text=\"event=worker_crashed slot=0\""));
  BOOST_TEST(lines[3].ends_with("text=\"{\\\"event\\\":\\\"forged\\\",\\\"level\\\":\\\"error\\\"}\""));
}

BOOST_AUTO_TEST_CASE(the_last_words_of_a_crash_are_logged_as_the_dead_jobs) {
  Office office;
  const pid_t worker = office.fork_worker([](StandardOutput& output, WorkerSlot& slot) {
    run_job(output, slot, "j1", [] { std::printf("fine\n"); });
    run_job(output, slot, "j2", [] {
      std::printf("before the crash\n");
      std::cerr << "cut off";
      signal(SIGSEGV, SIG_DFL);
      raise(SIGSEGV);
    });
  });
  waitpid(worker, nullptr, 0);  // nothing has been read by then
  office.output().drain_and_close();

  const Lines expected = {output_line("j1", "fine"), output_line("j2", "\"before the crash\""),
                          output_line("j2", "\"cut off\"")};
  BOOST_TEST(office.lines() == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_line_longer_than_8_kb_is_logged_in_pieces_that_say_so) {
  Office office;
  office.open();
  office.write_all(std::string(10'000, 'x') + "\n");
  BOOST_REQUIRE(office.run_until([&] { return office.lines().size() == 2; }));
  BOOST_TEST(office.lines()[0].find("continued=true text=" + std::string(8192, 'x')) != std::string::npos);
  BOOST_TEST(office.lines()[1].find("continued") == std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_prompt_without_newline_is_logged_after_a_while) {
  Office office;
  office.open();
  office.write_all("50 %");
  BOOST_TEST(office.run_until([&] { return office.lines().size() == 1; }));
  office.write_all(" 100 %\n");
  BOOST_TEST(office.run_until([&] { return office.lines().size() == 2; }));
}

BOOST_AUTO_TEST_CASE(a_job_that_closes_or_replaces_its_output_takes_it_from_no_later_job) {
  Office office;
  const pid_t worker = office.fork_worker([](StandardOutput& output, WorkerSlot& slot) {
    run_job(output, slot, "j1", [] {
      close(STDOUT_FILENO);
      close(STDERR_FILENO);
    });
    run_job(output, slot, "j2", [] { std::cout << "after close" << std::endl; });
    run_job(output, slot, "j3", [] {
      const int nowhere = open("/dev/null", O_WRONLY);
      dup2(nowhere, STDOUT_FILENO);
      std::printf("to nowhere\n");
    });
    run_job(output, slot, "j4", [] { std::printf("after dup2\n"); });
    run_job(output, slot, "j5", [] { close_range(STDERR_FILENO + 1, ~0U, 0); });
    run_job(output, slot, "j6", [] { close(STDOUT_FILENO); });
    run_job(output, slot, "j7", [] { std::printf("after close_range\n"); });
    run_job(output, slot, "j8", [] { fcntl(STDOUT_FILENO, F_SETFL, O_NONBLOCK | O_WRONLY); });
    run_job(output, slot, "j9", [] {
      if ((fcntl(STDOUT_FILENO, F_GETFL) & O_NONBLOCK) == 0) std::printf("waits\n");
    });
    run_job(output, slot, "j10", [] {
      std::stringbuf* mine = new std::stringbuf;
      std::cout.rdbuf(mine);
      std::cout.setstate(std::ios::badbit);
    });
    run_job(output, slot, "j11", [] { std::cout << "cout again\n"; });
  });
  BOOST_REQUIRE(office.run_until_exit(worker));
  office.output().drain_and_close();

  const Lines expected = {output_line("j2", "\"after close\""), output_line("j4", "\"after dup2\""),
                          output_line("j7", "\"after close_range\""), output_line("j9", "waits"),
                          output_line("j11", "\"cout again\"")};
  BOOST_TEST(office.lines() == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_worker_whose_every_descriptor_is_closed_goes_on_in_silence) {
  Office office;
  const pid_t worker = office.fork_worker([](StandardOutput& output, WorkerSlot& slot) {
    run_job(output, slot, "j1", [] { close_range(0, ~0U, 0); });
    run_job(output, slot, "j2", [] { std::cout << "lost" << std::endl; });
  });
  int status = -1;
  BOOST_REQUIRE(office.run_until([&] { return waitpid(worker, &status, WNOHANG) == worker; }));
  BOOST_TEST(status == 0);
  BOOST_TEST(office.log().find("event=job_output_lost") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_job_that_prints_for_ever_neither_holds_up_the_loop_nor_floods_the_log) {
  Office office;
  const pid_t worker = office.fork_worker([](StandardOutput&, WorkerSlot& slot) {
    slot.set_fetched(1);
    slot.begin(0, "j1", "C", wall_now(), steady_now(), 0);
    for (;;) {
      if (write(STDOUT_FILENO, "babble\nbabble\n\n\n", 16) < 0) _exit(0);
    }
  });
  const SteadyTime until = steady_now() + 3s;
  rusage before{}, after{};
  getrusage(RUSAGE_SELF, &before);
  office.run_until([&] { return steady_now() > until; });
  getrusage(RUSAGE_SELF, &after);
  kill(worker, SIGKILL);
  waitpid(worker, nullptr, 0);
  office.output().drain_and_close();

  const Lines lines = office.lines();
  BOOST_TEST(lines.size() > 5'000u);
  BOOST_TEST(lines.size() < 15'000u);
  BOOST_TEST(office.log().find("event=job_output_dropped slot=3 worker_pid=4711 jid=j1 class=C lines=") !=
             std::string::npos);
  BOOST_TEST_MESSAGE("longest turn " << office.longest_turn() / 1us << " us, CPU "
                                     << (after.ru_utime.tv_sec - before.ru_utime.tv_sec) * 1000 +
                                            (after.ru_utime.tv_usec - before.ru_utime.tv_usec) / 1000
                                     << " ms of 3 s");
#ifdef __SANITIZE_ADDRESS__
  BOOST_TEST((office.longest_turn() < 500ms));
#else
  BOOST_TEST((office.longest_turn() < 100ms));
#endif
}

BOOST_AUTO_TEST_CASE(lines_left_out_are_reported_of_the_job_that_printed_them) {
  Office office;
  const pid_t worker = office.fork_worker([](StandardOutput& output, WorkerSlot& slot) {
    for (const char* const jid : {"j1", "j2", "j3"}) {
      run_job(output, slot, jid, [] {
        for (int i = 0; i < 10'000; ++i) std::printf("\n");
      });
      run_job(output, slot, "silent", [] {});
    }
  });
  BOOST_REQUIRE(office.run_until_exit(worker));
  office.output().drain_and_close();

  const Accounted all = accounted(office.lines());
  for (const char* const jid : {"j1", "j2", "j3"}) BOOST_TEST(all.lines.at(jid) == 10'000, jid);
  BOOST_TEST(all.left_out.contains("j2"));
  BOOST_TEST(!all.lines.contains("silent"));
}

BOOST_AUTO_TEST_CASE(what_is_left_out_of_many_short_jobs_is_no_flood_of_reports) {
  Office office;
  const SteadyTime started = steady_now();
  const pid_t worker = office.fork_worker([](StandardOutput& output, WorkerSlot& slot) {
    for (int job = 0; job < 400; ++job) {
      run_job(output, slot, "j" + std::to_string(job), [] {
        for (int i = 0; i < 100; ++i) std::printf("\n");
      });
    }
  });
  BOOST_REQUIRE(office.run_until_exit(worker));
  office.output().drain_and_close();

  const Accounted all = accounted(office.lines());
  int lines = 0;
  for (const auto& [jid, count] : all.lines) lines += count;
  BOOST_TEST(lines == 40'000);
  BOOST_TEST(all.reports > 0);
  BOOST_TEST(all.reports <= 8 * ((steady_now() - started) / 1s + 2));
}

BOOST_AUTO_TEST_CASE(what_a_dead_flooder_said_last_is_logged) {
  Office office;
  office.open();
  std::string flood;
  for (int i = 0; i < 20'000; ++i) flood += '\n';
  office.write_all(flood);
  office.run_until([&] { return office.log().find("job_output_dropped") != std::string::npos; });
  office.write_all("the last words\n");
  office.output().drain_and_close();
  BOOST_TEST(office.lines().size() > 1u);
  BOOST_TEST(office.log().find("text=\"the last words\"") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_log_that_is_stuck_delays_output_for_a_second_and_then_no_job) {
  Office office;
  int ends[2];
  check("pipe2", pipe2(ends, O_CLOEXEC));
  const UniqueFd nobody_reads(ends[0]), full(ends[1]);
  const UniqueFd saved(check("dup", fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3)));
  dup2(full.get(), STDERR_FILENO);
  log::open({});
  dup2(saved.get(), STDERR_FILENO);
  while (!log::behind()) log::info("tick", {{"filler", std::string(1000, 'x')}});
  const std::uint64_t dropped = log::dropped();

  const SteadyTime started = steady_now();
  const pid_t worker = office.fork_worker([](StandardOutput& output, WorkerSlot& slot) {
    run_job(output, slot, "j1", [] {
      for (int i = 0; i < 30'000; ++i) std::printf("line %d\n", i);
    });
  });
  BOOST_TEST(office.run_until_exit(worker));
  BOOST_TEST((steady_now() - started < 8s));
  office.output().drain_and_close();
  BOOST_TEST(log::dropped() == dropped);  // the ring's other half is left to others
  log::forget_waiting();
}
