#include "supervisor/watch/command_process.hpp"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>

#include "shared/base/check.hpp"

namespace brood::watch {
namespace {

constexpr std::size_t longest_output = 1024 * 1024;

void check_error(const char* call, int error) {
  if (error != 0) throw std::system_error(error, std::generic_category(), call);
}

}  // namespace

CommandProcess::CommandProcess(const std::string& brood, const std::vector<std::string>& command) : command_(command) {
  std::array<int, 2> ends{};
  check("pipe2", pipe2(ends.data(), O_CLOEXEC));
  output_.reset(ends[0]);
  const UniqueFd writer(ends[1]);
  check("fcntl", fcntl(output_.get(), F_SETFL, O_NONBLOCK));

  posix_spawn_file_actions_t files;
  check_error("posix_spawn", posix_spawn_file_actions_init(&files));
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&files, writer.get(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&files, writer.get(), STDERR_FILENO);
  // Signals are blocked in this process, which reads them from a descriptor; the child must get them as usual.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);

  std::vector<char*> arguments = {const_cast<char*>("brood")};
  for (std::string& word : command_) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const int error = posix_spawn(&pid_, brood.c_str(), &files, &attributes, arguments.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  check_error(brood.c_str(), error);
}

CommandProcess::~CommandProcess() {
  if (pid_ <= 0) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

std::optional<std::string> CommandProcess::read() {
  std::array<char, 4096> bytes{};
  for (;;) {
    const ssize_t size = ::read(output_.get(), bytes.data(), bytes.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && errno == EAGAIN) return std::nullopt;
    if (size <= 0) break;
    if (text_.size() < longest_output) text_.append(bytes.data(), static_cast<std::size_t>(size));
  }
  waitpid(pid_, nullptr, 0);
  pid_ = -1;
  return std::move(text_);
}

}  // namespace brood::watch
