#include "supervisor/web_child.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <system_error>

#include "shared/base/check.hpp"
#include "shared/base/log.hpp"

namespace brood {
namespace {

using namespace std::chrono_literals;

constexpr auto soon = 60s;
constexpr int most_doublings = 6;

}  // namespace

WebChild::WebChild(EventLoop& loop, Children& children, Body body)
    : children_(children), body_(std::move(body)), again_(loop, [this] { start(); }) {}

void WebChild::follow(std::shared_ptr<const Config> config) {
  const bool changes = config_ && config_->file.text != config->file.text;
  config_ = std::move(config);
  if (changes) stop();
  if (!config_->web.listen.empty() && body_ && !child_.is_running() && !again_.running()) start();
}

void WebChild::stop() {
  again_.stop();
  failures_ = 0;
  lifeline_.reset();
  if (child_.is_running()) ::kill(child_.pid(), SIGTERM);
  child_ = Child();
}

void WebChild::start() try {
  int ends[2];
  check("pipe2", pipe2(ends, O_CLOEXEC));
  const UniqueFd its_end(ends[0]);
  lifeline_.reset(ends[1]);
  started_ = steady_now();
  child_ = children_.spawn(
      {.title = "brood: web", .keep = {its_end.get()}, .parent_death_signal = SIGTERM}, std::nullopt,
      [this, lifeline = its_end.get()] {
        dup2(lifeline, STDIN_FILENO);
        return body_(*config_);
      },
      [this](const Children::End& end) { ended(end); });
} catch (const std::system_error& error) {
  log::warn("web_not_started", {{"reason", error.what()}});
  again_.start_in(soon);
}

void WebChild::ended(const Children::End& end) {
  failures_ = end.at - started_ < soon ? failures_ + 1 : 1;
  const auto again = 1s * (1 << std::min(failures_ - 1, most_doublings));
  log::error("web_ended", {{"status", end.status.describe()}, {"again_in_s", again.count()}});
  again_.start_in(again);
}

}  // namespace brood
