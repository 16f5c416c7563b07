// Hostile text in Redis, payloads and names must not reach a terminal unchanged.
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

#include "shared/base/clock.hpp"
#include "shared/base/identity.hpp"
#include "shared/json/json.hpp"
#include "shared/scoreboard/scoreboard.hpp"
#include "shared/store/in_flight/crash_book.hpp"
#include "tests/support/brood_process.hpp"
#include "tests/support/redis_server.hpp"
#include "tests/support/temporary_directory.hpp"

using namespace brood;

namespace {

// One of each kind: C0, DEL, C1 as one character, and marks that change the direction of text.
const std::string hostile = "x\x1b[31m\x07\r\x7f\u0085\u009b2J\u202e\u2066\u200e\u200f\u061cy";
const std::string jid = "b4a577edbccf1d805744efa9";

// The code of the first character in `text` that would control a terminal; empty if there is none.
std::string acting(const std::string& text) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
  for (std::size_t i = 0, bytes = 1; i < text.size(); i += bytes) {
    const unsigned lead = byte(i);
    bytes = lead < 0xc2 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    const unsigned code = bytes == 2   ? (lead & 0x1f) << 6 | (byte(i + 1) & 0x3f)
                          : bytes == 3 ? (lead & 0x0f) << 12 | (byte(i + 1) & 0x3f) << 6 | (byte(i + 2) & 0x3f)
                                       : lead;
    const bool acts = (code < 0x20 && code != '\n') || (code >= 0x7f && code <= 0x9f) || code == 0x61c ||
                      code == 0x200e || code == 0x200f || (code >= 0x202a && code <= 0x202e) ||
                      (code >= 0x2066 && code <= 0x2069);
    if (acts) return std::to_string(code) + " in " + text.substr(i > 60 ? i - 60 : 0, 80);
  }
  return "";
}

std::string payload() {
  const std::string text = json_string(hostile);
  // As a client may write it, with only the escapes that JSON demands.
  return R"({"class":)" + text + R"(,"display_class":)" + text + R"(,"args":[)" + text + R"(],"jid":")" + jid +
         R"(","queue":)" + text + R"(,"tags":[)" + text + R"(],"created_at":1.5,"enqueued_at":1.5,"error_class":)" +
         text + R"(,"error_message":)" + text + R"(,"failed_at":1.5,"retry_count":0,"more":)" + text + "}";
}

void fill(RedisServer& redis) {
  redis.command({"SADD", "queues", hostile});
  redis.command({"SADD", "paused", hostile});
  redis.command({"LPUSH", "queue:" + hostile, payload()});
  for (const char* set : {"schedule", "retry", "dead"}) redis.command({"ZADD", set, "1", payload()});
  const std::string name = "h" + hostile + ":1:0123456789ab", text = json_string(hostile);
  redis.command({"SADD", "processes", name});
  redis.command({"HSET", name, "info",
                 R"({"hostname":)" + text + R"(,"tag":)" + text + R"(,"pid":1,"version":)" + text + R"(,"queues":[)" +
                     text + R"(],"labels":[)" + text + R"(],"started_at":1,"concurrency":1,"identity":)" +
                     json_string(name) + "}",
                 "busy", "0", "beat", "1", "quiet", "false"});
  redis.command({"HSET", "brood:processes", "s" + name, "{}"});
  redis.command({"HSET", "brood:inflight:s" + name, "0.1", "1 " + hostile});
  redis.command({"LPUSH", "brood:inflight:s" + name + ":0.1:" + hostile, payload()});
  Connection connection(redis.address(), {}, "test");
  note_crash(connection, {.fingerprint = "00000000000000aa",
                          .at = 1,
                          .job_class = hostile,
                          .error_class = hostile,
                          .message = hostile,
                          .jid = hostile,
                          .queue = hostile,
                          .identity = hostile,
                          .frames = {"#0 " + hostile + " at " + hostile},
                          .has_names = true});
}

