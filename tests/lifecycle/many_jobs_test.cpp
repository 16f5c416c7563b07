#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <cstdlib>

#include "shared/base/check.hpp"
#include "tests/support/brood_process.hpp"
#include "tests/support/enqueue.hpp"
#include "tests/support/lends_terminals.hpp"
#include "tests/support/terminal.hpp"

using namespace brood;

namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr long usually = 50'000;       // each takes several times as long
constexpr long enough_kb = 4'000'000;  // sanitizers keep freed memory
#else
constexpr long usually = 200'000;
constexpr long enough_kb = 40'000;  // 200,000 entries alone are 60 MB
#endif

// BROOD_MANY=1000000 gives the size that operators may meet.
long many() {
  const char* const said = std::getenv("BROOD_MANY");
  return said ? std::atol(said) : usually;
}

// Adds `count` retries of some 300 bytes, a tenth of them of the class Odd.  A script makes them, which is fast.
void fill(RedisServer& redis, long count) {
  constexpr const char* script = R"(
    for i = tonumber(ARGV[1]), tonumber(ARGV[2]) do
      local class = i % 10 == 0 and "Odd" or "Even"
      redis.call("ZADD", "retry", 4000000000 + i, string.format(ARGV[3], class, i, i))
    end)";
  const std::string payload = R"({"class":"%s","args":[%d,")" + std::string(150, 'x') +
                              R"("],"jid":"%024d","queue":"default","created_at":1795237318514,"retry":true,)"
                              R"("error_class":"Oops","error_message":"no","failed_at":1795237318514})";
  for (long first = 1; first <= count; first += 10'000)
    redis.command(
        {"EVAL", script, "0", std::to_string(first), std::to_string(std::min(first + 9'999, count)), payload});
  BOOST_REQUIRE_EQUAL(redis.size_of("retry"), static_cast<std::size_t>(count));
}

struct Cost {
  int status = -1;
  long peak_kb = 0;
};

// Runs it and discards its output.
Cost cost_of(const RedisServer& redis, std::vector<std::string> words) {
  words.insert(words.end(), {"--redis", redis.url()});
  std::vector<char*> argv = {const_cast<char*>("brood")};
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const pid_t pid = check("fork", fork());
  if (pid == 0) {
    const int nowhere = open("/dev/null", O_RDWR);
    for (int fd = 0; fd < 3; ++fd) dup2(nowhere, fd);
    execv(BROOD_BINARY_DIR "/bin/brood", argv.data());
    _exit(127);
  }
  int status = 0;
  rusage used{};
  check("wait4", wait4(pid, &status, 0, &used));
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, used.ru_maxrss};
}

}  // namespace

BOOST_AUTO_TEST_CASE(very_many_are_listed_counted_and_changed_in_little_memory) {
  RedisServer redis;
  fill(redis, many());
  const auto is_cheap = [&](const std::vector<std::string>& words) {
    const Cost cost = cost_of(redis, words);
    BOOST_TEST_MESSAGE(words[1] << " " << words.back() << ": " << cost.peak_kb << " kB");
    BOOST_TEST(cost.status == 0);
    BOOST_TEST(cost.peak_kb < enough_kb, words[1] << " " << words.back() << " took " << cost.peak_kb << " kB");
  };
  is_cheap({"retries", "list", "--json"});
  is_cheap({"retries", "list", "--limit", "1000000000"});
  is_cheap({"retries", "list", "--class", "Nobody"});
  is_cheap({"retries", "show", "000000000000000000000007"});
  is_cheap({"retries", "delete", "--class", "Odd", "--dry-run"});
  is_cheap({"retries", "delete", "--class", "Odd", "--yes"});
  BOOST_TEST(redis.size_of("retry") == static_cast<std::size_t>(many() - many() / 10));
  is_cheap({"retries", "run", "--newer-than", "1d", "--yes"});  // none
  is_cheap({"retries", "run", "--all", "--yes"});
  BOOST_TEST(redis.size_of("retry") == 0U);
  BOOST_TEST(redis.size_of("queue:default") == static_cast<std::size_t>(many() - many() / 10));
  is_cheap({"queues", "show", "default", "--json"});
  is_cheap({"queues", "delete", "default", "--class", "Even", "--yes"});
  BOOST_TEST(redis.size_of("queue:default") == 0U);
}

// The command may be done before the key is pressed.  Then tries once more.
BOOST_AUTO_TEST_CASE(a_terminal_sees_how_far_it_is_and_ctrl_c_ends_it_after_a_batch,
                     *boost::unit_test::precondition(lends_terminals)) {
  RedisServer redis;
  bool interrupted = false;
  for (int attempt = 0; attempt < 10 && !interrupted; ++attempt) {
    redis.flush();
    fill(redis, usually);
    OnTerminal terminal({"retries", "kill", "--all", "--yes", "--redis", redis.url()});
    BOOST_REQUIRE_MESSAGE(terminal.shows("killing"), terminal.text());
    terminal.type("\x03");
    const int status = terminal.status();
    const std::size_t left = redis.size_of("retry");
    if (left == 0) continue;
    interrupted = true;
    BOOST_TEST(status == 75);
    BOOST_TEST(terminal.text().find("interrupted; the others are unchanged") != std::string::npos, terminal.text());
    BOOST_TEST(terminal.text().find("retries moved to the dead set") != std::string::npos);
    BOOST_TEST(redis.size_of("dead") > 0U);
  }
  BOOST_TEST(interrupted);
}
