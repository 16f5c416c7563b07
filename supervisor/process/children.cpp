#include "supervisor/process/children.hpp"

#include <csignal>
#include <utility>

#include "shared/redis/pace.hpp"

namespace brood {
namespace {

using namespace std::chrono_literals;

void kill_with_group(pid_t pid) {
  ::kill(-pid, SIGKILL);
  ::kill(pid, SIGKILL);  // it may not lead a session yet
}

}  // namespace

struct Child::Record {
  pid_t pid;  // 0: reaped
  bool outlives_us;
  Children::Ended ended;  // empty once the owner has dropped the child
  std::optional<Pace> pace = {};
  std::shared_ptr<const SharedCount> progress = {};
  bool overdue = false;
};

Child::Child(std::shared_ptr<Record> record) : record_(std::move(record)) {}

Child::~Child() {
  if (record_) record_->ended = nullptr;
}

Child& Child::operator=(Child&& other) noexcept {
  const Child before(std::exchange(record_, std::move(other.record_)));
  return *this;
}

pid_t Child::pid() const { return record_ ? record_->pid : 0; }

void Child::kill() const {
  if (is_running()) kill_with_group(pid());
}

Children::Children(EventLoop& loop, std::function<void()> shield) : shield_(std::move(shield)), wake_(loop) {}

SpawnSettings Children::shielded(SpawnSettings settings) const {
  if (!settings.shield) settings.shield = shield_;
  return settings;
}

Child Children::spawn(const SpawnSettings& settings, std::optional<Deadline> deadline, const std::function<int()>& body,
                      Ended ended) {
  return keep(brood::spawn(shielded(settings), body), settings, std::move(deadline), std::move(ended));
}

Child Children::spawn_program(const SpawnSettings& settings, const std::vector<std::string>& argv, Ended ended) {
  return keep(brood::spawn_program(shielded(settings), argv), settings, std::nullopt, std::move(ended));
}

Child Children::adopt(pid_t pid, Ended ended) {
  SpawnSettings settings;
  settings.parent_death_signal = SIGKILL;
  return keep(pid, settings, std::nullopt, std::move(ended));
}

Child Children::keep(pid_t pid, const SpawnSettings& settings, std::optional<Deadline> deadline, Ended ended) {
  const auto record = std::make_shared<Child::Record>(
      Child::Record{.pid = pid, .outlives_us = settings.parent_death_signal == 0, .ended = std::move(ended)});
  if (deadline) {
    record->pace.emplace(deadline->at, deadline->silence);
    record->progress = std::move(deadline->progress);
    if (record->progress) record->progress->keep_from_later_children();
  }
  running_[pid] = record;
  if (record->pace) wake_.start_at(next_deadline());
  return Child(record);
}

void Children::set_deadline(const Child& child, SteadyTime at) {
  if (!child.is_running()) return;
  child.record_->pace.emplace(at, 0ns);
  wake_.start_at(next_deadline());
}

bool Children::outlives_us(pid_t pid) const {
  const auto found = running_.find(pid);
  return found != running_.end() && found->second->outlives_us;
}

bool Children::reaped(pid_t pid, const ExitStatus& status, SteadyTime now) {
  const auto found = running_.find(pid);
  if (found == running_.end()) return false;
  const std::shared_ptr<Child::Record> record = std::move(found->second);
  running_.erase(found);
  record->pid = 0;
  // The callback may drop this child and start another.
  const Ended ended = std::exchange(record->ended, nullptr);
  if (ended) ended({.pid = pid, .status = status, .overdue = record->overdue, .at = now});
  return true;
}

void Children::kill_overdue(SteadyTime now) {
  for (const auto& [pid, record] : running_) {
    if (!record->pace || record->overdue) continue;
    if (record->progress) record->pace->note(record->progress->value().load(), now);
    if (!record->pace->is_over(now)) continue;
    record->overdue = true;
    kill_with_group(pid);
  }
  wake_.start_at(next_deadline());
}

std::optional<SteadyTime> Children::next_deadline() const {
  std::optional<SteadyTime> next;
  for (const auto& [pid, record] : running_) {
    if (record->pace && !record->overdue && (!next || record->pace->deadline() < *next))
      next = record->pace->deadline();
  }
  return next;
}

}  // namespace brood
