// The jobs of perform_test: each ends, answers or asks in one particular way.
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include <brood/job.hpp>

using namespace std::chrono_literals;

namespace Oddities {

class TooHot : public std::runtime_error {
 public:
  TooHot() : std::runtime_error("too hot"), degrees(451) {}
  int degrees;
};

template <typename Detail>
struct Failure : std::exception {
  const char* what() const noexcept override { return nullptr; }
};

struct ThrowsTooHot {
  std::string path;
  // Sees the very object that was thrown, with its members.
  brood::RetryDecision retry_in(int count, const std::exception& error) const {
    if (const auto* hot = dynamic_cast<const TooHot*>(&error)) return std::chrono::seconds(hot->degrees + count);
    if (const auto* crash = dynamic_cast<const brood::JobCrashed*>(&error)) {
      std::ofstream(path) << crash->error_class() << "|" << crash->what();
    }
    return brood::kill;
  }
  void perform() { throw TooHot(); }
};

struct ThrowsTemplate {
  void perform() { throw Failure<int>(); }
};

}  // namespace Oddities

struct ThrowsInt {
  static brood::RetryDecision retry_in(int, const std::exception& error) {
    const auto* failure = dynamic_cast<const brood::JobFailure*>(&error);
    return failure != nullptr && failure->error_class() == "int" ? brood::RetryDecision(7s)
                                                                 : brood::RetryDecision(brood::kill);
  }
  void perform() { throw 42; }
};

struct ThrowsText {
  void perform() { throw "plain text"; }
};

struct ThrowsNested {
  void perform() {
    try {
      try {
        throw std::out_of_range("page 7");
      } catch (...) {
        std::throw_with_nested(Oddities::TooHot());
      }
    } catch (...) {
      std::throw_with_nested(std::runtime_error("cannot print"));
    }
  }
};

struct ThrowsBytes {
  void perform() { throw std::runtime_error("caf\xe9"); }
};

struct Interrupts {
  void perform() {
    try {
      throw brood::Interrupted{};
    } catch (const std::exception&) {  // must not catch it
    }
  }
};

// Answers with a duration alone.
struct RetriesSoon {
  static auto retry_in(int count, const std::exception&) { return 1500ms * (count + 1); }
  void perform() { throw std::runtime_error("again"); }
};

struct RetriesNegative {
  static auto retry_in(int, const std::exception&) { return -5s; }
  void perform() { throw std::runtime_error("again"); }
};

struct DiscardsItself {
  static auto retry_in(int, const std::exception&) { return brood::discard; }
  static auto exhausted(const brood::JobInfo&, const std::exception&) { return brood::discard; }
  void perform() { throw std::runtime_error("enough"); }
};

struct RetriesByJob {
  static brood::RetryDecision retry_in(int count, const std::exception&, const brood::JobInfo& job) {
    return std::chrono::seconds(job.payload.find("\"patient\":true") != std::string_view::npos ? 600 + count : 6);
  }
  void perform() { throw std::runtime_error("not yet"); }
};

struct PutsItselfOff {
  std::int64_t seconds = 0;
  void perform() { throw brood::Interrupted{.in = std::chrono::seconds(seconds)}; }
};

// The exception that leaves was thrown once, though it was caught often on its way.
struct Rethrows {
  [[gnu::noinline]] static void first() { throw std::logic_error("as it was"); }
  [[gnu::noinline]] static void again(std::exception_ptr thrown) { std::rethrow_exception(std::move(thrown)); }
  void perform() {
    for (int i = 0; i < 10; ++i) {
      try {
        throw std::runtime_error("which nobody sees");
      } catch (const std::exception&) {
      }
    }
    try {
      try {
        first();
      } catch (...) {
        throw;
      }
    } catch (...) {
      again(std::current_exception());
    }
  }
};

struct ThrowsFromRuntime {
  std::vector<int> none;
  [[gnu::noinline]] int look() { return none.at(none.size() + 7); }
  void perform() { none.push_back(look()); }
};

struct HookThrows {
  static brood::RetryDecision retry_in(int, const std::exception&) { throw std::logic_error("the hook is broken"); }
  static void exhausted(const brood::JobInfo&, const std::exception&) { throw 1; }
  void perform() { throw std::runtime_error("first"); }
};

struct TellsExhausted {
  std::string path;
  void exhausted(const brood::JobInfo& job, const std::exception& error) {
    std::ofstream(path) << job.jid << "|" << job.job_class << "|" << job.queue << "|" << job.error_class << "|"
                        << job.message << "|" << error.what() << "|" << job.crashed;
  }
  void perform() { throw Oddities::TooHot(); }
};

// Writes down its context.
struct TellsContext {
  std::string path;

  static constexpr brood::JobOptions options{.retry = 3, .timeout = 1500ms};
  void perform(brood::Context& job) {
    std::ofstream(path) << job.jid() << "|" << job.job_class() << "|" << job.queue() << "|" << job.retry_count() << "|"
                        << job.attempt() << "|" << job.stopping() << "|" << job.payload();
    job.log("told");
  }
};

struct ResizeImage {
  std::string path;
  int width = 0;
  std::optional<int> quality = {};

  static constexpr brood::JobOptions options{.retry = false};
  void perform() {}
};

struct AtLeastOne {
  int first = 0;
  int second = 2;

  static constexpr brood::JobOptions options{.required = 1};
  void perform() {
    if (second != 2) throw std::runtime_error("second is " + std::to_string(second));
  }
};

// Writes each argument as it was written, a line each, to the file that the environment names.
struct EchoJob {
  brood::Json first;
  std::optional<brood::Json> second, third, fourth, fifth;

  void perform() {
    std::ofstream file(std::getenv("PERFORM_TEST_ECHO"));
    file << first.text << "\n";
    for (const auto* more : {&second, &third, &fourth, &fifth}) {
      if (*more) file << (*more)->text << "\n";
    }
  }
};

struct NoArguments {
  void perform() {}
};

void brood_setup(brood::Setup& setup) {
  setup.on_death(
      [](const brood::JobInfo&, const std::exception&) { throw std::runtime_error("the first handler is broken"); });
  setup.on_death([](const brood::JobInfo& job, const std::exception& error) {
    if (const char* path = std::getenv("PERFORM_TEST_DEATHS")) {
      std::ofstream(path, std::ios::app) << job.jid << "|" << job.job_class << "|" << error.what() << "\n";
    }
  });
}

BROOD_JOBS(Oddities::ThrowsTooHot, Oddities::ThrowsTemplate, ThrowsInt, ThrowsText, ThrowsBytes, Interrupts,
           RetriesSoon, RetriesNegative, DiscardsItself, HookThrows, TellsExhausted, TellsContext, ResizeImage,
           AtLeastOne, EchoJob, NoArguments, RetriesByJob, PutsItselfOff, ThrowsNested, Rethrows, ThrowsFromRuntime)
