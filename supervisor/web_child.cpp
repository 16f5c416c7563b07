#include "supervisor/web_child.hpp"

#include <unistd.h>

#include <csignal>
#include <utility>

namespace brood {

WebChild::WebChild(EventLoop& loop, Children& children, Program program)
    : body_(std::move(program.body)),
      child_(loop, children,
             {.settings = {.title = "brood: web",
                           .keep = std::move(program.keep),
                           .parent_death_signal = SIGTERM,
                           .speaks_for_operators = true},
              .ended = "web_ended",
              .not_started = "web_not_started",
              .body = [this](int lifeline) {
                dup2(lifeline, STDIN_FILENO);
                return body_(*config_);
              }}) {}

void WebChild::follow(std::shared_ptr<const Config> config) {
  const bool changes = config_ && config_->file.text != config->file.text;
  config_ = std::move(config);
  if (changes) stop();
  if (!config_->web.listen.empty() && body_) child_.start();
}

void WebChild::stop() {
  if (child_.is_running()) ::kill(child_.pid(), SIGTERM);
  child_.let_go();
}

}  // namespace brood
