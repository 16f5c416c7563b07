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

// A child that was forked through Children, held by its owner.  Once this is destroyed or assigned to, its `ended`
// callback is not called any more; the child itself goes on, and keeps its deadline.
class Child {
 public:
  Child() = default;
  ~Child();
  Child(Child&& other) noexcept = default;
  Child& operator=(Child&& other) noexcept;

  pid_t pid() const;  // 0 if there is none, or it has been reaped
  bool is_running() const { return pid() != 0; }
  void kill() const;  // together with its process group

 private:
  friend class Children;
  struct Record;
  explicit Child(std::shared_ptr<Record> record);

  std::shared_ptr<Record> record_;
};

// The children of a supervisor beside its workers: their pids, the deadline of each, and the callback for its end.
class Children {
 public:
  struct Deadline {
    SteadyTime at;
    // The deadline moves while this number grows.  It passes once the number has not grown for `silence`; see Pace.
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

  // Each child calls `shield` first, unless its SpawnSettings have one of their own.
  explicit Children(EventLoop& loop, std::function<void()> shield = {});

  // Both fork as brood::spawn() and brood::spawn_program() do, and throw as they do; then there is no child.  reaped()
  // calls `ended` once, unless the returned Child has been destroyed.
  [[nodiscard]] Child spawn(const SpawnSettings& settings, std::optional<Deadline> deadline,
                            const std::function<int()>& body, Ended ended);
  [[nodiscard]] Child spawn_program(const SpawnSettings& settings, const std::vector<std::string>& argv, Ended ended);

  // Takes over a child that the previous program forked in this process.  It does not outlive us.
  [[nodiscard]] Child adopt(pid_t pid, Ended ended);

  // Kills the child at the time `at` if it still runs.
  void set_deadline(const Child& child, SteadyTime at);

  // Whether it was forked or adopted here and has not been reaped.
  bool is_one(pid_t pid) const { return running_.contains(pid); }
  // Whether it is one of these children and gets no signal when this process ends.
  bool outlives_us(pid_t pid) const;
  // Notes that `pid` was reaped.  Returns false if it was none of these children.
  bool reaped(pid_t pid, const ExitStatus& status, SteadyTime now);

  // Each turn: kills the children whose deadline has passed, with their process groups.
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
