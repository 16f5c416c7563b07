#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <map>
#include <string>

#include "shared/base/paths.hpp"
#include "shared/config/redis_location.hpp"
#include "tests/support/temporary_directory.hpp"

using namespace brood;

namespace {

Environment invented(std::map<std::string, std::string> variables) {
  return [variables = std::move(variables)](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  };
}

}  // namespace

BOOST_AUTO_TEST_CASE(jobs_are_told_of_the_redis_of_their_worker) {
  BOOST_TEST(!redis_told_to_jobs());
  tell_jobs_of_redis({.url = "redis://one:1", .user = "u", .password_file = "/etc/p"});
  auto told = redis_told_to_jobs();
  BOOST_TEST_REQUIRE(told.has_value());
  BOOST_TEST(told->url == "redis://one:1");
  BOOST_TEST(told->user == "u");
  BOOST_TEST(told->password_file == "/etc/p");

  tell_jobs_of_redis({.url = "embedded", .user = {}, .password_file = {}});
  told = redis_told_to_jobs();
  BOOST_TEST_REQUIRE(told.has_value());
  BOOST_TEST(told->url == "unix://" + embedded_socket_path());
  BOOST_TEST(told->user == "");
  BOOST_TEST(told->password_file == "");
}

BOOST_AUTO_TEST_CASE(jobs_that_are_not_to_know_find_nothing_in_their_environment) {
  setenv("REDIS_URL", "redis://:secret@one:1", 1);
  tell_jobs_of_redis({.url = "redis://one:1", .user = "u", .password_file = "/etc/p"});
  tell_jobs_of_redis({.url = "redis://two:2", .user = {}, .password_file = {}, .share_with_jobs = false});
  BOOST_TEST(!redis_told_to_jobs());
  BOOST_TEST(std::getenv("BROOD_REDIS_PASSWORD_FILE") == nullptr);
  // Not where this Redis is, and so somebody else's affair.
  BOOST_TEST_REQUIRE(std::getenv("REDIS_URL") != nullptr);

  tell_jobs_of_redis({.url = {}, .user = {}, .password_file = {}, .share_with_jobs = false});
  BOOST_TEST(std::getenv("REDIS_URL") == nullptr);

  setenv("REDIS_PROVIDER", "MY_REDIS", 1);
  setenv("MY_REDIS", "redis://:secret@one:1", 1);
  tell_jobs_of_redis({.url = {}, .user = {}, .password_file = {}, .share_with_jobs = false});
  BOOST_TEST(std::getenv("MY_REDIS") == nullptr);
  unsetenv("REDIS_PROVIDER");
}

BOOST_AUTO_TEST_CASE(redis_is_found_in_the_contracts_order) {
  const Environment both =
      invented({{"REDIS_URL", "redis://one:1"}, {"REDIS_PROVIDER", "MY_REDIS"}, {"MY_REDIS", "redis://two:2"}});
  BOOST_TEST(locate_redis({.url = "redis://zero:3", .user = {}, .password_file = {}}, both).host == "zero");
  BOOST_TEST(locate_redis({}, both).host == "two");
  BOOST_TEST(locate_redis({}, invented({{"REDIS_URL", "redis://one:1"}})).host == "one");
  BOOST_CHECK_THROW(locate_redis({}, invented({{"REDIS_PROVIDER", "MY_REDIS"}})), AddressError);
  BOOST_CHECK_THROW(locate_redis({}, invented({{"REDIS_PROVIDER", "redis://two:2"}})), AddressError);

  const Environment state = invented({{"STATE_DIRECTORY", "/var/lib/a:/var/lib/b"}});
  BOOST_TEST(uses_embedded_redis({}, state));
  BOOST_TEST(locate_redis({}, state).socket_path == "/var/lib/a/redis.sock");
  BOOST_TEST(!uses_embedded_redis({}, both));
  BOOST_TEST(uses_embedded_redis({.url = "embedded", .user = {}, .password_file = {}}, both));
}

BOOST_AUTO_TEST_CASE(user_and_password_file_stand_beside_the_url) {
  const TemporaryDirectory directory;
  const std::string file = directory.write("password", "s3cret\n");
  const RedisAddress address = locate_redis({.url = "redis://h:1", .user = "app", .password_file = file}, invented({}));
  BOOST_TEST(address.user == "app");
  BOOST_TEST(address.password == "s3cret");
  BOOST_CHECK_THROW(locate_redis({.url = "redis://h:1", .user = {}, .password_file = file + "x"}, invented({})),
                    AddressError);
}

BOOST_AUTO_TEST_CASE(directories_follow_systemd_then_xdg_then_the_user) {
  BOOST_TEST(runtime_directory(invented({{"RUNTIME_DIRECTORY", "/run/x"}, {"XDG_RUNTIME_DIR", "/run/user/1"}})) ==
             "/run/x");
  BOOST_TEST(runtime_directory(invented({{"XDG_RUNTIME_DIR", "/run/user/1"}})) == "/run/user/1/brood");
  BOOST_TEST(state_directory(invented({{"XDG_STATE_HOME", "/home/a/state"}})) == "/home/a/state/brood");
  if (geteuid() == 0) {
    BOOST_TEST(runtime_directory(invented({})) == "/run/brood");
    BOOST_TEST(state_directory(invented({})) == "/var/lib/brood");
  } else {
    BOOST_TEST(state_directory(invented({{"HOME", "/home/a"}})) == "/home/a/.local/state/brood");
    BOOST_CHECK_THROW(state_directory(invented({})), std::runtime_error);
  }
}
