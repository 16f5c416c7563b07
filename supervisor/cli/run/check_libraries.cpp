#include "supervisor/cli/run/check_libraries.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <functional>
#include <iostream>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <thread>

#include "shared/base/check.hpp"
#include "shared/base/clock.hpp"
#include "shared/base/log_line.hpp"
#include "shared/base/scarcity.hpp"
#include "shared/base/units.hpp"
#include "shared/config/executable.hpp"
#include "supervisor/cli/run/check_names.hpp"
#include "supervisor/cli/run/show_periodic_jobs.hpp"
#include "supervisor/process/exit_status.hpp"
#include "supervisor/process/fork_child.hpp"
#include "supervisor/process/shared_count.hpp"
#include "supervisor/schedule/registered_periodic_jobs.hpp"
#include "worker/crash/crash_reporter.hpp"
#include "worker/job/environment_of_jobs.hpp"
#include "worker/job/job_registry.hpp"
#include "worker/job/lifecycle.hpp"
#include "worker/job/needed_objects.hpp"

namespace brood {
namespace {

constexpr std::chrono::milliseconds look_again{10};

// How the child ended.  It is killed when `longest` is over; nullopt then.
std::optional<ExitStatus> wait_for(pid_t child, std::chrono::milliseconds longest) {
  const SteadyTime deadline = steady_now() + longest;
  int status = 0;
  while (check("waitpid", waitpid(child, &status, WNOHANG)) == 0) {
    if (steady_now() >= deadline) {
      kill(-child, SIGKILL);  // it leads a group with everything it has started
      kill(child, SIGKILL);
      check("waitpid", waitpid(child, &status, 0));
      return std::nullopt;
    }
    std::this_thread::sleep_for(look_again);
  }
  if (WIFEXITED(status)) return ExitStatus{.exited = true, .value = WEXITSTATUS(status)};
  return ExitStatus{.exited = false, .value = WTERMSIG(status)};
}

int say(const std::string& why, int status) {
  std::cerr << "brood: " << log::printable(why) << std::endl;
  return status;
}

// Returns EX_OK, or the status with which a worker would end for the same reason.  A child that does not finish has
// crashed, also if a library calls exit(): returns `status_of_crash`.
int try_in_child(const std::string& what, const Config& config, int status_of_crash, const std::function<int()>& body) {
  const SharedCount came_so_far;
  const pid_t child = spawn({.title = "brood: check", .keep = {}, .parent_death_signal = SIGKILL}, [&] {
    report_own_crash();
    const auto tried = [&] {
      try {
        const int status = body();
        std::cout << std::flush;
        return status;
      } catch (const StartupError& error) {
        return say(error.what(), EX_TEMPFAIL);
      } catch (const LibraryError& error) {
        return say(error.what(), EX_CONFIG);
      } catch (const std::exception& error) {
        if (!is_scarcity(error)) throw;
        return say(what + ": " + error.what(), EX_TEMPFAIL);
      }
    };
    const int status = tried();
    came_so_far.value().store(1);
    return status;
  });
  const std::optional<ExitStatus> end = wait_for(child, config.boot_timeout);
  if (!end) return say(what + " took longer than boot_timeout, " + duration_text(config.boot_timeout), EX_TEMPFAIL);
  if (came_so_far.value().load() != 0) return end->value;
  return say(what + " ended the process that tried: " + end->describe(), status_of_crash);
}

}  // namespace

int say(const Findings& found, const CheckWarnings& warnings) {
  for (const std::string& warning : found.warnings) warnings.print(warning);
  for (const std::string& refusal : found.refusals) say(refusal, EX_CONFIG);
  return found.refusals.empty() ? EX_OK : EX_CONFIG;
}

int check_libraries(const Config& config, const CheckWarnings& warnings) {
  return try_in_child("loading the libraries", config, EX_CONFIG, [&] {
    set_environment_of_jobs(config);
    JobRegistry registry;
    registry.load(config);
    registry.require_isolated_classes(config);
    std::cout << fmt::format("libraries: {}, programs: {}, job classes:", config.require.size(),
                             config.commands.size());
    for (const std::string& name : registry.class_names()) std::cout << ' ' << name;
    std::cout << '\n';
    const auto refuse = [](const std::string& name, const std::string& why) {
      throw LibraryError("the periodic job " + name + " of a library: " + why);
    };
    const PeriodicJobSettings registered = read_registered_periodic(registry.periodic_jobs(), refuse);
    show_periodic_jobs(registered);
    return say(unknown_jobs(config, registry, registered), warnings);
  });
}

int check_startup(const Config& config) {
  for (const CapsuleSettings& capsule : config.capsules) {
    if (capsule.concurrency == 0) continue;
    // A later try may succeed: a database that a handler needs may be there then, for example.
    const int status = try_in_child("the startup of capsule " + capsule.name, config, EX_TEMPFAIL, [&] {
      set_environment_of_jobs(config);
      JobRegistry registry;
      registry.load(config);
      Lifecycle(registry, {.capsule = capsule.name}).start();
      std::cout << "startup of capsule " << capsule.name << ": done\n";
      return EX_OK;
    });
    if (status != EX_OK) return status;
  }
  return EX_OK;
}

std::string why_not_loadable(const Config& config) try {
  require_programs(config);
  set_environment_of_jobs(config);
  JobRegistry registry;
  registry.load(config);
  registry.require_isolated_classes(config);
  return "";
} catch (const std::runtime_error& refusal) {
  return refusal.what();
}

std::vector<NeededObject> find_needed_objects(const Config& config) { return find_needed_objects(config.require); }

void write_needed_objects(const std::vector<NeededObject>& objects, int file) {
  std::string lines;
  for (const NeededObject& object : objects) lines += object.name + "\t" + object.path + "\n";
  check("write of what libraries need", pwrite(file, lines.data(), lines.size(), 0));
}

std::vector<NeededObject> read_needed_objects(int file) {
  struct stat about {};
  check("fstat of what libraries need", fstat(file, &about));
  std::string text(static_cast<std::size_t>(about.st_size), '\0');
  check("read of what libraries need", pread(file, text.data(), text.size(), 0));
  std::istringstream lines(text);
  std::vector<NeededObject> objects;
  for (std::string name, path; std::getline(lines, name, '\t') && std::getline(lines, path);)
    objects.push_back({name, path});
  return objects;
}

}  // namespace brood
