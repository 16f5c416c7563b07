#include "supervisor/watch/watch.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <sstream>
#include <system_error>

#include "shared/base/check.hpp"
#include "shared/base/log_line.hpp"
#include "shared/base/paths.hpp"
#include "shared/base/units.hpp"
#include "shared/redis/connection.hpp"
#include "supervisor/cli/arguments/command_line.hpp"
#include "supervisor/cli/companion.hpp"
#include "supervisor/watch/apply_action.hpp"
#include "supervisor/watch/command_process.hpp"
#include "supervisor/watch/layout.hpp"
#include "supervisor/watch/panes.hpp"
#include "supervisor/watch/redis_sampler.hpp"
#include "supervisor/watch/sample.hpp"
#include "supervisor/watch/screen.hpp"

namespace brood {
namespace watch {
namespace {

using namespace std::chrono_literals;

constexpr auto shortest_interval = 100ms, longest_interval = std::chrono::milliseconds(1h);
constexpr auto time_of_a_bar = 4s;

std::chrono::milliseconds read_interval(const std::string& text) {
  const auto interval = parse_duration(text);
  if (!interval || *interval < shortest_interval || *interval > longest_interval)
    throw UsageError(fmt::format("--interval must be from 100ms to 1h, such as 2s, not \"{}\"", log::printable(text)));
  return *interval;
}

// Reads the signals that end, stop or resize the program from a descriptor.  Its destructor restores the signal mask.
class Signals {
 public:
  Signals() {
    sigemptyset(&handled_);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGWINCH, SIGCONT})
      sigaddset(&handled_, signal);
    check("sigprocmask", sigprocmask(SIG_BLOCK, &handled_, &before_));
    fd_.reset(check("signalfd", signalfd(-1, &handled_, SFD_NONBLOCK | SFD_CLOEXEC)));
  }
  ~Signals() { sigprocmask(SIG_SETMASK, &before_, nullptr); }
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  int fd() const { return fd_.get(); }

  // The next pending signal; 0 if there is none.
  int next() const {
    signalfd_siginfo info{};
    return read(fd_.get(), &info, sizeof info) == sizeof info ? static_cast<int>(info.ssi_signo) : 0;
  }

  // Stops as SIGTSTP does by default; returns when the shell resumes this process.
  void stop_this_process() const {
    signal(SIGTSTP, SIG_DFL);
    sigset_t stop;
    sigemptyset(&stop);
    sigaddset(&stop, SIGTSTP);
    raise(SIGTSTP);  // pending, until:
    sigprocmask(SIG_UNBLOCK, &stop, nullptr);
    sigprocmask(SIG_BLOCK, &stop, nullptr);
  }

 private:
  sigset_t handled_{}, before_{};
  UniqueFd fd_;
};

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  while (!lines.empty() && lines.back().empty()) lines.pop_back();
  return lines;
}

class Watch {
 public:
  Watch(const RedisAccess& access, std::string address, std::chrono::milliseconds interval)
      : address_(std::move(address)),
        interval_(interval),
        model_(static_cast<std::size_t>(std::max<std::int64_t>(1, time_of_a_bar / interval))),
        redis_([access] { return access.shards(); }, interval) {}

  void run() {
    look_at_this_machine();
    while (!ended_) {
      draw();
      wait();
      handle_signals();
      handle_keys();
      note_redis();
      note_child();
      if (steady_now() >= next_look_) look_at_this_machine();
    }
  }

  // Gives the terminal back and ends the thread.  Returns false if the thread cannot be ended: see RedisSampler.
  bool stop() {
    screen_.leave();
    return redis_.stop();
  }

 private:
  void look_at_this_machine() {
    model_.note(look_at_machine(runtime_directory()));
    next_look_ = steady_now() + interval_;
    prepare();
  }

  void note_redis() {
    if (const auto look = redis_.take()) {
      model_.note(*look);
      prepare();
    }
  }

  // Copies the model to what is shown, unless the user has paused.
  void prepare() {
    if (view_.paused) return;
    shown_ = model_;
    shown_at_ = wall_now();
    refresh_detail(view_, shown_, shown_at_);
  }

