#include "tests/support/terminal.hpp"

#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "shared/base/check.hpp"

namespace brood {

using namespace std::chrono_literals;

OnTerminal::OnTerminal(const std::vector<std::string>& arguments,
                       const std::map<std::string, std::string>& environment) {
  const winsize size{.ws_row = 30, .ws_col = 200, .ws_xpixel = 0, .ws_ypixel = 0};
  pid_ = check("forkpty", forkpty(&fd_, nullptr, nullptr, &size));
  if (pid_ != 0) return;
  setenv("TERM", "xterm", 1);
  unsetenv("NO_COLOR");
  for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
  std::vector<char*> words = {const_cast<char*>("brood")};
  for (const std::string& argument : arguments) words.push_back(const_cast<char*>(argument.c_str()));
  words.push_back(nullptr);
  execv(BROOD_BINARY_DIR "/bin/brood", words.data());
  _exit(127);
}

OnTerminal::~OnTerminal() {
  if (pid_ > 0) {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  close(fd_);
}

void OnTerminal::type(const std::string& keys) {
  check("write", static_cast<int>(write(fd_, keys.data(), keys.size())));
}

// Returns false if nothing came, or can come any more: the terminal hangs up when its last program has ended.
bool OnTerminal::read_some(std::chrono::milliseconds patience) {
  pollfd readable{.fd = fd_, .events = POLLIN, .revents = 0};
  if (poll(&readable, 1, static_cast<int>(patience.count())) <= 0) return false;
  std::array<char, 65536> some;
  const ssize_t length = read(fd_, some.data(), some.size());
  if (length <= 0) return length < 0 && errno == EINTR;
  text_.append(some.data(), static_cast<std::size_t>(length));
  return true;
}

bool OnTerminal::shows(const std::string& text, std::chrono::milliseconds patience) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (text_.find(text) == std::string::npos) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    if (left <= 0ms || !read_some(left)) return false;
  }
  return true;
}

int OnTerminal::status() {
  while (read_some(60s)) {
  }
  int status = 0;
  waitpid(pid_, &status, 0);
  pid_ = -1;
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace brood
