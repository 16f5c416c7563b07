#include <simdjson.h>

#include <boost/test/unit_test.hpp>
#include <fstream>

#include "tests/support/brood_process.hpp"
#include "tests/support/enqueue.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/file_text.hpp"
#include "tests/support/shard_servers.hpp"
#include "tests/support/temporary_directory.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

constexpr const char* context_jobs = BROOD_BINARY_DIR "/tests/job_libraries/libcontext_jobs.so";

BroodOptions over(const ShardServers& shards) {
  return {.workers = 2,
          .libraries = {context_jobs, BROOD_BINARY_DIR "/worker/examples/libexamples.so"},
          .config = text_of_file(shards.config())};
}

std::string processed(RedisServer& redis) { return redis.get("stat:processed").value_or("0"); }

}  // namespace

BOOST_AUTO_TEST_CASE(what_a_job_pushes_stays_in_the_shard_that_it_came_from) {
  ShardServers shards(3);
  const TemporaryDirectory directory;
  const BroodProcess brood(over(shards));
  BOOST_REQUIRE_MESSAGE(brood.wait_ready(), brood.log_tail());
  for (const std::size_t from : {1U, 2U}) {
    const std::string path = directory / std::to_string(from);
    enqueue(shards[from], {payload_text("TellContext", "[\"" + path + "\",4]")});
    BOOST_REQUIRE_MESSAGE(eventually(
                              [&] {
                                const std::string told = text_of_file(path);
                                return std::count(told.begin(), told.end(), '\n') == 5;
                              },
                              20s),
                          brood.log_tail());
  }
  BOOST_TEST(eventually([&] { return processed(shards[1]) == "5" && processed(shards[2]) == "5"; }, 20s),
             processed(shards[0]) << " " << processed(shards[1]) << " " << processed(shards[2]));
  BOOST_TEST(processed(shards[0]) == "0");
}

BOOST_AUTO_TEST_CASE(a_supervisor_of_several_shards_is_one_process_and_stops_once_when_it_is_asked) {
  ShardServers shards(3);
  const TemporaryDirectory directory;
  BroodProcess brood(over(shards));
  BOOST_REQUIRE_MESSAGE(brood.wait_ready(), brood.log_tail());
  enqueue_ledger_jobs(shards[0], directory / "ledger", 1, 15'000);
  const auto told = [&](std::vector<std::string> words) {
    words.insert(words.end(), {"-C", shards.config()});
    return run_brood(words, brood.environment());
  };
  simdjson::dom::parser parser;
  std::string identity;
  const auto beats_everywhere = [&] {
    const std::string json = told({"processes", "--json"}).output;
    const simdjson::dom::array processes = parser.parse(json).get_array();
    if (processes.size() != 1) return false;
    const simdjson::dom::element one = processes.at(0);
    identity = std::string(std::string_view(one["identity"]));
    return simdjson::minify(one["shards"]) == R"(["a","b","c"])" && std::int64_t(one["busy"]) == 1 &&
           std::int64_t(one["concurrency"]) == 2;
  };
  BOOST_REQUIRE_MESSAGE(eventually(beats_everywhere, 25s), told({"processes", "--json"}).output << brood.log_tail());

  BOOST_TEST(told({"processes", "stop", identity}).status == 0);
  BOOST_TEST(brood.wait_exit(40s).value_or(-1) == 0, brood.log_tail());
  BOOST_TEST(text_of_file(directory / "ledger").find("D 0") != std::string::npos, brood.log_tail());  // it could end
}
