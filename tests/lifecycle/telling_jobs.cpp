// Jobs that report on themselves: where they threw, when they want to run again, for which customer they work.
#include <brood/job.hpp>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <thread>

namespace {

[[gnu::noinline]] void throw_deep_down() { throw std::runtime_error("deep down"); }

void append(const std::string& path, const std::string& line) {
  std::ofstream(path, std::ios::app) << line << std::endl;
}

}  // namespace

struct ThrowDeepDown {
  void perform() { throw_deep_down(); }
};

// Defers itself for this long, the first time.
struct PutOff {
  std::string path;
  std::int64_t milliseconds = 0;

  static constexpr brood::JobOptions options{.retry = false};
  void perform() {
    const bool first = !std::filesystem::exists(path);
    append(path, "run");
    if (first) throw brood::Interrupted{.in = std::chrono::milliseconds(milliseconds)};
  }
};

// Runs until a file exists.
struct WorkFor {
  int user = 0;
  std::string path;

  void perform(brood::Context& job) {
    job.log_with("user", user);
    job.log_with("tenant", "first");
    job.log_with("tenant", "acme \"and\" sons");
    job.log_with("jid", "another");
    job.log("at work");
    while (!std::filesystem::exists(path)) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
};

struct Orphan {
  std::string path;

  void perform() {
    append(path, "run");
    for (;;) std::this_thread::sleep_for(std::chrono::seconds(1));
  }
  void exhausted(const brood::JobInfo& job, const std::exception&) const {
    append(path, "exhausted by " + std::string(job.error_class));
  }
};

void brood_setup(brood::Setup& setup) {
  setup.on_death([](const brood::JobInfo& job, const std::exception& error) {
    const std::string payload(job.payload);
    const std::size_t begin = payload.find("[\"") + 2;
    append(payload.substr(begin, payload.find("\"]") - begin), std::string("dead: ") + error.what());
  });
}

BROOD_JOBS(ThrowDeepDown, PutOff, WorkFor, Orphan)
