#include "supervisor/process/service_child.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "shared/base/check.hpp"
#include "shared/base/log.hpp"

namespace brood {
namespace {

using namespace std::chrono_literals;

constexpr auto soon = 60s;
constexpr int most_doublings = 6;

}  // namespace

ServiceChild::ServiceChild(EventLoop& loop, Children& children, Parts parts)
    : children_(children), parts_(std::move(parts)), again_(loop, [this] { start_now(); }) {}

void ServiceChild::start() {
  if (!child_.is_running() && !again_.running()) start_now();
}

void ServiceChild::let_go(std::optional<std::chrono::milliseconds> within) {
  let_finish();
  if (within) children_.set_deadline(child_, steady_now() + *within);
  failures_ = 0;
  child_ = Child();
}

void ServiceChild::let_finish() {
  again_.stop();
  lifeline_.reset();
}

void ServiceChild::start_now() try {
  parts_.before();
  int ends[2];
  check("pipe2", pipe2(ends, O_CLOEXEC));
  const UniqueFd its_end(ends[0]);
  lifeline_.reset(ends[1]);
  started_ = steady_now();
  SpawnSettings settings = parts_.settings;
  const std::vector<int> more = parts_.keep();
  settings.keep.insert(settings.keep.end(), more.begin(), more.end());
  settings.keep.push_back(its_end.get());
  child_ = children_.spawn(
      settings, std::nullopt, [this, lifeline = its_end.get()] { return parts_.body(lifeline); },
      [this](const Children::End& end) { ended(end); });
} catch (const std::system_error& error) {
  log::warn(parts_.not_started, {{"reason", error.what()}});
  again_.start_in(soon);
}

void ServiceChild::ended(const Children::End& end) {
  if (!lifeline_) return;  // its end was wanted
  failures_ = end.at - started_ < soon ? failures_ + 1 : 1;
  const auto again = 1s * (1 << std::min(failures_ - 1, most_doublings));
  log::error(parts_.ended, {{"status", end.status.describe()}, {"again_in_s", again.count()}});
  again_.start_in(again);
}

}  // namespace brood
