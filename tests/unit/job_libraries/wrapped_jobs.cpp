// Jobs within middleware of their own library.
#include "traced_middleware.hpp"

class Boom : public std::runtime_error {
 public:
  Boom() : std::runtime_error("boom"), size(7) {}
  int size;
};

struct Says {
  std::string text;
  void perform(brood::Context& job) {
    note("says " + text + " in " + std::string(job.capsule()));
    if (text == "payload") note(std::string(job.payload()));
  }
};

struct SaysOther {
  std::string text;
  void perform(brood::Context& job) { note("other " + text + " as " + std::string(job.job_class())); }
};

struct Fails {
  static brood::RetryDecision retry_in(int, const std::exception& error) {
    return std::chrono::seconds(dynamic_cast<const Boom&>(error).size);
  }
  void perform() { throw Boom(); }
};

struct WindsUp {
  void perform() { throw brood::Interrupted{}; }
};

void brood_setup(brood::Setup& setup) {
  setup.server_middleware().add("own", traced("own"));
  setup.server_middleware().add("inner", traced("inner"), {.capsules = {"images"}});
  setup.on_error([](const brood::JobInfo& job, const std::exception& error) {
    note("own error " + std::string(job.job_class) + " " + error.what() + (job.crashed ? " crashed" : ""));
  });
  setup.on_error([](const brood::JobInfo&, const std::exception&) { throw std::runtime_error("a broken handler"); });
  setup.on_death([](const brood::JobInfo& job, const std::exception&) { note("own death " + std::string(job.jid)); });
}

BROOD_JOBS(Says, SaysOther, Fails, WindsUp)
