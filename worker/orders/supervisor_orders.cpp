#include "worker/orders/supervisor_orders.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <ctime>

#include "shared/base/check.hpp"
#include "shared/base/clock.hpp"
#include "shared/base/log.hpp"

namespace brood {
namespace {

using namespace std::chrono_literals;

constexpr auto look_for_supervisor_again = 10ms;

// The handler of TERM interrupts a job, so it uses only these.
volatile std::sig_atomic_t term_came = 0;
pid_t supervisor = 0;  // or another process that is the parent of this one while the supervisor lives
bool (*pass_term)(int signal) = nullptr;
const std::atomic<std::int64_t>* last_beat = nullptr;
std::chrono::nanoseconds longest_wait_for_adoption{};

timer_t last_timer{};

// Makes sure that this worker ends when its last job runs longer than the supervisor would have waited, or well before
// another host may adopt its jobs.  Uses a timer of our own, since a job may use alarm(2), and SIGKILL, since a job may
// block or ignore any other signal.  timer_settime(2) is async-signal-safe.
void set_last_alarm() {
  const BootTime beat{std::chrono::nanoseconds(last_beat->load())};
  const auto until_adoption = beat + longest_life_after_beat - boot_now();
  const auto left = std::min<std::chrono::nanoseconds>(longest_wait_for_adoption, until_adoption);
  const auto seconds = std::max<std::int64_t>(1, std::chrono::ceil<std::chrono::seconds>(left).count());
  const itimerspec once{.it_interval = {}, .it_value = {.tv_sec = seconds, .tv_nsec = 0}};
  timer_settime(last_timer, 0, &once, nullptr);
}

void handle_term(int) {
  term_came = 1;
  if (pass_term != nullptr) pass_term(SIGTERM);
  if (getppid() != supervisor) set_last_alarm();  // then the kernel sent it: the supervisor is dead
}

}  // namespace

SupervisorOrders::SupervisorOrders(const WorkerSetup& worker_setup, std::chrono::milliseconds shutdown_timeout)
    : worker_setup_(worker_setup), flags_(&worker_setup.record->flags) {
  supervisor = worker_setup.supervisor;
  serve(std::clamp(worker_setup.record->shard.load(), 0, max_shards - 1));
  longest_wait_for_adoption = shutdown_timeout;
  sigevent expiry{};
  expiry.sigev_notify = SIGEV_SIGNAL;
  expiry.sigev_signo = SIGKILL;
  check("timer_create", timer_create(CLOCK_BOOTTIME, &expiry, &last_timer));
  struct sigaction action {};
  action.sa_handler = handle_term;
  action.sa_flags = SA_RESTART;
  check("sigaction", sigaction(SIGTERM, &action, nullptr));
}

bool SupervisorOrders::supervisor_gone() {
  const SteadyTime now = steady_now();
  if (now - looked_for_supervisor_ < look_for_supervisor_again) return orphaned_;
  looked_for_supervisor_ = now;
  if (getppid() != worker_setup_.supervisor) note_supervisor_gone();
  return orphaned_;
}

bool SupervisorOrders::told_to_stop() { return orphaned_ || term_came != 0 || (flags_->load() & slot_stop) != 0; }

bool SupervisorOrders::was_sent_term() const { return term_came != 0; }

void SupervisorOrders::pass_term_by(bool (*pass)(int signal)) { pass_term = pass; }

// A job's process has none of the worker's timers, and is killed when the worker ends.
void SupervisorOrders::become_a_job() {
  pass_term = nullptr;
  supervisor = getppid();
  worker_setup_.supervisor = supervisor;
  worker_setup_.control = -1;
}

bool SupervisorOrders::told_to_quiet() { return (flags_->load() & slot_quiet) != 0 || told_to_stop(); }

void SupervisorOrders::note_supervisor_gone() {
  if (orphaned_) return;
  orphaned_ = true;
  set_last_alarm();
  log::warn("supervisor_is_gone", {{"slot", worker_setup_.slot}});
}

void SupervisorOrders::serve(int shard) {
  if (worker_setup_.beats == nullptr) return;
  beat_ = &worker_setup_.beats->at(static_cast<std::size_t>(shard));
  last_beat = &beat_->last_beat;
  note_asking();
}

bool SupervisorOrders::beat_is_old() const { return beat_ != nullptr && is_old(beat_->last_beat, boot_now()); }

std::uint32_t SupervisorOrders::lapses() const { return beat_ == nullptr ? 0 : beat_->lapses.load(); }

bool SupervisorOrders::wait(std::chrono::milliseconds longest) {
  // The pipe of a supervisor that is gone is always ready, so it is not polled.
  pollfd pipe{orphaned_ ? -1 : worker_setup_.control, POLLIN, 0};
  if (poll(&pipe, 1, static_cast<int>(longest.count())) <= 0) return false;
  char bytes[64];
  const ssize_t got = recv(worker_setup_.control, bytes, sizeof bytes, MSG_DONTWAIT);
  // The bytes only wake us: the orders are in the slot.
  if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) note_supervisor_gone();
  return true;
}

void SupervisorOrders::pause(std::chrono::milliseconds length) {
  const SteadyTime until = steady_now() + length;
  while (!told_to_stop()) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - steady_now());
    if (left.count() <= 0) return;
    wait(left);
  }
}

void SupervisorOrders::say(ControlByte byte) {
  const char c = static_cast<char>(byte);
  ::send(worker_setup_.control, &c, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}

std::uint64_t SupervisorOrders::ask_for_incarnation(ControlByte byte) {
  const std::uint64_t old = worker_setup_.record->incarnation.load();
  const SteadyTime asked = steady_now();
  worker_setup_.record->current.store(-1);  // no job runs, whatever another worker's job wrote over the record
  say(byte);
  for (;;) {
    const std::uint64_t assigned = worker_setup_.record->incarnation.load();
    if (assigned != old) return assigned;
    if (told_to_stop() && steady_now() - asked > 1s) throw ToldToStop{};
    wait(100ms);
  }
}

}  // namespace brood
