#include "tests/lifecycle/isolated_server.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/brood_process.hpp"
#include "tests/support/enqueue.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/faults.hpp"
#include "tests/support/file_text.hpp"

using namespace brood;
using namespace brood::isolation_tests;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_CASE(each_isolated_job_finds_the_memory_as_no_job_has_touched_it) {
  Server server;
  for (int i = 1; i <= 3; ++i) server.push("CountInWorker", i);
  BOOST_REQUIRE_MESSAGE(server.has_lines(3), server.brood.log_tail());
  for (int i = 4; i <= 8; ++i) server.push("Count", i);
  BOOST_REQUIRE_MESSAGE(server.has_lines(8), server.brood.log_tail());
  BOOST_TEST(server.is_settled());

  std::set<std::string> pids;
  const std::string worker = std::to_string(server.worker());
  for (int i = 0; i < 8; ++i) {
    const std::string line = server.lines()[static_cast<std::size_t>(i)];
    BOOST_TEST(word_of(line, 0) == (i < 3 ? std::to_string(i + 1) : "1"), line);
    BOOST_TEST(word_of(line, 2) == "7", line);
    BOOST_TEST((word_of(line, 1) == worker) == (i < 3), line);
    pids.insert(word_of(line, 1));
  }
  BOOST_TEST(pids.size() == 6u);
  BOOST_TEST(server.redis.size_of("retry") == 0u);
  BOOST_TEST(!holds(server.brood.log(), "worker_crashed"), server.brood.log_tail());
}

BOOST_AUTO_TEST_CASE(isolated_jobs_do_not_draw_the_same_random_numbers) {
  Server server;
  for (int i = 1; i <= 2; ++i) server.push("Roll", i);
  BOOST_REQUIRE_MESSAGE(server.has_lines(2), server.brood.log_tail());
  for (const int word : {0, 1}) BOOST_TEST(word_of(server.lines()[0], word) != word_of(server.lines()[1], word));
}

// Its worker may have moved there after the copy was forked.
BOOST_AUTO_TEST_CASE(an_isolated_job_is_told_the_shard_that_it_came_from) {
  RedisServer first, second;
  TemporaryDirectory directory;
  const std::string path = directory / "lines";
  const BroodProcess brood(BroodOptions{
      .workers = 1,
      .libraries = {isolated},
      .config = "[[redis.shard]]\nurl = \"" + first.url() + "\"\n[[redis.shard]]\nurl = \"" + second.url() + "\"\n",
      .environment = {{"ISOLATED_DEATHS", path}, {"ISOLATED_THREAD", ""}}});
  for (std::size_t round = 1; round <= 2; ++round) {
    enqueue(first, {payload_text("TellShard", "[\"" + path + "\"]", static_cast<long>(round))});
    BOOST_TEST(eventually([&] { return lines_of_file(path).size() == 2 * round - 1; }, 20s), brood.log_tail());
    enqueue(second, {payload_text("TellShard", "[\"" + path + "\"]", static_cast<long>(round))});
    BOOST_TEST(eventually([&] { return lines_of_file(path).size() == 2 * round; }, 20s), brood.log_tail());
  }
  BOOST_TEST((lines_of_file(path) == std::vector<std::string>{"0", "1", "0", "1"}));
}

BOOST_AUTO_TEST_CASE(what_a_job_has_broken_in_its_worker_does_not_hurt_an_isolated_one) {
  Server server;
  server.push("Corrupt", 1, "[]");
  server.push("Count", 2);
  BOOST_REQUIRE_MESSAGE(server.has_lines(1), server.brood.log_tail());
  BOOST_TEST(word_of(server.lines()[0], 2) == "7");
  BOOST_TEST(server.is_settled());
  BOOST_TEST(server.redis.size_of("retry") == 0u);
}

BOOST_AUTO_TEST_CASE(the_hooks_of_an_isolated_job_run_in_its_process_and_say_what_becomes_of_it) {
  Server server;
  server.push("Fail", 1, "", R"("retry":1,"backtrace":5)");
  const std::string retried = server.entry_of("retry");
  BOOST_TEST(holds(retried, R"("error_message":"as it must")"), retried);
  BOOST_TEST(holds(retried, R"("error_class":"std::runtime_error")"), retried);
  BOOST_TEST(holds(retried, R"("error_backtrace")"), retried);
  BOOST_TEST(!holds(retried, "crash_count"), retried);
  const std::vector<std::string> lines = server.lines();
  BOOST_TEST_REQUIRE(lines.size() == 2u);
  BOOST_TEST(lines[1] == "retry_in " + word_of(lines[0], 1) + " as it must");
  BOOST_TEST(holds(server.brood.log(), "event=job_failed"), server.brood.log_tail());
  BOOST_TEST(holds(server.brood.log(), "order=4711"), server.brood.log_tail());

  // The retry is the last one.
  make_retries_due(server.redis);
  const std::string dead = server.entry_of("dead");
  BOOST_TEST(holds(dead, "as it must"));
  const std::vector<std::string> all = server.lines();
  BOOST_TEST_REQUIRE(all.size() == 6u, server.brood.log_tail());
  BOOST_TEST(all[4] == "exhausted " + word_of(all[2], 1));
  BOOST_TEST(all[5] == "died Fail " + word_of(all[2], 1));
  BOOST_TEST(word_of(all[2], 1) != word_of(all[0], 1));
  BOOST_TEST(!holds(server.brood.log(), "worker_crashed"), server.brood.log_tail());
}

