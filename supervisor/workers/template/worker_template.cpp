#include "supervisor/workers/template/worker_template.hpp"

#include <sys/socket.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "shared/base/check.hpp"
#include "shared/base/log.hpp"
#include "shared/base/log_line.hpp"
#include "supervisor/workers/template/template_body.hpp"

namespace brood {
namespace {

using namespace std::chrono_literals;

constexpr int most_awaited = 32;
constexpr auto longest_fork = 10s;  // a hundred gigabytes in small pages take two
constexpr int oom_score_of_a_template = 150;
constexpr std::size_t longest_message = 4096;
constexpr int most_messages_a_turn = 64;

}  // namespace

WorkerTemplate::WorkerTemplate(EventLoop& loop, Children& children, Setup setup, Events events)
    : loop_(loop),
      setup_(std::move(setup)),
      events_(std::move(events)),
      patience_(loop, [this] { look_at_time(); }),
      begun_(steady_now()) {
  int ends[2];
  check("socketpair", socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends));
  line_ = UniqueFd(ends[0]);
  const UniqueFd its_end(ends[1]);
  std::vector<int> keep = setup_.program->descriptors();
  keep.push_back(its_end.get());
  child_ = children.spawn(
      {.title = "brood: template",
       .keep = std::move(keep),
       .parent_death_signal = SIGKILL,
       .oom_score_adjustment = oom_score_of_a_template,
       .shield = [&] { setup_.program->shield_template(); }},
      std::nullopt, [&] { return run_template(its_end.get(), setup_); }, ended());
  listen();
  patience_.start_in(setup_.longest_load);
}

WorkerTemplate::WorkerTemplate(EventLoop& loop, Children& children, Setup setup, Events events, pid_t pid,
                               UniqueFd line)
    : loop_(loop),
      setup_(std::move(setup)),
      events_(std::move(events)),
      line_(std::move(line)),
      child_(children.adopt(pid, ended())),
      patience_(loop, [this] { look_at_time(); }),
      state_(State::ready),
      was_ready_(true) {
  listen();
}

Children::Ended WorkerTemplate::ended() {
  return [this](const Children::End& end) {
    hear();  // its last messages may not be read yet
    fail("it ended: " + end.status.describe());
  };
}

void WorkerTemplate::listen() {
  watch_ = std::make_unique<FdWatch>(loop_, line_.get(), FdWatch::readable, [this](int) { hear(); });
}

WorkerTemplate::~WorkerTemplate() { child_.kill(); }

bool WorkerTemplate::ask(const ForkRequest& request, const WorkerDescriptors& descriptors) {
  if (state_ != State::ready || awaited_ >= most_awaited) return false;
  if (!send_request(line_.get(), request, descriptors)) return false;
  if (awaited_++ == 0) patience_.start_in(longest_fork);
  return true;
}

// A library may write into this socket too, so no message may do harm.
void WorkerTemplate::hear() {
  for (int i = 0; i < most_messages_a_turn && watch_; ++i) {
    char bytes[longest_message];
    const ssize_t got = recv(line_.get(), bytes, sizeof bytes, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (got <= 0) return watch_.reset();  // it is about to be reaped
    if (state_ == State::loading) {
      note_loaded(std::string(bytes, static_cast<std::size_t>(got)));
    } else if (state_ == State::ready && got == static_cast<ssize_t>(sizeof(ForkAnswer))) {
      if (awaited_ == 0) continue;  // the previous program asked for this
      ForkAnswer answer;
      std::memcpy(&answer, bytes, sizeof answer);
      if (--awaited_ > 0)
        patience_.start_in(longest_fork);
      else
        patience_.stop();
      events_.answered(answer);
    } else {
      return fail("it sent an invalid message");
    }
  }
}

void WorkerTemplate::note_loaded(const std::string& message) {
  patience_.stop();
  const std::string took = fmt::format("{:.3f}s", std::chrono::duration<double>(steady_now() - begun_).count());
  switch (static_cast<TemplateIs>(message[0])) {
    case TemplateIs::ready:
      state_ = State::ready;
      was_ready_ = true;
      log::info("template_ready", {{"generation", setup_.generation}, {"template_pid", child_.pid()}, {"took", took}});
      break;
    case TemplateIs::for_nothing:
      state_ = State::unwanted;
      log::debug("template_not_needed", {{"generation", setup_.generation}, {"took", took}});
      break;
    case TemplateIs::failed:
      return fail(log::printable(message.substr(1)));
    case TemplateIs::unfit:
      state_ = State::unwanted;
      reason_ = log::printable(message.substr(1));
      log::warn("template_not_used", {{"generation", setup_.generation},
                                      {"reason", reason_},
                                      {"hint", "each worker loads the libraries for itself"}});
      break;
    default:
      return fail("it sent an invalid message");
  }
  events_.changed();
}

void WorkerTemplate::fail(std::string reason) {
  if (state_ == State::unwanted || state_ == State::failed) return;
  state_ = State::failed;
  reason_ = std::move(reason);
  awaited_ = 0;
  patience_.stop();
  watch_.reset();
  child_.kill();
  log::error("template_failed", {{"generation", setup_.generation}, {"reason", reason_}});
  events_.changed();
}

void WorkerTemplate::look_at_time() {
  fail(state_ == State::loading ? "it was not ready within boot_timeout" : "it did not answer");
}

}  // namespace brood
