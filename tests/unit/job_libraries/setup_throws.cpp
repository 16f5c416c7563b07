#include <stdexcept>

#include <brood/job.hpp>

struct NeverRuns {
  void perform() {}
};

void brood_setup(brood::Setup&) { throw std::domain_error("no licence"); }

BROOD_JOBS(NeverRuns)
