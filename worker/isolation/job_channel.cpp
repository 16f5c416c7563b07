#include "worker/isolation/job_channel.hpp"

#include <sys/socket.h>
#include <sysexits.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "shared/base/log.hpp"
#include "shared/base/redis_clock.hpp"

namespace brood {
namespace {

constexpr std::size_t read_at_once = 64 << 10;

// Ends this process when the channel is lost.  Either the worker has ended, and this process will be killed anyway; or
// the job has closed a descriptor that it did not open.
[[noreturn]] void give_up() {
  const int error = errno;
  if (error == EBADF || error == ENOTSOCK)
    log::error("job_channel_lost", {{"hint",
                                     "the job closed every descriptor of its process, by one of which its outcome is "
                                     "told; it should close those alone that it has opened"}});
  log::flush();
  _exit(EX_IOERR);
}

}  // namespace

JobOrder JobChannel::take_order() { return read_order(hear(MessageKind::order)); }

std::optional<IterationState> JobChannel::load_iteration() {
  LoadedIteration loaded = read_loaded(ask(MessageKind::load_iteration, ""));
  if (loaded.kind == LoadedIteration::Kind::none) throw UnexpectedReply(loaded.why);
  if (loaded.kind == LoadedIteration::Kind::away) return std::nullopt;
  return std::move(loaded.state);
}

bool JobChannel::save_iteration(const IterationState& state) {
  return read_cancelled_answer(ask(MessageKind::save_iteration, encode(state)));
}

FailureRule JobChannel::failure_rule() {
  const SteadyTime asked = steady_now();
  const FailureRule rule = read_failure_rule(ask(MessageKind::ask_failure_rule, ""));
  note_redis_time(rule.now, asked, steady_now());
  return rule;
}

LimitResult JobChannel::take_limits(const WantedLimits& wanted, const std::function<bool()>&) {
  return read_limit_result(ask(MessageKind::take_limits, encode(wanted)));
}

void JobChannel::give_back_limits(const std::vector<LimitUse>& uses) {
  ask(MessageKind::give_back_limits, encode(uses));
}

std::optional<std::string> JobChannel::step_result(std::string_view, std::string_view step) {
  std::string json = ask(MessageKind::ask_step_result, step.substr(0, longest_step_asked));
  return json.empty() ? std::nullopt : std::optional(std::move(json));
}

bool JobChannel::batch_cancelled(std::string_view) {
  return read_cancelled_answer(ask(MessageKind::ask_batch_cancelled, ""));
}
void JobChannel::note_progress(const JobProgress& progress) { ask(MessageKind::note_progress, encode(progress)); }

void JobChannel::end(const JobEnd& end) { say(MessageKind::end, encode(end)); }

std::string JobChannel::ask(MessageKind kind, std::string_view body) {
  say(kind, body);
  return hear(kind);
}

void JobChannel::say(MessageKind kind, std::string_view body) {
  const std::string bytes = framed(kind, body);
  std::string_view rest = bytes;
  while (!rest.empty()) {
    const ssize_t sent = ::send(socket_.get(), rest.data(), rest.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) give_up();
    rest.remove_prefix(static_cast<std::size_t>(sent));
  }
}

std::string JobChannel::hear(MessageKind kind) {
  static char buffer[read_at_once];
  for (;;) {
    std::optional<Message> message = reader_.next();
    if (message && message->kind != kind) throw BadMessage("the worker answers what was not asked");
    if (message) return std::move(message->body);
    const ssize_t got = ::recv(socket_.get(), buffer, sizeof buffer, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) give_up();
    reader_.add({buffer, static_cast<std::size_t>(got)});
  }
}

}  // namespace brood
