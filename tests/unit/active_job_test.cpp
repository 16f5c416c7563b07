#include "shared/job/active_job.hpp"

#include <boost/test/unit_test.hpp>
#include <string>

#include <brood/global_id.hpp>
#include "shared/job/payload.hpp"

using namespace brood;

namespace {

std::string arguments_of(const std::string& arguments) {
  return active_job_arguments(R"([{"job_class":"J","job_id":"1","queue_name":"q","arguments":)" + arguments +
                              R"(,"executions":0,"locale":"en"}])");
}

std::string object(const std::string& serializer, const std::string& value) {
  return R"([{"_aj_serialized":"ActiveJob::Serializers::)" + serializer + R"(Serializer","value":)" + value + "}]";
}

std::string error_of(const std::string& arguments) {
  try {
    return "no error: " + arguments_of(arguments);
  } catch (const BadActiveJob& error) {
    return error.what();
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(plain_values_stay_as_they_are_written) {
  const std::string plain = R"([1,2.50,null,true,"s\u00e9",[1,[2]],12345678901234567890])";
  BOOST_TEST(arguments_of(plain) == plain);
  BOOST_TEST(arguments_of("[]") == "[]");
}

BOOST_AUTO_TEST_CASE(hashes_lose_what_active_job_notes_in_them) {
  BOOST_TEST(arguments_of(R"([{"k":1,"_aj_symbol_keys":[]}])") == R"([{"k":1}])");
  BOOST_TEST(arguments_of(R"([{"k":{"l":[{"m":1,"_aj_symbol_keys":["m"]}],"_aj_symbol_keys":["l"]}}])") ==
             R"([{"k":{"l":[{"m":1}]}}])");
  BOOST_TEST(arguments_of(R"([{"x":1,"y":2,"_aj_ruby2_keywords":["x","y"]}])") == R"([{"x":1,"y":2}])");
  BOOST_TEST(arguments_of(R"([{"a":1,"_aj_hash_with_indifferent_access":true}])") == R"([{"a":1}])");
}

BOOST_AUTO_TEST_CASE(objects_of_active_job_become_what_fields_read) {
  BOOST_TEST(arguments_of(object("Symbol", R"("sym")")) == R"(["sym"])");
  BOOST_TEST(arguments_of(object("Date", R"("2026-01-02")")) == R"(["2026-01-02"])");
  BOOST_TEST(arguments_of(object("Duration", "300")) == "[300]");
  BOOST_TEST(arguments_of(object("Duration", "1.5")) == "[1.5]");
  BOOST_TEST(arguments_of(object("Time", R"("2026-11-21T05:01:58.514199972Z")")) == "[1795237318.514199]");
  BOOST_TEST(arguments_of(object("TimeWithZone", R"("2026-11-21T06:01:58.000000000+01:00")")) == "[1795237318.000000]");
  BOOST_TEST(arguments_of(object("DateTime", R"("2026-11-20T21:31:58-07:30")")) == "[1795237318.000000]");
  BOOST_TEST(arguments_of(object("Time", R"("1969-12-31T23:59:59.500000000Z")")) == "[-0.500000]");
  BOOST_TEST(arguments_of(R"([{"_aj_globalid":"gid://shop/Order/7"}])") == R"(["gid://shop/Order/7"])");
}

BOOST_AUTO_TEST_CASE(what_has_no_counterpart_is_named_with_its_argument) {
  BOOST_TEST(error_of(R"([1,{"_aj_serialized":"ActiveJob::Serializers::RangeSerializer","begin":1,"end":2}])") ==
             "argument 2 of the Active Job is an object of ActiveJob::Serializers::RangeSerializer, which has no "
             "counterpart in JSON: give the job plain values");
  BOOST_TEST(error_of(R"([[{"_aj_serialized":"Money::Serializer","value":"1"}]])").starts_with("argument 1 of"));
  BOOST_TEST(error_of(object("Time", R"("tomorrow")")).find("is no time of ISO 8601") != std::string::npos);
  for (const char* text : {"2026-13-01T00:00:00Z", "2026-02-30T00:00:00Z", "2026-01-01T00:00:00", "2026-01-01",
                           "-026-01-01T00:00:00Z", "2026-01-01T00:00:00Zx"})
    BOOST_TEST(error_of(object("Time", "\"" + std::string(text) + "\"")).find("is no time") != std::string::npos, text);
  BOOST_TEST(error_of(R"([{"_aj_later":1}])").find("has the member _aj_later") != std::string::npos);
  BOOST_TEST(error_of(R"([{"_aj_globalid":7}])").find("is no text") != std::string::npos);
  BOOST_CHECK_THROW(active_job_arguments("[]"), BadActiveJob);
  BOOST_CHECK_THROW(active_job_arguments(R"(["x"])"), BadActiveJob);
  BOOST_CHECK_THROW(active_job_arguments(R"([{"arguments":1}])"), BadActiveJob);
  BOOST_CHECK_THROW(active_job_arguments("x"), BadActiveJob);
}

BOOST_AUTO_TEST_CASE(the_code_of_a_wrapped_job_is_that_of_its_class) {
  const auto code_class = [](const std::string& members) {
    return Payload::parse("{\"args\":[]," + members + "}").code_class();
  };
  BOOST_TEST(code_class(R"("class":"ActiveJob::QueueAdapters::SidekiqAdapter::JobWrapper","wrapped":"Mail")") ==
             "Mail");
  BOOST_TEST(code_class(R"("class":"Sidekiq::ActiveJob::Wrapper","wrapped":"Mail")") == "Mail");
  BOOST_TEST(code_class(R"("class":"Sidekiq::ActiveJob::Wrapper")") == "Sidekiq::ActiveJob::Wrapper");
  BOOST_TEST(code_class(R"("class":"Own","wrapped":"Mail")") == "Own");
}

BOOST_AUTO_TEST_CASE(a_global_id_is_read_and_written) {
  const GlobalId id = GlobalId::parse("gid://shop/Admin::Order/a%20b%2F7?x=1");
  BOOST_TEST(id.app == "shop");
  BOOST_TEST(id.model == "Admin::Order");
  BOOST_TEST(id.id == "a b/7");
  BOOST_TEST(id.text() == "gid://shop/Admin::Order/a%20b%2F7");
  BOOST_TEST((GlobalId::parse(id.text()) == id));
  for (const char* text :
       {"", "gid://", "gid://shop", "gid://shop/Order", "gid://shop/Order/", "gid:///Order/7", "http://a/b/c"})
    BOOST_CHECK_THROW(GlobalId::parse(text), std::invalid_argument);
}
