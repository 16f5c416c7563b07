#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "shared/base/clock.hpp"
#include "shared/base/unique_fd.hpp"
#include "supervisor/process/children.hpp"
#include "supervisor/process/event_loop.hpp"
#include "supervisor/workers/template/template_wire.hpp"

namespace brood {

// A process that has loaded the libraries of one generation, and forks its workers as copies of itself, which become
// children of the supervisor.  It runs no job and holds no connection.  Here is the supervisor's side.
class WorkerTemplate {
 public:
  enum class State {
    loading,
    ready,
    unwanted,  // there is nothing to preload, or a copy would not be what a worker is: each worker loads for itself
    failed,    // it ended, or would not answer
  };
  struct Setup {
    std::uint32_t generation = 1;
    int slots = 0;                             // of the scoreboard that it knows
    std::chrono::milliseconds longest_load{};  // then it is killed
    std::vector<int> keep;                     // descriptors that stay open
    std::function<bool()> preload;             // ChildBodies::preload
    std::function<int(const ForkRequest&, const WorkerDescriptors&)> worker;
  };
  struct Events {
    std::function<void()> changed;                    // its state, or that it may be asked for more
    std::function<void(const ForkAnswer&)> answered;  // in the order of asking
  };

  // Forks it.  Throws std::system_error when that fails.
  WorkerTemplate(EventLoop& loop, Children& children, Setup setup, Events events);
  // One that another program has forked, and that is ready; `line` leads to it.
  WorkerTemplate(EventLoop& loop, Children& children, Setup setup, Events events, pid_t pid, UniqueFd line);
  // Ends it.  Copies that nobody has told of end by themselves.
  ~WorkerTemplate();
  WorkerTemplate(const WorkerTemplate&) = delete;
  WorkerTemplate& operator=(const WorkerTemplate&) = delete;

  State state() const { return state_; }
  const std::string& reason() const { return reason_; }  // why it is unwanted or has failed, half a sentence
  pid_t pid() const { return child_.pid(); }
  int slots() const { return setup_.slots; }
  int line() const { return line_.get(); }

  // A copy that runs with these descriptors, of which it gets copies, and waits for its first byte at `control` before
  // it does anything; at its end it exits.  False when it has been asked for as many as it may be.
  bool ask(const ForkRequest& request, const WorkerDescriptors& descriptors);
  // Answers that are to come.
  int awaited() const { return awaited_; }

 private:
  Children::Ended ended();
  void listen();
  void hear();
  void note_loaded(const std::string& message);
  void fail(std::string reason);
  void look_at_time();

  EventLoop& loop_;
  const Setup setup_;
  const Events events_;
  UniqueFd line_;
  std::unique_ptr<FdWatch> watch_;  // destroyed before its descriptor is closed
  Child child_;
  Timer patience_;
  State state_ = State::loading;
  std::string reason_;
  SteadyTime begun_{};
  int awaited_ = 0;
};

}  // namespace brood
