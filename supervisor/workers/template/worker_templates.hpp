#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "supervisor/upgrade/handover_record.hpp"
#include "supervisor/workers/generation/generation.hpp"
#include "supervisor/workers/template/worker_template.hpp"

namespace brood {

// The templates of the generations whose places are filled, one for each that wants one.
class WorkerTemplates {
 public:
  // How a template of this generation is set up.
  using SetupOf = std::function<WorkerTemplate::Setup(const Generation&)>;
  using Answered = std::function<void(const ForkAnswer&)>;

  // `changed` is called when the result of way_to_fork() may have changed, or take_given_up() has something.
  WorkerTemplates(EventLoop& loop, Children& children, SetupOf setup_of, std::function<void()> changed,
                  Answered answered);

  // How a worker is made.
  enum class Way {
    fork,          // as a child of the supervisor that loads the libraries for itself
    ask_template,  // by ask()
    wait,          // for its template, which loads
  };
  // The way for a worker of this generation, with these settings, in this slot.
  Way way_to_fork(const Generation& generation, const WorkerSettings& settings, int slot, SteadyTime now);
  // Returns false if the template cannot be asked now; ask again when `changed` is called.
  bool ask(const Generation& generation, const ForkRequest& request, const WorkerDescriptors& descriptors);

  // The generations whose templates have ended since the last call: they will not answer requests.
  std::set<std::uint32_t> take_given_up() { return std::exchange(given_up_, {}); }

  // hand_over() writes the ready templates for the next program in this process.  adopt() takes over one of the
  // previous program.
  void hand_over(std::vector<Handover::Template>& left) const;
  void adopt(const Generation& generation, const Handover::Template& left);

  // Forks ended templates again, each after its rest, so that the next worker need not load for itself.  Returns when
  // to call it next.
  std::optional<SteadyTime> bring_back(SteadyTime now);

  // Ends the templates of all other generations.
  void keep(const std::set<std::uint32_t>& generations);
  void end_all() { templates_.clear(); }

 private:
  struct One {
    std::unique_ptr<WorkerTemplate> process;  // nullptr: none runs, and the next attempt is at `rests_until`
    Generation generation;
    std::chrono::milliseconds rest{0};
    SteadyTime rests_until{};
  };
  WorkerTemplate::Events events_of(std::uint32_t number);
  void start(One& one, SteadyTime now);
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
