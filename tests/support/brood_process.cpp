#include "tests/support/brood_process.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>

#include "shared/base/check.hpp"
#include "shared/base/identity.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/file_text.hpp"

namespace brood {

namespace {

constexpr const char* program = BROOD_BINARY_DIR "/bin/brood";
constexpr const char* examples = BROOD_BINARY_DIR "/worker/examples/libexamples.so";

// The state letter and the rest of /proc/<pid>/stat.  The name before it may contain anything.
std::istringstream stat_of(pid_t pid) {
  const std::string stat = text_of_file("/proc/" + std::to_string(pid) + "/stat");
  const std::size_t end_of_name = stat.rfind(')');
  return std::istringstream(end_of_name == std::string::npos ? "" : stat.substr(end_of_name + 1));
}

bool is_worker(pid_t pid) {
  const std::string name = "brood: worker";
  return text_of_file("/proc/" + std::to_string(pid) + "/cmdline").starts_with(name) ||
         text_of_file("/proc/" + std::to_string(pid) + "/comm").starts_with(name);
}

// Starts `arguments` with our environment plus `environment`, and with its output in the given files.
pid_t spawn(std::vector<std::string> arguments, const std::map<std::string, std::string>& environment,
            const std::string& output, const std::string& errors) {
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  const pid_t parent = getpid();
  const pid_t pid = check("fork", fork());
  if (pid != 0) return pid;

  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(127);
  // A test must not use a real Redis because of the machine's own settings.
  for (const char* name : {"REDIS_URL", "REDIS_PROVIDER", "NOTIFY_SOCKET", "WATCHDOG_USEC", "LISTEN_FDS"})
    unsetenv(name);
  for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  dup2(open("/dev/null", O_RDONLY), 0);
  dup2(open(output.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600), 1);
  dup2(open(errors.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600), 2);
  close_range(3, ~0U, 0);
  execv(argv[0], argv.data());
  _exit(127);
}

BroodOptions with_redis(BroodOptions options, const std::string& url) {
  options.arguments.insert(options.arguments.end(), {"--redis", url});
  return options;
}

int exit_status(int wait_status) {
  return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

}  // namespace

BroodProcess::BroodProcess(const RedisServer& redis, BroodOptions options)
    : BroodProcess(with_redis(std::move(options), redis.url())) {}

BroodProcess::BroodProcess(BroodOptions options) : options_(std::move(options)) {
  if (!options_.home) options_.home = std::make_shared<TemporaryDirectory>();
  if (options_.libraries.empty()) options_.libraries = {examples};
  for (const char* directory : {"run", "state"}) std::filesystem::create_directory(home() / directory);
  start();
}

BroodProcess::~BroodProcess() {
  if (!status_) kill9();
  // The embedded Redis and workers in a job outlive a kill, on purpose.  A test must not leave them behind.
  for (const Survivor& survivor : survivors_) {
    if (process_lives(survivor.pid, survivor.start_time)) kill(survivor.pid, SIGKILL);
  }
}

void BroodProcess::start() {
  std::vector<std::string> arguments = options_.prefix;
  arguments.insert(arguments.end(), {options_.program.empty() ? program : options_.program, "run"});
  if (options_.sets_workers) arguments.insert(arguments.end(), {"-c", std::to_string(options_.workers)});
  for (const std::string& library : options_.libraries) arguments.insert(arguments.end(), {"-r", library});
  for (const std::string& queue : options_.queues) arguments.insert(arguments.end(), {"-q", queue});
  if (!options_.shutdown_timeout.empty()) arguments.insert(arguments.end(), {"-t", options_.shutdown_timeout});
  if (std::find(options_.arguments.begin(), options_.arguments.end(), "-C") == options_.arguments.end()) {
    const bool has_log = options_.config.find("[log]") != std::string::npos;
    const std::string config = options_.config + (has_log ? "" : "\n[log]\nlog_jobs = true\n");
    // Another process with the same home may be reading it.
    const std::string path = home() / "brood.toml";
    std::filesystem::rename(home().write("brood.toml." + std::to_string(getpid()), config), path);
    arguments.insert(arguments.end(), {"-C", path});
  }
  arguments.insert(arguments.end(), options_.arguments.begin(), options_.arguments.end());

  status_.reset();
  pid_ = spawn(std::move(arguments), environment(), home() / "output", home() / "log");
}

std::map<std::string, std::string> BroodProcess::environment() const {
  std::map<std::string, std::string> environment = options_.environment;
  environment.try_emplace("RUNTIME_DIRECTORY", home() / "run");
  environment.try_emplace("STATE_DIRECTORY", home() / "state");
  return environment;
}

std::vector<pid_t> BroodProcess::workers() const { return workers_of(pid_); }

bool BroodProcess::wait_ready(std::chrono::milliseconds timeout) const {
  return eventually([&] { return workers().size() == static_cast<std::size_t>(options_.workers); }, timeout);
}

void BroodProcess::signal(int number) const { check("kill", kill(pid_, number)); }
void BroodProcess::term() const { signal(SIGTERM); }
void BroodProcess::quiet() const { signal(SIGTSTP); }

void BroodProcess::kill9() {
  for (const pid_t child : children_of(pid_)) survivors_.push_back({child, process_start_time(child)});
  signal(SIGKILL);
  wait_exit();
}

std::optional<int> BroodProcess::wait_exit(std::chrono::milliseconds timeout) {
  if (status_) return status_;
  eventually(
      [&] {
        int status = 0;
        if (waitpid(pid_, &status, WNOHANG) == pid_) status_ = exit_status(status);
        return status_.has_value();
      },
      timeout);
  return status_;
}

std::string BroodProcess::log() const { return text_of_file(home() / "log"); }

LogTail BroodProcess::log_tail() const { return LogTail(home() / "log"); }

LogTail::operator std::string() const {
  constexpr std::size_t shown = 6000;
  const std::string whole = text_of_file(file_);
  return "\n" + whole.substr(whole.size() > shown ? whole.find('\n', whole.size() - shown) + 1 : 0);
}

CommandResult run_brood(const std::vector<std::string>& arguments,
                        const std::map<std::string, std::string>& environment) {
  const TemporaryDirectory directory;
  std::vector<std::string> command = {program};
  command.insert(command.end(), arguments.begin(), arguments.end());
  const pid_t pid = spawn(std::move(command), environment, directory / "output", directory / "errors");
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return {exit_status(status), text_of_file(directory / "output"), text_of_file(directory / "errors")};
}

// The kernel omits living children if one of them ends while it makes this list (proc(5)).
std::vector<pid_t> children_of(pid_t pid) {
  const std::string path = "/proc/" + std::to_string(pid) + "/task/" + std::to_string(pid) + "/children";
  std::string text = text_of_file(path), again = text_of_file(path);
  for (int looks = 2; text != again && looks < 100; ++looks) text = std::exchange(again, text_of_file(path));
  std::istringstream list(again);
  std::vector<pid_t> children;
  for (pid_t child = 0; list >> child;) {
    if (process_exists(child)) children.push_back(child);
  }
  return children;
}

std::vector<pid_t> workers_of(pid_t supervisor) {
  std::vector<pid_t> found = children_of(supervisor);
  std::erase_if(found, [](pid_t pid) { return !is_worker(pid); });
  return found;
}

bool process_exists(pid_t pid) {
  char state = 'Z';
  stat_of(pid) >> state;
  return state != 'Z' && state != 'X';
}

}  // namespace brood
