#include <cstdlib>
#include <fstream>

#include <brood/job.hpp>

#include "crashes.hpp"
#include "failures.hpp"
#include "greetings.hpp"
#include "ledger.hpp"
#include "lines.hpp"
#include "typed.hpp"
#include "waiting.hpp"

// Every process that loads the library calls it once.  The death handler writes each job that will not be tried again
// into the file BROOD_EXAMPLE_DEATHS: `dead <jid> <class> <class of the error>: <message>`.
void brood_setup(brood::Setup& setup) {
  const char* path = std::getenv("BROOD_EXAMPLE_DEATHS");
  if (path == nullptr) return;
  setup.on_death([file = std::string(path)](const brood::JobInfo& job, const std::exception& error) {
    std::ofstream(file, std::ios::app) << "dead " << job.jid << " " << job.job_class << " " << job.error_class << ": "
                                       << error.what() << "\n";
  });
}

BROOD_JOBS(Greet, AddNumbers, Sleep, PoliteLoop, Stubborn, Fail, FailOnce, FailOddly, Discarded, RetryHook,
           ExhaustedHook, Segfault, Abort, DeepRecursion, Exit, Gobble, Ledger, CopyLines, Typed)
