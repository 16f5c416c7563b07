#include "supervisor/successor.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <system_error>

#include "shared/log.hpp"

namespace brood {
namespace {

constexpr const char* own_file = "/proc/self/exe";
constexpr std::string_view adopt = "--adopt";

bool same_file(const std::string& a, const std::string& b) {
  struct stat first {
  }, second{};
  return stat(a.c_str(), &first) == 0 && stat(b.c_str(), &second) == 0 && first.st_dev == second.st_dev &&
         first.st_ino == second.st_ino;
}

// The name by which this program was found, if it still leads here; else the kernel's name for its file.
std::string find_own_path(const std::string& called) {
  std::error_code ignored;
  if (called.find('/') != std::string::npos) {
    const std::string path = std::filesystem::absolute(called, ignored);
    if (same_file(path, own_file)) return path;
  } else if (const char* const directories = std::getenv("PATH")) {
    std::istringstream list(directories);
    for (std::string directory; std::getline(list, directory, ':');) {
      const std::string path = std::filesystem::absolute(directory.empty() ? "." : directory, ignored) / called;
      if (same_file(path, own_file)) return path;
    }
  }
  return std::filesystem::read_symlink(own_file, ignored);
}

std::vector<char*> pointers(const std::vector<std::string>& words) {
  std::vector<char*> all;
  for (const std::string& word : words) all.push_back(const_cast<char*>(word.c_str()));
  all.push_back(nullptr);
  return all;
}

// While it lives, these descriptors survive an exec.
class KeptOpen {
 public:
  explicit KeptOpen(std::vector<int> descriptors) : descriptors_(std::move(descriptors)) { set(0); }
  ~KeptOpen() { set(FD_CLOEXEC); }
  KeptOpen(const KeptOpen&) = delete;
  KeptOpen& operator=(const KeptOpen&) = delete;

 private:
  void set(int flags) const {
    for (const int descriptor : descriptors_) {
      if (descriptor > STDERR_FILENO) fcntl(descriptor, F_SETFD, flags);
    }
  }
  std::vector<int> descriptors_;
};

// This program may have taken over from another itself.
std::vector<std::string> without_handover(std::vector<std::string> argv) {
  const auto option = std::find(argv.begin(), argv.end(), adopt);
  if (option != argv.end()) argv.erase(option, std::min(option + 2, argv.end()));
  return argv;
}

}  // namespace

Successor::Successor(std::vector<std::string> argv)
    : argv_(without_handover(std::move(argv))), path_(find_own_path(argv_.empty() ? "" : argv_[0])) {}

std::vector<std::string> Successor::command(int handover) const {
  std::vector<std::string> words = argv_;
  words.emplace_back(adopt);
  words.push_back(std::to_string(handover));
  return words;
}

int Successor::execute_check(int handover) const {
  constexpr int not_executed = 127;
  std::vector<std::string> words = command(handover);
  words.push_back("--check");
  fcntl(handover, F_SETFD, 0);
  // What it says when all is well is for nobody.
  const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (nowhere >= 0) dup2(nowhere, STDOUT_FILENO);
  execv(path_.c_str(), pointers(words).data());
  fmt::print(stderr, "{} cannot be executed: {}\n", path_, std::generic_category().message(errno));
  return not_executed;
}

std::string Successor::take_over(const Handover& handover) const {
  const UniqueFd file = write_handover(handover);
  std::vector<int> descriptors{file.get(), handover.control_listener};
  for (const Handover::Worker& worker : handover.workers) {
    descriptors.push_back(worker.control);
    descriptors.push_back(worker.output);
  }
  const KeptOpen kept(std::move(descriptors));
  log::flush();
  execv(path_.c_str(), pointers(command(file.get())).data());
  return fmt::format("{} cannot be executed: {}", path_, std::generic_category().message(errno));
}

}  // namespace brood
