#include "shared/redis/address.hpp"

#include <boost/test/unit_test.hpp>

using namespace brood;

namespace {

std::string refusal_of(const std::string& url) {
  try {
    RedisAddress::parse(url);
  } catch (const AddressError& e) {
    return e.what();
  }
  return "";
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

BOOST_AUTO_TEST_CASE(a_host_alone_has_the_usual_port_and_database) {
  const RedisAddress address = RedisAddress::parse("redis://localhost");

  BOOST_TEST(address.host == "localhost");
  BOOST_TEST(address.port == 6379);
  BOOST_TEST(address.db == 0);
  BOOST_TEST(address.user == "");
  BOOST_TEST(address.password == "");
  BOOST_TEST(address.socket_path == "");
}

BOOST_AUTO_TEST_CASE(every_part_of_a_url_is_read) {
  const RedisAddress address = RedisAddress::parse("redis://app:secret@redis.example.com:6390/3");

  BOOST_TEST(address.user == "app");
  BOOST_TEST(address.password == "secret");
  BOOST_TEST(address.host == "redis.example.com");
  BOOST_TEST(address.port == 6390);
  BOOST_TEST(address.db == 3);
}

BOOST_AUTO_TEST_CASE(a_password_needs_no_user_and_is_percent_decoded) {
  const RedisAddress address = RedisAddress::parse("redis://:p%40ss%2Fw%25@h:1");

  BOOST_TEST(address.user == "");
  BOOST_TEST(address.password == "p@ss/w%");
}

BOOST_AUTO_TEST_CASE(a_bare_at_sign_in_a_password_is_understood) {
  const RedisAddress address = RedisAddress::parse("redis://u:p@ss:word@h");

  BOOST_TEST(address.password == "p@ss:word");
  BOOST_TEST(address.host == "h");
}

BOOST_AUTO_TEST_CASE(the_database_is_a_path_or_a_parameter_but_not_two_different_ones) {
  BOOST_TEST(RedisAddress::parse("redis://h/7").db == 7);
  BOOST_TEST(RedisAddress::parse("redis://h/?db=7").db == 7);
  BOOST_TEST(RedisAddress::parse("redis://h?db=7").db == 7);
  BOOST_TEST(RedisAddress::parse("redis://h/7?db=7").db == 7);
  BOOST_TEST(RedisAddress::parse("redis://h/").db == 0);
  BOOST_TEST(contains(refusal_of("redis://h/7?db=8"), "two different databases"));
}

BOOST_AUTO_TEST_CASE(an_ipv6_address_stands_in_brackets) {
  const RedisAddress address = RedisAddress::parse("redis://:pw@[::1]:6380/1");

  BOOST_TEST(address.host == "::1");
  BOOST_TEST(address.port == 6380);
  BOOST_TEST(!address.needs_resolving());
  BOOST_TEST(address.without_password() == "redis://[::1]:6380/1");
  BOOST_TEST(contains(refusal_of("redis://::1:6380"), "brackets"));
  BOOST_TEST(refusal_of("redis://[::1") != "");
  BOOST_TEST(refusal_of("redis://[host]") != "");
  BOOST_TEST(refusal_of("redis://[::1]6380") != "");
}

BOOST_AUTO_TEST_CASE(a_socket_is_written_in_three_ways) {
  for (const char* url : {"unix:///run/redis.sock", "unix:/run/redis.sock", "/run/redis.sock"}) {
    const RedisAddress address = RedisAddress::parse(url);
    BOOST_TEST(address.socket_path == "/run/redis.sock");
    BOOST_TEST(address.host == "");
    BOOST_TEST(!address.needs_resolving());
  }
}

BOOST_AUTO_TEST_CASE(a_socket_takes_a_password_and_a_database) {
  const RedisAddress address = RedisAddress::parse("unix://app:s%3Acret@/run/redis.sock?db=2");

  BOOST_TEST(address.user == "app");
  BOOST_TEST(address.password == "s:cret");
  BOOST_TEST(address.socket_path == "/run/redis.sock");
  BOOST_TEST(address.db == 2);
  BOOST_TEST(address.without_password() == "unix://app@/run/redis.sock?db=2");
}

BOOST_AUTO_TEST_CASE(an_at_sign_in_the_path_of_a_socket_is_part_of_the_path) {
  BOOST_TEST(RedisAddress::parse("unix:///run/a@b.sock").socket_path == "/run/a@b.sock");
  BOOST_TEST(RedisAddress::parse("unix://:pw@/run/a@b.sock").socket_path == "/run/a@b.sock");
}

BOOST_AUTO_TEST_CASE(a_scheme_is_read_in_any_case) { BOOST_TEST(RedisAddress::parse("REDIS://h").host == "h"); }

BOOST_AUTO_TEST_CASE(no_host_means_this_one) {
  BOOST_TEST(RedisAddress::parse("redis://:pw@:7000/1").host == "127.0.0.1");
}

BOOST_AUTO_TEST_CASE(what_brood_cannot_do_is_refused_by_name) {
  BOOST_TEST(contains(refusal_of("http://h"), "unknown scheme"));
  BOOST_TEST(contains(refusal_of("localhost:6379"), "no Redis URL"));
  BOOST_TEST(refusal_of("") != "");
}

BOOST_AUTO_TEST_CASE(an_impossible_port_is_refused) {
  for (const char* port : {"0", "65536", "-1", "x", "6379x", "", "99999999999999999999"})
    BOOST_TEST(contains(refusal_of(std::string("redis://h:") + port), "port"), port);
}

BOOST_AUTO_TEST_CASE(an_impossible_database_is_refused) {
  for (const char* db : {"-1", "x", "1x", "2147483648", "99999999999999999999", "1/2"}) {
    BOOST_TEST(contains(refusal_of(std::string("redis://h/") + db), "database"), db);
    BOOST_TEST(contains(refusal_of(std::string("unix:///s?db=") + db), "database"), db);
  }
  BOOST_TEST(contains(refusal_of("redis://h?db="), "database"));
}

BOOST_AUTO_TEST_CASE(what_a_url_cannot_hold_is_refused) {
  BOOST_TEST(refusal_of("redis://h?timeout=5") != "");
  BOOST_TEST(refusal_of("redis://secret@h") != "");
  BOOST_TEST(refusal_of("redis://:100%@h") != "");
  BOOST_TEST(refusal_of("redis://:%zz@h") != "");
  BOOST_TEST(refusal_of("redis://a b") != "");
  BOOST_TEST(refusal_of("redis://a\nb") != "");
  BOOST_TEST(refusal_of("redis://h#1") != "");
  BOOST_TEST(refusal_of("unix://relative.sock") != "");
  BOOST_TEST(refusal_of("unix://") != "");
  BOOST_TEST(refusal_of("/" + std::string(200, 'x')) != "");
}

BOOST_AUTO_TEST_CASE(neither_a_log_line_nor_an_error_shows_the_password) {
  BOOST_TEST(!contains(RedisAddress::parse("redis://u:hunter2@h/1").without_password(), "hunter2"));
  for (const char* url : {"redis://u:hunter2/x@h", "redis://u:hunter2@h:port", "redis://u:hunter2@h?x=y",
                          "http://u:hunter2@h", "redis://u:hunter2%@h", "unix://u:hunter2@relative"}) {
    BOOST_TEST(refusal_of(url) != "", url);
    BOOST_TEST(!contains(refusal_of(url), "hunter2"), url);
  }
}

BOOST_AUTO_TEST_CASE(only_a_host_name_without_numbers_needs_resolving) {
  RedisAddress address = RedisAddress::parse("redis://redis.example.com");
  BOOST_TEST(address.needs_resolving());
  address.numeric_hosts = {"192.0.2.1"};
  BOOST_TEST(!address.needs_resolving());
  BOOST_TEST(!RedisAddress::parse("redis://192.0.2.1").needs_resolving());
  BOOST_TEST(RedisAddress::parse("redis://localhost").needs_resolving());
}

BOOST_AUTO_TEST_CASE(tls_is_spoken_where_the_scheme_says_so) {
  BOOST_TEST(!RedisAddress::parse("redis://h").tls);
  BOOST_TEST(!RedisAddress::parse("unix:///run/redis.sock").tls);
  for (const char* url : {"rediss://app:secret@h:6380/2", "REDISS://app:secret@h:6380/2"}) {
    const RedisAddress address = RedisAddress::parse(url);
    BOOST_TEST(address.tls.has_value());
    BOOST_TEST(address.host == "h");
    BOOST_TEST(address.port == 6380);
    BOOST_TEST(address.password == "secret");
    BOOST_TEST(address.db == 2);
    BOOST_TEST(address.without_password() == "rediss://app@h:6380/2");
  }
  BOOST_TEST(contains(refusal_of("rediss://h?ssl_cert_reqs=none"), "not known here"));
}

BOOST_AUTO_TEST_CASE(sentinels_are_a_list_of_hosts_and_the_name_of_a_master) {
  const RedisAddress address =
      RedisAddress::parse("sentinel://app:s%3Acret@a:26380,b,[::1]:5,a:26380/my-master.1?db=3");

  BOOST_TEST((address.seeds == std::vector<RedisSeed>{{"a", 26380}, {"b", 26379}, {"::1", 5}}));
  BOOST_TEST(address.master == "my-master.1");
  BOOST_TEST(address.has_sentinels());
  BOOST_TEST(address.host == "");
  BOOST_TEST(address.user == "app");
  BOOST_TEST(address.password == "s:cret");
  BOOST_TEST(address.sentinel_password == "");
  BOOST_TEST(address.db == 3);
  BOOST_TEST(!address.needs_resolving());
  BOOST_TEST(address.without_password() == "sentinel://app@a:26380,b:26379,[::1]:5/my-master.1?db=3");
  BOOST_TEST(RedisAddress::parse(address.without_password().replace(11, 4, "")).without_password() ==
             "sentinel://a:26380,b:26379,[::1]:5/my-master.1?db=3");
  BOOST_TEST(!RedisAddress::parse("redis://h").has_sentinels());
}

BOOST_AUTO_TEST_CASE(a_url_of_sentinels_that_is_not_whole_is_refused) {
  for (const char* url : {"sentinel://h", "sentinel://h/", "sentinel://h?db=1", "sentinel://h/a/1", "sentinel://h/a b"})
    BOOST_TEST(refusal_of(url) != "", url);
  BOOST_TEST(contains(refusal_of("sentinel://h"), "the name by which the sentinels know the master"));
  for (const char* url : {"sentinel:///m", "sentinel://a,,b/m", "sentinel://a,/m", "sentinel://,a/m"})
    BOOST_TEST(contains(refusal_of(url), "empty place"), url);
  BOOST_TEST(contains(refusal_of("sentinel://a:0/m"), "port"));
  BOOST_TEST(contains(refusal_of("sentinel://a/m?x=1"), "parameter"));
  BOOST_TEST(!contains(refusal_of("sentinel://u:hunter2/m@h/n"), "hunter2"));
}

BOOST_AUTO_TEST_CASE(the_password_of_a_cluster_ends_where_every_other_does) {
  BOOST_TEST(RedisAddress::parse("cluster://u:p%2Fss@a:7000,b").password == "p/ss");
  BOOST_TEST(RedisAddress::parse("cluster://a:7000/0").seeds.size() == 1U);
  BOOST_CHECK_THROW(RedisAddress::parse("cluster://:pa/ss@a:7000"), AddressError);
  BOOST_CHECK_THROW(RedisAddress::parse("cluster://a:7000/1"), AddressError);
}