BOOST_AUTO_TEST_CASE(a_job_in_the_worker_that_waits_for_all_children_finds_its_own_alone) {
  Server server;
  server.push("WaitForAll");
  BOOST_REQUIRE_MESSAGE(server.has_lines(1), server.brood.log_tail());
  BOOST_TEST(server.lines()[0] == "ended 3");
  BOOST_TEST(server.is_settled());
  server.push("Count", 2);
  BOOST_TEST(server.has_lines(2), server.brood.log_tail());
}

BOOST_AUTO_TEST_CASE(a_process_that_a_job_forks_has_all_descriptors_of_the_job) {
  Server server;
  server.push("ForkWithDescriptors");
  BOOST_REQUIRE_MESSAGE(server.has_lines(1), server.brood.log_tail());
  BOOST_TEST(server.lines()[0] == "there 20");
}

BOOST_AUTO_TEST_CASE(an_isolated_iterable_job_goes_on_where_it_was_interrupted) {
  Server server;
  server.push("WalkApart", 1, server.with_path("1000000,5"));
  BOOST_REQUIRE_MESSAGE(server.has_lines(3), server.brood.log_tail());
  server.brood.term();
  BOOST_TEST(server.brood.wait_exit().value_or(-1) == 0);
  const std::size_t before = server.lines().size();
  server.brood.start();
  BOOST_REQUIRE_MESSAGE(server.has_lines(before + 10, 30s), server.brood.log_tail());
  std::ofstream(server.path + ".enough") << "x";
  BOOST_TEST(eventually([&] { return server.redis.keys("it-*").empty(); }, 20s));
  BOOST_TEST(server.is_settled());
  const std::vector<std::string> lines = server.lines();
  std::vector<std::string> expected;
  for (std::size_t i = 0; i < lines.size(); ++i) expected.push_back(std::to_string(i));
  BOOST_TEST(lines == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(an_isolated_job_may_use_more_points_than_a_limiter_has) {
  Server server;
  server.push("UsePoints", 1, server.with_path("5000000000"));
  server.push("UsePoints", 2, server.with_path("9223372036854775807"));
  BOOST_REQUIRE_MESSAGE(server.has_lines(2), server.brood.log_tail());
  BOOST_TEST(server.is_settled());
  BOOST_TEST(server.lines().size() == 2u);
  BOOST_TEST(server.redis.size_of("retry") == 0u);
  BOOST_TEST(!holds(server.brood.log(), "job_process_refused"), server.brood.log_tail());
}

BOOST_AUTO_TEST_CASE(a_cursor_of_16_mb_is_kept_and_a_larger_one_refused_before_the_first_item) {
  constexpr int most = 16 << 20;
  for (const std::string job_class : {"LargeCursors", "LargeCursorsInWorker"}) {
    BOOST_TEST_CONTEXT(job_class) {
      Server server;
      server.push(job_class, 1, server.with_path(std::to_string(most)));
      BOOST_REQUIRE_MESSAGE(server.has_lines(3), server.brood.log_tail());
      BOOST_TEST(server.is_settled());
      BOOST_TEST(server.redis.size_of("retry") == 0u);

      server.push(job_class, 2, server.with_path(std::to_string(most + 1)));
      const std::string retried = server.entry_of("retry");
      BOOST_TEST(holds(retried, R"("error_class":"CursorTooLarge")"), retried);
      BOOST_TEST(!holds(retried, "crash_count"), retried);
      BOOST_TEST(server.lines() == (std::vector<std::string>{"from 0", "item 1", "item 2", "from 0"}),
                 boost::test_tools::per_element());
    }
  }
}

BOOST_AUTO_TEST_CASE(a_job_of_more_than_16_mb_is_retried_recovered_and_begins_when_it_is_due) {
  constexpr std::size_t size = 20 << 20;
  for (const std::string job_class : {"Weigh", "WeighApart"}) {
    BOOST_TEST_CONTEXT(job_class) {
      Server server("poll_interval = \"100ms\"\n");
      const auto job = [&](const std::string& what, long number) {
        return payload_text(job_class, server.with_path("\"" + what + "\",\"" + std::string(size, 'x') + "\""), number);
      };
      const auto said = [&](const std::string& what, std::size_t times) {
        const auto all = server.lines();
        return static_cast<std::size_t>(std::count(all.begin(), all.end(), what + " " + std::to_string(size))) == times;
      };
      std::ofstream(server.path + ".fail") << "x";
      enqueue(server.redis, {job("failing", 1)});
      server.entry_of("retry");
      make_retries_due(server.redis);
      BOOST_TEST(eventually([&] { return said("failing", 2); }, 30s), server.brood.log_tail());
      BOOST_TEST(server.is_settled());

      std::ofstream(server.path + ".crash") << "x";
      enqueue(server.redis, {job("crashing", 2)});
      server.entry_of("retry");
      make_retries_due(server.redis);
      BOOST_TEST(eventually([&] { return said("crashing", 2); }, 30s), server.brood.log_tail());
      BOOST_TEST(server.is_settled());

      server.redis.command({"ZADD", "schedule", "1", job("scheduled", 3)});
      BOOST_TEST(eventually([&] { return said("scheduled", 1); }, 30s), server.brood.log_tail());
      BOOST_TEST(server.is_settled());
      BOOST_TEST(server.redis.size_of("retry") + server.redis.size_of("schedule") + server.redis.size_of("dead") == 0u);
    }
  }
}

BOOST_AUTO_TEST_CASE(many_isolated_jobs_run_once_each_among_others) {
  Server server("[worker]\nmax_jobs = 500\n", 2);
  for (int i = 1; i <= 1000; ++i) server.push(i % 2 == 0 ? "Count" : "CountInWorker", i);
  BOOST_REQUIRE_MESSAGE(server.has_lines(1000, 120s), server.brood.log_tail());
  BOOST_TEST(server.is_settled());
  BOOST_TEST(server.lines().size() == 1000u);
  BOOST_TEST(server.redis.size_of("retry") == 0u);
  BOOST_TEST(!holds(server.brood.log(), "strays_killed"), server.brood.log_tail());
}

BOOST_AUTO_TEST_CASE(what_an_isolated_job_prints_is_logged_as_its_own) {
  Server server;
  server.push("Print", 1, "[]");
  const auto is_logged = [&](std::string_view said) {
    std::istringstream log(server.brood.log());
    for (std::string line; std::getline(log, line);) {
      if (holds(line, said)) return holds(line, "class=Print") && holds(line, jid_of(1));
    }
    return false;
  };
  BOOST_TEST(eventually([&] { return is_logged("said by cout") && is_logged("left in a buffer"); }),
             server.brood.log_tail());
}

BOOST_AUTO_TEST_CASE(what_an_isolated_job_has_used_is_counted_for_its_class) {
  Server server;
  server.push("UseMemory", 1, "[100]");
  std::string status;
  BOOST_TEST(eventually([&] {
    status = server.run({"status", "--json"}).output;
    return holds(status, R"("name":"UseMemory","runs":1)");
  }));
  const std::size_t at = status.find(R"("name":"UseMemory")");
  const auto number = [&](const std::string& name) {
    const std::size_t found = status.find("\"" + name + "\":", at);
    return found == std::string::npos ? -1.0 : std::stod(status.substr(found + name.size() + 3));
  };
  BOOST_TEST(number("cpu_s") > 0.01, status);
  BOOST_TEST(number("peak_rss_kb") > 100.0 * 1024, status);
  BOOST_TEST(holds(status.substr(at, 300), R"("isolation":"process")"), status);
  BOOST_TEST(holds(server.run({"status"}).output, "ISOLATION"));
}

BOOST_AUTO_TEST_CASE(the_configuration_decides_over_the_code) {
  Server server("[classes.Count]\nisolation = \"worker\"\n[classes.CountInWorker]\nisolation = \"process\"\n");
  server.push("Count", 1);
  server.push("Count", 2);
  server.push("CountInWorker", 3);
  BOOST_REQUIRE_MESSAGE(server.has_lines(3), server.brood.log_tail());
  const std::string worker = std::to_string(server.worker());
  BOOST_TEST(server.lines()[1] == "2 " + worker + " 7");
  BOOST_TEST(server.lines()[2].starts_with("1 "));
  BOOST_TEST(word_of(server.lines()[2], 1) != worker);
}

BOOST_AUTO_TEST_CASE(a_worker_that_has_threads_at_its_start_is_refused_by_their_names) {
  Server server("", 1, "poller-of-test");
  BOOST_TEST(server.brood.wait_exit().value_or(-1) == 78, server.brood.log_tail());
  BOOST_TEST(holds(server.brood.log(), "poller-of-test"), server.brood.log_tail());
  BOOST_TEST(holds(server.brood.log(), "event=library_refused"), server.brood.log_tail());
}
