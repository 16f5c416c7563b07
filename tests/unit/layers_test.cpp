#include <boost/test/unit_test.hpp>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include <sys/wait.h>

namespace {

// A small tree of sources, and the answers of check_layers about it.
class Tree {
 public:
  Tree() {
    char path[] = "/tmp/brood-layers-XXXXXX";
    BOOST_REQUIRE(mkdtemp(path));
    root_ = path;
    add("shared/base/log.hpp", "");
    add("shared/job/payload.hpp", "#include \"shared/base/log.hpp\"\n");
    add("shared/redis/connection.hpp", "#include <hiredis/hiredis.h>\n");
    add("worker/worker.hpp", "#include \"shared/job/payload.hpp\"\n");
    add("supervisor/cli/run/worker_program.cpp", "#include \"worker/worker.hpp\"\n");
  }
  ~Tree() { std::filesystem::remove_all(root_); }

  void add(const std::string& file, const std::string& text) {
    std::filesystem::create_directories((root_ / file).parent_path());
    std::ofstream(root_ / file) << text;
  }

  struct Verdict {
    int status = -1;
    std::string text;
  };
  Verdict check(const std::string& option = "--includes-only ") const {
    const std::string command = BROOD_SOURCE_DIR "/tests/support/check_layers " + option + root_.string() + " 2>&1";
    FILE* pipe = popen(command.c_str(), "r");
    BOOST_REQUIRE(pipe);
    Verdict verdict;
    char buffer[4096];
    while (const std::size_t n = fread(buffer, 1, sizeof buffer, pipe)) verdict.text.append(buffer, n);
    verdict.status = WEXITSTATUS(pclose(pipe));
    return verdict;
  }

  // Plants `text` in `file` and expects it to be refused, naming the line.
  void expect_refused(const std::string& file, const std::string& text) {
    add(file, text);
    const Verdict verdict = check();
    BOOST_TEST(verdict.status == 1);
    BOOST_TEST(verdict.text.find(file + ":1: ") != std::string::npos, verdict.text);
  }

 private:
  std::filesystem::path root_;
};

}  // namespace

BOOST_AUTO_TEST_CASE(our_own_includes_point_one_way) {
  BOOST_TEST(std::system(BROOD_SOURCE_DIR "/tests/support/check_layers") == 0);
}

BOOST_AUTO_TEST_CASE(a_tree_whose_includes_point_one_way_passes) {
  const Tree tree;
  const auto verdict = tree.check();
  BOOST_TEST(verdict.status == 0, verdict.text);
}

BOOST_AUTO_TEST_CASE(an_upward_include_is_found) {
  Tree().expect_refused("shared/base/clock.hpp", "#include \"worker/worker.hpp\"\n");
  Tree().expect_refused("shared/job/verdict.cpp", "#include \"shared/redis/connection.hpp\"\n");
}

BOOST_AUTO_TEST_CASE(an_include_along_no_edge_is_found) {
  Tree tree;
  tree.add("supervisor/queues/doorbell.hpp", "");
  tree.expect_refused("supervisor/redis/redis_link.cpp", "#include \"supervisor/queues/doorbell.hpp\"\n");
  Tree().expect_refused("supervisor/attic/box.cpp", "#include \"shared/base/log.hpp\"\n");
}

BOOST_AUTO_TEST_CASE(a_map_that_is_not_true_is_found) {
  Tree tree;
  tree.add("CONTRIBUTING.md", "| `worker/` | x |\n| `worker/attic/` | x |\n");
  const auto verdict = tree.check("");
  BOOST_TEST(verdict.status == 1);
  for (const char* sentence :
       {"CONTRIBUTING.md has no line of worker/job/", "CONTRIBUTING.md tells of worker/attic/, which is no room",
        "nothing in worker/ includes worker/job/ any more: the edge can go"})
    BOOST_TEST(verdict.text.find(sentence) != std::string::npos, verdict.text);
  BOOST_TEST(verdict.text.find("no line of worker/\n") == std::string::npos, verdict.text);
}

