#include <sched.h>

#include <cstdlib>
#include <iostream>
#include <memory>
#include <vector>

#include <boost/test/unit_test.hpp>

#include <fmt/format.h>

#include "shared/base/log.hpp"
#include "tests/store/interleavings/world.hpp"
#include "tests/support/redis_server.hpp"

// The worker protocol of the product, in random interleavings with kills, lost replies and late commands.  BROOD_SEEDS
// and BROOD_FIRST_SEED choose what is run.  A failing seed fails again in the same way.
using namespace brood;
using namespace brood::interleavings;

namespace {

std::uint64_t setting(const char* name, std::uint64_t otherwise) {
  const char* const text = std::getenv(name);
  return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

struct ProcessState {
  ProcessState() {
    log::set_level(log::Level::error);
    // Only one thread ever runs, and Redis while all wait: on one processor a hand-over costs half as much.
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    sched_setaffinity(0, sizeof one, &one);
  }
};
BOOST_TEST_GLOBAL_FIXTURE(ProcessState);

// The databases of one server.
struct Databases {
  Databases() {
    for (int number = 0; number < 3; ++number) {
      RedisAddress address = server.address();
      address.db = number;
      connections.push_back(std::make_unique<Connection>(address));
      channels.push_back(connections.back().get());
    }
  }
  RedisServer server;
  std::vector<std::unique_ptr<Connection>> connections;
  std::vector<Channel*> channels;
};

void print_trace(const Databases& redis, std::uint64_t seed) {
  Coverage ignored;
  World world(redis.channels, seed, {}, ignored, true);
  world.run();
  std::cerr << "trace of seed " << seed << ":\n";
  for (const std::string& event : world.trace()) std::cerr << "  " << event << "\n";
}

#ifdef __SANITIZE_ADDRESS__  // three times as slow, so only the first seeds
constexpr std::uint64_t usual_seeds = 100;
#else
constexpr std::uint64_t usual_seeds = 600;  // run more by hand after a change of the protocol
#endif
constexpr std::uint64_t enough_for_each = 600;  // the rarest event comes in one seed of a hundred

}  // namespace

BOOST_AUTO_TEST_CASE(no_interleaving_loses_a_job_or_does_it_twice) {
  const Databases redis;
  Coverage coverage;
  const std::uint64_t first = setting("BROOD_FIRST_SEED", 1), seeds = setting("BROOD_SEEDS", usual_seeds);
  int bad = 0;

  for (std::uint64_t seed = first; seed < first + seeds; ++seed) {
    const std::vector<std::string> faults = World(redis.channels, seed, {}, coverage).run();
    for (const std::string& fault : faults) BOOST_ERROR("seed " << seed << ": " << fault);
    if (!faults.empty() && ++bad == 1) print_trace(redis, seed);
    if (bad >= 10) break;
  }

  std::string happened;
  for (const auto& [what, times] : coverage.all()) happened += fmt::format("{} {}, ", what, times);
  BOOST_TEST_MESSAGE(happened);
  if (seeds < enough_for_each) return;
  for (const auto& [what, times] : coverage.all()) BOOST_TEST(times > 0, what << " never happened");
}

// It is enough to show once, without sanitizers, that these checks notice a broken rule.
#ifndef __SANITIZE_ADDRESS__

namespace {

constexpr std::uint64_t seeds_of_broken_rules = 1000;

// The first seed from `begin` on that goes wrong when a rule is switched off; 0 if none does.  For a rare fault `begin`
// is the seed where it was found last.  If the runs have changed, finds a later seed, and finally the earlier ones.
std::uint64_t first_bad_seed(const Broken& broken, std::uint64_t begin = 1, std::uint64_t step = 1) {
  const Databases redis;
  Coverage coverage;
  for (std::uint64_t i = 0; i < seeds_of_broken_rules; i += step) {
    const std::uint64_t seed = (begin - 1 + i) % seeds_of_broken_rules + 1;
    const std::vector<std::string> faults = World(redis.channels, seed, broken, coverage).run();
    if (faults.empty()) continue;
    BOOST_TEST_MESSAGE("seed " << seed << ": " << faults.front());
    return seed;
  }
  return 0;
}

// The same among the seeds that have caps.
std::uint64_t first_bad_seed_with_caps(const Broken& broken, std::uint64_t begin = 4) {
  return first_bad_seed(broken, begin, 4);
}

}  // namespace

BOOST_AUTO_TEST_CASE(without_numbers_it_goes_wrong) { BOOST_TEST(first_bad_seed({.numbers_unchecked = true}) != 0u); }

BOOST_AUTO_TEST_CASE(with_a_recovery_that_ignores_the_number_it_goes_wrong) {
  BOOST_TEST(first_bad_seed({.recovery_unchecked = true}, 146) != 0u);
}

BOOST_AUTO_TEST_CASE(with_an_incarnation_used_twice_it_goes_wrong) {
  BOOST_TEST(first_bad_seed({.incarnations_reused = true}) != 0u);
}

BOOST_AUTO_TEST_CASE(with_the_number_before_the_clearing_it_goes_wrong) {
  BOOST_TEST(first_bad_seed({.number_before_clearing = true}) != 0u);
}

BOOST_AUTO_TEST_CASE(without_a_look_at_what_the_dead_have_noted_it_goes_wrong) {
  BOOST_TEST(first_bad_seed({.notes_unheeded = true}) != 0u);
}

BOOST_AUTO_TEST_CASE(without_tombstones_it_goes_wrong) {
  BOOST_TEST(first_bad_seed({.tombstones_omitted = true}, 46) != 0u);
}

BOOST_AUTO_TEST_CASE(with_unannounced_waits_it_goes_wrong) {
  BOOST_TEST(first_bad_seed({.waits_unannounced = true}, 46) != 0u);
}

BOOST_AUTO_TEST_CASE(with_resends_under_another_number_it_goes_wrong) {
  BOOST_TEST(first_bad_seed({.resends_renumbered = true}) != 0u);
}

BOOST_AUTO_TEST_CASE(with_a_worker_that_abandons_what_it_holds_without_a_field_it_goes_wrong) {
  BOOST_TEST(first_bad_seed({.lost_fields_abandoned = true}) != 0u);
}

BOOST_AUTO_TEST_CASE(with_outcomes_for_any_entry_of_a_list_without_a_field_it_goes_wrong) {
  BOOST_TEST(first_bad_seed({.lost_entries_unchecked = true}, 838) != 0u);
}

BOOST_AUTO_TEST_CASE(with_a_sweep_under_the_living_it_goes_wrong) {
  BOOST_TEST(first_bad_seed({.living_swept = true}, 93) != 0u);
}

BOOST_AUTO_TEST_CASE(with_the_dead_left_alone_whose_field_is_lost_it_goes_wrong) {
  BOOST_TEST(first_bad_seed({.dead_without_field_left = true}) != 0u);
}

BOOST_AUTO_TEST_CASE(with_jobs_begun_on_an_old_heartbeat_it_goes_wrong) {
  BOOST_TEST(first_bad_seed({.old_beats_ignored = true}) != 0u);
}

BOOST_AUTO_TEST_CASE(with_an_adoption_of_one_that_beats_again_it_goes_wrong) {
  BOOST_TEST(first_bad_seed({.adoptions_unchecked = true}, 218) != 0u);
}

BOOST_AUTO_TEST_CASE(with_jobs_begun_that_were_fetched_before_the_heartbeat_was_old_it_goes_wrong) {
  BOOST_TEST(first_bad_seed({.lapses_ignored = true}, 398) != 0u);
}

BOOST_AUTO_TEST_CASE(with_locks_that_a_settle_keeps_it_goes_wrong) {
  BOOST_TEST(first_bad_seed({.locks_kept_at_settle = true}) != 0u);
}

BOOST_AUTO_TEST_CASE(with_locks_that_a_recovery_keeps_it_goes_wrong) {
  BOOST_TEST(first_bad_seed({.locks_kept_at_recovery = true}) != 0u);
}

BOOST_AUTO_TEST_CASE(with_locks_released_by_jobs_that_do_not_hold_them_it_goes_wrong) {
  BOOST_TEST(first_bad_seed({.locks_let_go_by_anybody = true}, 185) != 0u);
}

BOOST_AUTO_TEST_CASE(with_locks_let_go_by_failures_it_goes_wrong) {
  BOOST_TEST(first_bad_seed({.locks_let_go_by_failures = true}) != 0u);
}

BOOST_AUTO_TEST_CASE(with_locks_taken_for_the_dead_it_goes_wrong) {
  BOOST_TEST(first_bad_seed({.takes_unfenced = true}) != 0u);
}

BOOST_AUTO_TEST_CASE(with_a_recovery_that_does_not_look_again_for_what_was_taken_it_goes_wrong) {
  BOOST_TEST(first_bad_seed({.late_takes_unseen = true}, 22) != 0u);
}

BOOST_AUTO_TEST_CASE(with_a_recovery_that_keeps_what_the_incarnation_held_it_goes_wrong) {
  BOOST_TEST(first_bad_seed({.holdings_unheeded = true}) != 0u);
}

BOOST_AUTO_TEST_CASE(with_locks_kept_by_workers_that_have_lost_their_field_it_goes_wrong) {
  BOOST_TEST(first_bad_seed({.kept_without_field = true}, 160) != 0u);
}

BOOST_AUTO_TEST_CASE(with_a_settle_that_goes_on_after_a_refusal_it_goes_wrong) {
  BOOST_TEST(first_bad_seed({.refusals_ignored = true}) != 0u);
}

BOOST_AUTO_TEST_CASE(with_moves_between_shards_that_settle_nothing_it_goes_wrong) {
  BOOST_TEST(first_bad_seed({.moves_unsettled = true}) != 0u);
}

BOOST_AUTO_TEST_CASE(with_moves_to_another_shard_before_the_first_is_left_it_goes_wrong) {
  BOOST_TEST(first_bad_seed({.moves_before_leaving = true}) != 0u);
}

BOOST_AUTO_TEST_CASE(with_workers_that_leave_unsettled_what_they_have_done_in_a_shard_that_is_away_it_goes_wrong) {
  BOOST_TEST(first_bad_seed({.leaves_unsettled = true}, 22) != 0u);
}

BOOST_AUTO_TEST_CASE(without_a_recovery_of_what_workers_left_behind_it_goes_wrong) {
  BOOST_TEST(first_bad_seed({.left_behind_forgotten = true}) != 0u);
}

BOOST_AUTO_TEST_CASE(with_an_orphan_watch_that_does_not_know_what_is_being_recovered_it_goes_wrong) {
  BOOST_TEST(first_bad_seed({.left_behind_unnamed = true}, 28) != 0u);
}

BOOST_AUTO_TEST_CASE(with_a_recovery_in_the_shard_to_which_a_dead_worker_was_called_it_goes_wrong) {
  BOOST_TEST(first_bad_seed({.recovered_where_called = true}) != 0u);
}

BOOST_AUTO_TEST_CASE(with_jobs_fetched_without_a_look_for_a_place_it_goes_wrong) {
  BOOST_TEST(first_bad_seed_with_caps({.places_unchecked = true}) != 0u);
}

BOOST_AUTO_TEST_CASE(with_places_that_are_not_noted_it_goes_wrong) {
  BOOST_TEST(first_bad_seed_with_caps({.places_unnoted = true}) != 0u);
}

BOOST_AUTO_TEST_CASE(with_places_that_are_taken_though_they_cannot_be_noted_it_goes_wrong) {
  BOOST_TEST(first_bad_seed_with_caps({.unnoted_places_taken = true}) != 0u);
}

BOOST_AUTO_TEST_CASE(with_places_that_a_settle_keeps_it_goes_wrong) {
  BOOST_TEST(first_bad_seed_with_caps({.places_kept_at_settle = true}) != 0u);
}

BOOST_AUTO_TEST_CASE(with_places_that_a_recovery_keeps_it_goes_wrong) {
  BOOST_TEST(first_bad_seed_with_caps({.places_kept_at_recovery = true}) != 0u);
}

BOOST_AUTO_TEST_CASE(with_places_of_the_dead_freed_before_their_recovery_it_goes_wrong) {
  BOOST_TEST(first_bad_seed_with_caps({.places_freed_at_death = true}) != 0u);
}

BOOST_AUTO_TEST_CASE(with_settles_that_free_any_place_it_goes_wrong) {
  BOOST_TEST(first_bad_seed_with_caps({.places_freed_by_anybody = true}, 292) != 0u);
}

BOOST_AUTO_TEST_CASE(with_jobs_beside_a_queue_that_do_not_count_for_its_cap_it_goes_wrong) {
  BOOST_TEST(first_bad_seed_with_caps({.caps_end_beside_queues = true}) != 0u);
}

BOOST_AUTO_TEST_CASE(with_jobs_set_aside_in_two_steps_it_goes_wrong) {
  BOOST_TEST(first_bad_seed_with_caps({.set_aside_apart = true}) != 0u);
}

BOOST_AUTO_TEST_CASE(with_set_aside_jobs_that_pass_for_done_it_goes_wrong) {
  BOOST_TEST(first_bad_seed_with_caps({.asides_pass_for_done = true}) != 0u);
}

BOOST_AUTO_TEST_CASE(with_set_aside_jobs_that_end_when_the_field_is_lost_it_goes_wrong) {
  BOOST_TEST(first_bad_seed_with_caps({.asides_end_without_field = true}) != 0u);
}

BOOST_AUTO_TEST_CASE(with_a_queue_of_set_aside_jobs_forgotten_while_a_worker_has_one_it_goes_wrong) {
  BOOST_TEST(first_bad_seed_with_caps({.asides_forgotten = true}) != 0u);
}

BOOST_AUTO_TEST_CASE(with_set_aside_jobs_returned_backwards_it_goes_wrong) {
  BOOST_TEST(first_bad_seed_with_caps({.asides_returned_backwards = true}) != 0u);
}

#endif