  void arrange_rows() {
    listing_ = arrange(listing_of(shown_, view_.pane, shown_at_, screen_.glyphs()), view_.choice());
  }

  void draw() {
    arrange_rows();
    const WallTime now = view_.paused ? shown_at_ : wall_now();
    screen_.show(lay_out(view_, {shown_, listing_, address_, now, screen_.glyphs()}, screen_.size()));
  }

  void wait() {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(next_look_ - steady_now());
    std::array<pollfd, 4> events = {{{STDIN_FILENO, POLLIN, 0},
                                     {signals_.fd(), POLLIN, 0},
                                     {redis_.fd(), POLLIN, 0},
                                     {command_ ? command_->fd() : -1, POLLIN, 0}}};
    poll(events.data(), events.size(), static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 3'600'000)));
    if (events[0].revents & (POLLHUP | POLLERR | POLLNVAL)) ended_ = true;  // the terminal is gone
  }

  void handle_signals() {
    while (const int signal = signals_.next()) {
      if (signal == SIGWINCH) {
        screen_.resize();
      } else if (signal == SIGTSTP) {
        screen_.leave();
        signals_.stop_this_process();
        screen_.resize();
      } else if (signal == SIGCONT) {
        screen_.redraw();
      } else {
        ended_ = true;
      }
    }
  }

  void handle_keys() {
    for (;;) {
      const KeyPress press = screen_.read_key();
      if (press.key == Key::none || ended_) return;
      const Size size = screen_.size();
      const bool was_paused = view_.paused;
      const Effect effect =
          apply(view_, action_for(view_, press),
                {shown_, listing_, body_rows(size), body_lines(view_, screen_.glyphs(), size), shown_at_});
      if (effect.quit) ended_ = true;
      if (effect.redraw) screen_.redraw();
      if (!effect.command.empty()) begin(effect.command);
      if (was_paused && !view_.paused) prepare();
      arrange_rows();
    }
  }

  void begin(const std::vector<std::string>& command) {
    if (command_) {
      view_.notice = fmt::format("brood {} still runs", command_->command().front());
      return;
    }
    try {
      command_ = std::make_unique<CommandProcess>(brood_, command);
    } catch (const std::system_error& error) {  // the program was removed, for example
      view_.notice = fmt::format("brood {} cannot be started: {}", command.front(), error.what());
      return;
    }
    if (view_.notice.empty()) view_.notice = fmt::format("brood {} ...", command.front());
  }

  void note_child() {
    if (!command_) return;
    const auto said = command_->read();
    if (!said) return;
    const bool is_dump = command_->command().front() == "dump";
    command_.reset();
    std::vector<std::string> lines = lines_of(*said);
    view_.notice.clear();
    if (is_dump && lines.size() > 1) {
      view_.help = false;
      view_.detail = Detail{.title = "Stack", .lines = std::move(lines), .row = std::nullopt};
    } else {
      view_.notice = lines.empty() ? "it printed nothing" : lines.back();
    }
  }

  const std::string brood_ = brood_of_companion();  // found at the start: this program's file may be replaced later
  std::string address_;
  std::chrono::milliseconds interval_;
  Signals signals_;  // declared before `redis_`, whose thread must not get these signals
  Model model_, shown_;
  WallTime shown_at_{};
  Listing listing_;
  View view_;
  SteadyTime next_look_{};
  bool ended_ = false;
  std::unique_ptr<CommandProcess> command_;
  RedisSampler redis_;
  Screen screen_;
};

}  // namespace
}  // namespace watch

int watch_status(const RedisAccess& access, const std::string& interval) {
  const auto between_looks = watch::read_interval(interval);
  std::string address = "embedded";
  try {
    const std::vector<RedisAddress> shards = access.shards();
    address = shards.size() == 1 ? shards.front().without_password() : fmt::format("{} shards", shards.size());
  } catch (const ConnectionLost&) {  // the sampler's thread reports that, and tries again
  }
  bool is_stopped = false;
  {
    watch::Watch watching(access, address, between_looks);
    watching.run();
    is_stopped = watching.stop();
  }
  // A thread that is still resolving a name would use destroyed objects.
  if (!is_stopped) _exit(exit_status::ok);
  return exit_status::ok;
}

}  // namespace brood
