#include <sysexits.h>

#include <boost/test/unit_test.hpp>

#include "tests/support/brood_process.hpp"
#include "tests/support/enqueue.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/ledger.hpp"

// etc/redis-users.acl has exactly the rights that these need: a supervisor with its workers, a client that only
// enqueues, and a reader.
using namespace brood;
using Words = std::vector<std::string>;

namespace {

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// In the words of Redis 7.0 to 8, also of a script.
bool names_a_missing_right(const std::string& text) {
  return contains(text, "NOPERM") || contains(text, "can't run this command") ||
         contains(text, "ACL failure in script");
}

struct Rights {
  RedisServer redis{{.users = true}};

  CommandResult as(const std::string& user, Words words) {
    words.insert(words.end(), {"--redis", redis.url_of(user)});
    return run_brood(words);
  }
  void works_as(const std::string& user, const Words& words) {
    const CommandResult result = as(user, words);
    BOOST_TEST(result.status == 0, user + " " + words[0] + ": " + result.errors + result.output);
    BOOST_TEST(!names_a_missing_right(result.errors + result.output), user + " " + words[0] + ": " + result.errors);
  }
  // The commands that Redis has refused so far.
  std::string refused() {
    std::string all;
    const Reply log = redis.command({"ACL", "LOG"});
    for (std::size_t i = 0; i < log.view().size(); ++i) {
      const ReplyView entry = log.view()[i];
      for (std::size_t at = 0; at + 1 < entry.size(); at += 2) {
        const std::string_view name = entry[at].text();
        if (name == "object" || name == "username") all += std::string(entry[at + 1].text()) + " ";
      }
    }
    return all;
  }
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(three_users_have_all_the_rights_that_they_need, Rights) {
  const TemporaryDirectory directory;
  const Ledger ledger(directory / "ledger");
  BroodProcess brood({.config = "queues = [\"*\"]\n[crashes]\nquarantine_after = 1\n[redis]\nurl = \"" +
                                redis.url_of("brood") + "\"\n"});
  BOOST_REQUIRE(brood.wait_ready());

  works_as("brood-client", {"enqueue", "Ledger", ledger.path(), "\"1\"", "0"});
  works_as("brood-client", {"enqueue", "Ledger", ledger.path(), "\"2\"", "0", "--in", "1s"});
  works_as("brood-client", {"enqueue", "Fail", "for the reader"});
  works_as("brood-client", {"enqueue", "Fail", "for good", "--retry", "0"});
  works_as("brood-client", {"enqueue", "Segfault"});
  works_as("brood-client", {"enqueue", "CopyLines", "/etc/hostname", "/dev/null"});  // iterable
  works_as("brood-client", {"enqueue", "Ledger", ledger.path(), "\"3\"", "0", "--in", "1h"});
  BOOST_TEST(eventually([&] { return ledger.runs().size() == 2; }), brood.log_tail());
  BOOST_TEST(eventually([&] { return redis.size_of("dead") == 1 && redis.size_of("retry") >= 2; }), brood.log_tail());
  BOOST_TEST(eventually([&] { return redis.size_of("brood:crashes") == 1; }), brood.log_tail());

  for (const Words& words :
       {Words{"status"}, Words{"status", "--json"}, Words{"status", "--format", "prometheus"}, Words{"queues"},
        Words{"scheduled"}, Words{"retries", "--json"}, Words{"dead"}, Words{"quarantine"}})
    works_as("brood-reader", words);
  for (const Words& words :
       {Words{"queues", "pause", "default"}, Words{"queues", "unpause", "default"}, Words{"retries", "run", "--all"},
        Words{"dead", "delete", "--all"}, Words{"scheduled", "clear", "--yes"}, Words{"recover", "--all", "--yes"}})
    as("brood", words);  // whatever they print

  brood.term();
  BOOST_TEST(brood.wait_exit().value_or(-1) == 0);
  BOOST_TEST(refused() == "");
  BOOST_TEST(!names_a_missing_right(brood.log()), brood.log_tail());
}

// The published classes decide whether arguments are encrypted.
BOOST_FIXTURE_TEST_CASE(a_client_reads_what_classes_say_and_cannot_change_it, Rights) {
  redis.command({"HSET", "brood:classes", "build", "{}"});
  redis.command({"HSET", "brood:classes:seen", "build", "1 1"});
  Connection client(RedisAddress::parse(redis.url_of("brood-client")));
  BOOST_TEST(client.call({"HGETALL", "brood:classes:seen"}).view().size() == 2u);
  BOOST_TEST(client.call({"HMGET", "brood:classes", "build"}).view().size() == 1u);
  for (const Command& command : {Command{"HSET", "brood:classes", "build", "[]"},
                                 Command{"HDEL", "brood:classes", "build"}, Command{"UNLINK", "brood:classes:seen"},
                                 Command{"EVAL", "return redis.call('HSET', 'brood:classes', 'build', '[]')", "0"}}) {
    const Reply reply = client.call(command);
    BOOST_TEST((classify_error(reply.view().error()) == ErrorKind::unauthorized), command.args[0]);
  }
  BOOST_TEST(redis.hget("brood:classes", "build").value_or("") == "{}");
}

BOOST_FIXTURE_TEST_CASE(a_missing_right_is_named, Rights) {
  enqueue(redis, {payload_text("Fail", "[1]")});

  const CommandResult cleared = as("brood-reader", {"queues", "clear", "default", "--yes"});
  BOOST_TEST(cleared.status != 0);
  BOOST_TEST(names_a_missing_right(cleared.errors), cleared.errors);
  BOOST_TEST(redis.size_of("queue:default") == 1u);

  const CommandResult looked = as("brood-client", {"status"});
  BOOST_TEST(looked.status != 0);
  BOOST_TEST(names_a_missing_right(looked.errors), looked.errors);

  const CommandResult checked = as("brood-client", {"run", "--check"});
  BOOST_TEST(checked.status == EX_TEMPFAIL);
  BOOST_TEST(contains(checked.errors, "DEL brood:inflight"), checked.errors);
}
