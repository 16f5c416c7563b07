#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

#include "shared/config/config.hpp"
#include "shared/config/reading/load_config.hpp"
#include "tests/support/loaded_config.hpp"
#include "tests/support/temporary_directory.hpp"

using namespace brood;
using namespace brood::loaded_config;

BOOST_AUTO_TEST_CASE(shards_have_names_and_what_they_do_not_say_is_as_for_one_redis) {
  const Config config = load(
      "[redis]\nuser = 'app'\n[[redis.shard]]\nurl = 'redis://a'\n[[redis.shard]]\nurl = 'redis://b'\nname = "
      "'west'\nuser = 'other'\n");
  BOOST_TEST_REQUIRE(config.redis.shard_list.size() == 2U);
  BOOST_TEST(config.redis.shard_list[0].name == "0");
  BOOST_TEST(config.redis.shard_list[0].user == "");
  BOOST_TEST(config.redis.shard_list[1].name == "west");
  BOOST_TEST(config.redis.shard_list[1].user == "other");
  BOOST_TEST(config.redis.user == "app");
}

BOOST_AUTO_TEST_CASE(shards_are_drained_that_say_so_and_of_a_cluster_those_that_are_named) {
  const Config config = load(
      "[[redis.shard]]\nurl = 'redis://a'\ndrain = true\n[[redis.shard]]\nurl = 'redis://b'\ndrain = false\n"
      "[[redis.shard]]\nurl = 'redis://c'\n");
  BOOST_TEST_REQUIRE(config.redis.shard_list.size() == 3U);
  BOOST_TEST(config.redis.shard_list[0].drain);
  BOOST_TEST(!config.redis.shard_list[1].drain);
  BOOST_TEST(!config.redis.shard_list[2].drain);
  const Config cluster = load("[redis]\ndrain = [3, 2]\nurl = 'cluster://a'\nshards = 4\n");
  BOOST_TEST((cluster.redis.drain == std::vector<int>{3, 2}));
  BOOST_TEST(load("[redis]\nurl = 'cluster://a'\n").redis.drain.empty());
}

BOOST_AUTO_TEST_CASE(a_redis_of_the_command_line_takes_the_place_of_all_shards) {
  const Config config = load("[[redis.shard]]\nurl = 'redis://a'\n", {.redis_url = "redis://b"});
  BOOST_TEST(config.redis.shard_list.empty());
  BOOST_TEST(config.redis.url == "redis://b");
}

BOOST_AUTO_TEST_CASE(how_tls_is_spoken_is_read_with_the_places_where_it_stands) {
  const TemporaryDirectory directory;
  const std::string path = directory.write("brood.toml",
                                           "[redis]\nurl = 'rediss://h'\nshare_with_jobs = 'password'\n[redis.tls]\n"
                                           "ca = '/ca'\ncert = 'credential:redis.pem'\nkey = '/key'\n"
                                           "server_name = 'redis.example.org'\nmin_version = '1.3'\n");
  const Config config = load_config(path, {});
  BOOST_TEST_REQUIRE(config.redis.tls.has_value());
  const TlsSettings& tls = *config.redis.tls;
  BOOST_TEST(tls.ca.path == "/ca");
  BOOST_TEST(tls.ca.place == path + ":5: redis.tls.ca");
  BOOST_TEST(tls.cert.path == "credential:redis.pem");
  BOOST_TEST(tls.key.place == path + ":7: redis.tls.key");
  BOOST_TEST(tls.server_name == "redis.example.org");
  BOOST_TEST((tls.min_version == TlsSettings::Version::tls_1_3));
  BOOST_TEST((tls.verify.kind == TlsVerify::Kind::full));
  const std::string pin = "pin:0a:" + std::string(62, 'F');
  const TlsVerify pinned =
      load_config(directory.write("pin.toml", "[redis.tls]\nverify = '" + pin + ",  " + std::string(64, '1') + "'\n"),
                  {})
          .redis.tls->verify;
  BOOST_TEST_REQUIRE(pinned.pins.size() == 2U);
  BOOST_TEST(pinned.pins[0][0] == 10);
  BOOST_TEST(pinned.pins[0][31] == 255);
  BOOST_TEST((TlsVerify::parse(pinned.text()) == pinned));
  BOOST_TEST(config.redis.share_with_jobs);
  BOOST_TEST(config.redis.share_password_in_url);
  BOOST_TEST(config.warnings.empty());

  const std::string plain = directory.write("plain.toml", "[redis]\nurl = 'redis://h'\n[redis.tls]\n");
  BOOST_TEST_REQUIRE(load_config(plain, {}).warnings.size() == 1u);
  BOOST_TEST(load_config(plain, {}).warnings.front().find("TLS is not spoken") != std::string::npos);
}
