#include <string>
#include <vector>

#include "supervisor/cli/access/redis_access.hpp"
#include "supervisor/cli/arguments/command_line.hpp"
#include "supervisor/cli/program.hpp"
#include "supervisor/watch/watch.hpp"

namespace brood {
namespace {

// `brood status` has checked this command line already.
int watch_command(const std::vector<std::string>& args) {
  RedisAccess access;
  bool watch = false;
  std::string interval;
  CommandLine line("Shows \"brood status\" live on the whole terminal.", "brood status");
  line.flag("--watch", watch, "As in \"brood status\"");
  line.option("--interval", interval, "DURATION", "Time between two updates, such as 500ms (default: 1s)");
  access.add_options(line);
  refuse_arguments(line.parse(args));
  return watch_status(access, interval.empty() ? "1s" : interval);
}

}  // namespace
}  // namespace brood

int main(int argc, char** argv) { return brood::companion_main(argc, argv, "status", brood::watch_command); }
