// A generation keeps the files that it has loaded, whatever a deploy does to them.  The next restart loads the files
// that are there then.
#include <boost/test/unit_test.hpp>

#include <sys/stat.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "tests/support/brood_process.hpp"
#include "tests/support/enqueue.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/faults.hpp"
#include "tests/support/file_text.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

namespace fs = std::filesystem;

const std::string libraries = BROOD_BINARY_DIR "/tests/job_libraries/";

void replace(const std::string& from, const std::string& to) {
  fs::copy_file(from, to + ".new", fs::copy_options::overwrite_existing);
  fs::rename(to + ".new", to);
}

void lead(const std::string& link, const std::string& to) {
  fs::remove(link + ".new");
  fs::create_directory_symlink(to, link + ".new");
  fs::rename(link + ".new", link);
}

// A machine with one worker, on which releases are deployed.
struct Machine {
  RedisServer redis;
  TemporaryDirectory directory;
  const std::string ran = directory / "ran";
  std::optional<BroodProcess> brood;

  void start(BroodOptions options) {
    options.workers = 1;
    brood.emplace(redis, std::move(options));
    BOOST_REQUIRE_MESSAGE(brood->wait_ready(), brood->log_tail());
  }
  // Makes two releases below it, with a link `current` to the first.
  void make_releases(const std::string& config = "") const {
    for (const std::string release : {"1", "2"}) {
      fs::create_directories(directory / ("releases/" + release));
      replace(libraries + "libroll_jobs_" + release + ".so", directory / ("releases/" + release + "/libjobs.so"));
      std::ofstream(directory / ("releases/" + release + "/brood.toml")) << "tag = \"release" << release << "\"\n"
                                                                         << config;
    }
    lead(directory / "current", directory / "releases/1");
  }
  // Starts brood as a user whose shell is in `current`.
  void start_in_current() {
    start({.libraries = {"libjobs.so"},
           .arguments = {"-C", "brood.toml"},
           .prefix = {"/usr/bin/env", "-C", directory / "current", "PWD=" + directory / "current"}});
  }

  void crash_worker() const {
    const std::vector<pid_t> before = brood->workers();
    for (const pid_t worker : before) kill(worker, SIGKILL);
    BOOST_REQUIRE(eventually([&] {
      const std::vector<pid_t> now = brood->workers();
      return now.size() == 1 && now != before;
    }));
  }
  // A job's report about the code that runs it.
  std::string run(const std::string& job_class = "Versioned") {
    const std::string before = text_of_file(ran);
    enqueue(redis, {payload_text(job_class, "[\"" + ran + "\"]")});
    if (!eventually([&] { return text_of_file(ran).ends_with('\n') && text_of_file(ran) != before; }, 20s))
      return "nothing: " + std::string(brood->log_tail());
    const std::string line = text_of_file(ran).substr(before.size());
    return line.substr(0, line.find_first_of(" \n", 4));
  }
  std::size_t times_in_log(const std::string& text) const {
    std::size_t times = 0;
    const std::string log = brood->log();
    for (std::size_t at = 0; (at = log.find(text, at)) != log.npos; ++at) ++times;
    return times;
  }
  CommandResult command(const std::vector<std::string>& words) const { return run_brood(words, brood->environment()); }
  void restart() const {
    const CommandResult result = command({"restart"});
    BOOST_TEST(result.status == 0, result.output << result.errors << brood->log_tail());
  }
};

}  // namespace

BOOST_AUTO_TEST_CASE(a_worker_that_comes_back_loads_what_its_generation_loaded) {
  Machine machine;
  const std::string library = machine.directory / "libjobs.so";
  replace(libraries + "libroll_jobs_1.so", library);
  machine.start({.libraries = {library}});
  BOOST_TEST(machine.run() == "ran 1");

  replace(libraries + "libroll_jobs_2.so", library);
  machine.crash_worker();
  BOOST_TEST(machine.run() == "ran 1");
  fs::remove(library);
  machine.crash_worker();
  BOOST_TEST(machine.run() == "ran 1");

  BOOST_TEST(machine.command({"restart"}).status != 0);  // the library is missing
  BOOST_TEST(machine.run() == "ran 1");
  replace(libraries + "libroll_jobs_2.so", library);
  machine.restart();
  BOOST_TEST(machine.run() == "ran 2");
}

BOOST_AUTO_TEST_CASE(a_worker_that_comes_back_loads_the_same_dependencies_too) {
  Machine machine;
  const std::string library = machine.directory / "libjobs.so", parts = machine.directory / "parts";
  const auto deploy = [&](const std::string& version, const std::string& part) {
    replace(libraries + "parts_" + version + "/libroll_" + part + ".so", parts + "/libroll_" + part + ".so");
  };
  fs::create_directory(parts);
  replace(libraries + "libparted_jobs.so", library);
  deploy("1", "part");
  deploy("1", "piece");
  machine.start({.libraries = {library}});
  BOOST_TEST(machine.run("Parted") == "ran 11");

  deploy("2", "piece");
  machine.crash_worker();
  BOOST_TEST(machine.run("Parted") == "ran 11");
  deploy("2", "part");
  machine.crash_worker();
  BOOST_TEST(machine.run("Parted") == "ran 11");
  fs::remove_all(parts);
  fs::remove(library);
  machine.crash_worker();
  BOOST_TEST(machine.run("Parted") == "ran 11");

  fs::create_directory(parts);
  replace(libraries + "libparted_jobs.so", library);
  deploy("2", "part");
  deploy("2", "piece");
  machine.restart();
  BOOST_TEST(machine.run("Parted") == "ran 22");
}

