#pragma once

#include <boost/test/unit_test.hpp>

#include <clocale>
#include <string>

#include "supervisor/cli/access/machine_status.hpp"

// Shared by the tests of the live view.
namespace brood {

struct Utf8 {
  Utf8() { BOOST_REQUIRE(std::setlocale(LC_CTYPE, "C.UTF-8") != nullptr); }
};
BOOST_TEST_GLOBAL_FIXTURE(Utf8);

inline WorkerStatus worker(int slot, const std::string& state, const std::string& job_class = "",
                           const std::string& jid = "") {
  WorkerStatus worker;
  worker.identity = "vm:1:ab";
  worker.slot = slot;
  worker.pid = 1000 + slot;
  worker.state = state;
  worker.job_class = job_class;
  worker.jid = jid;
  return worker;
}

}  // namespace brood
