#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

#include "shared/base/unique_fd.hpp"

namespace brood {

// How a child is forked: its title, and what it keeps of its parent.
struct SpawnSettings {
  std::string title;             // shown by ps
  std::vector<int> keep{};       // descriptors that stay open beside 0, 1 and 2
  int parent_death_signal = 0;   // sent to the child when its parent ends; 0: none
  int oom_score_adjustment = 0;  // added to the parent's; the kernel takes the highest first
  // The supervisor obeys requests of this child, which runs no job and which no job can control.
  bool speaks_for_operators = false;
  // Called in the child before any other process of its user may trace it.  Closes the child's ways to the supervisor,
  // so that a later tracer has none either.
  std::function<void()> shield{};
};

// Forks a child that runs `body` and exits with its result.  Throws std::system_error if fork fails, std::logic_error
// if this process has a second thread.
//
// The child begins with default signal dispositions, an empty signal mask, standard input from /dev/null, and only the
// listed descriptors and the log's.  It does not touch the parent's loop.  It bears the mark of jobs
// (shared/base/job_mark.hpp) unless it speaks for operators.
//
// It leads a session of its own: Control-C at a terminal reaches only the supervisor, and what a job does to its
// session, such as writing to /proc/self/autogroup, does not reach the supervisor.
pid_t spawn(const SpawnSettings& settings, const std::function<int()>& body);

// Called in a child of the supervisor: forks a copy of this process that becomes a child of the supervisor, which must
// be a subreaper.  The copy keeps all settings, signals and descriptors of this process; `parent_death_signal` and
// `keep` are ignored.
pid_t spawn_sibling(const SpawnSettings& settings, const std::function<int()>& body);

// From now on this process gets `signal` when its parent ends.  Returns false if its parent is no longer `parent`.
bool end_with_parent(int signal, pid_t parent);

// As spawn(), for a program: the child executes `argv`, and exits with 127 if it cannot.
pid_t spawn_program(const SpawnSettings& settings, const std::vector<std::string>& argv);

struct ControlPipe {
  UniqueFd supervisor_end;  // non-blocking
  UniqueFd worker_end;
};
ControlPipe make_control_pipe();

}  // namespace brood
