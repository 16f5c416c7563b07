#include "shared/job/due_job.hpp"

#include <boost/test/unit_test.hpp>

#include "shared/job/payload.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

const WallTime now(1795237403123456000ns);

RewrittenJob prepare(const std::string& member, TimeUnit otherwise = usual_time_unit) {
  std::mt19937_64 random(1);
  return prepare_due_job(member, now, random, otherwise);
}

void check_moved_to_dead(const std::string& member) {
  const RewrittenJob due = prepare(member);
  BOOST_TEST(due.queue == "");
  BOOST_TEST(due.reason != "");
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_job_of_sidekiq_8_gets_its_enqueued_at_in_milliseconds) {
  const RewrittenJob due =
      prepare(R"({"class":"A","args":[1,"two"],"queue":"low","jid":"b1","created_at":1795237318514,"retry":true})");
  BOOST_TEST(due.queue == "low");
  BOOST_TEST(due.payload == R"({"class":"A","args":[1,"two"],"queue":"low","jid":"b1","created_at":1795237318514,)"
                            R"("retry":true,"enqueued_at":1795237403123})");
}

BOOST_AUTO_TEST_CASE(a_job_of_sidekiq_7_gets_its_enqueued_at_in_seconds) {
  const RewrittenJob due = prepare(
      R"({"class":"A","args":[],"queue":"low","jid":"b1","created_at":1795237365.94,"enqueued_at":1795237365.95})");
  BOOST_TEST(due.payload == R"({"class":"A","args":[],"queue":"low","jid":"b1","created_at":1795237365.94,)"
                            R"("enqueued_at":1795237403.123456})");
}

BOOST_AUTO_TEST_CASE(a_job_that_has_no_time_is_given_those_that_the_fleet_reads) {
  const std::string no_time = R"({"class":"A","args":[],"queue":"low","jid":"b1"})";
  BOOST_TEST(prepare(no_time, TimeUnit::float_seconds).payload ==
             R"({"class":"A","args":[],"queue":"low","jid":"b1","enqueued_at":1795237403.123456,)"
             R"("created_at":1795237403.123456})");
  BOOST_TEST(prepare(no_time, TimeUnit::integer_milliseconds).payload ==
             R"({"class":"A","args":[],"queue":"low","jid":"b1","enqueued_at":1795237403123,)"
             R"("created_at":1795237403123})");
  const std::string of_8 = R"({"class":"A","args":[],"queue":"low","jid":"b1","created_at":1795237318514})";
  BOOST_TEST(prepare(of_8, TimeUnit::float_seconds).payload == prepare(of_8).payload);
}

BOOST_AUTO_TEST_CASE(an_object_that_is_no_job_is_told_when_it_failed_in_the_unit_of_its_own_times_else_of_the_fleet) {
  const auto ends = [](const std::string& payload, const std::string& end) { return payload.ends_with(end); };
  BOOST_TEST(ends(prepare(R"({"class":"A"})", TimeUnit::float_seconds).payload, R"("failed_at":1795237403.123456})"));
  BOOST_TEST(
      ends(prepare(R"({"class":"A"})", TimeUnit::integer_milliseconds).payload, R"("failed_at":1795237403123})"));
  BOOST_TEST(ends(prepare(R"({"class":"A","created_at":17.5})").payload, R"("failed_at":1795237403.123456})"));
}

BOOST_AUTO_TEST_CASE(every_other_byte_is_kept) {
  const RewrittenJob due =
      prepare(R"({ "class" : "A", "args":[1.0, 1e-05,1180591620717411303424,"\u00e9/\/"], "x":{}, "y":[],)"
              R"( "queue":"d","jid":"b", "created_at": 1795237318514, "enqueued_at" : 5 ,"retry_count":3})");
  BOOST_TEST(due.payload ==
             R"({ "class" : "A", "args":[1.0, 1e-05,1180591620717411303424,"\u00e9/\/"], "x":{}, "y":[],)"
             R"( "queue":"d","jid":"b", "created_at": 1795237318514, "enqueued_at" : 1795237403123 ,"retry_count":3})");
}

