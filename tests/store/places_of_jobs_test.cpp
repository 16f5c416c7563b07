#include "shared/store/places_of_jobs.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>

#include "shared/store/in_flight/job_search.hpp"
#include "tests/support/enqueue.hpp"
#include "tests/support/redis_server.hpp"

using namespace brood;

// The places where a job may wait, and which operations look there.
//
//   place               its queue   beside it    in flight   without     schedule,   quarantine,     dead
//                                   for a cap                a field     retry       paused class
//   a crash is charged  its queue   its home     its home    -           -           -               -
//   given back          -           -            its list's queue        -           -               -
//   another replaces it in place    in place     no: it runs             yes         yes             no: holds nothing
//   found by its id     yes         yes          yes         yes         yes         yes             yes
//   locks check         yes         yes          yes         yes         yes         yes             no: holds nothing
//   `queues clear`      yes         yes          no          no          no          no              no
//   `cancel`            no          no           iterable    no          schedule    no              no
//   counts as served    by the processes' heartbeats          -           -           -               -
//   paused              yes         as its home  runs on     -           when due    when released   -
//   expires             when it is fetched       begins      if fetched  when due    when released   no
//   a cap is gone       -           given back   given back within a minute          goes home       -
//   a shard is drained  counted     counted      counted     counted     counted     counted         stays, reported
//
// What waits for its sequence is found by its id, counted by a drain, and shown and removed by `brood sequences`; all
// else happens to it once it is in its queue.
//
// What waits for a unique lock, over a limit, after an interruption or for its time waits in the schedule.  Its payload
// names its queue there, as in the other sets, and never one beside that.

namespace {

constexpr const char* identity = "host:1:aaaaaaaaaaaa";

bool is(const PlaceOfJobs& place, PlaceOfJobs::Kind kind) { return place.kind == kind; }

}  // namespace

BOOST_AUTO_TEST_CASE(every_place_where_a_job_may_lie_is_looked_at) {
  using Kind = PlaceOfJobs::Kind;
  RedisServer redis;
  Connection connection(redis.address());
  const std::string in_flight = std::string("brood:inflight:") + identity + ":0.1:q@cap";
  struct Row {
    Kind kind;
    std::string key;
    bool is_set;
  };
  const Row rows[] = {{Kind::queue, "queue:q", false},     {Kind::queue, "queue:q@cap", false},
                      {Kind::in_flight, in_flight, false}, {Kind::schedule, "schedule", true},
                      {Kind::retry, "retry", true},        {Kind::quarantine, "brood:quarantined", true},
                      {Kind::dead, "dead", true},          {Kind::sequence, "brood:sequence:s", false}};
  for (const Row& row : rows) {
    BOOST_TEST_CONTEXT(row.key) {
      if (row.is_set)
        redis.command({"ZADD", RedisKey(row.key), "5", payload_text("Any", "[]", 1)});
      else
        redis.command({"LPUSH", RedisKey(row.key), payload_text("Any", "[]", 1)});
      const bool is_looked_at_twice = row.is_set || row.kind == Kind::sequence;
      std::size_t looks = 0;
      for_each_place_of_jobs(connection, [&](const PlaceOfJobs& place) {
        if (place.key.name() != row.key) return;
        ++looks;
        BOOST_TEST(is(place, row.kind));
      });
      BOOST_TEST(looks == (row.kind == Kind::dead ? 0U : is_looked_at_twice ? 2U : 1U));
      const std::vector<PlacedJob> found = search_job(connection, "000000000000000000000001");
      BOOST_REQUIRE(found.size() == 1U);
      BOOST_CHECK(found[0].place == row.kind);
      redis.command({"DEL", RedisKey(row.key)});
    }
  }
}

BOOST_AUTO_TEST_CASE(jobs_of_a_queue_wait_in_the_sets_in_it_and_beside_it) {
  const auto places = places_of_waiting_jobs({"q", "again"}, {"q@cap", "q@x@cap", "other@cap", "again@few", "q"});
  std::vector<std::string> keys, homes;
  for (const PlaceOfJobs& place : places) {
    keys.push_back(place.key.name());
    if (!place.home.empty()) homes.push_back(place.home);
  }
  BOOST_TEST(keys == (std::vector<std::string>{"schedule", "retry", "brood:quarantined", "queue:q", "queue:q@cap",
                                               "queue:again", "queue:again@few", "brood:quarantined"}),
             boost::test_tools::per_element());
  BOOST_TEST(homes == (std::vector<std::string>{"q", "again"}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(the_name_of_a_queue_beside_another_ends_with_that_of_its_cap) {
  BOOST_TEST(home_by_name("q@cap") == "q");
  BOOST_TEST(home_by_name("q@x@cap") == "q@x");
  BOOST_TEST(home_by_name("q") == "");
  BOOST_TEST(home_by_name("@cap") == "");
}
