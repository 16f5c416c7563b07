#include "shared/redis/find_slot_owner.hpp"

#include <boost/test/unit_test.hpp>

#include "tests/support/reply_from_wire.hpp"

using namespace brood;
using Kind = Redirection::Kind;

namespace {

std::string bulk(const std::string& text) { return "$" + std::to_string(text.size()) + "\r\n" + text + "\r\n"; }

std::string node(const std::string& host, int port, const std::string& id) {
  return "*3\r\n" + (host.empty() ? "$-1\r\n" : bulk(host)) + ":" + std::to_string(port) + "\r\n" + bulk(id);
}

std::string range(int first, int last, const std::string& nodes, int count) {
  return "*" + std::to_string(2 + count) + "\r\n:" + std::to_string(first) + "\r\n:" + std::to_string(last) + "\r\n" +
         nodes;
}

const std::string two_ranges = "*2\r\n" +
                               range(0, 5460, node("10.0.0.1", 7000, "aa") + node("10.0.0.4", 7003, "dd"), 2) +
                               range(5461, 16383, node("10.0.0.2", 7001, "bb"), 1);
const std::string nodes_text =
    "bb 10.0.0.2:7001@17001 master - 0 1700000000000 8 connected 5461-16383\n"
    "aa 10.0.0.1:7000@17000,name.example myself,master - 0 0 12 connected 0-5460 [3->-bb]\n"
    "dd 10.0.0.4:7003@17003 slave aa 0 1700000000000 12 connected\n";

std::vector<Reply> answers(const std::string& slots, const std::string& nodes = bulk(nodes_text),
                           const std::string& info = bulk("cluster_state:ok\r\n")) {
  std::vector<Reply> replies;
  for (const std::string& wire : {slots, nodes, info}) replies.push_back(reply_from_wire(wire));
  return replies;
}

SlotOwner owner_of(int slot) { return read_slot_owner(slot, answers(two_ranges)).value(); }

}  // namespace

BOOST_AUTO_TEST_CASE(a_key_lies_in_the_slot_that_redis_gives_it) {
  BOOST_TEST(slot_of("123456789") == 0x31C3);
  BOOST_TEST(slot_of("foo") == 12182);
  BOOST_TEST(slot_of("somekey") == 11058);
  BOOST_TEST(slot_of("") == 0);
  BOOST_TEST(slot_of("{user1000}.following") == slot_of("user1000"));
  BOOST_TEST(slot_of("foo{{bar}}zap") == slot_of("{bar"));
  BOOST_TEST(slot_of("foo{bar}{zap}") == slot_of("bar"));
  BOOST_TEST(slot_of("foo{}{bar}") != slot_of("bar"));
  BOOST_TEST(slot_of("foo{bar") != slot_of("bar"));
  // Measured on a real cluster.
  BOOST_TEST(slot_of("queue:default") == 6705);
  BOOST_TEST(slot_of("queues") == 4777);
}

BOOST_AUTO_TEST_CASE(a_redirection_names_a_node) {
  const Redirection moved = read_redirection("MOVED 3999 127.0.0.1:6381").value();
  BOOST_TEST((moved.kind == Kind::moved));
  BOOST_TEST(moved.slot == 3999);
  BOOST_TEST((moved.node == RedisSeed{"127.0.0.1", 6381}));
  const Redirection ask = read_redirection("ASK 16383 node-2.example.org:7001").value();
  BOOST_TEST((ask.kind == Kind::ask));
  BOOST_TEST((ask.node == RedisSeed{"node-2.example.org", 7001}));
  BOOST_TEST((read_redirection("MOVED 1 2001:db8::1:6381")->node == RedisSeed{"2001:db8::1", 6381}));
  BOOST_TEST((read_redirection("TRYAGAIN Multiple keys request during rehashing of slot")->kind == Kind::try_again));
}

BOOST_AUTO_TEST_CASE(a_node_without_a_host_is_where_the_one_is_that_told_of_it) {
  BOOST_TEST((read_redirection("MOVED 3999 :6381")->node == RedisSeed{"", 6381}));
  BOOST_TEST((read_redirection("MOVED 3999 ?:6381")->node == RedisSeed{"", 6381}));
}

BOOST_AUTO_TEST_CASE(other_errors_and_rubbish_redirect_nowhere) {
  for (const char* error : {"", "ERR MOVED 3999 127.0.0.1:6381", "MOVED", "MOVED 3999", "MOVED x 127.0.0.1:6381",
                            "MOVED 16384 127.0.0.1:6381", "MOVED -1 127.0.0.1:6381", "MOVED 1 127.0.0.1", "MOVED 1 a:0",
                            "MOVED 1 a:65536", "MOVED 1 a:b", "CLUSTERDOWN The cluster is down"})
    BOOST_TEST(!read_redirection(error), error);
}

