#include <unistd.h>

#include <algorithm>
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
  // Not the address of this Redis, so it is left alone.
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

BOOST_AUTO_TEST_CASE(how_tls_is_spoken_is_said_by_the_settings_or_else_by_the_environment) {
  const Environment environment = invented({{"BROOD_REDIS_TLS_CA", "/e/ca"},
                                            {"BROOD_REDIS_TLS_MIN_VERSION", "1.3"},
                                            {"CREDENTIALS_DIRECTORY", "/run/credentials/x.service"}});
  BOOST_TEST(!locate_redis({.url = "redis://h", .user = {}, .password_file = {}}, environment).tls);
  RedisSettings settings{.url = "rediss://h", .user = {}, .password_file = {}};
  RedisAddress address = locate_redis(settings, environment);
  BOOST_TEST(address.tls->ca.path == "/e/ca");
  BOOST_TEST(address.tls->ca.place == "BROOD_REDIS_TLS_CA");
  BOOST_TEST((address.tls->min_version == TlsSettings::Version::tls_1_3));

  settings.tls =
      TlsSettings{.ca = {"/c/ca", "f:1"}, .cert = {"credential:redis.pem", "f:2"}, .key = {}, .server_name = "r"};
  address = locate_redis(settings, environment);
  BOOST_TEST(address.tls->ca.path == "/c/ca");
  BOOST_TEST(address.tls->cert.path == "/run/credentials/x.service/redis.pem");
  BOOST_TEST(address.tls->server_name == "r");
  BOOST_TEST((address.tls->min_version == TlsSettings::Version::tls_1_2));
  BOOST_CHECK_THROW(locate_redis({.url = "rediss://h", .user = {}, .password_file = {}},
                                 invented({{"BROOD_REDIS_TLS_MIN_VERSION", "1.1"}})),
                    AddressError);
  const RedisSettings sentinels{.url = "sentinel://h:1/m", .user = {}, .password_file = {}};
  BOOST_TEST((locate_redis(sentinels, invented({{"BROOD_REDIS_TLS_VERIFY", "none"}})).tls->verify.kind ==
              TlsVerify::Kind::none));
  BOOST_CHECK_THROW(locate_redis(sentinels, invented({{"BROOD_REDIS_TLS_VERIFY", "nothing"}})), AddressError);
}

BOOST_AUTO_TEST_CASE(jobs_are_told_which_shards_are_drained) {
  const auto drained = [](const RedisSettings& settings) {
    std::string names;
    for (const RedisAddress& shard : locate_shards(settings)) names += shard.is_drained ? shard.shard + " " : "";
    return names;
  };
  RedisSettings servers{.url = {}, .user = {}, .password_file = {}};
  servers.shard_list = {{.name = "eu", .url = "redis://eu", .user = {}, .password_file = {}},
                        {.name = "us", .url = "redis://us", .user = {}, .password_file = {}, .drain = true}};
  BOOST_TEST(drained(servers) == "us ");
  tell_jobs_of_redis(servers);
  BOOST_TEST(drained(redis_told_to_jobs().value()) == "us ");

  RedisSettings cluster{.url = "cluster://h:1", .user = {}, .password_file = {}};
  cluster.shards = 12;
  cluster.drain = {11, 2};
  BOOST_TEST(drained(cluster) == "2 11 ");
  tell_jobs_of_redis(cluster);
  BOOST_TEST(drained(redis_told_to_jobs().value()) == "2 11 ");
  tell_jobs_of_redis({.url = "redis://h", .user = {}, .password_file = {}});
  BOOST_TEST(drained(redis_told_to_jobs().value()) == "");
  tell_jobs_of_redis({.url = {}, .user = {}, .password_file = {}, .share_with_jobs = false});
}

BOOST_AUTO_TEST_CASE(jobs_are_told_how_tls_is_spoken_and_no_password) {
  const TlsSettings tls{.ca = {"/ca", ""}, .cert = {"/cert", ""}, .key = {"/key", ""}, .server_name = "r"};
  RedisSettings settings{.url = "rediss://app:p%40ss@h:1/2", .user = {}, .password_file = {}};
  settings.tls = tls;
  settings.private_password_file = "/run/brood/redis-password.1";
  tell_jobs_of_redis(settings);
  const auto told = redis_told_to_jobs();
  BOOST_TEST_REQUIRE(told.has_value());
  BOOST_TEST(told->url == "rediss://h:1/2");
  BOOST_TEST(told->user == "app");
  BOOST_TEST(told->password_file == "/run/brood/redis-password.1");
  BOOST_TEST(std::getenv("BROOD_REDIS_TLS_CA") == std::string("/ca"));
  BOOST_TEST(std::getenv("BROOD_REDIS_TLS_SERVER_NAME") == std::string("r"));
  BOOST_TEST(std::getenv("BROOD_REDIS_TLS_MIN_VERSION") == nullptr);
  BOOST_TEST(std::getenv("BROOD_REDIS_TLS_VERIFY") == nullptr);
  settings.tls->ca = {};
  settings.tls->verify = TlsVerify::parse("pin:" + std::string(64, 'a') + "," + std::string(64, 'B'));
  tell_jobs_of_redis(settings);
  RedisSettings without_password = *redis_told_to_jobs();
  without_password.password_file.clear();
  BOOST_TEST((locate_redis(without_password).tls->verify == settings.tls->verify));
  settings.tls = tls;
  tell_jobs_of_redis(settings);
  BOOST_TEST((files_told_to_jobs() == std::vector<std::string>{"/run/brood/redis-password.1", "/ca", "/cert", "/key"}));

  settings.shard_list = {{.name = "eu", .url = "redis://eu", .user = {}, .password_file = "/eu"}};
  tell_jobs_of_redis(settings);
  const std::vector<std::string> files = files_told_to_jobs();
  BOOST_TEST((std::find(files.begin(), files.end(), "/eu") != files.end()));
  settings.shard_list.clear();

  settings.share_password_in_url = true;
  tell_jobs_of_redis(settings);
  BOOST_TEST(redis_told_to_jobs()->url == "rediss://app:p%40ss@h:1/2");
  settings.share_with_jobs = false;
  tell_jobs_of_redis(settings);
  BOOST_TEST(!redis_told_to_jobs());
  BOOST_TEST(files_told_to_jobs().empty());
  BOOST_TEST(std::getenv("BROOD_REDIS_TLS_SERVER_NAME") == nullptr);

  // The variable from which the address came loses the password too.
  setenv("REDIS_URL", "unix://app:secret@/run/a@b.sock?db=1", 1);
  tell_jobs_of_redis({});
  BOOST_TEST(std::getenv("REDIS_URL") == std::string("unix:///run/a@b.sock?db=1"));
  BOOST_TEST(redis_told_to_jobs()->user == "app");
  unsetenv("REDIS_URL");
  tell_jobs_of_redis({.url = {}, .user = {}, .password_file = {}, .share_with_jobs = false});
}
