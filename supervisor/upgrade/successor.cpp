#include "supervisor/upgrade/successor.hpp"

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

#include "shared/base/log.hpp"
#include "shared/base/paths.hpp"
#include "supervisor/process/own_words.hpp"
#include "supervisor/upgrade/handover_file.hpp"
#include "supervisor/upgrade/way_back.hpp"

namespace brood {
namespace {

constexpr const char* own_file = "/proc/self/exe";

bool same_file(const std::string& a, const std::string& b) {
  struct stat first {
  }, second{};
  return stat(a.c_str(), &first) == 0 && stat(b.c_str(), &second) == 0 && first.st_dev == second.st_dev &&
         first.st_ino == second.st_ino;
}

// The name by which this program was called, if that still leads to it; else the kernel's name for its file.
std::string find_own_path(const std::string& called) {
  std::error_code ignored;
  if (called.find('/') != std::string::npos) {
    const std::string path = working_directory::absolute(called);
    if (same_file(path, own_file)) return path;
  } else if (const char* const directories = std::getenv("PATH")) {
    std::istringstream list(directories);
    for (std::string directory; std::getline(list, directory, ':');) {
      const std::string path = working_directory::absolute(directory.empty() ? "." : directory) + "/" + called;
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

std::vector<std::string> environment() {
  std::vector<std::string> variables;
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable)
    variables.emplace_back(*variable);
  return variables;
}

// While an object of this class lives, these descriptors survive an exec.
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

}  // namespace

Successor::Successor(std::vector<std::string> argv, std::string path)
    : argv_(way_back::own_arguments(std::move(argv))),
      environment_(environment()),
      path_(!path.empty() ? std::move(path) : find_own_path(argv_.empty() ? "" : argv_[0])),
      program_(open(own_file, O_RDONLY | O_CLOEXEC)) {}

std::vector<std::string> Successor::command(int handover) const {
  std::vector<std::string> words = argv_;
  words.emplace_back(way_back::adopt);
  words.push_back(std::to_string(handover));
  if (program_) {
    words.emplace_back(way_back::former);
    words.push_back(std::to_string(program_.get()));
  }
  return words;
}

int Successor::rehearse(int handover) const {
  constexpr int not_executed = 127;
  std::vector<std::string> words = command(handover);
  const HiddenAddress hidden(words);
  fcntl(handover, F_SETFD, 0);
  // Discards standard output; a refusal comes on standard error.
  const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (nowhere >= 0) dup2(nowhere, STDOUT_FILENO);
  working_directory::enter();
  execv(path_.c_str(), pointers(words).data());
  fmt::print(stderr, "{} cannot be executed: {}\n", path_, std::generic_category().message(errno));
  return not_executed;
}

std::string Successor::take_over(const Handover& handover) const {
  const UniqueFd file = write_handover(handover);
  std::vector<int> descriptors = descriptors_of(handover);
  descriptors.push_back(file.get());
  descriptors.push_back(program_.get());
  const KeptOpen kept(std::move(descriptors));
  log::flush();
  std::vector<std::string> words = command(file.get()), variables = environment_;
  const HiddenAddress hidden(words);
  if (!hidden.assignment().empty()) variables.push_back(hidden.assignment());
  const UniqueFd here(open(".", O_PATH | O_DIRECTORY | O_CLOEXEC));
  working_directory::enter();
  execve(path_.c_str(), pointers(words).data(), pointers(variables).data());
  const int error = errno;
  if (here && fchdir(here.get()) != 0)
    log::warn("working_directory_lost", {{"reason", "it cannot be entered any more"}});
  errno = error;
  return fmt::format("{} cannot be executed: {}", path_, std::generic_category().message(errno));
}

}  // namespace brood