// Locks, limits, caps, periodic jobs, paused and quarantined classes.
void fill_with_names(RedisServer& redis) {
  const std::string text = json_string(hostile);
  redis.command({"SET", "brood:unique:" + hostile, jid});
  redis.command({"SET", "brood:running:" + hostile, hostile});
  redis.command({"ZADD", "brood:limits", "4e9", hostile});
  redis.command({"HSET", "brood:limit:" + hostile, "kind", "concurrent", "amount", "5", "interval", "0"});
  redis.command({"ZADD", "brood:limit:" + hostile + ":used", "1", "s" + hostile + "/a/0.1"});
  redis.command({"HSET", "brood:caps", "cap" + hostile, "3"});
  redis.command({"SADD", "brood:cap:cap" + hostile, "brood:inflight:s" + hostile});
  redis.command({"LPUSH", "brood:inflight:s" + hostile, "1"});
  redis.command({"ZADD", "brood:periodic", "4e9", hostile});
  redis.command({"HSET", "brood:periodic:job:" + hostile, "rule", hostile, "definition",
                 R"({"cron":")" + std::string("* * * * *") + R"(","tz":"UTC","class":)" + text + R"(,"queue":)" + text +
                     R"(,"args":[)" + text + R"(],"more":)" + text + "}"});
  for (const std::string tick : {"1.5", "1e300", "-1e300"})
    redis.command({"LPUSH", "brood:periodic:history:" + hostile,
                   R"({"tick":)" + tick + R"(,"at":)" + tick + R"(,"jid":)" + text + R"(,"by":)" + text + "}"});
  const std::string fingerprint = "x\x1b[31m\u009b2Jy";  // a space would end it
  for (const std::string since : {"1.5", "1e300"})
    redis.command({"HSET", "brood:quarantine", hostile + since, "\x1b[1m " + fingerprint + " " + since + " 5 1"});
  redis.command({"ZADD", "brood:quarantined", "1", payload()});
}

// Makes this process a worker of this machine, with a job.
void occupy(Scoreboard& scoreboard) {
  SlotRecord& record = scoreboard.slot(0);
  record.pid = getpid();
  record.start_time = process_start_time(getpid());
  record.ready = 1;
  record.current = -1;
  WorkerSlot worker(record);
  worker.adopt_incarnation(7);
  worker.set_number(1);
  worker.set_queue(hostile);
  worker.set_fetched(1);
  BOOST_TEST_REQUIRE(worker.begin(0, hostile, hostile, wall_now(), steady_now(), 0));
}

}  // namespace

