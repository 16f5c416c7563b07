#include "supervisor/library_check.hpp"

#include <fcntl.h>
#include <sysexits.h>
#include <unistd.h>

#include <csignal>
#include <utility>

#include "shared/check.hpp"
#include "supervisor/roll.hpp"
#include "supervisor/spawn.hpp"

namespace brood {
namespace {

constexpr std::size_t longest_answer = 4'096;  // fits the pipe, so that the child never waits for us

int write_refusal(const ChildBodies& bodies, int to) {
  const std::string refusal = bodies.check().substr(0, longest_answer);
  if (refusal.empty()) return EX_OK;
  return write(to, refusal.data(), refusal.size()) < 0 ? EX_OSERR : EX_CONFIG;
}

}  // namespace

LibraryCheck::LibraryCheck(EventLoop& loop)
    : deadline_(loop, [this] {
        overdue_ = true;
        if (pid_ != 0) kill(pid_, SIGKILL);
      }) {}

void LibraryCheck::begin(const ChildBodies& bodies, Done done) {
  int ends[2];
  check("pipe2", pipe2(ends, O_CLOEXEC | O_NONBLOCK));
  answer_.reset(ends[0]);
  const UniqueFd to(ends[1]);
  pid_ = spawn({.title = "brood: check", .keep = {to.get()}, .parent_death_signal = SIGKILL},
               [&] { return write_refusal(bodies, to.get()); });
  done_ = std::move(done);
  overdue_ = false;
  deadline_.start_in(Roll::longest_start);
}

void LibraryCheck::abandon() {
  done_ = nullptr;
  if (pid_ != 0) kill(pid_, SIGKILL);
}

bool LibraryCheck::reaped(pid_t pid, const ExitStatus& status) {
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
    done(overdue_ ? "loading the job libraries took too long"
                  : "loading the job libraries ended the process that tried: it " +
                        std::string(status.exited ? "" : "was ") + status.describe());
  return true;
}

}  // namespace brood
