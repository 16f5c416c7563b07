#include "shared/redis/sentinel_answer.hpp"

#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

#include "tests/support/reply_from_wire.hpp"

using namespace brood;

namespace {

const RedisSeed a{"10.0.0.1", 6379}, b{"10.0.0.2", 6379}, c{"10.0.0.3", 6379};
const std::vector<RedisSeed> two_others{{"10.0.1.2", 26379}, {"10.0.1.3", 26379}};

SentinelAnswer says(const RedisSeed& master, std::int64_t epoch = 1, bool is_down = false) {
  static int number = 0;
  return {.master = master,
          .run_id = "id" + std::to_string(++number),
          .config_epoch = epoch,
          .is_down = is_down,
          .others = two_others};
}

std::vector<RedisSeed> ranked(const std::vector<SentinelAnswer>& answers) {
  std::vector<RedisSeed> found;
  for (const NamedMaster& one : rank_masters(answers)) found.push_back(one.at);
  return found;
}

std::string bulk(const std::string& text) { return "$" + std::to_string(text.size()) + "\r\n" + text + "\r\n"; }

std::string array(const std::vector<std::string>& texts) {
  std::string wire = "*" + std::to_string(texts.size()) + "\r\n";
  for (const std::string& text : texts) wire += bulk(text);
  return wire;
}

SentinelReply read(const std::vector<std::string>& wires) {
  std::vector<Reply> replies;
  for (const std::string& wire : wires) replies.push_back(reply_from_wire(wire));
  return read_sentinel("mymaster", replies);
}

const std::string unknown_command = "-ERR unknown command 'SENTINEL'\r\n";

}  // namespace

BOOST_AUTO_TEST_CASE(a_sentinels_answer_is_read) {
  const std::string details =
      array({"name", "mymaster", "ip", "10.0.0.1", "port", "6379", "flags", "s_down,master", "config-epoch", "7"});
  const std::string others =
      "*2\r\n" + array({"ip", "10.0.1.2", "port", "26379"}) + array({"ip", "10.0.1.3", "port", "26379"});

  const SentinelReply reply = read({array({"10.0.0.1", "6379"}), details, others, bulk("f00")});

  BOOST_REQUIRE(reply.answer);
  BOOST_TEST((reply.answer->master == a));
  BOOST_TEST(reply.answer->run_id == "f00");
  BOOST_TEST(reply.answer->config_epoch == 7);
  BOOST_TEST(reply.answer->is_down);
  BOOST_TEST((reply.answer->others == two_others));
}

BOOST_AUTO_TEST_CASE(the_address_alone_is_enough_of_an_answer) {
  const SentinelReply reply = read({array({"10.0.0.1", "6379"}), refused_on_wire, refused_on_wire, unknown_command});

  BOOST_REQUIRE(reply.answer);
  BOOST_TEST((reply.answer->master == a));
  BOOST_TEST(reply.answer->config_epoch == -1);
  BOOST_TEST(!reply.answer->is_down);
  BOOST_TEST(reply.answer->others.empty());
}

BOOST_AUTO_TEST_CASE(what_is_said_of_the_old_master_is_not_said_of_the_one_that_is_promoted) {
  const std::string details = array({"ip", "10.0.0.1", "port", "6379", "flags", "o_down,master", "config-epoch", "7"});

  const SentinelReply reply = read({array({"10.0.0.2", "6379"}), details, "*0\r\n", bulk("f00")});

  BOOST_REQUIRE(reply.answer);
  BOOST_TEST(!reply.answer->is_down);
}

BOOST_AUTO_TEST_CASE(a_useless_answer_has_its_reason) {
  const std::string no = "-ERR No such master with that name\r\n";
  BOOST_TEST(read({"*-1\r\n", no, no, bulk("f00")}).refusal.find("no master by the name mymaster") !=
             std::string::npos);
  BOOST_TEST(read({unknown_command, unknown_command, unknown_command, unknown_command}).refusal == "it is no sentinel");
  BOOST_TEST(read({refused_on_wire, refused_on_wire, refused_on_wire, refused_on_wire}).refusal.starts_with("NOPERM"));
  for (const std::string& rubbish :
       {array({"10.0.0.1"}), array({"", "6379"}), array({"10.0.0.1", "0"}), array({"10.0.0.1", "65536"}),
        array({"10.0.0.1", "x"}), bulk("PONG"), std::string(":1\r\n")})
    BOOST_TEST(!read({rubbish, rubbish, rubbish, rubbish}).answer, rubbish);
}

BOOST_AUTO_TEST_CASE(details_that_make_no_sense_are_left_out) {
  for (const std::string& rubbish : {array({"ip"}), std::string("*2\r\n:1\r\n:2\r\n"), std::string("*1\r\n*-1\r\n"),
                                     array({"config-epoch", "-x", "flags", ""}), std::string(":1\r\n")}) {
    const SentinelReply reply = read({array({"10.0.0.1", "6379"}), rubbish, rubbish, rubbish});
    BOOST_REQUIRE_MESSAGE(reply.answer, rubbish);
    BOOST_TEST(reply.answer->others.empty());
  }
}

