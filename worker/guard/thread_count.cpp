#include "worker/guard/thread_count.hpp"

#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <ctime>
#include <filesystem>
#include <fstream>
#include <system_error>

namespace brood {
namespace {

constexpr int most_looks = 20;
constexpr timespec between_looks{.tv_sec = 0, .tv_nsec = 1'000'000};

// Returns the number of threads plus two, as every directory has two links more than subdirectories.  0: not known.
int links_of_threads() {
  struct stat status {};
  return stat("/proc/self/task", &status) == 0 ? static_cast<int>(status.st_nlink) : 0;
}

}  // namespace

void ThreadCount::note_present() { present_ = links_of_threads(); }

int ThreadCount::left_behind() {
  int now = links_of_threads();
  // pthread_join() returns before the kernel has taken the thread off its list.
  for (int look = 0; now > present_ && look < most_looks; ++look) {
    nanosleep(&between_looks, nullptr);
    now = links_of_threads();
  }
  if (now > present_) return now - present_;
  present_ = now;  // if threads of a library have ended, new ones in their place must be detected
  return 0;
}

std::vector<std::string> names_of_other_threads() {
  const std::string self = std::to_string(syscall(SYS_gettid));
  std::vector<std::string> names;
  std::error_code no_proc;
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task", no_proc)) {
    if (thread.path().filename() == self) continue;
    std::string name;
    if (std::getline(std::ifstream(thread.path() / "comm"), name)) names.push_back(name);
  }
  return names;
}

}  // namespace brood
