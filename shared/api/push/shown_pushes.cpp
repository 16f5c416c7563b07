#include "shared/api/push/shown_pushes.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "shared/base/log_line.hpp"

namespace brood {
namespace {

constexpr std::size_t most_shown_bytes = 2'000;

class ShownPushes : public PushReceiver {
 public:
  bool stands_for_redis() const override { return false; }
  void push(std::vector<ClientPush> jobs) override {
    for (const ClientPush& job : jobs) {
      const std::string when =
          job.score ? ", scheduled for " + std::to_string(static_cast<std::int64_t>(*job.score)) : "";
      fmt::print(stderr, "brood: not sent to queue {}{}: {}\n", log::printable(job.queue), when,
                 log::printable(job.payload.substr(0, most_shown_bytes)));
    }
  }
  bool cancel(std::string_view jid, std::optional<double>) override {
    fmt::print(stderr, "brood: not sent: cancel of job {}\n", log::printable(jid));
    return false;
  }
  std::int64_t cancel_iteration(std::string_view jid, std::int64_t now_epoch_seconds) override {
    fmt::print(stderr, "brood: not sent: cancel of the iteration of job {}\n", log::printable(jid));
    return now_epoch_seconds;
  }
};

}  // namespace

std::shared_ptr<PushReceiver> shown_pushes_if_told() {
  const char* const told = std::getenv(pushes_variable);
  if (told == nullptr || std::string_view(told) != shows_pushes) return nullptr;
  return std::make_shared<ShownPushes>();
}

}  // namespace brood
