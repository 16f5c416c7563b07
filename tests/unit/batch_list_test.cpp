#include <unistd.h>

#include <boost/test/unit_test.hpp>

#include "supervisor/cli/batches/batch_list.hpp"
#include "supervisor/cli/batches/open_push.hpp"

using namespace brood;

// Batches as operators see them.
namespace {

BatchRecord batch_of(std::int64_t total, std::int64_t succeeded, std::int64_t dead) {
  BatchRecord batch;
  batch.total = total;
  batch.succeeded = succeeded;
  batch.dead = dead;
  batch.pending = total - succeeded - dead;
  return batch;
}

FlowStep step(std::string name, std::vector<std::string> after = {}) {
  FlowStep one;
  one.name = std::move(name);
  one.after = std::move(after);
  return one;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_bar_is_full_only_when_all_jobs_have_ended) {
  BOOST_TEST(bar_of(batch_of(0, 0, 0)) == "[##########] 100%");
  BOOST_TEST(bar_of(batch_of(3, 0, 0)) == "[..........]   0%");
  BOOST_TEST(bar_of(batch_of(3, 1, 1)) == "[######....]  66%");
  BOOST_TEST(bar_of(batch_of(1'000, 999, 0)) == "[#########.]  99%");
  BOOST_TEST(bar_of(batch_of(2, 1, 1)) == "[##########] 100%");
}

BOOST_AUTO_TEST_CASE(a_cancelled_batch_has_ended_once_its_finished_event_is_closed) {
  BatchRecord batch = batch_of(2, 1, 0);
  BOOST_TEST(!has_ended(batch));
  batch.state = BatchState::cancelled;
  BOOST_TEST(!has_ended(batch));
  batch.closed["finished"] = 1;
  BOOST_TEST(has_ended(batch));
}

BOOST_AUTO_TEST_CASE(steps_lie_below_all_that_they_wait_for_in_whatever_order_they_were_added) {
  const std::vector<FlowStep> steps = {step("merge", {"small", "large"}), step("split"), step("small", {"split"}),
                                       step("large", {"small"})};
  const std::vector<std::size_t> depths = depths_of(steps);
  BOOST_TEST(depths == (std::vector<std::size_t>{3, 0, 1, 2}), boost::test_tools::per_element());
  BOOST_TEST(depths_of({step("a", {"b"}), step("b", {"a"})}).size() == 2u);  // of another program
}

BOOST_AUTO_TEST_CASE(the_process_of_a_push_is_read_from_the_right) {
  const auto pusher = parse_pusher("my_host 4711 1795914469");
  BOOST_TEST_REQUIRE(pusher.has_value());
  BOOST_TEST(pusher->host == "my_host");
  BOOST_TEST(pusher->pid == 4711);
  BOOST_TEST(pusher->since == 1795914469);
  for (const char* const text : {"", "host", "host 1", "host x 1", "host -1 1", "host 0 1"})
    BOOST_TEST(!parse_pusher(text), text);
}

BOOST_AUTO_TEST_CASE(a_batch_is_held_by_the_dead_only_where_one_of_these_certainly_holds_it) {
  const auto look = [](const Pusher& pusher) {
    return pusher.host == "gone"   ? PusherState::gone
           : pusher.host == "here" ? PusherState::lives
                                   : PusherState::elsewhere;
  };
  const auto is_held = [&](std::int64_t open, std::vector<std::string> pushers) {
    BatchRecord batch;
    batch.open = open;
    batch.pushers = std::move(pushers);
    return is_held_by_the_dead(batch, look);
  };
  BOOST_TEST(is_held(1, {"gone 1 1"}));
  BOOST_TEST(is_held(2, {"here 1 1", "gone 2 1"}));
  BOOST_TEST(!is_held(1, {"here 1 1"}));
  BOOST_TEST(!is_held(1, {"other 1 1"}));
  BOOST_TEST(!is_held(0, {"gone 1 1"}));              // of a job that pushed into its own batch
  BOOST_TEST(!is_held(1, {"here 1 1", "gone 2 1"}));  // perhaps also
  BOOST_TEST(!is_held(1, {}));
}

BOOST_AUTO_TEST_CASE(a_process_that_began_after_the_push_is_another_one) {
  Pusher self = {.host = "", .pid = getpid(), .since = 4'000'000'000};
  char host[256] = {};
  gethostname(host, sizeof host - 1);
  self.host = host;
  BOOST_TEST((look_for_pusher(self) == PusherState::lives));
  self.since = 1;
  BOOST_TEST((look_for_pusher(self) == PusherState::gone));
  self.host = "another";
  BOOST_TEST((look_for_pusher(self) == PusherState::elsewhere));
}
