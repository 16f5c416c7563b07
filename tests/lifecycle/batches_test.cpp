#include <boost/test/unit_test.hpp>

#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include <brood/api.hpp>
#include <brood/batch.hpp>
#include <brood/flow.hpp>

#include "shared/store/batches/batch.hpp"
#include "tests/support/brood_process.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/faults.hpp"
#include "tests/support/storm.hpp"

using namespace brood;
using namespace std::chrono_literals;

// Batches whose jobs run in real workers, among faults.
namespace {

const std::string batch_jobs = BROOD_BINARY_DIR "/tests/job_libraries/libbatch_jobs.so";
using Strings = std::vector<std::string>;

constexpr std::array all_events{BatchEvent::complete, BatchEvent::success, BatchEvent::death, BatchEvent::finished};
constexpr std::array event_names{"complete", "success", "death", "finished"};

struct Site {
  RedisServer redis;
  TemporaryDirectory directory;
  const std::string path = directory / "lines";
  Client client{redis.url()};
  std::optional<BroodProcess> brood;

  explicit Site(int workers = 2) {
    brood.emplace(redis, BroodOptions{.workers = workers,
                                      .queues = {"callbacks", "branches", "leaves"},
                                      .libraries = {batch_jobs},
                                      .config = "poll_interval = \"500ms\"\n[worker]\nmax_crashes = 1000\n",
                                      .environment = {{"BATCH_LINES", path}}});
    BOOST_REQUIRE_MESSAGE(brood->wait_ready(), brood->log_tail());
  }

  Batch batch_with_callbacks() {
    Batch batch(client);
    for (std::size_t i = 0; i < all_events.size(); ++i)
      batch.on(
          all_events.at(i),
          Push{.job_class = "Noted", .args = std::string("[\"") + event_names.at(i) + "\"]", .queue = "callbacks"});
    return batch;
  }
  static Push push_of(const std::string& job_class, const std::string& args = "[]", YesNoOrCount retry = true) {
    return {.job_class = job_class, .args = args, .queue = "branches", .retry = retry};
  }
  Batch batch_of(const std::vector<Push>& all) {
    Batch batch = batch_with_callbacks();
    batch.push([&](BatchJobs& jobs) {
      for (const Push& push : all) jobs.push(push);
    });
    return batch;
  }

  // The lines with this beginning, without the beginning.
  Strings lines(const std::string& begin) const {
    Strings found;
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);)
      if (line.starts_with(begin + " ")) found.push_back(line.substr(begin.size() + 1));
    return found;
  }
  // The events whose callbacks have run for this batch, sorted.
  std::multiset<std::string> fired(const std::string& bid) const {
    std::multiset<std::string> events;
    for (const std::string& line : lines("callback")) {
      std::istringstream words(line);
      std::string event, of;
      words >> event >> of;
      if (of == bid) events.insert(event);
    }
    return events;
  }
  bool comes_to(const std::string& bid, const std::multiset<std::string>& events) {
    return eventually([&] { return fired(bid) == events; });
  }

  BatchRecord record(const std::string& bid) {
    const std::vector<Command> ask = ask_batch(bid);
    const Reply hash = redis.command(ask[0]), children = redis.command(ask[1]);
    return read_batch(bid, hash.view(), children.view()).value();
  }
};

using Events = std::multiset<std::string>;

}  // namespace

BOOST_AUTO_TEST_CASE(a_job_reopens_its_own_batch) {
  Site site;
  const Batch batch = site.batch_of({Site::push_of("Reopen")});
  BOOST_TEST(site.comes_to(batch.bid(), {"complete", "success", "finished"}), site.brood->log_tail());
  BOOST_TEST(site.record(batch.bid()).total == 4);
  BOOST_TEST(site.lines("leaf").size() == 4u);
}

BOOST_AUTO_TEST_CASE(children_are_made_in_jobs_and_their_parents_wait_for_them) {
  Site site;
  const Batch batch = site.batch_of({Site::push_of("Branch", "[3,6]")});
  BOOST_TEST(site.comes_to(batch.bid(), {"complete", "success", "finished"}), site.brood->log_tail());
  const Strings callbacks = site.lines("callback");
  BOOST_TEST(callbacks.size() == 12u);
  BOOST_TEST(site.lines("leaf").size() == 3u + 18u);
}

BOOST_AUTO_TEST_CASE(running_jobs_see_that_their_batch_was_cancelled_and_the_others_are_skipped) {
  for (const char* job_class : {"UntilCancelled", "UntilCancelledApart"}) {
    Site site(1);
    Batch batch = site.batch_of({Site::push_of(job_class), Site::push_of(job_class), Site::push_of(job_class)});
    BOOST_TEST(eventually([&] { return site.lines("waits").size() == 1; }), site.brood->log_tail());
    batch.cancel();
    BOOST_TEST(site.comes_to(batch.bid(), {"finished"}), site.brood->log_tail());
    BOOST_TEST(site.lines("cancelled").size() == 1u);
    BOOST_TEST(site.record(batch.bid()).succeeded == 3);
  }
}

BOOST_AUTO_TEST_CASE(a_dead_job_that_is_retried_from_the_api_heals_its_batch) {
  Site site;
  const Batch batch = site.batch_of({Site::push_of("Mortal", "[]", 0), Site::push_of("Leaf", "[1]")});
  BOOST_TEST(site.comes_to(batch.bid(), {"complete", "death", "finished"}), site.brood->log_tail());
  BOOST_TEST((site.record(batch.bid()).state == BatchState::finished));
  std::ofstream(site.path + ".healed") << "x";
  BOOST_TEST(Api(site.redis.url()).dead().run_all().looked_at == 1u);
  BOOST_TEST(site.comes_to(batch.bid(), {"complete", "death", "finished", "success"}), site.brood->log_tail());
  BOOST_TEST((site.record(batch.bid()).state == BatchState::success));
}

