// Jobs that may expire before they begin, and record what happened to them.
#include <brood/job.hpp>
#include <chrono>
#include <fstream>
#include <stdexcept>
#include <string>

using namespace std::chrono_literals;

namespace {

void tell(const std::string& path, const std::string& line) { std::ofstream(path, std::ios::app) << line << std::endl; }

}  // namespace

struct Fresh {
  std::string path;
  std::string tag;

  void perform() { tell(path, "ran " + tag); }
  void on_expired(const brood::JobInfo& job) { tell(path, "expired " + tag + " " + std::string(job.queue)); }
};

// The same in a separate process.
struct FreshApart {
  static constexpr brood::JobOptions options{.isolation = brood::Isolation::process};
  std::string path;
  std::string tag;

  void perform() { tell(path, "ran " + tag); }
  void on_expired(const brood::JobInfo& job) { tell(path, "expired " + tag + " " + std::string(job.queue)); }
};

struct FailsFresh {
  std::string path;

  void perform() {
    tell(path, "ran");
    throw std::runtime_error("again");
  }
  brood::RetryDecision retry_in(int, const std::exception&) { return 1s; }
};

struct BadHook {
  std::string path;

  void perform() { tell(path, "ran"); }
  static void on_expired(const brood::JobInfo&) { throw std::runtime_error("the hook failed"); }
};

struct GoesBack {
  std::string path;

  void perform() {
    tell(path, "ran");
    throw brood::Interrupted{};
  }
};

BROOD_JOBS(Fresh, FreshApart, FailsFresh, BadHook, GoesBack)