BOOST_AUTO_TEST_CASE(a_link_that_leads_to_another_release_counts_at_the_next_restart) {
  Machine machine;
  machine.make_releases();
  machine.start({.libraries = {machine.directory / "current/libjobs.so"}});
  lead(machine.directory / "current", machine.directory / "releases/2");
  machine.crash_worker();
  BOOST_TEST(machine.run() == "ran 1");
  fs::remove_all(machine.directory / "releases/1");
  machine.crash_worker();
  BOOST_TEST(machine.run() == "ran 1");
  machine.restart();
  BOOST_TEST(machine.run() == "ran 2");
}

BOOST_AUTO_TEST_CASE(a_working_directory_is_where_its_name_leads_at_the_restart) {
  Machine machine;
  machine.make_releases();
  machine.start_in_current();
  BOOST_TEST(machine.run() == "ran 1");
  lead(machine.directory / "current", machine.directory / "releases/2");
  machine.crash_worker();
  BOOST_TEST(machine.run() == "ran 1");
  machine.restart();
  BOOST_TEST(machine.run() == "ran 2");
  const pid_t worker = machine.brood->workers().at(0);
  for (const pid_t one : {worker, machine.brood->pid()})
    BOOST_TEST(fs::read_symlink("/proc/" + std::to_string(one) + "/cwd").filename() == "2");
}

BOOST_AUTO_TEST_CASE(a_working_directory_that_is_removed_stops_nothing) {
  for (const char* const order : {"restart", "upgrade"}) {
    Machine machine;
    machine.make_releases();
    machine.start_in_current();
    lead(machine.directory / "current", machine.directory / "releases/2");
    fs::remove_all(machine.directory / "releases/1");
    machine.crash_worker();
    BOOST_TEST(machine.run() == "ran 1");
    const CommandResult result = machine.command({order});
    BOOST_TEST(result.status == 0, order << ": " << result.output << result.errors << machine.brood->log_tail());
    BOOST_TEST(machine.run() == "ran 2", order);
    BOOST_TEST(eventually([&] {
      return machine.command({"status", "--json", "--redis", machine.redis.url()})
                 .output.find("\"tag\":\"release2\"") != std::string::npos;
    }));
  }
}

BOOST_AUTO_TEST_CASE(the_program_of_a_command_is_the_one_that_was_there_too) {
  Machine machine;
  const auto write_program = [&](const std::string& version) {
    const std::string file = machine.directory / "program";
    std::ofstream(file + ".new") << "#!/bin/sh\necho ran " << version << " >> \"$1\"\n";
    chmod((file + ".new").c_str(), 0755);
    fs::rename(file + ".new", file);
  };
  write_program("1");
  machine.start({.config = "[commands.Program]\nrun = [\"" + machine.directory / "program" + "\", \"{0}\"]\n"});
  BOOST_TEST(machine.run("Program") == "ran 1");
  write_program("2");
  BOOST_TEST(machine.run("Program") == "ran 1");
  machine.crash_worker();
  BOOST_TEST(machine.run("Program") == "ran 1");
  fs::remove(machine.directory / "program");
  BOOST_TEST(machine.run("Program") == "ran 1");
  write_program("3");
  machine.restart();
  BOOST_TEST(machine.run("Program") == "ran 3");
}

BOOST_AUTO_TEST_CASE(a_crash_in_a_library_that_was_replaced_has_its_names) {
  Machine machine;
  const std::string library = machine.directory / "libjobs.so";
  replace(BROOD_BINARY_DIR "/worker/examples/libexamples.so", library);
  machine.start({.libraries = {library}});
  for (const bool is_there : {true, false}) {
    if (is_there)
      replace(libraries + "libroll_jobs_2.so", library);
    else
      fs::remove(library);
    machine.crash_worker();
    const std::size_t crashes = machine.times_in_log("Segfault::perform");
    enqueue(machine.redis, {payload_text("Segfault", "[]", is_there ? 1 : 2)});
    BOOST_TEST(eventually([&] { return machine.times_in_log("Segfault::perform") > crashes; }, 20s),
               machine.brood->log_tail());
  }
  BOOST_TEST(machine.brood->log().find("libjobs.so") != std::string::npos);
  BOOST_TEST(machine.brood->log().find("/proc/") == std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_template_that_dies_comes_back_as_it_was) {
  Machine machine;
  const std::string library = machine.directory / "libjobs.so";
  replace(libraries + "libroll_jobs_1.so", library);
  machine.start({.libraries = {library}, .config = "[worker]\npreload = true\n"});
  replace(libraries + "libroll_jobs_2.so", library);
  const std::size_t ready = times_logged(*machine.brood, "template_ready");
  for (const pid_t child : children_of(machine.brood->pid())) {
    if (text_of_file("/proc/" + std::to_string(child) + "/cmdline").starts_with("brood: template"))
      kill(child, SIGKILL);
  }
  BOOST_TEST(eventually([&] { return times_logged(*machine.brood, "template_ready") > ready; }, 20s),
             machine.brood->log_tail());
  machine.crash_worker();
  BOOST_TEST(machine.run() == "ran 1");
}

BOOST_AUTO_TEST_CASE(after_an_upgrade_whose_restart_comes_to_nothing_workers_come_back_as_they_were) {
  Machine machine;
  const std::string library = machine.directory / "libjobs.so";
  replace(libraries + "libroll_jobs_1.so", library);
  machine.start({.libraries = {library}});
  replace(libraries + "libroll_jobs_that_die.so", library);
  machine.command({"upgrade"});
  BOOST_TEST(eventually([&] { return machine.times_in_log("event=restart_ended outcome=rolled_back") == 1; }, 60s),
             machine.brood->log_tail());
  BOOST_TEST(machine.times_in_log("event=supervisor_took_over") == 1u);
  machine.crash_worker();
  BOOST_TEST(machine.run() == "ran 1");
}