BOOST_AUTO_TEST_CASE(what_was_redirected_is_sent_again_and_of_a_transaction_all) {
  const auto find = [](const std::vector<std::pair<std::string, std::string>>& sent) {
    std::vector<Command> commands;
    std::vector<Reply> replies;
    for (const auto& [verb, reply] : sent) {
      commands.push_back({verb});
      replies.push_back(reply_from_wire(reply + "\r\n"));
    }
    return find_redirected(commands, replies);
  };
  using Places = std::vector<std::size_t>;
  const std::string moved = "-MOVED 1 a:1", ask = "-ASK 1 a:1", aborted = "-EXECABORT Transaction discarded";
  BOOST_TEST(!find({{"GET", "+OK"}, {"GET", "-WRONGTYPE x"}}));
  BOOST_TEST((find({{"GET", "+OK"}, {"GET", moved}, {"GET", ask}})->places == Places{1, 2}));
  BOOST_TEST((find({{"GET", ask}, {"GET", moved}})->redirection.kind == Kind::ask));
  BOOST_TEST(!find({{"MULTI", "+OK"}, {"GET", "+QUEUED"}, {"EXEC", aborted}}));
  const auto in_transaction =
      find({{"GET", "+OK"}, {"MULTI", "+OK"}, {"GET", "+QUEUED"}, {"GET", moved}, {"EXEC", aborted}, {"GET", "+OK"}});
  BOOST_TEST((in_transaction->places == Places{1, 2, 3, 4}));
  BOOST_TEST(in_transaction->in_transaction);
  BOOST_TEST(!in_transaction->with_wait);
  // A WAIT confirms nothing if the write was refused.
  BOOST_TEST((find({{"GET", moved}, {"GET", "+OK"}, {"WAIT", ":1"}})->places == Places{0, 2}));
  BOOST_TEST(find({{"GET", ask}, {"WAIT", ":1"}})->with_wait);
  BOOST_TEST(!find({{"GET", ask}, {"WAIT", ":1"}})->in_transaction);
  BOOST_TEST(!find({{"GET", "+OK"}, {"WAIT", ":1"}}));
  // The slot went between the two.
  const auto at_the_end = find({{"MULTI", "+OK"}, {"GET", "+QUEUED"}, {"EXEC", "-TRYAGAIN x"}, {"GET", moved}});
  BOOST_TEST((at_the_end->places == Places{0, 1, 2, 3}));
  BOOST_TEST((at_the_end->redirection.kind == Kind::try_again));
}

BOOST_AUTO_TEST_CASE(the_owner_of_a_slot_is_known_with_the_age_of_its_claim) {
  BOOST_TEST((owner_of(0).node == RedisSeed{"10.0.0.1", 7000}));
  BOOST_TEST(owner_of(5460).epoch == 12U);
  BOOST_TEST((owner_of(5461).node == RedisSeed{"10.0.0.2", 7001}));
  BOOST_TEST(owner_of(16383).epoch == 8U);
  BOOST_TEST(owner_of(7).others.size() == 3U);
}

BOOST_AUTO_TEST_CASE(a_user_who_may_not_ask_for_the_nodes_knows_the_owner_all_the_same) {
  const SlotOwner owner = read_slot_owner(1, answers(two_ranges, refused_on_wire)).value();
  BOOST_TEST((owner.node == RedisSeed{"10.0.0.1", 7000}));
  BOOST_TEST(owner.epoch == 0U);
}

BOOST_AUTO_TEST_CASE(a_slot_may_have_no_owner_and_an_owner_no_host) {
  BOOST_TEST(!read_slot_owner(1, answers("*0\r\n")));
  const std::string half = "*1\r\n" + range(0, 100, node("", 7000, "aa"), 1);
  BOOST_TEST(!read_slot_owner(101, answers(half)));
  BOOST_TEST((read_slot_owner(100, answers(half))->node == RedisSeed{"", 7000}));
}

BOOST_AUTO_TEST_CASE(a_node_says_whether_the_cluster_works) {
  BOOST_TEST(read_cluster_works(answers(two_ranges)));
  BOOST_TEST(!read_cluster_works(answers(two_ranges, nil_on_wire, bulk("cluster_state:fail\r\n"))));
  BOOST_TEST(!read_cluster_works(answers(two_ranges, nil_on_wire, refused_on_wire)));
}

BOOST_AUTO_TEST_CASE(what_is_no_answer_is_refused) {
  for (const std::string& wire :
       {std::string("-ERR This instance has cluster support disabled\r\n"), std::string(":1\r\n"),
        "*1\r\n" + range(0, 100, node("a", 0, "aa"), 1), std::string("*1\r\n*1\r\n:0\r\n")})
    BOOST_CHECK_THROW(read_slot_owner(1, answers(wire)), UnexpectedReply);
}

BOOST_AUTO_TEST_CASE(the_owner_of_a_slot_may_be_the_one_who_says_so) {
  BOOST_TEST(owner_of(0).is_teller);
  BOOST_TEST(!owner_of(16'383).is_teller);
}

BOOST_AUTO_TEST_CASE(no_node_has_a_host_that_one_could_not_look_up) {
  for (const std::string& host : {std::string("a\nb"), std::string("a b"), std::string(256, 'a')}) {
    const std::string slots = "*1\r\n" + range(0, 16'383, node(host, 7000, "aa"), 1);
    BOOST_CHECK_THROW(read_slot_owner(0, answers(slots)), UnexpectedReply);
    BOOST_TEST(!read_redirection("MOVED 1 " + host + ":7000"));
  }
  BOOST_TEST(read_redirection("MOVED 1 " + std::string(255, 'a') + ":7000").has_value());
}

BOOST_AUTO_TEST_CASE(a_thousand_of_very_many_nodes_are_known) {
  std::string nodes;
  for (int i = 0; i < 1'500; ++i)
    nodes += node("10.0." + std::to_string(i / 250) + "." + std::to_string(i % 250), 1, "x");
  const std::string slots = "*1\r\n" + range(0, 16'383, nodes, 1'500);
  BOOST_TEST(read_slot_owner(0, answers(slots)).value().others.size() == 1'000U);
}