BOOST_AUTO_TEST_CASE(a_crash_counts_as_a_failure_of_its_job) {
  Site site;
  const Batch batch = site.batch_of({Site::push_of("Crash", "[]", 0)});
  BOOST_TEST(site.comes_to(batch.bid(), {"complete", "death", "finished"}), site.brood->log_tail());
  BOOST_TEST(site.record(batch.bid()).dead == 1);
}

BOOST_AUTO_TEST_CASE(a_child_that_its_killed_job_was_pushing_holds_up_nothing) {
  Site site;
  const Batch batch = site.batch_of({Site::push_of("Stuck", "[]", 0)});
  BOOST_TEST(site.comes_to(batch.bid(), {"complete", "death", "finished"}), site.brood->log_tail());
  const BatchRecord parent = site.record(batch.bid());
  BOOST_REQUIRE_EQUAL(parent.children.size(), 1u);
  BOOST_TEST((site.record(parent.children.front()).state == BatchState::cancelled));
}

BOOST_AUTO_TEST_CASE(a_step_reads_what_those_before_it_have_left) {
  for (const char* apart : {"", "Apart"}) {
    Site site;
    Flow flow(site.client);
    const auto two = flow.add("two", Site::push_of(std::string("Leaves") + apart, "[2]"));
    const auto three = flow.add("three", Site::push_of("Leaves", "[3]"));
    flow.add("sum", Site::push_of(std::string("Sum") + apart, R"(["two","three"])"), {.after = {two, three}});
    flow.add("again", Site::push_of("Sum", R"(["sum","two"])"), {.after = {"sum"}});
    flow.push();
    BOOST_TEST(eventually([&] { return site.lines("sum") == Strings{"10 no", "14 no"}; }), site.brood->log_tail());
    BOOST_TEST(eventually([&] { return site.record(flow.bid()).state == BatchState::success; }));
    BOOST_TEST(site.redis.integer({"TTL", RedisKey("brood:batch:" + flow.bid() + ":results")}) > 0);
  }
}

// Kills workers, recoveries and supervisors while batches nest three deep.  Each batch with a returned push counts what
// the ledger has, and each of its callbacks was pushed once.
BOOST_AUTO_TEST_CASE(no_kill_loses_a_count_or_doubles_a_callback) {
  Site site(4);
  Dice dice;
  const int trees = 12 * storm_factor(), leaves = 30;
  std::vector<std::string> roots;
  for (int i = 0; i < trees; ++i)
    roots.push_back(site.batch_of({Site::push_of("Branch", "[3," + std::to_string(leaves) + "]")}).bid());
  KilledWorkers killed;
  for (int round = 0; round < 8 * storm_factor(); ++round) {
    for (int i = 0; i < 3; ++i) {
      if (!kill_a_worker(*site.brood, dice, killed)) break;
      std::this_thread::sleep_for(std::chrono::milliseconds(dice.roll(5, 60)));
    }
    if (round % 4 == 3) {
      site.brood->kill9();
      site.brood->start();
      BOOST_REQUIRE_MESSAGE(site.brood->wait_ready(), site.brood->log_tail());
    }
  }
  const auto all_succeed = [&] {
    return std::all_of(roots.begin(), roots.end(),
                       [&](const std::string& bid) { return site.record(bid).state == BatchState::success; });
  };
  BOOST_TEST(eventually(all_succeed, 60s), site.brood->log_tail());
  BOOST_TEST(eventually([&] { return drained(site.redis); }), site.brood->log_tail());

  std::map<std::string, std::set<std::string>> ran, callbacks;
  for (const std::string& line : site.lines("leaf")) {
    std::istringstream words(line);
    std::string bid, jid;
    words >> bid >> jid;
    ran[bid].insert(jid);
  }
  for (const std::string& line : site.lines("callback")) {
    std::istringstream words(line);
    std::string event, bid, jid;
    words >> event >> bid >> jid;
    callbacks[event + " " + bid].insert(jid);
  }
  int cancelled = 0, children = 0;
  std::vector<std::string> look = roots;
  while (!look.empty()) {
    const std::string bid = look.back();
    look.pop_back();
    const BatchRecord batch = site.record(bid);
    look.insert(look.end(), batch.children.begin(), batch.children.end());
    ++children;
    if (batch.state == BatchState::cancelled) {  // its job was killed during the push
      ++cancelled;
      BOOST_TEST(batch.pending == 0, bid);
      continue;
    }
    BOOST_TEST((batch.state == BatchState::success), bid << " " << to_string(batch.state));
    BOOST_TEST(batch.dead == 0, bid);
    BOOST_TEST(batch.total == static_cast<std::int64_t>(ran[bid].size()), bid);
    for (const char* event : {"complete", "success", "finished"})
      BOOST_TEST(callbacks[event + (" " + bid)].size() == 1u, event << " " << bid);
    BOOST_TEST(callbacks["death " + bid].empty());
  }
  BOOST_TEST_MESSAGE(children << " batches, " << cancelled << " cancelled, " << killed.size() << " workers killed");
  BOOST_TEST(children - cancelled >= trees * 4);
}
