#include "supervisor/process/event_loop.hpp"

#include <sys/mman.h>
#include <uv.h>
#include <csignal>

#include <algorithm>
#include <system_error>

#include "shared/base/check.hpp"
#include "shared/base/host_memory.hpp"

namespace brood {
namespace {

void check_uv(const char* call, int result) {
  if (result < 0) throw std::system_error(-result, std::generic_category(), call);
}

sigset_t handled_signals() {
  sigset_t handled;
  sigemptyset(&handled);
  for (const int signal : {SIGTERM, SIGINT, SIGTSTP, SIGTTIN, SIGHUP, SIGUSR1, SIGUSR2, SIGCHLD})
    sigaddset(&handled, signal);
  return handled;
}

// From 1.45 on libuv talks to the kernel through io_uring's rings, which are shared memory.  A child that had the rings
// could make the kernel act in the supervisor's name, even from a sandbox.
void keep_rings_from_children() {
  for (const MemoryMapping& mapping : memory_mappings()) {
    if (mapping.path == "anon_inode:[io_uring]") check("madvise", madvise(mapping.begin, mapping.size, MADV_DONTFORK));
  }
}

}  // namespace

EventLoop::EventLoop() : loop_(new uv_loop_t) {
  const int result = uv_loop_init(loop_.get());
  if (result < 0) {
    delete loop_.release();  // Close would run a loop that was never initialised
    check_uv("uv_loop_init", result);
  }
  keep_rings_from_children();
}

EventLoop::~EventLoop() = default;

void EventLoop::Close::operator()(uv_loop_s* loop) const {
  uv_run(loop, UV_RUN_NOWAIT);  // lets handles that were just closed free themselves
  uv_loop_close(loop);
  delete loop;
}

void EventLoop::run_once() { uv_run(loop_.get(), UV_RUN_ONCE); }

// libuv owns a handle until its close callback has run, so each handle is an allocation of its own that outlives its
// owner.
struct Timer::Handle {
  uv_timer_t timer;
  std::function<void()> callback;
};

Timer::Timer(EventLoop& loop, std::function<void()> callback) : handle_(new Handle{{}, std::move(callback)}) {
  uv_timer_init(loop.raw(), &handle_->timer);
  handle_->timer.data = handle_;
}

Timer::~Timer() {
  handle_->callback = nullptr;
  uv_close(reinterpret_cast<uv_handle_t*>(&handle_->timer),
           [](uv_handle_t* handle) { delete static_cast<Handle*>(handle->data); });
}

void Timer::start_in(std::chrono::nanoseconds delay) {
  const auto ms = std::chrono::ceil<std::chrono::milliseconds>(std::max(delay, std::chrono::nanoseconds(0))).count();
  uv_update_time(handle_->timer.loop);
  uv_timer_start(
      &handle_->timer,
      [](uv_timer_t* timer) {
        const auto callback =
            static_cast<Handle*>(timer->data)->callback;  // a copy: the callback may destroy the timer
        if (callback) callback();
        // libuv runs timers first, and run_once() would then wait, forever if this was the last timer.
        uv_stop(timer->loop);
      },
      static_cast<std::uint64_t>(ms), 0);
}

void Timer::start_at(std::optional<SteadyTime> at) {
  if (at)
    start_in(*at - steady_now());
  else
    stop();
}

void Timer::stop() { uv_timer_stop(&handle_->timer); }

bool Timer::running() const { return uv_is_active(reinterpret_cast<const uv_handle_t*>(&handle_->timer)) != 0; }

struct FdWatch::Handle {
  uv_poll_t poll;
  std::function<void(int)> callback;
};

FdWatch::FdWatch(EventLoop& loop, int fd, int events, std::function<void(int)> callback)
    : handle_(new Handle{{}, std::move(callback)}) {
  const int result = uv_poll_init(loop.raw(), &handle_->poll, fd);
  if (result < 0) {
    delete handle_;
    check_uv("uv_poll_init", result);
  }
  handle_->poll.data = handle_;
  const int wanted = (events & readable ? UV_READABLE | UV_DISCONNECT : 0) | (events & writable ? UV_WRITABLE : 0);
  uv_poll_start(&handle_->poll, wanted, [](uv_poll_t* poll, int status, int seen) {
    const auto callback = static_cast<Handle*>(poll->data)->callback;
    // The reader handles an error on the descriptor: read() returns it.
    const int events_seen =
        status < 0 ? readable | writable
                   : (seen & (UV_READABLE | UV_DISCONNECT) ? readable : 0) | (seen & UV_WRITABLE ? writable : 0);
    if (callback) callback(events_seen);
  });
}

FdWatch::~FdWatch() {
  handle_->callback = nullptr;
  uv_poll_stop(&handle_->poll);
  uv_close(reinterpret_cast<uv_handle_t*>(&handle_->poll),
           [](uv_handle_t* handle) { delete static_cast<Handle*>(handle->data); });
}

void hold_back_signals() {
  const sigset_t handled = handled_signals();
  check("sigprocmask", sigprocmask(SIG_BLOCK, &handled, nullptr));
}

SignalSource::SignalSource(EventLoop& loop, std::function<void(const signalfd_siginfo&)> callback) {
  ::signal(SIGPIPE, SIG_IGN);
  hold_back_signals();
  const sigset_t handled = handled_signals();
  fd_.reset(check("signalfd", signalfd(-1, &handled, SFD_CLOEXEC | SFD_NONBLOCK)));
  watch_ = std::make_unique<FdWatch>(loop, fd_.get(), FdWatch::readable,
                                     [fd = fd_.get(), callback = std::move(callback)](int) {
                                       signalfd_siginfo info;
                                       while (read(fd, &info, sizeof info) == sizeof info) callback(info);
                                     });
}

void forget_event_loops() { uv_library_shutdown(); }

}  // namespace brood
