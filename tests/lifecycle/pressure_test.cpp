#include <boost/test/unit_test.hpp>

#include <filesystem>
#include <fstream>

#include "tests/support/brood_process.hpp"
#include "tests/support/enqueue.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/faults.hpp"
#include "tests/support/ledger.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

// A brood of four workers that reads memory pressure from a directory of the test.
struct Pressed {
  RedisServer redis;
  TemporaryDirectory directory;
  const std::string config = directory / "brood.toml";
  Ledger ledger{directory / "ledger"};
  std::optional<BroodProcess> brood;

  explicit Pressed(bool with_figures = true) {
    if (with_figures) stall("0.00");
    std::ofstream(config) << "concurrency = 4\n[log]\nlevel = \"debug\"\n[pressure]\nproc = \"" << directory / "proc"
                          << "\"\ncgroup = \"" << directory / "cgroup"
                          << "\"\n";
    brood.emplace(redis, BroodOptions{.workers = 4, .sets_workers = false, .arguments = {"-C", config}});
    BOOST_REQUIRE_MESSAGE(logs("event=ready"), brood->log_tail());
  }
  void stall(const std::string& percent) const {
    const std::string file = directory / "proc/pressure/memory";
    std::filesystem::create_directories(directory / "proc/pressure");
    std::ofstream(file + ".new") << "some avg10=" << percent
                                 << " avg60=0.00 avg300=0.00 total=1\nfull avg10=" << percent
                                 << " avg60=0.00 avg300=0.00 total=1\n";
    std::filesystem::rename(file + ".new", file);
  }
  bool logs(const std::string& text) const {
    return eventually([&] { return brood->log().find(text) != std::string::npos; }, 30s);
  }
  std::string says(const std::vector<std::string>& words) const {
    return run_brood(words, brood->environment()).output;
  }
  bool shows(const std::vector<std::string>& words, const std::string& text) const {
    return eventually([&] { return says(words).find(text) != std::string::npos; }, 30s);
  }
  int quiet_workers() const {
    const std::string status = says({"status", "--format", "prometheus"}), family = "state=\"quiet\"} ";
    const std::size_t at = status.find(family);
    return at == std::string::npos ? -1 : std::stoi(status.substr(at + family.size()));
  }
};

}  // namespace

BOOST_AUTO_TEST_CASE(under_pressure_fewer_workers_fetch_and_jobs_go_on) {
  Pressed site;
  site.stall("35.00");
  BOOST_TEST(site.logs("event=memory_pressure fetching=2 workers=4 stalled=35.0%"));
  site.stall("7.00");  // too much for the number to rise, too little for it to fall
  BOOST_TEST(eventually([&] { return site.quiet_workers() == 2; }));
  BOOST_TEST(site.shows({"status"}, "memory is scarce (7.0% of the time is lost): 2 workers are held back"));
  BOOST_TEST(site.shows({"status", "--json"}, "\"pressure\":{\"memory\":7.000,\"limit\":10,\"held_back\":2}"));
  BOOST_TEST(site.shows({"status", "--format", "prometheus"}, "brood_workers_held_back{identity="));
  site.stall("35.00");
  BOOST_TEST(site.logs("fetching=1 workers=4"));
  enqueue_ledger_jobs(site.redis, site.ledger.path(), 50);
  BOOST_TEST(eventually([&] { return no_job_is_left(site.redis); }, 30s));

  site.stall("0.00");
  BOOST_TEST(eventually([&] { return site.quiet_workers() == 0; }, 60s));
  BOOST_TEST(site.logs("event=memory_pressure_over fetching=4"));
  BOOST_TEST(times_logged(*site.brood, "memory_pressure") == 2U);  // not once a second
  BOOST_TEST(times_logged(*site.brood, "slot_flags_mended") == 0U);
}

BOOST_AUTO_TEST_CASE(quiet_resume_restart_and_stop_go_on_working) {
  Pressed site;
  site.stall("35.00");
  BOOST_REQUIRE(eventually([&] { return site.quiet_workers() >= 2; }, 30s));
  BOOST_TEST(run_brood({"quiet"}, site.brood->environment()).status == 0);
  BOOST_TEST(eventually([&] { return site.quiet_workers() == 4; }));
  BOOST_TEST(run_brood({"resume"}, site.brood->environment()).status == 0);
  BOOST_TEST(eventually([&] { return site.quiet_workers() < 4 && site.quiet_workers() >= 2; }));
  BOOST_TEST(run_brood({"restart"}, site.brood->environment()).status == 0, site.brood->log_tail());
  BOOST_TEST(eventually([&] { return site.quiet_workers() == 3; }, 30s));
  enqueue_ledger_jobs(site.redis, site.ledger.path(), 50);
  BOOST_TEST(eventually([&] { return no_job_is_left(site.redis); }, 30s));
  BOOST_TEST(run_brood({"stop"}, site.brood->environment()).status == 0);
}

BOOST_AUTO_TEST_CASE(a_kernel_without_figures_stops_no_worker) {
  Pressed site(false);
  BOOST_TEST(site.logs("event=memory_pressure_watched"));
  BOOST_TEST(site.logs("not there: "));
  enqueue_ledger_jobs(site.redis, site.ledger.path(), 50);
  BOOST_TEST(eventually([&] { return no_job_is_left(site.redis); }, 30s));
  BOOST_TEST(site.shows({"status", "--json"}, "\"pressure\":{\"memory\":null,\"limit\":10,\"held_back\":0}"));
}
