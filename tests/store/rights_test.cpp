#include "shared/store/rights.hpp"

#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "tests/support/redis_server.hpp"

using namespace brood;

namespace {

struct Site {
  RedisServer server;
  Connection redis{server.address()};

  std::string answer_with(const std::vector<std::string>& rules, const std::vector<std::string>& queues = {"a"}) {
    Command limit{"ACL", "SETUSER", "limited", "reset", "on", "nopass", "+@all", "~*"};
    for (const std::string& rule : rules) limit.args.push_back(rule);
    BOOST_REQUIRE(server.command(limit).view().error().empty());
    redis.call({"AUTH", "limited", "any"});
    const std::vector<Reply> replies =
        redis.pipeline(ask_rights({.queues = queues, .identity = "host:1:abcdefabcdef"}));
    std::vector<ReplyView> answers;
    for (const Reply& reply : replies) answers.push_back(reply.view());
    return missing_right(answers);
  }
};

}  // namespace

BOOST_AUTO_TEST_CASE(with_all_rights_nothing_is_missing_and_nothing_changes) {
  Site site;
  BOOST_TEST(site.answer_with({}) == "");
  BOOST_TEST(site.server.keys().empty());

  site.server.command({"LPUSH", "queue:a", "1"});
  site.server.command({"ZADD", "retry", "1", "2"});
  site.server.command({"SET", "dead", "of another type"});
  BOOST_TEST(site.answer_with({}) == "");
  BOOST_TEST(site.server.keys() == (std::vector<std::string>{"dead", "queue:a", "retry"}),
             boost::test_tools::per_element());

  site.server.command({"CONFIG", "SET", "maxmemory", "1"});
  BOOST_TEST(site.answer_with({}) == "");
}

// A new script must be tried as well, unless nothing is lost and nothing waits when it is refused.
BOOST_AUTO_TEST_CASE(every_command_of_the_scripts_that_move_jobs_is_tried) {
  const std::filesystem::path scripts = BROOD_SOURCE_DIR "/shared/store";
  const auto text_of = [](const std::filesystem::path& file) {
    std::stringstream text;
    for (auto [in, line] = std::pair{std::ifstream(file), std::string()}; std::getline(in, line);)
      text << line.substr(0, line.find("--")) << '\n';
    return text.str();
  };
  const std::string tried = text_of(scripts / "try_rights.lua");
  const std::set<std::string> lose_nothing = {"count.lua",
                                              "count_runs.lua",
                                              "note_crash.lua",
                                              "set_page.lua",
                                              "keep_scheduler_lock.lua",
                                              "find_job.lua",
                                              "count_waiting.lua",
                                              "count_quarantine_crash.lua",
                                              "begin_probe.lua",
                                              "pass_probe.lua",
                                              "marked_jobs.lua",
                                              "take_limits.lua",
                                              "give_back_limits.lua",
                                              "living_holders.lua",
                                              "forget_holder.lua",
                                              "show_limit.lua",
                                              "reset_limit.lua",
                                              "show_cap.lua",
                                              "serve_periodic.lua",
                                              "pause_periodic.lua",
                                              "pause_class.lua",
                                              "end_class_pause.lua",
                                              "put_periodic_rule.lua",
                                              "remove_periodic_rule.lua",
                                              "read_periodic_rules.lua",
                                              "push_unique.lua",
                                              "replace_unique.lua",
                                              "take_aside.lua",
                                              "stray_sequences.lua"};
  const std::regex call(R"re((?:redis\.p?call|try)\(\s*"([A-Z]+)")re");
  std::size_t seen = 0;
  for (const auto& file : std::filesystem::recursive_directory_iterator(scripts)) {
    if (file.path().extension() != ".lua" || lose_nothing.contains(file.path().filename())) continue;
    const std::string text = text_of(file.path());
    for (std::sregex_iterator at(text.begin(), text.end(), call), end; at != end; ++at, ++seen) {
      const std::string command = (*at)[1];
      BOOST_TEST(tried.find('"' + command + '"') != std::string::npos, file.path().filename() << " uses " << command);
    }
  }
  BOOST_TEST(seen > 100U);
}

BOOST_AUTO_TEST_CASE(a_missing_command_is_named) {
  Site site;
  for (const std::string command : {"LTRIM",
                                    "LPUSH",
                                    "RPUSH",
                                    "LMOVE",
                                    "RPOP",
                                    "LREM",
                                    "LSET",
                                    "LRANGE",
                                    "LINDEX",
                                    "LLEN",
                                    "ZADD",
                                    "ZREM",
                                    "ZSCORE",
                                    "ZMSCORE",
                                    "ZRANGEBYSCORE",
                                    "ZREMRANGEBYRANK",
                                    "ZREMRANGEBYSCORE",
                                    "HGET",
                                    "HSET",
                                    "HSETNX",
                                    "HDEL",
                                    "HEXISTS",
                                    "SET",
                                    "GET",
                                    "DEL",
                                    "EXISTS",
                                    "TYPE",
                                    "EXPIRE",
                                    "HGETALL",
                                    "HKEYS",
                                    "HVALS",
                                    "HINCRBY",
                                    "PEXPIRE",
                                    "PTTL",
                                    "ZRANGE",
                                    "SCARD",
                                    "SMEMBERS",
                                    "UNLINK",
                                    "TIME",
                                    "SADD",
                                    "SREM",
                                    "HMGET",
                                    "INCR",
                                    "ZCARD",
                                    "ZCOUNT"}) {
    BOOST_TEST(site.answer_with({"-" + command}).find(command) != std::string::npos, command);
    BOOST_TEST(site.server.keys().empty(), command);
  }
  for (const std::string command : {"eval", "evalsha", "blmove"})
    BOOST_TEST(site.answer_with({"-" + command}).find("'" + command + "'") != std::string::npos, command);
}

BOOST_AUTO_TEST_CASE(a_missing_key_is_named) {
  Site site;
  const std::vector<std::string> all{"queue:*",
                                     "retry",
                                     "dead",
                                     "schedule",
                                     "brood:*",
                                     "processes",
                                     "queues",
                                     "paused",
                                     "it-*",
                                     "host:1:abcdefabcdef",
                                     "host:1:abcdefabcdef-signals"};
  for (const std::string& left_out : all) {
    std::vector<std::string> rules{"resetkeys"};
    for (const std::string& pattern : all) {
      if (pattern != left_out) rules.push_back("~" + pattern);
    }
    const std::string named = left_out.substr(0, left_out.find('*'));
    BOOST_TEST(site.answer_with(rules).find(named) != std::string::npos, left_out);
    rules.push_back("%R~" + left_out);
    if (left_out == "paused") continue;  // brood only reads it
    BOOST_TEST(site.answer_with(rules).find(named) != std::string::npos, left_out);
  }
  // Queues of its own are enough, all of them.
  const std::vector<std::string> rules{"resetkeys",  "~queue:", "~queue:a", "~queue:b", "~retry",  "~dead", "~schedule",
                                       "~processes", "~queues", "~brood:*", "~host:*",  "~paused", "~it-*"};
  BOOST_TEST(site.answer_with(rules, {"a", "b"}) == "");
  BOOST_TEST(site.answer_with(rules, {"a", "c"}).find("LTRIM queue:c") != std::string::npos);
  BOOST_TEST(site.answer_with(rules, {"*"}).find("LTRIM queue:*") != std::string::npos);
}
