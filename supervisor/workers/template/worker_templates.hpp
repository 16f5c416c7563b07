#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "supervisor/upgrade/handover_record.hpp"
#include "supervisor/workers/generation/generation.hpp"
#include "supervisor/workers/template/worker_template.hpp"

namespace brood {

// The templates of the generations that are filled: one for each that wants one.
class WorkerTemplates {
 public:
  // What a template of this generation is to be.
  using SetupOf = std::function<WorkerTemplate::Setup(const Generation&)>;
  using Answered = std::function<void(const ForkAnswer&)>;

  // `changed`: way_to_fork() may say something else now, or gave_up() has something.
  WorkerTemplates(EventLoop& loop, Children& children, SetupOf setup_of, std::function<void()> changed,
                  Answered answered);

  // How a worker comes into being.
  enum class Way {
    fork,          // as a child of the supervisor that loads the libraries for itself
    ask_template,  // by ask()
    wait,          // for its template, which loads
  };
  // Of a worker of this generation in this slot, whose settings these are.
  Way way_to_fork(const Generation& generation, const WorkerSettings& settings, int slot, SteadyTime now);
  // False when it is to be asked later; then `changed` is called.
  bool ask(const Generation& generation, const ForkRequest& request, const WorkerDescriptors& descriptors);

  // The generations whose templates ended, and have answered no wish since: nobody will.
  std::set<std::uint32_t> take_given_up() { return std::exchange(given_up_, {}); }

  // For the next program in this process, and what another has left.  Only those that are ready.
  void hand_over(std::vector<Handover::Template>& left) const;
  void adopt(const Generation& generation, const Handover::Template& left);

  // Ends those of all other generations.
  void keep(const std::set<std::uint32_t>& generations);
  void end_all() { templates_.clear(); }

 private:
  struct One {
    std::unique_ptr<WorkerTemplate> process;  // nullptr: it rests
    std::chrono::milliseconds rest{0};
    SteadyTime rests_until{};
  };
  WorkerTemplate::Events events_of(std::uint32_t number);
  void start(One& one, const Generation& generation, SteadyTime now);
  void let_rest(One& one, SteadyTime now);

  EventLoop& loop_;
  Children& children_;
  const SetupOf setup_of_;
  const std::function<void()> changed_;
  const Answered answered_;
  std::map<std::uint32_t, One> templates_;
  std::set<std::uint32_t> given_up_;
};

}  // namespace brood