BOOST_AUTO_TEST_CASE(most_sentinels_outvote_one_whatever_its_epoch) {
  BOOST_TEST((ranked({says(b, 99), says(a, 1), says(a, 1)}) == std::vector{a, b}));
}

BOOST_AUTO_TEST_CASE(a_failover_that_only_one_has_heard_of_yet_is_followed) {
  BOOST_TEST((ranked({says(a, 1, true), says(b, 2), says(a, 1, true)}) == std::vector{b, a}));
}

BOOST_AUTO_TEST_CASE(where_none_has_most_votes_the_highest_epoch_wins) {
  BOOST_TEST((ranked({says(a, 3), says(b, 4)}) == std::vector{b, a}));
  BOOST_TEST((ranked({says(a, 3), says(b, 4), says(c, 2)}) == std::vector{b, a, c}));
}

BOOST_AUTO_TEST_CASE(what_is_down_comes_last_but_is_named) {
  BOOST_TEST((ranked({says(a, 9, true), says(b, 1)}) == std::vector{b, a}));
  BOOST_TEST((ranked({says(a, 9, true), says(a, 9, true)}) == std::vector{a}));
  BOOST_TEST(rank_masters({says(a, 9, true)}).front().is_down);
  // One of two sees it down: it may be the one that is cut off.
  BOOST_TEST(!rank_masters({says(a, 9, true), says(a, 9)}).front().is_down);
}

BOOST_AUTO_TEST_CASE(a_sentinel_that_is_asked_twice_has_one_vote) {
  SentinelAnswer twice = says(b, 1);
  const std::vector<SentinelAnswer> answers{twice, twice, says(a, 1), says(a, 1)};
  BOOST_TEST((ranked(answers) == std::vector{a, b}));
  BOOST_TEST(rank_masters(answers).front().votes == 2);
}

BOOST_AUTO_TEST_CASE(a_sentinel_that_borrows_the_run_id_of_another_takes_no_vote_from_it) {
  const SentinelAnswer honest = says(a), also_honest = says(a);
  SentinelAnswer lies = says(b), lies_again = says(b);
  lies.run_id = honest.run_id;
  lies_again.run_id = also_honest.run_id;
  const std::vector<NamedMaster> named = rank_masters({honest, also_honest, lies, lies_again, says(a)});
  BOOST_TEST((named.front().at == a));
  BOOST_TEST(named.front().votes == 3);
  BOOST_TEST(named.back().votes == 2);
  // It takes no vote by reporting that the master is down, either.
  SentinelAnswer down = says(a, 1, true);
  down.run_id = honest.run_id;
  BOOST_TEST(rank_masters({honest, down}).front().votes == 1);
}

BOOST_AUTO_TEST_CASE(those_whom_one_sentinel_has_brought_along_outvote_no_majority_of_the_seeds) {
  std::vector<SentinelAnswer> answers{says(b, 9), says(a), says(a)};
  for (SentinelAnswer& seed : answers) seed.is_seed = true;
  for (int i = 0; i < 9; ++i) answers.push_back(says(b, 9));
  BOOST_TEST((ranked(answers) == std::vector{b, a}));
  BOOST_TEST((rank_masters(answers, 3).front().at == a));
  BOOST_TEST((rank_masters(answers, 6).front().at == b));  // too few of them answer

  // And while seeds may yet answer, nothing is settled by others.
  answers.erase(answers.begin() + 1, answers.begin() + 3);
  BOOST_TEST(is_settled(answers, answers.size()));
  BOOST_TEST(!is_settled(answers, answers.size() + 2, 3));
  BOOST_TEST(is_settled(answers, answers.size(), 1));
}

BOOST_AUTO_TEST_CASE(it_is_settled_once_most_of_all_sentinels_agree) {
  BOOST_TEST(!is_settled({}, 3));
  BOOST_TEST(!is_settled({says(a)}, 1));  // it knows two others
  BOOST_TEST(is_settled({says(a), says(a)}, 3));
  BOOST_TEST(!is_settled({says(a), says(b)}, 3));
  BOOST_TEST(!is_settled({says(a, 1, true), says(a, 1, true), says(a, 1, true)}, 3));
}

BOOST_AUTO_TEST_CASE(a_sentinel_that_knows_no_other_settles_it_only_where_no_other_is_asked) {
  SentinelAnswer alone = says(a);
  alone.others.clear();
  BOOST_TEST(is_settled({alone}, 1));
  BOOST_TEST(!is_settled({alone}, 2));
  BOOST_TEST(!is_settled({alone}, 4));
}
