#define BOOST_TEST_MODULE identity
#include "shared/identity.hpp"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>

#include "shared/check.hpp"

using namespace brood;

BOOST_AUTO_TEST_CASE(the_name_is_host_pid_and_twelve_hex_digits) {
  const Identity self = Identity::of_this_process();
  const std::string front = self.hostname + ":" + std::to_string(getpid()) + ":";
  BOOST_TEST(self.name.starts_with(front));
  const std::string nonce = self.name.substr(front.size());
  BOOST_TEST(nonce.size() == 12u);
  BOOST_TEST(nonce.find_first_not_of("0123456789abcdef") == nonce.npos);
  BOOST_TEST(self.hostname.find(':') == self.hostname.npos);
  BOOST_TEST(self.boot_id.size() == 36u);
  BOOST_TEST(self.pid_namespace.starts_with("pid:["));
  BOOST_TEST(self.start_time > 0u);
  BOOST_TEST(Identity::of_this_process().name != self.name);
}

BOOST_AUTO_TEST_CASE(dyno_names_the_host_and_markup_does_not_pass) {
  setenv("DYNO", "web.1", 1);
  BOOST_TEST(Identity::of_this_process().hostname == "web.1");
  setenv("DYNO", "<b>a:b c\"\n", 1);
  BOOST_TEST(Identity::of_this_process().hostname == "-b-a-b-c--");
  setenv("DYNO", std::string(1000, 'x').c_str(), 1);
  BOOST_TEST(Identity::of_this_process().hostname.size() == 64u);
  unsetenv("DYNO");
}

BOOST_AUTO_TEST_CASE(a_record_reads_back) {
  Identity self = Identity::of_this_process();
  self.runtime_directory = "/run/brood";
  Identity read;
  BOOST_REQUIRE(Identity::parse(self.name, self.record(), read));
  BOOST_TEST(read.runtime_directory == "/run/brood");
  BOOST_TEST(read.name == self.name);
  BOOST_TEST(read.hostname == self.hostname);
  BOOST_TEST(read.boot_id == self.boot_id);
  BOOST_TEST(read.pid_namespace == self.pid_namespace);
  BOOST_TEST(read.pid == self.pid);
  BOOST_TEST(read.start_time == self.start_time);
  BOOST_TEST(read.same_host(self));
}

BOOST_AUTO_TEST_CASE(a_directory_that_a_record_cannot_hold_is_not_told) {
  Identity self = Identity::of_this_process();
  self.runtime_directory = "/run/\"quoted\"";
  Identity read;
  BOOST_REQUIRE(Identity::parse(self.name, self.record(), read));
  BOOST_TEST(read.runtime_directory.empty());
}

BOOST_AUTO_TEST_CASE(a_record_cut_anywhere_is_none) {
  const std::string record = Identity::of_this_process().record();
  Identity read;
  read.pid = 42;
  for (std::size_t length = 0; length < record.size(); ++length) {
    BOOST_TEST(!Identity::parse("x", record.substr(0, length), read), record.substr(0, length));
  }
  BOOST_TEST(read.pid == 42);
}

BOOST_AUTO_TEST_CASE(hostile_records_are_none) {
  Identity read;
  for (const std::string text :
       {"{}", "[]", "null", R"({"pid":1})", R"({"pid":0,"schema":1})", R"({"pid":-1,"schema":1})",
        R"({"pid":99999999999,"schema":1})", R"({"pid":1.5,"schema":1})", R"({"pid":"x","schema":1})",
        R"({"schema":1})", R"({"pid":1,"schema":1}})", R"({"pid":1,"schema":1}x)", R"({"pid":1,"schema":1,})",
        R"({"pid":1,"schema":1,"host":"\u0041"})", R"({"pid":1,"schema":1,"host":{"a":1}})"}) {
    BOOST_TEST(!Identity::parse("x", text, read), text);
  }
  BOOST_TEST(!Identity::parse("x", std::string(1 << 20, '{'), read));
}

BOOST_AUTO_TEST_CASE(members_of_a_later_schema_are_skipped) {
  Identity read;
  BOOST_TEST(Identity::parse("x", R"({ "pid": 7, "colour": "green", "weight": 3, "schema": 2 })", read));
  BOOST_TEST(read.pid == 7);
  BOOST_TEST(!read.same_host(read));  // it names no boot: its pid means nothing
}

BOOST_AUTO_TEST_CASE(another_boot_or_namespace_is_another_host) {
  const Identity self = Identity::of_this_process();
  Identity other = self;
  other.boot_id = "another";
  BOOST_TEST(!self.same_host(other));
  other = self;
  other.pid_namespace = "pid:[1]";
  BOOST_TEST(!self.same_host(other));
}

BOOST_AUTO_TEST_CASE(a_process_lives_until_it_is_a_zombie) {
  const pid_t child = check("fork", fork());
  if (child == 0) {
    for (;;) pause();
  }
  const std::uint64_t start_time = process_start_time(child);
  BOOST_TEST(start_time > 0u);
  BOOST_TEST(process_lives(child, start_time));
  BOOST_TEST(!process_lives(child, start_time + 1));

  kill(child, SIGKILL);
  siginfo_t info;
  check("waitid", waitid(P_PID, child, &info, WEXITED | WNOWAIT));
  BOOST_TEST(!process_lives(child, start_time));
  check("waitpid", waitpid(child, nullptr, 0));
  BOOST_TEST(process_start_time(child) == 0u);
  BOOST_TEST(process_start_time(-1) == 0u);
  BOOST_TEST(!process_lives(child, 0));
}
