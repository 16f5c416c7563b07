#include "supervisor/cli/run/check_libraries.hpp"

#include <sys/wait.h>
#include <sysexits.h>
#include <unistd.h>

#include <functional>
#include <iostream>
#include <stdexcept>

#include "shared/base/check.hpp"
#include "shared/base/log_line.hpp"
#include "shared/config/executable.hpp"
#include "shared/config/redis_location.hpp"
#include "shared/config/told_keys.hpp"
#include "supervisor/cli/run/show_periodic_jobs.hpp"
#include "supervisor/process/fork_child.hpp"
#include "supervisor/schedule/registered_periodic_jobs.hpp"
#include "worker/job/job_registry.hpp"
#include "worker/job/lifecycle.hpp"

namespace brood {
namespace {

// Returns the exit status of the child; a crash is an error of the configuration.
int try_in_child(const std::string& what, const std::function<void()>& body) {
  const pid_t child = spawn({.title = "brood: check", .keep = {}}, [&] {
    try {
      body();
      std::cout << std::flush;
      return EX_OK;
    } catch (const StartupError& error) {
      std::cerr << "brood: " << log::printable(error.what()) << std::endl;
      return EX_TEMPFAIL;
    } catch (const LibraryError& error) {
      std::cerr << "brood: " << log::printable(error.what()) << std::endl;
      return EX_CONFIG;
    }
  });
  int status = 0;
  check("waitpid", waitpid(child, &status, 0));
  if (WIFEXITED(status)) return WEXITSTATUS(status);
  std::cerr << "brood: " << what << " ended the process that tried: killed by signal " << WTERMSIG(status) << std::endl;
  return EX_CONFIG;
}

}  // namespace

int check_libraries(const Config& config) {
  return try_in_child("loading the libraries", [&] {
    JobRegistry registry;
    registry.load(config);
    std::cout << "libraries: " << config.require.size() << ", programs: " << config.commands.size() << ", job classes:";
    for (const std::string& name : registry.class_names()) std::cout << ' ' << name;
    std::cout << '\n';
    const auto refuse = [](const std::string& name, const std::string& why) {
      throw LibraryError("the periodic job " + name + " of a library: " + why);
    };
    show_periodic_jobs(read_registered_periodic(registry.periodic_jobs(), refuse));
  });
}

int check_startup(const Config& config) {
  for (const CapsuleSettings& capsule : config.capsules) {
    if (capsule.concurrency == 0) continue;
    const int status = try_in_child("the startup of capsule " + capsule.name, [&] {
      alarm(static_cast<unsigned>(std::chrono::ceil<std::chrono::seconds>(config.boot_timeout).count()));
      tell_jobs_of_redis(config.redis);
      tell_jobs_of_keys(config.encryption, config.redis.share_with_jobs);
      JobRegistry registry;
      registry.load(config);
      Lifecycle(registry, {.capsule = capsule.name}).start();
      std::cout << "startup of capsule " << capsule.name << ": done\n";
    });
    if (status != EX_OK) return status;
  }
  return EX_OK;
}

std::string why_not_loadable(const Config& config) try {
  require_programs(config);
  JobRegistry registry;
  registry.load(config);
  return "";
} catch (const std::runtime_error& refusal) {
  return refusal.what();
}

}  // namespace brood
