// A crash in a job library names that library.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <csignal>
#include <string>
#include <thread>

#include "tests/support/crashing_child.hpp"
#include "worker/job/job_registry.hpp"
#include "worker/job/perform.hpp"

using namespace brood;
using namespace brood::crashing_child;
using namespace std::chrono_literals;

namespace {

void run_example(JobRegistry& registry, const std::string& job_class) {
  perform(registry, Payload::parse(R"({"class":")" + job_class + R"(","args":[],"jid":"j"})"), "default", {});
}

void require_example(const CapturedStack& crash) {
  BOOST_TEST(whole(crash));
  BOOST_REQUIRE(!crash.modules.empty());
  BOOST_TEST(crash.modules[0].path.ends_with("/libexamples.so"), crash.modules[0].path);
  BOOST_TEST(crash.modules[0].build_id.size() == 40U);
  BOOST_TEST((crash.modules[0].begin <= crash.pc && crash.pc < crash.modules[0].end));
  const auto names = functions(crash);
  const auto in_perform = [](const std::string& name) { return name.starts_with("_ZN5brood7perform"); };
  BOOST_TEST(std::any_of(names.begin(), names.end(), in_perform), text(names));
}

const char* const examples = BROOD_BINARY_DIR "/worker/examples/libexamples.so";

}  // namespace

BOOST_AUTO_TEST_CASE(a_job_library_is_noted_with_path_and_build_id) {
  Child child([](SlotRecord&) {
    JobRegistry registry;
    registry.load(examples);
    note_libraries();
    run_example(registry, "Segfault");
  });
  BOOST_TEST(child.ended_by() == SIGSEGV);
  require_example(child.crash());
}

BOOST_AUTO_TEST_CASE(a_library_that_a_job_has_loaded_just_now_is_noted_too) {
  Child child([](SlotRecord&) {
    JobRegistry registry;
    registry.load(examples);
    run_example(registry, "Segfault");
  });
  BOOST_TEST(child.ended_by() == SIGSEGV);
  require_example(child.crash());
}

BOOST_AUTO_TEST_CASE(loading_a_library_leaves_the_terminate_handler_in_place) {
  Child child([](SlotRecord&) {
    JobRegistry registry;
    registry.load(examples);
    std::thread(throw_runtime_error).join();
  });
  BOOST_TEST(child.crash().thrown_type == "St13runtime_error");
}
