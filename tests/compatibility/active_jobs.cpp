#include <unistd.h>
#include <brood/global_id.hpp>
#include <brood/job.hpp>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <map>
#include <optional>
#include <string>

namespace {

// Appends one whole line.
void note(const std::string& path, const std::string& line) {
  std::ofstream(path, std::ios::app) << line + "\n" << std::flush;
}

}  // namespace

// As `perform(path, order, at, wait, kind, options = {})` in Ruby.
struct AllKinds {
  struct Options {
    std::int64_t width;
    std::string format;
  };

  std::string path;
  brood::GlobalId order;
  std::chrono::system_clock::time_point at;
  std::chrono::seconds wait;
  std::string kind;
  std::optional<Options> more;

  void perform() {
    const auto micros = std::chrono::floor<std::chrono::microseconds>(at.time_since_epoch()).count();
    note(path, order.app + " " + order.model + " " + order.id + " " + std::to_string(micros) + " " +
                   std::to_string(wait.count()) + " " + kind + " " + std::to_string(more ? more->width : -1) +
                   (more ? more->format : ""));
  }
};

// Counts in a ledger, and now and then ends its worker.
struct Counted {
  std::string path;
  std::int64_t number;
  void perform() { note(path, "C " + std::to_string(number)); }
};

struct Fails {
  std::string path;
  void perform() { throw std::runtime_error("as it must"); }
};

struct ChargesOnce {
  static constexpr brood::JobOptions options{.retry = 0};
  std::string path;
  void perform() {
    note(path, "charged");
    throw std::runtime_error("no receipt came");
  }
};

BROOD_JOBS(AllKinds, Counted, Fails, ChargesOnce)
