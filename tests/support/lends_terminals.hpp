#pragma once

#include <pty.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>

namespace brood {

// A precondition for tests that need a terminal: a bare root file system may lack /dev/ptmx and /dev/pts.
inline boost::test_tools::assertion_result lends_terminals(boost::unit_test::test_unit_id) {
  int terminal = -1, program = -1;
  const bool lends = openpty(&terminal, &program, nullptr, nullptr, nullptr) == 0;
  if (lends) {
    close(terminal);
    close(program);
  }
  boost::test_tools::assertion_result result(lends);
  if (!lends) result.message() << "SKIP: this machine lends no terminal; mount devpts on /dev/pts";
  return result;
}

}  // namespace brood
