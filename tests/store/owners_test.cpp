#include "shared/store/report/owners.hpp"

#include <boost/test/unit_test.hpp>

#include "shared/base/identity.hpp"
#include "shared/store/identity_record.hpp"
#include "shared/store/keys.hpp"
#include "tests/support/redis_server.hpp"

using namespace brood;

namespace {

const std::string stranger = "there:4711:0123456789ab", neighbour = "here:12:0123456789ac";

struct List {
  RedisServer server;
  Connection redis{server.address()};

  void own(const std::string& identity, const std::string& field = "0.1") {
    server.command({"HSET", keys::in_flight_hash(identity), field, "3 default"});
    server.command({"LPUSH", keys::in_flight_list(identity, field, "default"), "{}"});
  }
  std::string record(const std::string& identity) {
    return server.hget(std::string(keys::brood_processes.name()), identity).value_or("none");
  }
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(an_unlisted_owner_of_jobs_is_found, List) {
  own(stranger);
  own(neighbour);
  server.command({"HSET", keys::brood_processes, neighbour, "its own record"});

  BOOST_TEST(list_unlisted_processes(redis) == 1);
  BOOST_TEST(list_unlisted_processes(redis) == 0);

  BOOST_TEST(record(neighbour) == "its own record");
  const auto found = parse_identity_record(stranger, record(stranger));
  BOOST_REQUIRE(found);
  BOOST_TEST(found->hostname == "there");
  BOOST_TEST(found->pid == 4711);
  // It is not considered a process of this host: its heartbeat decides.
  BOOST_TEST(!found->same_boot(Identity::of_this_process()));
}

BOOST_FIXTURE_TEST_CASE(a_name_that_is_none_is_listed_too_and_a_full_redis_lets_it_through, List) {
  own("no such shape");
  server.command({"CONFIG", "SET", "maxmemory", "1"});
  BOOST_TEST(list_unlisted_processes(redis) == 1);
  BOOST_TEST(parse_identity_record("no such shape", record("no such shape")).has_value());
}

BOOST_FIXTURE_TEST_CASE(lists_and_tombstones_alone_are_no_process, List) {
  server.command({"LPUSH", keys::in_flight_list(stranger, "0.1", "default"), "{}"});
  server.command({"SET", keys::in_flight_list(stranger, "0.2", "default"), "dead"});
  BOOST_TEST(list_unlisted_processes(redis) == 0);
  BOOST_TEST(server.size_of("brood:processes") == 0U);
}

BOOST_FIXTURE_TEST_CASE(a_process_that_owns_nothing_is_forgotten_and_one_that_came_back_is_not, List) {
  server.command({"HSET", keys::brood_processes, stranger, "{}", neighbour, "{}"});
  own(neighbour);

  forget_process(redis, stranger);
  forget_process(redis, neighbour);

  BOOST_TEST(record(stranger) == "none");
  BOOST_TEST(record(neighbour) == "{}");
}