BOOST_AUTO_TEST_CASE(the_new_enqueued_at_stands_where_an_edit_of_the_payload_puts_it) {
  const std::string job = R"("class":"A","args":[{"}":"}"}],"queue":"d","jid":"b","created_at":1)";
  for (const std::string& member :
       {"{" + job + "}", " {\n" + job + " \n}\t\n", "{" + job + R"(,"x":"}"  } )", "{" + job + R"(,"x":{} })",
        R"({"enqueued_at":null,)" + job + "}", R"({"enqueued_at":1,)" + job + R"(,"enqueued_at": "2" ,"x":0})",
        R"({"\u0065nqueued_at":[1.5, "}"],)" + job + "}", R"({"x":{"enqueued_at":1},)" + job + "}"}) {
    const Payload::Edit edit{"enqueued_at", "1795237403123"};
    BOOST_TEST(prepare(member).payload == Payload::parse(member).with({edit}).text());
  }
}

BOOST_AUTO_TEST_CASE(what_a_push_fills_in_is_filled_in) {
  const RewrittenJob due = prepare(R"({"class":"A","args":[]})");
  BOOST_TEST(due.queue == "default");
  const Payload job = Payload::parse(due.payload);
  BOOST_TEST(job.string("queue").value() == "default");
  BOOST_TEST(job.jid().size() == 24u);
  BOOST_TEST(job.jid().find_first_not_of("0123456789abcdef") == std::string::npos);
  BOOST_TEST(job.number("created_at").value() == 1795237403.123456);
  BOOST_TEST(job.number("enqueued_at").value() == 1795237403.123456);
  BOOST_TEST(!job.raw("retry").has_value());  // else the class's own option would no longer count
}

BOOST_AUTO_TEST_CASE(a_queue_of_any_name_is_a_queue) {
  BOOST_TEST(prepare(R"({"class":"A","args":[],"queue":"my queue <b>"})").queue == "my queue <b>");
}

BOOST_AUTO_TEST_CASE(what_is_no_json_is_moved_to_dead_with_its_bytes) {
  const std::string too_deep = std::string(100, '[') + std::string(100, ']');
  for (const std::string member :
       {"", " ", "not json", "\"x\"", " \"x\"", "{\"class\":", "{}{}", "\xFF", too_deep.c_str()}) {
    check_moved_to_dead(member);
    BOOST_TEST(prepare(member).payload == member);
  }
}

// Ruby's pages and API ask each dead job for its members.
BOOST_AUTO_TEST_CASE(a_json_value_that_is_no_object_is_moved_to_dead_within_one) {
  for (const std::string member : {"null", "[]", "[1, 2]", "1", "true", " -0.5e3 "}) {
    check_moved_to_dead(member);
    const RewrittenJob due = prepare(member);
    const JsonObject object = JsonObject::parse(due.payload);
    BOOST_TEST(object.raw("args").value() == "[" + member + "]");
    BOOST_TEST(object.string("jid").value().size() == 24u);
    BOOST_TEST(object.string("error_class").value() == "BadPayload");
    BOOST_TEST(object.string("error_message").value() == due.reason);
  }
}

BOOST_AUTO_TEST_CASE(an_object_that_is_no_job_is_moved_to_dead_with_the_reason) {
  for (const std::string member :
       {R"({})", R"({"class":"A"})", R"({"args":[]})", R"({"class":7,"args":[]})", R"({"class":"A","args":{}})",
        R"({"class":"A","args":[],"queue":null})", R"({"class":"A","args":[],"queue":""})",
        R"({"class":"A","args":[],"queue":["a"]})"}) {
    check_moved_to_dead(member);
    const RewrittenJob due = prepare(member);
    const JsonObject object = JsonObject::parse(due.payload);
    BOOST_TEST(object.string("error_class").value() == "BadPayload");
    BOOST_TEST(object.string("error_message").value() == due.reason);
    BOOST_TEST(object.number("failed_at").value() == 1795237403.123456);
  }
}
