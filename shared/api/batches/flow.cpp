#include <brood/flow.hpp>

#include <algorithm>
#include <deque>
#include <map>
#include <stdexcept>

#include "shared/api/batches/batch_handle.hpp"
#include "shared/store/batches/flow.hpp"

namespace brood {
namespace {

constexpr std::size_t longest_step_name = 100;

bool is_step_name(std::string_view name) {
  return !name.empty() && name.size() <= longest_step_name && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           std::string_view("_.:-").find(c) != std::string_view::npos;
  });
}

std::string_view word_of(IfFailed policy) {
  switch (policy) {
    case IfFailed::run:
      return "run";
    case IfFailed::skip:
      return "skip";
    case IfFailed::fail:
      break;
  }
  return "fail";
}

struct AddedStep {
  std::string name;
  Push job;
  StepOptions options;
};

// Which steps wait for which, by their indices.  Throws std::invalid_argument for a name that no step has.
std::vector<NewStep> connect(const std::vector<AddedStep>& added) {
  std::map<std::string_view, std::uint32_t> index;
  for (const AddedStep& step : added) index.emplace(step.name, static_cast<std::uint32_t>(index.size()));
  std::vector<NewStep> steps(added.size());
  for (std::uint32_t i = 0; i < added.size(); ++i) {
    steps[i].name = added[i].name;
    steps[i].if_failed = word_of(added[i].options.if_failed);
    for (const StepName& before : added[i].options.after) {
      const auto found = index.find(before.name);
      if (found == index.end())
        throw std::invalid_argument("the step " + added[i].name + " waits for " + before.name + ", which is no step");
      std::vector<std::uint32_t>& after = steps[found->second].after;
      if (std::find(after.begin(), after.end(), i) != after.end()) continue;  // named twice
      after.push_back(i);
      ++steps[i].before;
    }
  }
  return steps;
}

// Throws std::invalid_argument if steps wait for each other in a circle.
void refuse_circles(const std::vector<NewStep>& steps) {
  std::vector<std::size_t> waits_for;
  std::deque<std::size_t> ready;
  for (const NewStep& step : steps) waits_for.push_back(step.before);
  for (std::size_t i = 0; i < steps.size(); ++i)
    if (waits_for[i] == 0) ready.push_back(i);
  std::size_t ended = 0;
  for (; !ready.empty(); ready.pop_front(), ++ended) {
    for (const std::uint32_t after : steps[ready.front()].after)
      if (--waits_for[after] == 0) ready.push_back(after);
  }
  if (ended == steps.size()) return;
  const auto waits = std::find_if(waits_for.begin(), waits_for.end(), [](std::size_t count) { return count > 0; });
  throw std::invalid_argument("the step " + steps[waits - waits_for.begin()].name +
                              " waits for itself: the steps before it form a circle");
}

}  // namespace

struct Flow::State {
  BatchHandle handle;
  std::vector<AddedStep> added = {};
  bool was_pushed = false;
};

Flow::Flow(Client& client, const FlowOptions& options, std::string_view payload_of_job)
    : state_(new State{BatchHandle(client, options.description, options.parent, payload_of_job)}) {}
Flow::~Flow() = default;
Flow::Flow(Flow&&) noexcept = default;
Flow& Flow::operator=(Flow&&) noexcept = default;

const std::string& Flow::bid() const { return state_->handle.bid(); }

void Flow::on(BatchEvent event, const Push& job) { state_->handle.on(event, job); }

StepName Flow::add(std::string_view name, const Push& job, const StepOptions& options) {
  if (state_->was_pushed) throw std::logic_error("a flow gets its steps before its push");
  if (!is_step_name(name))
    throw std::invalid_argument("a step's name has 1 to 100 of A-Z a-z 0-9 _ . : -, and this one is \"" +
                                std::string(name) + "\"");
  if (job.at) throw std::invalid_argument("a step runs when the steps before it have ended, and has no time");
  std::vector<AddedStep>& added = state_->added;
  if (added.size() == max_steps) throw std::invalid_argument("a flow has at most 1,000 steps; a step may make a batch");
  if (std::any_of(added.begin(), added.end(), [&](const AddedStep& step) { return step.name == name; }))
    throw std::invalid_argument("two steps of the flow are called " + std::string(name));
  added.push_back({std::string(name), job, options});
  return StepName(name);
}

void Flow::push() {
  if (state_->was_pushed) throw std::logic_error("a flow is pushed once");
  std::vector<NewStep> steps = connect(state_->added);
  refuse_circles(steps);
  BatchHandle& handle = state_->handle;
  for (std::uint32_t i = 0; i < steps.size(); ++i) {
    Push& job = state_->added[i].job;
    job.members.emplace_back("step", '"' + steps[i].name + '"');
    handle.sender().keep_step(std::move(job), handle.bid(), i, steps[i]);
  }
  state_->was_pushed = true;
  const BatchPush push = handle.begin_push();
  try {
    handle.sender().push_steps(push, steps);
    handle.end_push(push);
  } catch (...) {
    handle.abandon_push(push);
    throw;
  }
}

void Flow::cancel() { state_->handle.cancel(); }

}  // namespace brood