BOOST_AUTO_TEST_CASE(nothing_that_a_command_prints_acts_on_a_terminal) {
  RedisServer redis;
  fill(redis);
  fill_with_names(redis);
  const TemporaryDirectory runtime;
  Scoreboard scoreboard = Scoreboard::create(runtime.path(), Identity::of_this_process().name, 1);
  occupy(scoreboard);
  const std::vector<std::vector<std::string>> commands = {
      {"status"},
      {"status", "--json"},
      {"status", "--format", "prometheus"},
      {"status", "--crash", "00000000000000aa"},
      {"status", "--crash", "00000000000000aa", "--json"},
      {"status", "--crash", hostile},
      {"status", "--format", hostile},
      {"queues"},
      {"queues", "--json"},
      {"queues", "show", hostile},
      {"queues", "show", hostile, "--json"},
      {"queues", "show", hostile, jid},
      {"queues", "show", hostile, jid, "--json"},
      {"queues", "show", hostile, hostile},
      {"queues", "show", "no" + hostile},
      {"queues", "pause", hostile},
      {"queues", "pause", hostile, "--json"},
      {"queues", "unpause", hostile, "--json"},
      {"queues", "clear", hostile},
      {"queues", "clear", hostile, "--dry-run"},
      {"retries"},
      {"retries", "--json"},
      {"retries", "show", jid},
      {"retries", "show", jid, "--json"},
      {"retries", "show", hostile},
      {"retries", "kill", jid, "--dry-run"},
      {"retries", "kill", jid, "--dry-run", "--json"},
      {"retries", "delete", "--class", hostile},
      {"retries", "reschedule", jid, "--at", hostile},
      {"scheduled", "--json"},
      {"scheduled", "show", jid},
      {"dead"},
      {"dead", "--json"},
      {"dead", hostile},
      {"processes"},
      {"processes", "--json"},
      {"processes", "quiet", "h" + hostile},
      {"processes", "quiet", "h" + hostile, "--json"},
      {"processes", "stop", hostile},
      {"recover", "--all", "--dry-run"},
      {"recover", "--all", "--dry-run", "--json"},
      {"recover", hostile},
      {"recover", "sh" + hostile, "--wait", hostile},
      {"cancel", hostile},
      {"cancel", hostile, "--iterable", "--json"},
      {"cancel", jid, "--json"},
      {"mark", hostile},
      {"mark", hostile, "--json"},
      {"enqueue", hostile, hostile, "-q", "images", "--json"},
      {"enqueue", "Zip", "-q", hostile, "--json"},
      {"enqueue", "Zip", "--retry", hostile},
      {"enqueue", "--bulk", "/nowhere/" + hostile},
      {"replay", jid},
      {"replay", hostile},
      {"locks"},
      {"locks", "--json"},
      {"locks", "show", jid},
      {"locks", "show", hostile, "--json"},
      {"locks", "release", jid},
      {"locks", "release", hostile},
      {"locks", "release", "no" + hostile},
      {"locks", "check"},
      {"locks", "check", "--json"},
      {"limits"},
      {"limits", "--json"},
      {"limits", "show", hostile},
      {"limits", "show", hostile, "--json"},
      {"limits", "show", "cap" + hostile, "--json"},
      {"limits", "show", "no" + hostile},
      {"limits", "reset", hostile},
      {"limits", "reset", hostile, "--json"},
      {"periodic"},
      {"periodic", "--json"},
      {"periodic", "next", hostile},
      {"periodic", "next", hostile, "--json"},
      {"periodic", "history", hostile},
      {"periodic", "history", hostile, "--json"},
      {"periodic", "run", hostile},
      {"periodic", "run", hostile, "--json"},
      {"periodic", "run", "no" + hostile},
      {"periodic", "pause", hostile},
      {"periodic", "unpause", hostile, "--json"},
      {"classes", "pause", hostile},
      {"classes", "pause", hostile, "--json"},
      {"classes"},
      {"classes", "--json"},
      {"status"},
      {"status", "--json"},
      {"status", "--format", "prometheus"},
      {"classes", "unpause", hostile},
      {"classes", "unpause", hostile, "--json"},
      {"quarantine"},
      {"quarantine", "--json"},
      {"quarantine", "release", "no" + hostile},
      {"quarantine", "release", hostile + "1.5"},
      {"quarantine", "release", hostile + "1e300", "--json"},
      {"keys", "new", "/nowhere/" + hostile},
      {"scale", "2", "--process", hostile},
  };
  for (std::vector<std::string> words : commands) {
    std::string line;
    for (const std::string& word : words) line += (line.empty() ? "" : " ") + (word == hostile ? "HOSTILE" : word);
    words.insert(words.end(), {"--redis", redis.url()});
    const CommandResult result = run_brood(words, {{"RUNTIME_DIRECTORY", runtime.path()}});
    BOOST_TEST(acting(result.output) == "", line << " prints " << acting(result.output));
    BOOST_TEST(acting(result.errors) == "", line << " complains of " << acting(result.errors));
    if (result.status == 0 && line.ends_with("--json"))
      BOOST_TEST(is_json(result.output), line << " is no JSON: " << result.output);
  }
}

BOOST_AUTO_TEST_CASE(nothing_that_a_command_without_redis_prints_acts_on_a_terminal) {
  const TemporaryDirectory runtime;
  Scoreboard scoreboard = Scoreboard::create(runtime.path(), Identity::of_this_process().name, 1);
  occupy(scoreboard);
  const std::vector<std::vector<std::string>> commands = {
      {"status", "--redis", "unix:///nowhere/" + hostile},
      {"status", "--redis", "unix:///nowhere/" + hostile, "--json"},
      {"status", "--redis", "redis://" + hostile},
      {"status", "--redis", hostile},
      {"status", "-C", hostile},
      {"status", "--" + hostile},
      {"run", "-C", "/nowhere/" + hostile},
      {"run", "-r", "/nowhere/" + hostile, "--check"},
      {"run", "-q", hostile, "--redis", "unix:///nowhere/s", "--check"},
      {"run", "--instance", hostile},
      {"kill", hostile},
      {"kill", hostile, "--json"},
      {"kill", "abcd", "--outcome", hostile},
      {"scale", hostile},
      {"scale", hostile + "=1"},
      {"quiet", "--instance", hostile},
      {"perform", hostile},
      {"perform", "--payload", hostile},
      {"new", "/nowhere/" + hostile},
      {hostile},
      {"help", hostile},
  };
  for (const std::vector<std::string>& words : commands) {
    const CommandResult result = run_brood(words, {{"RUNTIME_DIRECTORY", runtime.path()}});
    BOOST_TEST(acting(result.output) == "", words[0] << " prints " << acting(result.output));
    BOOST_TEST(acting(result.errors) == "", words[0] << " complains of " << acting(result.errors));
  }
}
