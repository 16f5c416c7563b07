// No jobs, but middleware and handlers around those of all libraries.
#include "traced_middleware.hpp"

#define TEXT_OF(name) #name
#define TEXT(name) TEXT_OF(name)

void brood_setup(brood::Setup& setup) {
  setup.server_middleware().add(TEXT(NAME), traced(TEXT(NAME)));
  setup.on_error([](const brood::JobInfo& job, const std::exception& error) {
    note(TEXT(NAME) " error " + std::string(job.error_class) + " " + error.what());
  });
  setup.on_death([](const brood::JobInfo& job, const std::exception&) {
    note(TEXT(NAME) " death " + std::string(job.job_class));
  });
  setup.on(brood::Event::crash, [](const brood::Occasion& crash) {
    note(TEXT(NAME) " crash of " + std::string(crash.job()->job_class) + " in slot " + std::to_string(crash.slot()) +
         ": " + std::string(crash.report()));
  });
}

BROOD_MIDDLEWARE()
