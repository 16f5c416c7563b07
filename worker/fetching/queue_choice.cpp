#include "worker/fetching/queue_choice.hpp"

#include <algorithm>
#include <utility>

#include "shared/store/tenants/tenant_look.hpp"

namespace brood {
namespace {

using namespace std::chrono_literals;

constexpr auto known_for = 30s;
constexpr auto names_last = 10min;  // unless a change is known; there may be tens of thousands of names

bool is_to_come(ReplyView reply) {
  const ErrorKind kind = classify_error(reply.error());
  return kind == ErrorKind::not_applied_retry || kind == ErrorKind::not_applied_reconnect;
}

}  // namespace

QueueChoice::QueueChoice(const CapsuleSettings& capsule, Channel& redis, const std::atomic<std::uint32_t>* changes)
    : capsule_(capsule), redis_(redis), changes_(changes), random_(std::random_device{}()) {}

bool QueueChoice::is_old() const { return steady_now() - looked_at_ >= known_for; }

bool QueueChoice::begin() {
  const bool is_known = (looked_ && !is_stale() && !is_old()) || look();
  begin_again();
  return is_known;
}

const NameSet* QueueChoice::paused_classes() {
  if (!looked_ || is_stale()) look();
  return looked_ ? &known_.paused_classes : nullptr;
}

void QueueChoice::forget() {
  forgotten_ = true;
  looked_ = false;
  known_ = {};
  waits_.clear();
  matching_.clear();
  order_.clear();
}

// Until the paused queues are known, fetch nothing.
void QueueChoice::begin_again() {
  taken_ = 0;
  for (auto& [pattern, matching] : matching_) matching.taken = 0;
  order_.clear();
  if (!looked_) return;
  order_ = capsule_.queues.draw(random_);
  if (!known_.paused.empty())
    std::erase_if(order_, [&](const std::string& name) { return known_.paused.contains(name); });
  order_ = with_asides(std::move(order_), capsule_.caps, known_);
}

std::vector<std::string> QueueChoice::take(std::size_t most) {
  std::vector<std::string> queues;
  while (queues.size() < most && taken_ < order_.size()) {
    if (!is_pattern(order_[taken_])) {
      queues.push_back(order_[taken_++]);
      continue;
    }
    Matching& others = matching_.at(order_[taken_]);
    if (others.taken == others.queues.size()) {
      ++taken_;
    } else {
      std::uniform_int_distribution<std::size_t> any(others.taken, others.queues.size() - 1);
      std::swap(others.queues[others.taken], others.queues[any(random_)]);
      queues.push_back(others.queues[others.taken++]);
    }
  }
  return queues;
}

bool QueueChoice::is_over() const {
  return std::all_of(order_.begin() + static_cast<std::ptrdiff_t>(taken_), order_.end(), [&](const std::string& entry) {
    if (!is_pattern(entry)) return false;
    const Matching& others = matching_.at(entry);
    return others.taken == others.queues.size();
  });
}

std::string QueueChoice::wait_queue(int number) const {
  if (waits_.empty()) return "";
  return waits_[static_cast<std::size_t>(number) % waits_.size()];
}

// Reads the paused classes.  Returns false if Redis has not answered.  Skipped if nothing has changed and no class was
// paused.
bool QueueChoice::look_at_classes() {
  if (looked_ && !is_stale() && known_.paused_classes.empty()) return true;
  const Reply classes = redis_.call(ask_paused_classes());
  if (is_to_come(classes.view())) return false;
  if (auto told = read_paused(classes.view()); told || is_never_told(classes.view()))
    known_.paused_classes = std::move(told).value_or(NameSet());
  return true;
}

// Reads the names of queues.  If there are very many, reads the shorter list that a supervisor publishes, if there is
// one.
Reply QueueChoice::ask_names() {
  const Reply count = redis_.call(ask_queue_count());
  if (count.view().is_integer() && count.view().integer() >= many_queue_names) {
    Reply published = redis_.call(ask_published_queue_names());
    if (has_names(published.view())) return published;
  }
  return redis_.call(ask_queue_names());
}

// Reads the queues and pauses.  Changes nothing if Redis is away.  If our user may not read a key, its last value
// stays; a key of another type counts as empty.  The supervisor logs both.
bool QueueChoice::look() {
  const std::uint32_t seen = changes_ ? changes_->load() : 0;
  try {
    const Reply paused = redis_.call(ask_paused_queues());
    if (is_to_come(paused.view())) return false;
    if (auto told = read_paused(paused.view()); told || is_never_told(paused.view()))
      known_.paused = std::move(told).value_or(NameSet());
    if (!look_at_classes()) return false;
    if (capsule_.queues.has_patterns() &&
        (!looked_ || is_stale() || !changes_ || steady_now() - names_at_ >= names_last)) {
      const Reply names = ask_names();
      if (is_to_come(names.view())) return false;
      if (auto told = read_queue_names(names.view()); told || is_never_told(names.view()))
        known_.names = std::move(told).value_or(std::vector<std::string>());
      names_at_ = steady_now();
    }
    seen_ = seen;
    looked_ = true;
    forgotten_ = false;
    looked_at_ = steady_now();
  } catch (const ConnectionLost&) {
    return false;
  }
  const std::vector<std::string> listed = capsule_.queues.names();
  waits_.clear();
  matching_.clear();
  tenants_.clear();
  for (const std::string& entry : listed) {
    if (is_pattern(entry)) {
      std::vector<std::string> queues = queues_of_pattern(entry, listed, known_, capsule_.caps);
      waits_.insert(waits_.end(), queues.begin(), queues.end());
      for (const std::string& queue : queues) {
        if (is_tenants(queue)) tenants_[queue] = rules_of_tenants(queue, listed, capsule_.tenant_weights);
      }
      matching_[entry] = {with_asides(std::move(queues), capsule_.caps, known_)};
    } else if (!known_.paused.contains(entry)) {
      waits_.push_back(entry);
    }
  }
  std::erase_if(waits_, [&](const std::string& name) { return is_capped(name); });
  return true;
}

}  // namespace brood
