#include <brood/testing/supervised.hpp>

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>
#include <utility>

#include "shared/base/check.hpp"
#include "shared/base/clock.hpp"
#include "worker/testing/brood_program.hpp"
#include "worker/testing/guardian.hpp"
#include "worker/testing/job_places.hpp"
#include "worker/testing/outcome.hpp"
#include "worker/testing/run_log.hpp"

namespace brood::testing {
namespace {

using namespace std::chrono_literals;

// A temporary directory.  The destructor removes it unless it was handed over.
class NewDirectory {
 public:
  NewDirectory() {
    if (mkdtemp(path.data()) == nullptr) throw std::system_error(errno, std::generic_category(), "mkdtemp");
  }
  ~NewDirectory() {
    std::error_code ignored;
    if (!handed_over) std::filesystem::remove_all(path, ignored);
  }
  NewDirectory(const NewDirectory&) = delete;
  NewDirectory& operator=(const NewDirectory&) = delete;

  // It is in /tmp and not in TMPDIR, since the path of a Unix socket may have only 107 bytes.
  std::string path = "/tmp/brood-testing-XXXXXX";
  bool handed_over = false;
};

std::string write_config(const std::string& directory, const std::string& wanted) {
  std::string path = directory + "/brood.toml";
  std::ofstream file(path);
  if (wanted.find("poll_interval") == wanted.npos) file << "poll_interval = \"100ms\"\n";
  file << wanted << "\n";
  if (wanted.find("[log]") == wanted.npos) file << "[log]\nlog_jobs = true\n";
  if (wanted.find("[redis]") == wanted.npos) file << "[redis]\nappendfsync = \"no\"\n";  // the test removes the data
  file.close();
  if (!file) throw std::runtime_error("cannot write " + path);
  return path;
}

std::vector<std::string> arguments_of(const SupervisedOptions& options, const std::string& program,
                                      const std::string& directory) {
  std::vector<std::string> arguments = {program,   "run",     "-C", write_config(directory, options.config),
                                        "--redis", "embedded"};
  if (options.workers > 0) arguments.insert(arguments.end(), {"-c", std::to_string(options.workers)});
  for (const std::string& queue : options.queues) arguments.insert(arguments.end(), {"-q", queue});
  for (const std::string& library : options.libraries) arguments.insert(arguments.end(), {"-r", library});
  return arguments;
}

// Returns the test's own environment, without variables that name another Redis or service manager.
std::vector<std::string> environment_of(const SupervisedOptions& options, const std::string& directory,
                                        const std::string& redis_url) {
  std::map<std::string, std::string> wanted;
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
    const std::string_view text(*variable);
    const std::size_t end = text.find('=');
    if (end != text.npos) wanted.emplace(text.substr(0, end), text.substr(end + 1));
  }
  for (const char* name :
       {"REDIS_PROVIDER", "NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID", "LISTEN_FDS", "JOURNAL_STREAM"})
    wanted.erase(name);
  wanted["REDIS_URL"] = redis_url;  // for jobs that enqueue
  for (const auto& [name, value] : options.environment) wanted[name] = value;
  wanted["RUNTIME_DIRECTORY"] = directory + "/run";
  wanted["STATE_DIRECTORY"] = directory + "/state";
  std::vector<std::string> environment;
  environment.reserve(wanted.size());
  for (const auto& [name, value] : wanted) environment.push_back(std::string(name).append("=").append(value));
  return environment;
}

}  // namespace

struct Supervised::State {
  explicit State(SupervisedOptions wanted)
      : options(std::move(wanted)),
        program(find_brood(options.program)),
        socket(directory.path + "/state/redis.sock"),
        guardian({arguments_of(options, program, directory.path), environment_of(options, directory.path, url()),
                  directory.path + "/log", directory.path}),
        client(url()),
        api(url()),
        places(socket) {
    directory.handed_over = true;
  }

  std::string url() const { return "unix://" + socket; }

  std::string log() const {
    std::ostringstream text;
    text << std::ifstream(directory.path + "/log", std::ios::binary).rdbuf();
    return std::move(text).str();
  }

  [[noreturn]] void fail(const std::string& what) const { throw std::runtime_error(what + "\n" + last_lines(log())); }

