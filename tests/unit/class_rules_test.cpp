#include "worker/run/class_rules.hpp"

#include <boost/test/unit_test.hpp>
#include <brood/abi.hpp>
#include <map>
#include <string>

using namespace brood;

namespace {

brood::abi::JobClass job_class(const char* name, std::uint64_t threads, std::uint64_t isolation) {
  brood::abi::JobClass made{};
  made.size = sizeof made;
  made.name = {name, std::char_traits<char>::length(name)};
  made.perform = [](const brood::abi::Call*, brood::abi::Result*) {};
  made.threads = threads;
  made.isolation = isolation;
  return made;
}

// Three classes in code, of which one wants its own process and one may leave threads.
const brood::abi::JobClass plain = job_class("Plain", brood::abi::threads_as_configured, 0);
const brood::abi::JobClass apart = job_class("Apart", brood::abi::threads_replace, brood::abi::isolation_process);
const brood::abi::JobClass threaded = job_class("Threaded", brood::abi::threads_allow, 0);
const brood::abi::JobClass* const all_classes[] = {&plain, &apart, &threaded};

brood::abi::Library library() {
  brood::abi::Library made{};
  made.abi = brood::abi::version;
  made.size = sizeof made;
  made.job_count = 3;
  made.jobs = all_classes;
  return made;
}
const brood::abi::Library in_code = library();

struct Known {
  Known() { registry.add(&in_code, "in this test"); }

  Config config = {};
  WorkerSettings for_all = {};
  JobRegistry registry = {};
  ClassRules rules = {config, for_all, registry};
};

}  // namespace

BOOST_AUTO_TEST_CASE(a_class_is_isolated_where_its_code_says_so_unless_the_configuration_says_otherwise) {
  Known known;
  BOOST_TEST(known.rules.is_isolated("Apart"));
  BOOST_TEST(!known.rules.is_isolated("Plain"));
  BOOST_TEST(!known.rules.is_isolated("Unknown"));

  known.config.classes = {{"Apart", {.isolation = Isolation::worker}}, {"Unknown", {.isolation = Isolation::process}}};
  BOOST_TEST(!known.rules.is_isolated("Apart"));
  BOOST_TEST(known.rules.is_isolated("Unknown"));
}

BOOST_AUTO_TEST_CASE(threads_are_a_matter_of_the_configured_class_then_of_its_code_then_of_the_worker) {
  Known known;
  for (const LeftThreads for_all : {LeftThreads::allow, LeftThreads::replace}) {
    known.for_all.threads = for_all;
    BOOST_TEST((known.rules.threads("Plain") == for_all));
    BOOST_TEST((known.rules.threads("Unknown") == for_all));
    BOOST_TEST((known.rules.threads("Apart") == LeftThreads::replace));
    BOOST_TEST((known.rules.threads("Threaded") == LeftThreads::allow));
  }

  known.config.classes = {{"Threaded", {.threads = LeftThreads::replace}}};
  BOOST_TEST((known.rules.threads("Threaded") == LeftThreads::replace));
}

BOOST_AUTO_TEST_CASE(expired_jobs_of_a_class_that_says_nothing_go_as_those_of_all) {
  Known known;
  known.config.expired = ExpiredJobs::dead;
  known.config.classes = {{"Plain", {.expired = ExpiredJobs::drop}}, {"Apart", {}}};

  BOOST_TEST((known.rules.expired("Plain") == ExpiredJobs::drop));
  BOOST_TEST((known.rules.expired("Apart") == ExpiredJobs::dead));
  BOOST_TEST((known.rules.expired("Unknown") == ExpiredJobs::dead));
  BOOST_TEST(!known.rules.has_on_expired("Plain"));
}

BOOST_AUTO_TEST_CASE(a_sandbox_is_that_of_the_configured_class_alone) {
  Known known;
  BOOST_TEST(!known.rules.any_has_sandbox());
  known.config.classes = {{"Plain", {}}, {"Apart", {.sandbox = SandboxSettings{}}}};

  BOOST_TEST(known.rules.any_has_sandbox());
  BOOST_TEST(known.rules.sandbox("Apart") == &*known.config.classes.at("Apart").sandbox);
  BOOST_TEST(!known.rules.sandbox("Plain"));
  BOOST_TEST(!known.rules.sandbox("Unknown"));
}

BOOST_AUTO_TEST_CASE(a_class_has_code_in_a_library_or_as_a_program) {
  Known known;
  BOOST_TEST(known.rules.has_code("Plain"));
  BOOST_TEST(!known.rules.has_code("Unknown"));
}
