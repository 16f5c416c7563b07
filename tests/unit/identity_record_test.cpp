#include "shared/store/identity_record.hpp"

#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <string>

using namespace brood;

namespace {

Identity read_back(const Identity& identity) {
  const auto read = parse_identity_record(identity.name, identity_record(identity));
  BOOST_REQUIRE(read);
  return *read;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_record_reads_back) {
  Identity self = Identity::of_this_process();
  self.runtime_directory = "/run/brood";
  const Identity read = read_back(self);
  BOOST_TEST(read.runtime_directory == "/run/brood");
  BOOST_TEST(read.name == self.name);
  BOOST_TEST(read.hostname == self.hostname);
  BOOST_TEST(read.boot_id == self.boot_id);
  BOOST_TEST(read.pid_namespace == self.pid_namespace);
  BOOST_TEST(read.pid == self.pid);
  BOOST_TEST(read.start_time == self.start_time);
  BOOST_TEST(read.same_boot(self));
}

BOOST_AUTO_TEST_CASE(its_bytes_are_those_that_other_releases_read) {
  const Identity identity{.name = "h:7:0123456789ab",
                          .hostname = "h",
                          .boot_id = "b",
                          .pid_namespace = "pid:[1]",
                          .pid = 7,
                          .start_time = 18446744073709551615U,
                          .runtime_directory = "/run/brood",
                          .user = 1000};
  BOOST_TEST(identity_record(identity) ==
             R"({"host":"h","boot_id":"b","pid_namespace":"pid:[1]","pid":7,"start_time":18446744073709551615,)"
             R"("user":1000,"runtime_directory":"/run/brood","schema":1})");
}

BOOST_AUTO_TEST_CASE(a_directory_may_have_any_name) {
  Identity self = Identity::of_this_process();
  self.runtime_directory = "/run/\"quoted\"\\\n";
  BOOST_TEST(read_back(self).runtime_directory == self.runtime_directory);
}

BOOST_AUTO_TEST_CASE(a_record_cut_anywhere_is_none) {
  const std::string record = identity_record(Identity::of_this_process());
  for (std::size_t length = 0; length < record.size(); ++length) {
    BOOST_TEST(!parse_identity_record("x", record.substr(0, length)), record.substr(0, length));
  }
}

BOOST_AUTO_TEST_CASE(hostile_records_are_none) {
  for (const std::string text :
       {"{}", "[]", "null", R"({"pid":1})", R"({"pid":0,"schema":1})", R"({"pid":-1,"schema":1})",
        R"({"pid":99999999999,"schema":1})", R"({"pid":1.5,"schema":1})", R"({"pid":"x","schema":1})",
        R"({"schema":1})", R"({"pid":1,"schema":1}})", R"({"pid":1,"schema":1}x)", R"({"pid":1,"schema":1,})",
        R"({"pid":1,"schema":1,"host":"\x41"})", R"({"pid":1,"schema":1,"user":-1})",
        R"({"pid":1,"schema":1,"host":{"a":1}})"}) {
    BOOST_TEST(!parse_identity_record("x", text), text);
  }
  BOOST_TEST(!parse_identity_record("x", std::string(1 << 20, '{')));
}

BOOST_AUTO_TEST_CASE(members_of_a_later_schema_are_skipped) {
  const auto read = parse_identity_record("x", R"({ "pid": 7, "colour": "green", "weight": 3, "schema": 2 })");
  BOOST_REQUIRE(read);
  BOOST_TEST(read->pid == 7);
  BOOST_TEST(!read->same_boot(*read));  // it names no boot: its pid means nothing
}

BOOST_AUTO_TEST_CASE(a_record_says_whose_process_it_is_unless_an_older_brood_wrote_it) {
  Identity self = Identity::of_this_process();
  BOOST_TEST((read_back(self).user == geteuid()));
  self.user.reset();
  BOOST_TEST(!read_back(self).user.has_value());
  BOOST_TEST(!parse_identity_record("x", R"({"pid":1,"user":"root","schema":1})"));
}
