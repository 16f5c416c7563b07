// A library without jobs: its middleware is around those of all others.
#include <brood/ambient.hpp>
#include <brood/job.hpp>

#include "ledger.hpp"

void brood_setup(brood::Setup& setup) {
  setup.server_middleware().add("context", brood::restore_context());
  setup.server_middleware().add("measures", [](brood::Run& run, const brood::Next& next) {
    const auto tenant = brood::ambient::get("tenant");
    next();
    if (tenant) {
      note("measured " + std::string(run.job_class()) + " for " + *tenant + " in " + brood::ambient::locale() + ", " +
           brood::ambient::traceparent());
    }
  });
}

BROOD_MIDDLEWARE()
