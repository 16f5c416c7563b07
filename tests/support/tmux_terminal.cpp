#include "tests/support/tmux_terminal.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <stdexcept>
#include <thread>

#include "shared/base/check.hpp"
#include "tests/support/eventually.hpp"

namespace brood {
namespace {

constexpr auto patience = std::chrono::seconds(30);

pid_t start(std::vector<std::string> words, int output, const std::map<std::string, std::string>& environment = {}) {
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const pid_t parent = getpid();
  const pid_t pid = check("fork", fork());
  if (pid != 0) return pid;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(127);
  for (const char* name : {"TMUX", "REDIS_URL", "REDIS_PROVIDER", "NO_COLOR", "LC_ALL"}) unsetenv(name);
  for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
  dup2(open("/dev/null", O_RDONLY), 0);
  dup2(output, 1);
  dup2(output, 2);
  close_range(3, ~0U, 0);
  execvp(argv[0], argv.data());
  _exit(127);
}

// The command's output; empty if it failed.
std::string output_of(const std::vector<std::string>& words) {
  std::array<int, 2> ends{};
  check("pipe2", pipe2(ends.data(), O_CLOEXEC));
  const pid_t pid = start(words, ends[1]);
  close(ends[1]);
  std::string text;
  std::array<char, 4096> bytes{};
  ssize_t size = 0;
  while ((size = read(ends[0], bytes.data(), bytes.size())) > 0 || (size < 0 && errno == EINTR)) {
    if (size > 0) text.append(bytes.data(), static_cast<std::size_t>(size));
  }
  close(ends[0]);
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return size == 0 && status == 0 ? text : "";
}

}  // namespace

bool TmuxTerminal::is_installed() { return !output_of({"tmux", "-V"}).empty(); }

TmuxTerminal::TmuxTerminal(int columns, int rows, const std::map<std::string, std::string>& environment) {
  std::map<std::string, std::string> all = environment;
  all.try_emplace("LC_ALL", "C.UTF-8");
  const std::string shell = directory_.write("bashrc", "PS1='ready> '\nPROMPT_COMMAND=\nunset HISTFILE\n");
  const std::string config = directory_.write(
      "tmux.conf",
      "set -s exit-empty off\nset -s escape-time 0\nset -g status off\nset -g default-terminal "
      "screen-256color\nnew-session -d -s test -x " +
          std::to_string(columns) + " -y " + std::to_string(rows) + " 'exec bash --rcfile " + shell + " -i'\n");
  const int log = open((directory_ / "log").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  server_ = start({"tmux", "-u", "-D", "-S", directory_ / "socket", "-f", config}, log, all);
  ::close(log);
  if (!comes_to_show("ready>")) throw std::runtime_error("tmux shows no shell");
}

TmuxTerminal::~TmuxTerminal() { close(); }

void TmuxTerminal::close() {
  if (server_ < 0) return;
  kill(server_, SIGKILL);
  waitpid(server_, nullptr, 0);
  server_ = -1;
}

std::string TmuxTerminal::tmux(std::vector<std::string> arguments) const {
  arguments.insert(arguments.begin(), {"tmux", "-u", "-S", directory_ / "socket"});
  return output_of(arguments);
}

void TmuxTerminal::type(const std::string& text) { tmux({"send-keys", "-t", "test", "-l", "--", text}); }
void TmuxTerminal::press(const std::string& key) { tmux({"send-keys", "-t", "test", key}); }

void TmuxTerminal::resize(int columns, int rows) {
  tmux({"resize-window", "-t", "test", "-x", std::to_string(columns), "-y", std::to_string(rows)});
}

std::string TmuxTerminal::text() const { return tmux({"capture-pane", "-p", "-t", "test"}); }
std::string TmuxTerminal::text_with_colours() const { return tmux({"capture-pane", "-e", "-p", "-t", "test"}); }

bool TmuxTerminal::comes_to_show(const std::string& wanted) const {
  return comes_to([&](const std::string& text) { return text.find(wanted) != std::string::npos; });
}

bool TmuxTerminal::comes_to_hide(const std::string& unwanted) const {
  return comes_to([&](const std::string& text) { return text.find(unwanted) == std::string::npos; });
}

bool TmuxTerminal::comes_to(const std::function<bool(const std::string& text)>& holds) const {
  return eventually(
      [&] {
        const std::string now = text();
        if (!now.empty() && holds(now)) return true;
        std::this_thread::sleep_for(std::chrono::milliseconds(30));  // each look costs a process
        return false;
      },
      patience);
}

pid_t TmuxTerminal::shell() const {
  return static_cast<pid_t>(
      std::strtol(tmux({"display-message", "-p", "-t", "test", "#{pane_pid}"}).c_str(), nullptr, 10));
}

}  // namespace brood
