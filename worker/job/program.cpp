#include "worker/job/program.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <csignal>
#include <utility>

#include "shared/base/check.hpp"
#include "shared/base/held_files.hpp"

namespace brood {
namespace {

constexpr const char* cannot_execute = "cannot execute";
constexpr const char* cannot_go_there = "cannot change to the directory";

// Moves a descriptor beyond the first three: if a job has closed one of those, a new one may have got its number.
UniqueFd off_standard(UniqueFd fd) {
  if (fd.get() > STDERR_FILENO) return fd;
  return UniqueFd(check("fcntl", fcntl(fd.get(), F_DUPFD_CLOEXEC, STDERR_FILENO + 1)));
}

// Makes the standard input as a file in memory.  With a pipe, a program that does not read it would block us.
UniqueFd make_input(std::string_view text) {
  UniqueFd file = off_standard(UniqueFd(check("memfd_create", memfd_create("payload", MFD_CLOEXEC))));
  while (!text.empty()) {
    const ssize_t written = ::write(file.get(), text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    text.remove_prefix(static_cast<std::size_t>(check("write of the payload", written)));
  }
  check("lseek", lseek(file.get(), 0, SEEK_SET));
  return file;
}

struct Pipe {
  UniqueFd ours, program_s;
};
Pipe make_pipe() {
  int ends[2];
  check("pipe2", pipe2(ends, O_CLOEXEC));
  Pipe pipe{off_standard(UniqueFd(ends[0])), off_standard(UniqueFd(ends[1]))};
  check("fcntl", fcntl(pipe.ours.get(), F_SETFL, O_NONBLOCK));
  return pipe;
}

// Our environment, with the variables of `more` added or replaced.
std::vector<std::string> environment_with(const std::map<std::string, std::string>& more) {
  std::vector<std::string> all;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view variable = *entry;
    if (!more.contains(std::string(variable.substr(0, variable.find('='))))) all.emplace_back(variable);
  }
  for (const auto& [name, value] : more) all.push_back(name + "=" + value);
  return all;
}

std::vector<char*> pointers_to(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

// The values that the child needs, made before the vfork.  The child runs in our memory while we wait, and leaves its
// answer here.
struct Birth {
  const char* path;
  int held;  // the descriptor, if `path` is one below /proc/self/fd; else -1
  char* const* words;
  char* const* environment;
  const char* directory;  // nullptr: ours
  int input, errors;
  pid_t parent;
  volatile int error = 0;
  const char* volatile failed = nullptr;  // the step that failed
};

void child_step(Birth& birth, const char* what, int result) {
  if (result >= 0) return;
  birth.error = errno;
  birth.failed = what;
  _exit(EXIT_FAILURE);
}

void close_all_but(int held) {
  if (held > STDERR_FILENO + 1) syscall(SYS_close_range, STDERR_FILENO + 1U, static_cast<unsigned>(held) - 1, 0);
  if (held > STDERR_FILENO) fcntl(held, F_SETFD, 0);  // the interpreter of a script opens it again
  syscall(SYS_close_range, static_cast<unsigned>(std::max(held, STDERR_FILENO)) + 1, UINT_MAX, 0);
}

[[noreturn]] void become_the_program(Birth& birth) {
  setpgid(0, 0);
  struct sigaction by_default {};
  by_default.sa_handler = SIG_DFL;
  for (int signal = 1; signal < NSIG; ++signal) sigaction(signal, &by_default, nullptr);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != birth.parent) _exit(EXIT_FAILURE);  // the parent ended before prctl()
  child_step(birth, "dup2", dup2(birth.input, STDIN_FILENO));
  child_step(birth, "dup2", dup2(birth.errors, STDERR_FILENO));
  if (birth.directory != nullptr) child_step(birth, cannot_go_there, chdir(birth.directory));
  close_all_but(birth.held);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  child_step(birth, cannot_execute, execve(birth.path, birth.words, birth.environment));
  _exit(EXIT_FAILURE);
}

// Uses vfork, since a fork would copy the page tables of all that the job libraries have loaded.  The child runs in our
// memory, so signals stay blocked: none may run one of our handlers there.
pid_t give_birth(Birth& birth) {
  sigset_t all, before;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, &before);
  const pid_t pid = vfork();
  if (pid == 0) become_the_program(birth);
  const int error = errno;
  sigprocmask(SIG_SETMASK, &before, nullptr);
  errno = error;
  return pid;
}

// Makes the kernel keep the exit status of children: a job library may have asked it not to.
void handle_ends_of_children() {
  struct sigaction action {};
  sigaction(SIGCHLD, nullptr, &action);
  if (action.sa_handler == SIG_IGN || (action.sa_flags & SA_NOCLDWAIT) != 0) ::signal(SIGCHLD, SIG_DFL);
}

[[noreturn]] void say_why(int error, const std::string& path) {
  std::string what = std::string(cannot_execute) + " " + path;
  if (error == ENOENT && access(path.c_str(), F_OK) == 0) what += ", or the interpreter that its first line names";
  throw std::system_error(error, std::generic_category(), what);
}

}  // namespace

Program::Program(const ProgramStart& start) {
  const std::string& file = start.file.empty() ? start.path : start.file;
  if (file.find('/') == std::string::npos) say_why(ENOENT, start.path);  // execve would look in the working directory
  handle_ends_of_children();
  const UniqueFd input = make_input(start.input);
  Pipe errors = make_pipe();
  std::vector<std::string> words = start.words, environment = environment_with(start.environment);
  const std::vector<char*> word_pointers = pointers_to(words), environment_pointers = pointers_to(environment);
  Birth birth{.path = file.c_str(),
              .held = descriptor_in(file),
              .words = word_pointers.data(),
              .environment = environment_pointers.data(),
              .directory = start.directory.empty() ? nullptr : start.directory.c_str(),
              .input = input.get(),
              .errors = errors.program_s.get(),
              .parent = getpid()};
  const pid_t pid = check("vfork", give_birth(birth));
  if (birth.error != 0) {
    waitpid(pid, nullptr, 0);
    if (birth.failed == cannot_execute) say_why(birth.error, start.path);
    const std::string which = birth.failed == cannot_go_there ? " " + start.directory : "";
    throw std::system_error(birth.error, std::generic_category(), birth.failed + which);
  }
  pid_ = pid;
  errors_ = std::move(errors.ours);
  process_.reset(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
}

Program::~Program() {
  if (pid_ == 0) return;
  signal(SIGKILL);
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

void Program::signal(int number) const {
  if (pid_ != 0) kill(-pid_, number);
}

std::optional<ProgramEnd> Program::end() {
  siginfo_t info{};
  check("waitid", waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT));
  if (info.si_pid == 0) return std::nullopt;
  signal(SIGKILL);  // before wait4(): until then no other process can get its pid, which names the group
  int status = 0;
  rusage used{};
  check("wait4", wait4(std::exchange(pid_, 0), &status, 0, &used));
  return ProgramEnd{.exited = WIFEXITED(status),
                    .value = WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status),
                    .peak_kb = static_cast<std::uint64_t>(std::max(used.ru_maxrss, 0L))};
}

}  // namespace brood
