#pragma once

#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace brood {

// A network namespace beside this one, with a line between them that can be cut.  Then packets are lost, and no
// connection is closed.  Needs root.
class CutOffNetwork {
 public:
  CutOffNetwork();
  ~CutOffNetwork();
  CutOffNetwork(const CutOffNetwork&) = delete;
  CutOffNetwork& operator=(const CutOffNetwork&) = delete;

  std::string here() const;                 // the address of this side
  std::string there() const;                // the address of the other side
  std::vector<std::string> prefix() const;  // of a command that runs on the other side
  void cut() const;
  void mend() const;

 private:
  std::string name_, line_, net_;
};

// A precondition for tests that use one.
boost::test_tools::assertion_result networks_can_be_made(boost::unit_test::test_unit_id);

}  // namespace brood