  void check_that_it_runs() {
    if (const auto status = guardian.exit_status())
      fail("brood run has ended with status " + std::to_string(*status) + ":");
  }

  // Calls `look` until it returns a value that is true, and returns that.  `what` describes it for the error.
  template <typename Look, typename What>
  auto wait(Look look, What what) {
    const SteadyTime deadline = steady_now() + options.patience;
    for (;;) {
      const SteadyTime begin = steady_now();
      // The status is read before `look` is called, so that an event before the end of the program still counts.
      const auto ended = guardian.exit_status();
      try {
        if (auto found = look()) return found;
      } catch (const ConnectionLost&) {  // Redis does not listen yet, or has ended
      }
      if (ended) check_that_it_runs();
      const SteadyTime now = steady_now();
      if (now >= deadline)
        throw TimedOut(what() + " within " + std::to_string(options.patience.count()) + " ms\n" + last_lines(log()));
      // Leaves Redis time for the workers.
      std::this_thread::sleep_for(std::max<SteadyTime::duration>(3ms, now - begin));
    }
  }

  void wait_until_ready() {
    const auto ready = [&] {
      const std::string text = log();
      if (text.find("install the package redis-server") != text.npos)
        fail("a Supervised needs a redis-server, which is not installed:");
      return text.find(" event=ready ") != text.npos && (places.waiting(), true);
    };
    wait(ready, [] { return std::string("brood run was not ready"); });
  }

  SupervisedOptions options;
  std::string program;
  NewDirectory directory;
  std::string socket;
  Guardian guardian;
  Client client;
  Api api;
  JobPlaces places;
};

Supervised::Supervised(SupervisedOptions options) : state_(std::make_unique<State>(std::move(options))) {
  state_->wait_until_ready();
}
Supervised::~Supervised() = default;

Client& Supervised::client() { return state_->client; }
Api& Supervised::api() { return state_->api; }
std::string Supervised::redis_url() const { return state_->url(); }
std::string Supervised::log() const { return state_->log(); }
std::string Supervised::directory() const { return state_->directory.path; }

Outcome Supervised::wait_for(std::string_view jid) {
  JobPlaces::Found found;
  const auto look = [&] {
    found = state_->places.find(jid);
    return judge_outcome(found, jid, state_->log());
  };
  const auto what = [&] {
    const std::string job = "job " + std::string(jid);
    if (found.place == JobPlaces::Place::schedule) return job + " stayed in the schedule";
    if (found.place == JobPlaces::Place::quarantine)
      return job + " stayed in quarantine, since its class crashes, or waits for its class, which is paused";
    if (found.place == JobPlaces::Place::nowhere) return job + " is nowhere, and did not run to an end";
    return running_in(jid, state_->log()) ? job + " did not end" : job + " stayed in its queue";
  };
  return *state_->wait(look, what);
}

void Supervised::run_now(std::string_view jid) {
  for (JobSet set : {api().scheduled(), api().retries(), api().dead()}) {
    const auto entry = set.find(jid);
    if (entry && set.run(*entry)) return;
  }
  throw std::invalid_argument("job " + std::string(jid) + " is neither in schedule nor in retry nor in dead");
}

void Supervised::wait_until_idle() {
  std::size_t waiting = 0;
  state_->wait([&] { return (waiting = state_->places.waiting()) == 0; },
               [&] { return std::to_string(waiting) + " jobs still wait or run"; });
}

int Supervised::worker_of(std::string_view jid) {
  return *state_->wait([&] { return running_in(jid, state_->log()); },
                       [&] { return "job " + std::string(jid) + " did not run"; });
}

void Supervised::kill_worker_of(std::string_view jid) { check("kill", ::kill(worker_of(jid), SIGKILL)); }

void Supervised::set_patience(std::chrono::milliseconds patience) { state_->options.patience = patience; }

void Supervised::stop() {
  state_->check_that_it_runs();
  state_->guardian.signal(SIGTERM);
  const auto status = state_->wait([&] { return state_->guardian.exit_status(); },
                                   [] { return std::string("brood run did not stop"); });
  if (*status != 0) state_->check_that_it_runs();
}

}  // namespace brood::testing
