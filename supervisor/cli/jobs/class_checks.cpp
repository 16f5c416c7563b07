#include "supervisor/cli/jobs/class_checks.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <utility>

#include "shared/base/log_line.hpp"

namespace brood {
namespace {

constexpr std::chrono::seconds ask_again{30};
constexpr Connection::Timeouts patience{.connect = std::chrono::seconds(1), .command = std::chrono::seconds(1)};

}  // namespace

ClassChecks::ClassChecks(const RedisAccess& access, std::string command, bool unchecked)
    : shards_(access, patience, "brood-enqueue"), command_(std::move(command)), unchecked_(unchecked) {
  shards_.on_away([](const std::string&, const std::string&) {});  // the push itself reports that Redis is away
}

void ClassChecks::ask() {
  if (asked_ && steady_now() - *asked_ < ask_again) return;
  asked_ = steady_now();
  published_ = published_classes_for_push(shards_);
  problems_told_ = 0;
  ruby_serves_ = ask_ruby_serves(shards_);
}

void ClassChecks::warn(const std::string& warning) {
  if (warned_.insert(warning).second) fmt::print(stderr, "{}: {}\n", command_, log::printable(warning));
}

void ClassChecks::warn_of_problems() {
  if (published_.problems().size() == problems_told_) return;
  for (const std::string& problem : published_.problems()) warn(problem);
  problems_told_ = published_.problems().size();
}

void ClassChecks::go_by(Push& push, const SaidByPush& said) try {
  ask();
  const std::string warning = go_by_class(push, said, published_, ruby_serves_, unchecked_);
  warn_of_problems();
  if (!warning.empty()) warn(warning);
} catch (const UnfitPush& error) {
  warn_of_problems();
  throw PushRefused(error.what() + std::string(" (--unchecked pushes it all the same)"));
} catch (const PushRefused&) {
  warn_of_problems();
  throw;
}

}  // namespace brood
