// Periodic jobs that their library registers.  PERIODIC_RULE is the rule of one of them.
#include <brood/job.hpp>
#include <cstdlib>
#include <string>

using namespace std::chrono_literals;

struct Coded {
  std::string words;
  int number = 0;

  static constexpr brood::JobOptions options{.queue = "coded", .retry = 3, .tags = {"by code"}};

  void perform() const {}
};

void brood_setup(brood::Setup& setup) {
  const char* const rule = std::getenv("PERIODIC_RULE");
  const Coded job{.words = "said in \"code\"", .number = 7};
  setup.periodic("coded", rule == nullptr ? "* * * * * *" : rule, job, {.catch_up = brood::CatchUp::all});
  setup.periodic("both", "* * * * * *", job, {.job = {.queue = "library"}});
  setup.periodic("elsewhere", "@yearly", job, {.tz = "Europe/Berlin", .within = 2h, .jitter = 1min});
}

BROOD_JOBS(Coded)
