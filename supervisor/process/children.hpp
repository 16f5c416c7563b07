#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "shared/base/clock.hpp"
#include "supervisor/process/event_loop.hpp"
#include "supervisor/process/exit_status.hpp"
#include "supervisor/process/fork_child.hpp"
#include "supervisor/process/shared_count.hpp"

namespace brood {

// A child that was forked through Children, in the hands of its owner.  Once this is destroyed or assigned to, nobody
// is told how the child ends; the child itself goes on, and its deadline stays.
class Child {
 public:
  Child() = default;
  ~Child();
  Child(Child&& other) noexcept = default;
  Child& operator=(Child&& other) noexcept;

  pid_t pid() const;  // 0: there is none, or it has been reaped
  bool is_running() const { return pid() != 0; }
  void kill() const;  // with its process group

 private:
  friend class Children;
  struct Record;
  explicit Child(std::shared_ptr<Record> record);

  std::shared_ptr<Record> record_;
};

// The children of a supervisor beside its workers: who is one, when each has taken too long, and who is told of its
// end.
class Children {
 public:
  struct Deadline {
    SteadyTime at;
    // While this grows, the deadline moves, until it has not grown for `silence`: see Pace.
    std::shared_ptr<const SharedCount> progress = {};
    std::chrono::nanoseconds silence{0};
  };
  struct End {
    pid_t pid;
    ExitStatus status;
    bool overdue;  // it was killed for its deadline
    SteadyTime at;
  };
  using Ended = std::function<void(const End&)>;

  // `shield`: what all of them do first whose SpawnSettings say nothing else.
  explicit Children(EventLoop& loop, std::function<void()> shield = {});

  // Fork as brood::spawn() and brood::spawn_program() do, and throw as they do: then there is no child.  `ended` is
  // called once, by reaped(), unless what is returned here is gone by then.
  [[nodiscard]] Child spawn(const SpawnSettings& settings, std::optional<Deadline> deadline,
                            const std::function<int()>& body, Ended ended);
  [[nodiscard]] Child spawn_program(const SpawnSettings& settings, const std::vector<std::string>& argv, Ended ended);

  // A child of this process that another program has forked; it does not outlive us.
  [[nodiscard]] Child adopt(pid_t pid, Ended ended);

  // It was forked here, and has not been reaped.
  bool is_one(pid_t pid) const { return running_.contains(pid); }
  // It is one of them, and gets no signal when this process ends.
  bool outlives_us(pid_t pid) const;
  // It has ended and been waited for; false when `pid` was none of them.
  bool reaped(pid_t pid, const ExitStatus& status, SteadyTime now);

  // Each turn: kills those that have taken too long, with their process groups.
  void kill_overdue(SteadyTime now);
  std::optional<SteadyTime> next_deadline() const;

 private:
  Child keep(pid_t pid, const SpawnSettings& settings, std::optional<Deadline> deadline, Ended ended);
  SpawnSettings shielded(SpawnSettings settings) const;

  const std::function<void()> shield_;
  std::map<pid_t, std::shared_ptr<Child::Record>> running_;
  Timer wake_;  // for kill_overdue()
};

}  // namespace brood