BOOST_AUTO_TEST_CASE(only_files_that_say_why_reach_from_supervisor_to_worker) {
  Tree().expect_refused("supervisor/supervisor.cpp", "#include \"worker/worker.hpp\"\n");
  Tree().expect_refused("supervisor/cli/run.cpp", "#include \"worker/worker.hpp\"\n");
}

BOOST_AUTO_TEST_CASE(the_dump_alone_reaches_to_the_symboliser_and_to_nothing_else) {
  Tree tree;
  tree.add("worker/crash/symboliser.hpp", "");
  tree.add("supervisor/cli/machine/dump.cpp", "#include \"worker/crash/symboliser.hpp\"\n");
  const auto verdict = tree.check();
  BOOST_TEST(verdict.status == 0, verdict.text);
  tree.expect_refused("supervisor/cli/status/status.cpp", "#include \"worker/crash/symboliser.hpp\"\n");
  Tree().expect_refused("supervisor/cli/machine/dump.cpp", "#include \"worker/worker.hpp\"\n");
}

BOOST_AUTO_TEST_CASE(a_library_in_the_wrong_place_is_found) {
  Tree().expect_refused("worker/worker.cpp", "#include <simdjson.h>\n");
  Tree().expect_refused("supervisor/supervisor.cpp", "#include <uv.h>\n");
  Tree().expect_refused("shared/store/job_store.cpp", "#include <hiredis/hiredis.h>\n");
  Tree().expect_refused("supervisor/cli/run.cpp", "#include <toml++/toml.h>\n");
  Tree().expect_refused("supervisor/cli/run.cpp", "#include <CLI/CLI.hpp>\n");
}

BOOST_AUTO_TEST_CASE(only_the_store_knows_keys_of_redis) {
  Tree tree;
  tree.add("shared/store/keys.hpp", "");
  tree.add("shared/store/queues/known_queues.cpp", "#include \"shared/store/keys.hpp\"\n");
  const auto verdict = tree.check();
  BOOST_TEST(verdict.status == 0, verdict.text);
  tree.expect_refused("supervisor/schedule/scheduler.cpp", "#include \"shared/store/keys.hpp\"\n");
  tree.expect_refused("worker/fetching/queue_choice.cpp", "#include \"shared/store/keys.hpp\"\n");
  tree.expect_refused("shared/api/queue.cpp", "#include \"shared/store/keys.hpp\"\n");
  tree.expect_refused("supervisor/cli/access/fleet.cpp", "#include \"shared/store/keys.hpp\"\n");
}

BOOST_AUTO_TEST_CASE(no_header_of_the_store_tells_others_of_the_keys) {
  Tree tree;
  tree.add("shared/store/keys.hpp", "");
  tree.expect_refused("shared/store/in_flight/recover_worker.hpp", "#include \"shared/store/keys.hpp\"\n");
}

BOOST_AUTO_TEST_CASE(an_installed_header_that_includes_more_than_the_standard_library_is_found) {
  Tree().expect_refused("shared/include/brood/job.hpp", "#include <unistd.h>\n");
  Tree().expect_refused("shared/include/brood/job.hpp", "#include \"shared/base/log.hpp\"\n");
}

BOOST_AUTO_TEST_CASE(two_types_of_one_name_are_found) {
  Tree tree;
  tree.add("shared/job/verdict.hpp", "namespace brood {\nstruct Verdict {\n};\n}  // namespace brood\n");
  tree.add("worker/own.cpp", "namespace {\nstruct Verdict {\n};\n}  // namespace\n");
  BOOST_TEST(tree.check().status == 0);
  tree.add("worker/verdict.hpp", "namespace brood {\nclass Verdict {\n};\n}  // namespace brood\n");
  const Tree::Verdict verdict = tree.check();
  BOOST_TEST(verdict.status == 1);
  BOOST_TEST(verdict.text.find("worker/verdict.hpp:2: brood::Verdict") != std::string::npos, verdict.text);
}

BOOST_AUTO_TEST_CASE(an_include_not_written_from_the_root_is_found) {
  Tree().expect_refused("shared/job/verdict.cpp", "#include \"payload.hpp\"\n");
}
