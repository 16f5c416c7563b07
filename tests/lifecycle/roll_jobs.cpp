// The same jobs as several libraries, distinguished by ROLL_VERSION.  A library with DIES passes a check and then ends
// its workers: all of them, or, if ROLL_LOADS in the environment names a file, from the fourth load on.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include <brood/job.hpp>
#include <chrono>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <thread>

namespace {

void append(const std::string& path, const std::string& line) {
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  if (fd < 0 || write(fd, line.data(), line.size()) < 0) throw std::runtime_error("cannot write " + path);
  close(fd);
}

std::string line(const char* word) {
  return std::string(word) + " " + std::to_string(ROLL_VERSION) + " " + std::to_string(getpid()) + "\n";
}

}  // namespace

// Records which code ran it.
struct Versioned {
  std::string path;
  void perform() { append(path, line("ran")); }
};

// Runs until a file exists.
struct UntilFile {
  std::string path, file;
  void perform() {
    append(path, line("began"));
    while (access(file.c_str(), F_OK) != 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    append(path, line("ended"));
  }
};

#ifndef ROLL_CRASHES
#define ROLL_CRASHES 0
#endif
#ifndef ROLL_FAILS
#define ROLL_FAILS 0
#endif

// In each hundred runs, crashes and fails as often as the library says.
struct NowAndThen {
  int number = 0;
  void perform() {
    const int spread = number * 37 % 100;
    if (spread < ROLL_CRASHES) std::abort();
    if (spread < ROLL_FAILS) throw std::runtime_error("now and then");
  }
};

#ifdef DIES
// Ends the process shortly after the libraries are loaded, while no job runs.  A check has ended by then.
static void die_soon() {
  if (const char* const loads = std::getenv("ROLL_LOADS")) {
    append(loads, "x");
    struct stat status {};
    if (stat(loads, &status) == 0 && status.st_size < 4) return;
  }
  itimerval soon{};
  soon.it_value.tv_usec = 100'000;
  setitimer(ITIMER_REAL, &soon, nullptr);
}
#endif

// Environment: ROLL_DEATHS names the file that records which code was notified of dead jobs; with ROLL_PERIODIC each
// version pushes a job a second to its own queue.
void brood_setup(brood::Setup& setup) {
#ifdef DIES
  die_soon();
#endif
  const std::string own = "of_" + std::to_string(ROLL_VERSION);
  if (std::getenv("ROLL_PERIODIC") != nullptr) setup.periodic(own, "* * * * * *", Versioned{}, {.job = {.queue = own}});
  if (const char* const deaths = std::getenv("ROLL_DEATHS"))
    setup.on_death([deaths](const brood::JobInfo&, const std::exception&) { append(deaths, line("died")); });
}

BROOD_JOBS(Versioned, UntilFile, NowAndThen)
