#include "supervisor/recovery/recovery_children.hpp"

#include <sysexits.h>

#include <algorithm>
#include <csignal>
#include <iterator>
#include <memory>
#include <system_error>
#include <utility>

#include "shared/base/log.hpp"
#include "shared/base/random.hpp"
#include "shared/store/worker_field.hpp"
#include "supervisor/process/shared_count.hpp"

namespace brood {
namespace {

using namespace std::chrono_literals;

constexpr auto longest_run = 5s;
constexpr auto longest_sweep = 10min;  // it reads the name of every key
constexpr auto first_pause = 100ms;
constexpr auto longest_pause = 5'000ms;
constexpr auto longest_pause_of_sweep = 60'000ms;
constexpr int most_children = 4;
constexpr int crowd = 8;  // with so many waiting, reports without symbols, a tenth of the work, catch up

RecoveryMode less_daring(RecoveryMode mode) {
  return mode == RecoveryMode::full ? RecoveryMode::no_library : RecoveryMode::move_to_dead;
}

}  // namespace

RecoveryChildren::RecoveryChildren(EventLoop& loop, Children& children, const std::shared_ptr<ChildProgram>& program)
    : children_(children), program_(program), wake_(loop) {}

void RecoveryChildren::add(WorkerDeath worker_death) {
  if (!worker_death.cause) {
    const auto shared = std::find_if(tasks_.begin(), tasks_.end(), [](const Task& task) {
      const auto* worker_deaths = std::get_if<std::vector<WorkerDeath>>(&task.work);
      return !task.child.is_running() && worker_deaths != nullptr && !worker_deaths->front().cause;
    });
    if (shared != tasks_.end()) {
      std::get<std::vector<WorkerDeath>>(shared->work).push_back(std::move(worker_death));
      return;
    }
  }
  Task task;
  task.work = std::vector<WorkerDeath>{std::move(worker_death)};
  tasks_.push_back(std::move(task));
}

void RecoveryChildren::release_held() {
  for (WorkerDeath& worker_death : std::exchange(held_, {})) add(std::move(worker_death));
}

void RecoveryChildren::add(OrphanedJobs orphaned_jobs, std::function<void()> done) {
  Task task;
  task.work = OrphanedJobsTask{std::move(orphaned_jobs), std::move(done)};
  tasks_.push_back(std::move(task));
}

void RecoveryChildren::sweep(std::function<OwnIncarnations()> own) {
  own_incarnations_ = std::move(own);
  if (std::any_of(tasks_.begin(), tasks_.end(), is_sweep)) return;
  Task task;
  task.work = Sweep{};
  tasks_.push_back(std::move(task));
}

void RecoveryChildren::pause() {
  if (std::exchange(pauses_, true)) return;
  for (Task& task : tasks_) {
    if (!is_sweep(task) || !task.child.is_running()) continue;
    task.gave_way = true;
    task.child.kill();
  }
}

void RecoveryChildren::resume() {
  if (std::exchange(pauses_, false)) wake_.start_at(next_start());
}

void RecoveryChildren::spawn_due(SteadyTime now, const RedisAddress& redis) {
  start_due(now, redis);
  wake_.start_at(next_start());
}

void RecoveryChildren::start_due(SteadyTime now, const RedisAddress& redis) {
  if (pauses_) return;
  for (Task& task : tasks_) {
    if (running() >= most_children) return;
    if (!task.child.is_running() && task.not_before <= now) start(task, now, redis);
  }
}

void RecoveryChildren::start(Task& task, SteadyTime now, const RedisAddress& redis) {
  if (auto* worker_deaths = std::get_if<std::vector<WorkerDeath>>(&task.work)) {
    const bool crowded = static_cast<int>(tasks_.size()) - running() > crowd;
    for (WorkerDeath& worker_death : *worker_deaths) worker_death.leave_out_symbols = crowded;
  }
  std::shared_ptr<SharedCount> bytes;
  const auto body = [&]() -> int {
    if (const auto* worker_deaths = std::get_if<std::vector<WorkerDeath>>(&task.work))
      return program_->recover(redis, *worker_deaths, task.mode, bytes->value());
    if (const auto* orphaned_jobs = std::get_if<OrphanedJobsTask>(&task.work))
      return program_->recover_orphans(redis, orphaned_jobs->orphaned_jobs, task.mode, bytes->value());
    return program_->sweep(redis, own_incarnations_());
  };
  try {
    bytes = std::make_shared<SharedCount>();
    const auto longest = is_sweep(task) ? std::chrono::seconds(longest_sweep) : longest_run;
    task.child = children_.spawn({.title = "brood: recovery",
                                  .keep = program_->descriptors(),
                                  .parent_death_signal = SIGKILL,
                                  .oom_score_adjustment = 100},
                                 Children::Deadline{now + longest, bytes, longest_run}, body,
                                 [this, &task](const Children::End& end) { ended(task, end); });
  } catch (const std::system_error& error) {
    log::warn("recovery_waits", {{"reason", error.what()}});
    task.not_before = now + jittered(first_pause * 10);
  }
}

void RecoveryChildren::ended(Task& task, const Children::End& end) {
  if (end.status.exited && end.status.value == EX_OK) return finish(task);
  if (std::exchange(task.gave_way, false)) return;
  const bool lost_redis = end.status.exited && end.status.value == EX_TEMPFAIL;
  if (!lost_redis) {
    log::warn("autopsy_failed", {{"child_pid", end.pid}, {"status", end.status.describe()}, {"overdue", end.overdue}});
    if (is_sweep(task)) return finish(task);  // the next sweep comes within the hour
    task.mode = less_daring(task.mode);
  }
  task.pause = std::clamp<std::chrono::milliseconds>(task.pause * 2, first_pause,
                                                     is_sweep(task) ? longest_pause_of_sweep : longest_pause);
  task.not_before = end.at + (lost_redis || task.mode == RecoveryMode::move_to_dead ? jittered(task.pause) : 0ns);
}

void RecoveryChildren::finish(Task& task) {
  auto work = std::move(task.work);
  tasks_.remove_if([&](const Task& one) { return &one == &task; });
  if (const auto* orphaned_jobs = std::get_if<OrphanedJobsTask>(&work); orphaned_jobs != nullptr && orphaned_jobs->done)
    orphaned_jobs->done();
  if (auto* worker_deaths = std::get_if<std::vector<WorkerDeath>>(&work))
    std::move(worker_deaths->begin(), worker_deaths->end(), std::back_inserter(recovered_));
}

std::optional<SteadyTime> RecoveryChildren::next_start() const {
  std::optional<SteadyTime> next;
  if (pauses_ || running() >= most_children) return next;  // the end of one of them wakes us
  for (const Task& task : tasks_) {
    if (!task.child.is_running() && (!next || task.not_before < *next)) next = task.not_before;
  }
  return next;
}

std::set<std::string> RecoveryChildren::fields_of(const std::string& identity) const {
  std::set<std::string> fields;
  const auto insert = [&](const WorkerDeath& worker_death) {
    if (worker_death.worker.identity == identity)
      fields.insert(worker_field(worker_death.worker.slot, worker_death.worker.incarnation));
  };
  std::for_each(held_.begin(), held_.end(), insert);
  for (const Task& task : tasks_) {
    if (const auto* worker_deaths = std::get_if<std::vector<WorkerDeath>>(&task.work))
      std::for_each(worker_deaths->begin(), worker_deaths->end(), insert);
  }
  return fields;
}

std::vector<WorkerDeath> RecoveryChildren::dead_workers_of(const std::string& identity) const {
  std::vector<WorkerDeath> dead;
  for (const Task& task : tasks_) {
    const auto* worker_deaths = std::get_if<std::vector<WorkerDeath>>(&task.work);
    if (worker_deaths == nullptr) continue;
    std::copy_if(worker_deaths->begin(), worker_deaths->end(), std::back_inserter(dead),
                 [&](const WorkerDeath& one) { return one.worker.identity == identity; });
  }
  return dead;
}

bool RecoveryChildren::is_idle() const {
  return held_.empty() && std::all_of(tasks_.begin(), tasks_.end(),
                                      [](const Task& task) { return is_sweep(task) && !task.child.is_running(); });
}

bool RecoveryChildren::works_for_another() const {
  return std::any_of(tasks_.begin(), tasks_.end(), [](const Task& task) {
    return std::holds_alternative<OrphanedJobsTask>(task.work) && task.child.is_running();
  });
}

int RecoveryChildren::running() const {
  return static_cast<int>(
      std::count_if(tasks_.begin(), tasks_.end(), [](const Task& task) { return task.child.is_running(); }));
}

}  // namespace brood
