#include "failures.hpp"

#include <chrono>
#include <filesystem>
#include <fstream>
#include <optional>
#include <stdexcept>

using namespace std::chrono_literals;

namespace {

class WrongAnswer : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace

void Fail::perform() { throw std::runtime_error(message); }

brood::RetryDecision FailOnce::retry_in(int, const std::exception&) { return 1s; }

void FailOnce::perform() {
  if (std::filesystem::exists(path)) return;
  std::ofstream file(path);
  file << "tried\n";
  throw std::runtime_error("the first attempt fails");
}

void FailOddly::perform() { throw std::optional<int>(42); }

void Discarded::perform() { throw std::runtime_error(message); }

brood::RetryDecision RetryHook::retry_in(int, const std::exception& error) {
  // A crash comes as a brood::JobCrashed; what perform() threw comes as itself.
  if (dynamic_cast<const WrongAnswer*>(&error) == nullptr) return brood::usual_delay;
  if (answer == "discard") return brood::discard;
  if (answer == "kill") return brood::kill;
  if (answer == "usual") return brood::usual_delay;
  return std::chrono::seconds(std::stoi(answer));
}

void RetryHook::perform() { throw WrongAnswer("retry me in " + answer); }

brood::RetryDecision ExhaustedHook::exhausted(const brood::JobInfo& job, const std::exception& error) {
  std::ofstream(path, std::ios::app) << "exhausted " << job.jid << " " << job.error_class << ": " << error.what()
                                     << "\n";
  if (discard.value_or(false)) return brood::discard;
  return brood::usual_delay;
}

void ExhaustedHook::perform() { throw std::runtime_error("no attempt is left"); }
