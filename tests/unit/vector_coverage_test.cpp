#include <boost/test/unit_test.hpp>

#include "tests/support/file_text.hpp"
#include "tests/support/vectors.hpp"

using namespace brood;

// Each vector is checked by a test, or does not concern this version: none is left out by mistake.

namespace {

struct Coverage {
  std::string prefix;       // of the ids
  std::string test = {};    // the file that uses them
  std::string reason = {};  // or why none does
};

const Coverage coverages[] = {
    {"push-", "store/client"},
    {"reject-", "store/refused_pushes"},
    {"interval-", "store/client"},
    {"bulk-empty", "store/client_bulk"},
    {"fail-", "unit/judge_failure"},
    {"retry-delay-", "unit/judge_failure"},
    {"retry-total-25", "unit/judge_failure"},
    {"mixed-retry-for-ms-", "unit/judge_failure"},
    {"backtrace-decode-", "unit/backtrace"},
    {"queues-", "unit/queue_order"},
    {"canonical-json", "unit/json"},
    {"latency-", "unit/payload"},
    {"foreign-", "unit/perform"},
    {"poll-", "unit/poll_interval"},
    {"initial-wait", "unit/poll_interval"},
    {"process-hash-", "store/wire_vectors"},
    {"work-hash-", "store/wire_vectors"},
    {"web-busy-required-info-", "store/wire_vectors"},
    {"web-busy-escaping", "store/wire_vectors"},
    {"signals-order", "store/wire_vectors"},
    {"stat-ttl", "store/wire_vectors"},
    {"pop-due-order", "store/wire_vectors"},
    {"requeue-shutdown", "store/wire_vectors"},
    {"dead-trim-count", "store/wire_vectors"},
    {"dead-trim-below", "store/wire_vectors"},
    {"dead-trim-age", "store/wire_vectors"},
    {"retry-now", "store/api_sets"},
    {"retry-same-score", "store/api_sets"},
    {"deploy-mark", "store/api_stats"},
    {"histogram-", "unit/metrics"},
    {"metric-keys-", "unit/metrics"},
    {"metric-bitfield", "store/metrics"},
    {"iterable-flush", "store/iteration"},
    {"iterable-cancel", "store/iteration"},
    {"iterable-done", "store/iteration"},
    {"iterable-interrupted", "lifecycle/iteration"},
};

std::string source_of(const std::string& test) { return text_of_file(BROOD_SOURCE_DIR "/tests/" + test + "_test.cpp"); }

}  // namespace

BOOST_AUTO_TEST_CASE(every_vector_has_one_line) {
  for (const test::Vector& vector : test::vectors("")) {
    int lines = 0;
    for (const Coverage& coverage : coverages) lines += vector.id.starts_with(coverage.prefix);
    BOOST_TEST(lines == 1, vector.id << " has " << lines << " lines");
  }
}

BOOST_AUTO_TEST_CASE(every_line_has_vectors_and_either_a_test_or_a_reason) {
  for (const Coverage& coverage : coverages) {
    BOOST_TEST_CONTEXT(coverage.prefix) {
      BOOST_CHECK_NO_THROW(test::vectors(coverage.prefix));
      BOOST_TEST(coverage.test.empty() != coverage.reason.empty());
    }
  }
}

BOOST_AUTO_TEST_CASE(every_test_that_is_named_asks_for_its_vectors) {
  for (const Coverage& coverage : coverages) {
    if (coverage.test.empty()) continue;
    const std::string source = source_of(coverage.test);
    BOOST_TEST(!source.empty(), coverage.test << " is no test");
    BOOST_TEST(source.find("vectors(") != source.npos, coverage.test << " reads no vectors");
    BOOST_TEST(source.find('"' + coverage.prefix) != source.npos, coverage.test << " does not use " << coverage.prefix);
  }
}
