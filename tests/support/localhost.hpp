#pragma once

#include <netdb.h>

#include <boost/test/unit_test.hpp>

namespace brood {

// A precondition for tests that resolve a name: a bare root file system has no /etc/hosts, and resolves none.
inline boost::test_tools::assertion_result localhost_is_known(boost::unit_test::test_unit_id) {
  addrinfo* found = nullptr;
  const bool known = getaddrinfo("localhost", nullptr, nullptr, &found) == 0;
  if (known) freeaddrinfo(found);
  boost::test_tools::assertion_result result(known);
  if (!known) result.message() << "SKIP: this machine does not know localhost";
  return result;
}

}  // namespace brood
