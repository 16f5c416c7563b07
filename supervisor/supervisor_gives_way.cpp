// How a supervisor gives way when another process goes by its name; see supervisor.hpp.

#include <sys/wait.h>
#include <sysexits.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <thread>
#include <vector>

#include "shared/base/log.hpp"
#include "shared/base/process_stat.hpp"
#include "shared/scoreboard/scoreboard.hpp"
#include "supervisor/recovery/workers_left.hpp"
#include "supervisor/supervisor.hpp"

namespace brood {
namespace {

using namespace std::chrono_literals;

constexpr auto time_to_die = 10s;  // on a busy machine, too
constexpr auto until_they_are_dead = 5ms;
constexpr std::size_t most_children = 4096;

}  // namespace

// The other process goes on with the same jobs, so from here on no command is sent to Redis.
int Supervisor::give_way() {
  // After a stop, the exit status must not make the service manager restart the supervisor.
  const int exit_status = phases_.may_spawn() ? EX_TEMPFAIL : phases_.exit_status();
  // Removed first, in case this process is killed meanwhile.  The files would prove to the next supervisor here that
  // the name belongs to this host, and it would recover the jobs.  Without them it leaves the jobs to the other process
  // while that sends heartbeats.
  const std::string scoreboard = scoreboard_path(identity_.runtime_directory, identity_.name);
  unlink(scoreboard.c_str());
  remove_runtime_files(scoreboard);
  const int workers = fleet_.pool.occupied();
  fleet_.pool.kill_all("another process has its supervisor's name");
  end_children();
  log::error("name_is_taken",
             {{"identity", identity_.name},
              {"reason", "another process beats under this name: this machine was cloned while brood ran"},
              {"workers_killed", workers},
              {"jobs", "left to the other, neither settled nor charged"},
              {"hint", "start brood again: it takes a new name"}});
  phases_.service.stopping();
  phases_.service.status("gave way: another machine, of which this is a clone, has the same name");
  log::info("supervisor_stopped", {{"exit_status", exit_status}});
  operators_.stopped();
  log::flush();
  return exit_status;
}

// Kills workers, recovery children, and orphans that become our children as these end.  Spares an embedded Redis: the
// next supervisor finds it.
void Supervisor::end_children() {
  for (const SteadyTime end = steady_now() + time_to_die; steady_now() < end;) {
    std::vector<pid_t> children = own_children(most_children);
    std::erase_if(children, [&](pid_t child) {
      return own_processes_.strays().is_foreign(child) || children_.outlives_us(child);
    });
    if (children.empty()) return;
    for (const pid_t child : children) {
      if (getpgid(child) == child) kill(-child, SIGKILL);
      kill(child, SIGKILL);
      waitpid(child, nullptr, WNOHANG);
    }
    std::this_thread::sleep_for(until_they_are_dead);
  }
}

}  // namespace brood
