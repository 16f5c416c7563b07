#include "supervisor/cli/bench/bench_server.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <thread>

#include "shared/base/check.hpp"
#include "shared/base/clock.hpp"
#include "shared/base/log_line.hpp"
#include "shared/base/plain_number.hpp"
#include "shared/json/json.hpp"
#include "shared/scoreboard/scoreboard.hpp"
#include "supervisor/cli/access/redis_access.hpp"
#include "supervisor/cli/access/scoreboards.hpp"
#include "supervisor/cli/bench/bench_interrupt.hpp"
#include "supervisor/process/fork_child.hpp"

namespace brood {

using namespace std::chrono_literals;

namespace {

// The server serves the chosen shard, and in a cluster the shards before it.
std::string more_of_redis(const RedisAddress& redis) {
  std::string more;
  if (redis.in_cluster) more += fmt::format("shards = {}\n", leading_number<int>(redis.shard) + 1);
  if (redis.wait.replicas > 0)
    more += fmt::format("wait = {}\nwait_timeout = \"{}ms\"\n", redis.wait.replicas, redis.wait.timeout.count());
  return more;
}

std::string configuration(const BenchServerSettings& settings) {
  std::vector<std::string> queues;
  for (const std::string& queue : settings.queues) queues.push_back(json_string(queue));
  const std::string& interval = settings.poll_interval;
  return fmt::format(
      "concurrency = {}\nqueues = [{}]\nrequire = [{}]\n{}[redis]\nurl = {}\n{}[log]\nlog_jobs = {}\n"
      "[worker]\nmax_batch = {}\n",
      settings.workers, fmt::join(queues, ", "), json_string(settings.library),
      interval.empty() ? "" : fmt::format("poll_interval = {}\n", json_string(interval)),
      json_string(url_of(settings.redis)), more_of_redis(settings.redis), settings.log_jobs, settings.max_batch);
}

void write_private_file(const std::string& path, const std::string& text) {
  const UniqueFd fd(check("open", open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600)));
  if (check("write", write(fd.get(), text.data(), text.size())) != static_cast<ssize_t>(text.size()))
    throw std::runtime_error("cannot write " + path);
}

// Becomes the server.  Nothing in this program's environment may lead it to another Redis or directory.
int become_server(const BenchServerSettings& settings) {
  const int log = open((settings.directory + "/log").c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  dup2(log, STDOUT_FILENO);
  dup2(log, STDERR_FILENO);
  if (log > STDERR_FILENO) close(log);
  for (const char* name : {"REDIS_URL", "REDIS_PROVIDER", "NOTIFY_SOCKET", "WATCHDOG_USEC", "JOURNAL_STREAM"})
    unsetenv(name);
  setenv("RUNTIME_DIRECTORY", settings.directory.c_str(), 1);
  setenv("STATE_DIRECTORY", settings.directory.c_str(), 1);
  setenv("BROOD_BENCH_RECORD", settings.record.c_str(), 1);
  const std::string config = settings.directory + "/brood.toml";
  execl(settings.brood.c_str(), "brood", "run", "-C", config.c_str(), nullptr);
  return 127;
}

std::string end_of(const std::string& file) {
  constexpr std::size_t shown = 2'000;
  std::ifstream stream(file, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(stream), {}};
  if (text.size() > shown) text.erase(0, text.size() - shown);
  return text;
}

template <typename Look>
void look_at_scoreboards(const std::string& directory, Look look) {
  for (const std::string& path : scoreboard_paths(directory)) {
    try {
      Scoreboard board = Scoreboard::open(path, false);
      look(board);
    } catch (const std::exception&) {  // it is still being made
    }
  }
}

}  // namespace

BenchServer::BenchServer(const BenchServerSettings& settings) : settings_(settings) {
  write_private_file(settings_.directory + "/brood.toml", configuration(settings_));
  const SteadyTime begin = steady_now();
  pid_ = spawn({.title = "brood: bench", .keep = {}, .parent_death_signal = SIGTERM},
               [&] { return become_server(settings_); });
  try {
    const SteadyTime deadline = begin + 60s;
    while (workers().size() < static_cast<std::size_t>(settings_.workers)) {
      expect_alive();
      if (steady_now() > deadline)
        throw std::runtime_error("the workers are not ready after a minute:\n" + end_of(settings_.directory + "/log"));
      throw_if_interrupted();
      std::this_thread::sleep_for(1ms);
    }
    start_up_ = steady_now() - begin;
  } catch (...) {
    if (pid_ > 0) kill(pid_, SIGTERM);
    while (pid_ > 0 && waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
    throw;
  }
}

BenchServer::~BenchServer() {
  try {
    if (pid_ > 0) stop();
  } catch (const std::exception& error) {
    fmt::print(stderr, "brood bench: {}\n", log::printable(error.what()));
  }
}

std::vector<pid_t> BenchServer::workers() const {
  if (settings_.workers_of) return settings_.workers_of(pid_);
  std::vector<pid_t> pids;
  look_at_scoreboards(settings_.directory, [&](const Scoreboard& board) {
    for (int i = 0; i < board.slots(); ++i) {
      const SlotRecord& slot = board.slot(i);
      if (slot.pid.load() > 0 && slot.ready.load() == 1) pids.push_back(slot.pid.load());
    }
  });
  return pids;
}

std::int64_t BenchServer::last_beat() const {
  std::int64_t beat = 0;
  look_at_scoreboards(settings_.directory, [&](Scoreboard& board) { beat = board.last_beat(); });
  return beat;
}

void BenchServer::expect_alive() const {
  siginfo_t ended{};
  if (waitid(P_PID, static_cast<id_t>(pid_), &ended, WEXITED | WNOHANG | WNOWAIT) == 0 && ended.si_pid == 0) return;
  throw std::runtime_error("the server has ended:\n" + end_of(settings_.directory + "/log"));
}

std::chrono::nanoseconds BenchServer::stop() {
  const SteadyTime begin = steady_now();
  check("kill", kill(pid_, SIGTERM));
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
    throw std::runtime_error("the server did not stop in order:\n" + end_of(settings_.directory + "/log"));
  return steady_now() - begin;
}

}  // namespace brood
