// Jobs that record what they receive besides their arguments, and pass it on.
#include <brood/ambient.hpp>
#include <brood/job.hpp>
#include <fstream>
#include <stdexcept>
#include <string>

struct TellContext {
  std::string path;
  int further = 0;  // jobs to enqueue, each from the previous one

  void perform() {
    std::ofstream(path, std::ios::app) << brood::ambient::get("tenant").value_or("-") << "|"
                                       << brood::ambient::get("user").value_or("-") << "|" << brood::ambient::locale()
                                       << "|" << brood::ambient::traceparent() << std::endl;
    if (further > 0) brood::Client{}.enqueue(TellContext{path, further - 1});
    brood::ambient::set("tenant", "\"left behind\"");
    brood::ambient::set_locale("left behind");
  }
};

struct FailInContext {
  void perform() { throw std::runtime_error("tenant " + brood::ambient::get("tenant").value_or("-")); }
};

void brood_setup(brood::Setup& setup) { setup.server_middleware().add("context", brood::restore_context()); }

BROOD_JOBS(TellContext, FailInContext)
