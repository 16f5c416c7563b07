#include "worker/guard/offspring.hpp"

#include <sys/prctl.h>
#include <sys/wait.h>

namespace brood {
namespace {

constexpr int most_reaped_between_jobs = 256;

}  // namespace

void adopt_orphans() { prctl(PR_SET_CHILD_SUBREAPER, 1); }

void reap_orphans() {
  for (int reaped = 0; reaped < most_reaped_between_jobs && waitpid(-1, nullptr, WNOHANG) > 0; ++reaped) {
  }
}

}  // namespace brood
