#include "supervisor/cli/run.hpp"

#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

#include "shared/check.hpp"
#include "shared/executable.hpp"
#include "shared/identity.hpp"
#include "shared/log.hpp"
#include "shared/paths.hpp"
#include "shared/redis/connection.hpp"
#include "shared/redis_location.hpp"
#include "supervisor/process_title.hpp"
#include "supervisor/redis_requirements.hpp"
#include "supervisor/spawn.hpp"
#include "supervisor/supervisor.hpp"
#include "supervisor/version.hpp"
#include "worker/autopsy.hpp"
#include "worker/dump_report.hpp"
#include "worker/job_registry.hpp"
#include "worker/signal_shield.hpp"
#include "worker/worker.hpp"

namespace brood {
namespace {

// In a child; empty: all of it can be loaded and executed.
std::string why_not_loadable(const Config& config) {
  try {
    require_programs(config);
    JobRegistry registry;
    registry.load(config);
    return "";
  } catch (const std::runtime_error& refusal) {
    return refusal.what();
  }
}

// In a child: the supervisor's process loads no job library, not even to look at it.
int check_libraries(const Config& config) {
  const pid_t child = spawn({.title = "brood: check", .keep = {}}, [&] {
    try {
      JobRegistry registry;
      registry.load(config);
      std::cout << "libraries: " << config.require.size() << ", programs: " << config.commands.size()
                << ", job classes:";
      for (const std::string& name : registry.class_names()) std::cout << ' ' << name;
      std::cout << std::endl;
      return EX_OK;
    } catch (const LibraryError& error) {
      std::cerr << "brood: " << error.what() << std::endl;
      return EX_CONFIG;
    }
  });
  int status = 0;
  check("waitpid", waitpid(child, &status, 0));
  if (WIFEXITED(status)) return WEXITSTATUS(status);
  std::cerr << "brood: loading the libraries ended the process that tried: killed by signal " << WTERMSIG(status)
            << std::endl;
  return EX_CONFIG;
}

// Redis may be away while a machine is set up, and `run` waits for it; one that can never be used is an error.
int check_redis(const Config& config, const RedisAddress& address) {
  std::cout << "redis: " << (uses_embedded_redis(config.redis) ? "embedded, " : "") << address.without_password();
  int status = EX_OK;
  try {
    constexpr std::chrono::seconds patience(2);
    const Reply info = Connection(address, {patience, patience}).call({"INFO"});
    const RedisFitness fitness = judge_redis(info.view().text());
    std::cout << ", version " << fitness.version;
    if (!fitness.warning.empty()) std::cout << "; warning: " << fitness.warning;
    if (!fitness.refusal.empty()) {
      std::cout << "\n" << std::flush;
      std::cerr << "brood: " << fitness.refusal << std::endl;
      return EX_CONFIG;
    }
  } catch (const ConnectionLost& lost) {
    if (!uses_embedded_redis(config.redis)) std::cout << "; warning: it does not answer now: " << lost.what();
  } catch (const UnexpectedReply& refused) {
    std::cout << "; warning: " << refused.what();
  }
  std::cout << std::endl;
  return status;
}

int check_everything(const Config& config, const RedisAddress& redis) {
  const auto capsules = std::count_if(config.capsules.begin(), config.capsules.end(),
                                      [](const CapsuleSettings& capsule) { return capsule.concurrency > 0; });
  std::cout << "configuration: " << config.concurrency() << " workers in " << capsules << " capsule"
            << (capsules == 1 ? "" : "s") << std::endl;
  for (const CapsuleSettings& capsule : config.capsules) {
    if (capsule.concurrency == 0) continue;
    std::cout << "capsule " << capsule.name << ": " << capsule.concurrency << " workers, queues";
    for (const std::string& queue : capsule.queues.names()) std::cout << ' ' << queue;
    std::cout << std::endl;
  }
  const int redis_status = check_redis(config, redis);
  const int library_status = check_libraries(config);
  if (config.require.empty() && config.commands.empty())
    std::cout << "warning: no job library, so that every job fails as an unknown class" << std::endl;
  const int status = redis_status != EX_OK ? redis_status : library_status;
  if (status == EX_OK) std::cout << "everything can run" << std::endl;
  return status;
}

void make_private_directory(const std::string& path) {
  // Only one of our own making is narrowed: somebody may have named /tmp.
  if (std::filesystem::create_directories(path)) check("chmod", chmod(path.c_str(), 0700));
  struct stat about {};
  check("lstat", lstat(path.c_str(), &about));
  // systemd makes some of ours links; one of another user's in /tmp leads where they please.
  if (S_ISLNK(about.st_mode) && about.st_uid != geteuid() && about.st_uid != 0)
    throw std::runtime_error("the runtime directory " + path + " is another user's link; set RUNTIME_DIRECTORY");
  check("stat", stat(path.c_str(), &about));
  // A directory in /tmp that somebody else made first would hand them our scoreboard.
  if (about.st_uid != geteuid() && geteuid() != 0)
    throw std::runtime_error("the runtime directory " + path + " belongs to another user; set RUNTIME_DIRECTORY");
}

log::Options log_options(const Config& config) {
  log::Options log = config.log;
  log.journald = log.file.empty() && log::standard_error_is_the_journal();
  log.colour = log.file.empty() && log::standard_error_takes_colour();
  return log;
}

void warn_of(const Config& config) {
  for (const std::string& warning : config.warnings) log::warn("configuration", {{"warning", warning}});
  if (config.require.empty() && config.commands.empty())
    log::warn("no_job_library", {{"hint", "name one with -r; every job will fail as an unknown class"}});
}

// Any process of the same user may read and write the memory of one that can be dumped; jobs are the same user.
void shield_from_jobs(const Config& config) {
  check("prctl", prctl(PR_SET_DUMPABLE, 0));
  const auto is_shielded = [&](const CapsuleSettings& one) { return one.worker.value_or(config.worker).seccomp; };
  if (std::any_of(config.capsules.begin(), config.capsules.end(), is_shielded) && !can_shield_supervisor())
    log::warn("supervisor_not_shielded",
              {{"reason", "the kernel refuses seccomp filters"},
               {"hint", "jobs can signal their supervisor; [worker] seccomp = false silences this"}});
}

// As this program was started: before the title of the process takes its place.
std::vector<std::string> own_arguments() {
  std::ifstream file("/proc/self/cmdline");
  std::vector<std::string> words;
  for (std::string word; std::getline(file, word, '\0');) words.push_back(word);
  return words;
}

// What another program has left in this process.  Its jobs are in one Redis, and are not to be looked for in another.
Handover take_handover(int descriptor, const RedisAddress& redis) {
  Handover handover = read_handover(descriptor);
  if (handover.format != Handover::current_format)
    throw BadHandover(fmt::format("brood {} hands over in format {}, and this is {}, which reads {}", handover.version,
                                  handover.format, version, Handover::current_format));
  if (handover.redis != redis.without_password())
    throw ConfigError("where Redis is cannot change while brood runs: stop it and start it again");
  return handover;
}

}  // namespace

int run_command(const RunOptions& options) {
  const Config config = load_config(options.config_path, options.overrides);
  const RedisAddress redis = locate_redis(config.redis);
  std::optional<Handover> handover;
  if (options.adopt) handover = take_handover(*options.adopt, redis);
  // Not once a running supervisor has handed over: it had us try this before.
  if (!options.adopt || options.check) require_programs(config);
  if (options.check) return check_everything(config, redis);
  const Successor successor(own_arguments());
  if (options.adopt) close(*options.adopt);

  log::Options log = log_options(config);
  log::open(log);
  const auto follow_log = [&log](const Config& wanted) {
    if (log_options(wanted) == log) return;
    log::open(log_options(wanted));
    log = log_options(wanted);
  };
  shield_from_jobs(config);
  warn_of(config);
  if (geteuid() == 0)
    log::warn("running_as_root", {{"hint", "jobs run with all rights; a user of their own is safer"}});
  if (config.capsules.empty()) throw ConfigError("no workers are configured");

  const std::string runtime = runtime_directory();
  make_private_directory(runtime);
  Identity identity = handover ? handover->identity : Identity::of_this_process();
  identity.runtime_directory = std::filesystem::absolute(runtime);
  std::optional<EmbeddedRedis> embedded;
  if (uses_embedded_redis(config.redis)) embedded.emplace(state_directory(), embedded_socket_path());

  const BodiesFor bodies = [&](std::shared_ptr<const Config> config) {
    return ChildBodies{
        .worker =
            [=, &identity, &redis](const Seat& seat) {
              follow_log(*config);
              return run_worker(seat, *config, identity, redis);
            },
        .autopsy = [=, &redis](const std::vector<Casualty>& casualties,
                               RecoveryMode mode) { return run_autopsy(casualties, mode, *config, redis); },
        .estate = [=, &redis](const Estate& estate,
                              RecoveryMode mode) { return settle_estate(estate, mode, *config, redis); },
        .sweep = [&redis] { return sweep_stray_lists(redis); },
        .log_stacks = log_stacks,
        .check =
            [=] {
              follow_log(*config);
              return why_not_loadable(*config);
            }};
  };

  const auto name_process = [](const Config& named) {
    set_process_title("brood: supervisor" + (named.tag.empty() ? "" : " " + named.tag));
  };
  name_process(config);
  Supervisor supervisor(
      {.config = std::make_shared<const Config>(config),
       .identity = identity,
       .redis = redis,
       .embedded_redis = std::move(embedded),
       .runtime_directory = runtime,
       .instance = options.instance,
       .bodies = bodies,
       .successor = successor,
       .handover = std::move(handover),
       .read_config =
           [&options] { return std::make_shared<const Config>(load_config(options.config_path, options.overrides)); },
       .follow =
           [&](const Config& adopted) {
             follow_log(adopted);
             warn_of(adopted);
             name_process(adopted);
           }});
  return supervisor.run();
}

}  // namespace brood
