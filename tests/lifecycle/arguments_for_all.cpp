// Middleware around every job, including programs, which changes jobs with an encrypted argument.
#include <brood/middleware.hpp>
#include <string>

void brood_setup(brood::Setup& setup) {
  setup.server_middleware().add("arguments", [](brood::Run& run, const brood::Next& next) {
    if (run.member("appended")) {
      const std::string args(run.args());
      run.set_args(args.substr(0, args.rfind(']')) + ",7]");
    }
    if (run.member("opened")) run.remove_member("encrypt");
    next();
  });
}

BROOD_MIDDLEWARE()
