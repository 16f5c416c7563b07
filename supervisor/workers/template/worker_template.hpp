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
#include "supervisor/process/child_program.hpp"
#include "supervisor/process/children.hpp"
#include "supervisor/process/event_loop.hpp"
#include "supervisor/workers/template/template_wire.hpp"

namespace brood {

// The supervisor's side of a template: a process that has loaded the libraries of one generation, and forks its workers
// as copies of itself, which become children of the supervisor.  A template runs no job and has no connection.
class WorkerTemplate {
 public:
  enum class State {
    loading,
    ready,
    unwanted,  // there is nothing to preload, or copies would not work: each worker loads for itself
    failed,    // it ended, or did not answer
  };
  struct Setup {
    std::uint32_t generation = 1;
    int slots = 0;                             // of the scoreboard that it knows
    std::chrono::milliseconds longest_load{};  // a template that takes longer is killed
    std::shared_ptr<ChildProgram> program;
    std::function<int(const ForkRequest&, const WorkerDescriptors&)> worker;
  };
  struct Events {
    std::function<void()> changed;                    // the state has changed, or it may be asked for more
    std::function<void(const ForkAnswer&)> answered;  // in the order of the requests
  };

  // Forks the template.  Throws std::system_error if that fails.
  WorkerTemplate(EventLoop& loop, Children& children, Setup setup, Events events);
  // Takes over a ready template that another program has forked; `line` is the socket to it.
  WorkerTemplate(EventLoop& loop, Children& children, Setup setup, Events events, pid_t pid, UniqueFd line);
  // Ends the template.  Copies whose answers were not read end by themselves.
  ~WorkerTemplate();
  WorkerTemplate(const WorkerTemplate&) = delete;
  WorkerTemplate& operator=(const WorkerTemplate&) = delete;

  State state() const { return state_; }
  bool was_ready() const { return was_ready_; }          // at some time
  const std::string& reason() const { return reason_; }  // why it is unwanted or has failed, half a sentence
  pid_t pid() const { return child_.pid(); }
  int slots() const { return setup_.slots; }
  int line() const { return line_.get(); }

  // Asks for a worker that gets copies of these descriptors.  The worker does nothing before it reads a first byte from
  // `control`.  Returns false if the template cannot be asked now: it is not ready, or owes too many answers.
  bool ask(const ForkRequest& request, const WorkerDescriptors& descriptors);
  // Answers still to come.
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
  bool was_ready_ = false;
  std::string reason_;
  SteadyTime begun_{};
  int awaited_ = 0;
};

}  // namespace brood
