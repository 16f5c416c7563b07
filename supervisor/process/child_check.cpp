#include "supervisor/process/child_check.hpp"

#include <fcntl.h>
#include <sysexits.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <utility>

#include "shared/base/check.hpp"
#include "supervisor/process/spawn.hpp"

namespace brood {
namespace {

constexpr std::chrono::minutes longest_check{5};
constexpr std::size_t longest_answer = 4'096;  // fits the pipe, so that the child never waits for us

}  // namespace

ChildCheck::ChildCheck(EventLoop& loop)
    : deadline_(loop, [this] {
        overdue_ = true;
        kill_child();
      }) {}

void ChildCheck::begin(Settings settings, const std::function<int(int)>& body, Done done) {
  int ends[2];
  check("pipe2", pipe2(ends, O_CLOEXEC | O_NONBLOCK));
  answer_.reset(ends[0]);
  const UniqueFd to(ends[1]);
  settings.keep.push_back(to.get());
  pid_ = spawn({.title = settings.title, .keep = settings.keep, .parent_death_signal = SIGKILL},
               [&] { return body(to.get()); });
  what_ = std::move(settings.what);
  done_ = std::move(done);
  overdue_ = false;
  deadline_.start_in(longest_check);
}

void ChildCheck::abandon() {
  done_ = nullptr;
  kill_child();
}

// With all that it has started; and itself, should it lead no session yet.
void ChildCheck::kill_child() const {
  if (pid_ == 0) return;
  kill(-pid_, SIGKILL);
  kill(pid_, SIGKILL);
}

bool ChildCheck::reaped(pid_t pid, const ExitStatus& status) {
  if (!is_child(pid)) return false;
  pid_ = 0;
  deadline_.stop();
  char buffer[longest_answer];
  const ssize_t got = read(answer_.get(), buffer, sizeof buffer);
  answer_.reset();
  const auto done = std::exchange(done_, nullptr);
  if (!done) return true;
  if (status.exited && status.value == EX_OK)
    done("");
  else if (got > 0)
    done(std::string(buffer, static_cast<std::size_t>(got)));
  else
    done(overdue_ ? what_ + " took too long"
                  : what_ + " ended the process that tried: it " + (status.exited ? "" : "was ") + status.describe());
  return true;
}

}  // namespace brood
