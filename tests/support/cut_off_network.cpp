#include "tests/support/cut_off_network.hpp"

#include <unistd.h>

#include <cstdlib>
#include <stdexcept>

namespace brood {
namespace {

bool runs(const std::string& command) { return std::system(("(" + command + ") >/dev/null 2>&1").c_str()) == 0; }

void run(const std::string& command) {
  if (!runs(command)) throw std::runtime_error("failed: " + command);
}

}  // namespace

CutOffNetwork::CutOffNetwork()
    : name_("brood-test-" + std::to_string(getpid())),
      line_("bt" + std::to_string(getpid())),
      net_("10.231." + std::to_string(getpid() % 250 + 1) + ".") {
  const std::string inside = "ip -n " + name_ + " ";
  run("ip netns add " + name_);
  run("ip link add " + line_ + " type veth peer name other netns " + name_);
  run("ip addr add " + net_ + "1/30 dev " + line_);
  mend();
  // This address stays when the line is cut.
  run("ip addr add " + here() + "/32 dev lo");
  run(inside + "link set lo up && " + inside + "addr add " + there() + "/30 dev other && " + inside +
      "link set other up && " + inside + "route add " + here() + "/32 via " + net_ + "1");
}

CutOffNetwork::~CutOffNetwork() {
  runs("ip netns del " + name_);
  runs("ip link del " + line_);
  runs("ip addr del " + here() + "/32 dev lo");
}

std::string CutOffNetwork::here() const { return net_ + "5"; }
std::string CutOffNetwork::there() const { return net_ + "2"; }
std::vector<std::string> CutOffNetwork::prefix() const { return {"/usr/bin/nsenter", "--net=/run/netns/" + name_}; }
void CutOffNetwork::cut() const { run("ip link set " + line_ + " down"); }
void CutOffNetwork::mend() const { run("ip link set " + line_ + " up"); }

boost::test_tools::assertion_result networks_can_be_made(boost::unit_test::test_unit_id) {
  const std::string name = "brood-try-" + std::to_string(getpid());
  boost::test_tools::assertion_result can(runs("ip netns add " + name + " && ip netns del " + name));
  if (!can) can.message() << "SKIP: no network namespace can be made here";
  return can;
}

}  // namespace brood
