#include "supervisor/workers/template/worker_templates.hpp"

#include <algorithm>
#include <system_error>
#include <utility>

#include "shared/base/log.hpp"
#include "supervisor/upgrade/handover_file.hpp"

namespace brood {
namespace {

using namespace std::chrono_literals;

constexpr auto shortest_rest = 1ms;
constexpr auto first_rest = 1s;
constexpr auto longest_rest = 5min;

}  // namespace

WorkerTemplates::WorkerTemplates(EventLoop& loop, Children& children, SetupOf setup_of, std::function<void()> changed,
                                 Answered answered)
    : loop_(loop),
      children_(children),
      setup_of_(std::move(setup_of)),
      changed_(std::move(changed)),
      answered_(std::move(answered)) {}

WorkerTemplates::Way WorkerTemplates::way_to_fork(const Generation& generation, const WorkerSettings& settings,
                                                  int slot, SteadyTime now) {
  if (settings.preload == Preload::never || generation.config->require.empty()) return Way::fork;
  One& one = templates_[generation.number];
  one.generation = generation;
  if (one.process && one.process->state() == WorkerTemplate::State::failed) let_rest(one, now);
  if (!one.process && one.rests_until <= now) start(one, now);
  if (!one.process) return Way::fork;
  switch (one.process->state()) {
    case WorkerTemplate::State::loading:
      return Way::wait;
    case WorkerTemplate::State::ready:
      return slot < one.process->slots() ? Way::ask_template : Way::fork;
    case WorkerTemplate::State::unwanted:
    case WorkerTemplate::State::failed:
      return Way::fork;
  }
  return Way::fork;
}

bool WorkerTemplates::ask(const Generation& generation, const ForkRequest& request,
                          const WorkerDescriptors& descriptors) {
  One& one = templates_.at(generation.number);
  if (!one.process->ask(request, descriptors)) return false;
  one.rest = 0ms;
  return true;
}

WorkerTemplate::Events WorkerTemplates::events_of(std::uint32_t number) {
  return {.changed =
              [this, number] {
                if (templates_.at(number).process->state() == WorkerTemplate::State::failed) given_up_.insert(number);
                changed_();
              },
          .answered =
              [this](const ForkAnswer& answer) {
                answered_(answer);
                changed_();
              }};
}

std::optional<SteadyTime> WorkerTemplates::bring_back(SteadyTime now) {
  std::optional<SteadyTime> next;
  for (auto& [number, one] : templates_) {
    if (one.process && one.process->state() == WorkerTemplate::State::failed) let_rest(one, now);
    if (!one.process && one.rests_until <= now) start(one, now);
    if (!one.process) next = std::min(next.value_or(one.rests_until), one.rests_until);
  }
  return next;
}

void WorkerTemplates::start(One& one, SteadyTime now) {
  try {
    one.process =
        std::make_unique<WorkerTemplate>(loop_, children_, setup_of_(one.generation), events_of(one.generation.number));
  } catch (const std::system_error& error) {
    log::warn("template_not_forked", {{"reason", error.what()}});
    let_rest(one, now);
  }
}

// Until the next attempt, workers load for themselves.  But a template that had been ready is replaced at once, and
// workers wait for it, unless the template before it also ended without forking a worker.
void WorkerTemplates::let_rest(One& one, SteadyTime now) {
  const bool at_once = one.process && one.process->was_ready() && one.rest == 0ms;
  one.process.reset();
  one.rests_until = now;
  if (at_once) {
    one.rest = shortest_rest;
    return;
  }
  one.rest = std::clamp<std::chrono::milliseconds>(2 * one.rest, first_rest, longest_rest);
  one.rests_until = now + one.rest;
}

void WorkerTemplates::hand_over(std::vector<Handover::Template>& left) const {
  for (const auto& [number, one] : templates_) {
    if (!one.process || one.process->state() != WorkerTemplate::State::ready) continue;
    left.push_back(
        {.pid = one.process->pid(), .generation = number, .slots = one.process->slots(), .line = one.process->line()});
  }
}

// Answers to requests of the previous program may still come; only their slots show which worker they concern.
void WorkerTemplates::adopt(const Generation& generation, const Handover::Template& left) {
  WorkerTemplate::Setup setup = setup_of_(generation);
  setup.slots = left.slots;
  templates_[generation.number].generation = generation;
  templates_[generation.number].process = std::make_unique<WorkerTemplate>(
      loop_, children_, std::move(setup), events_of(generation.number), left.pid, own_descriptor(left.line));
}

void WorkerTemplates::keep(const std::set<std::uint32_t>& generations) {
  std::erase_if(templates_, [&](const auto& one) { return !generations.contains(one.first); });
}

}  // namespace brood
