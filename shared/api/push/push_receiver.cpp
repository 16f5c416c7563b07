#include "shared/api/push/push_receiver.hpp"

#include <atomic>
#include <mutex>
#include <utility>

#include "shared/api/push/shown_pushes.hpp"

namespace brood {
namespace {

std::atomic<std::size_t> count{0};
std::mutex mutex;

std::vector<std::shared_ptr<PushReceiver>>& receivers() {
  static std::vector<std::shared_ptr<PushReceiver>> receivers;
  return receivers;
}

}  // namespace

PushReceiver::~PushReceiver() = default;

BatchAnswer PushReceiver::push_to_batch(const std::string& bid, std::vector<ClientPush> jobs) {
  std::uint32_t index = 0;
  for (ClientPush& job : jobs) job.payload = with_place_in_batch(job.payload, bid, index++);
  push(std::move(jobs));
  return BatchAnswer::ok;
}

PutRule::Outcome PushReceiver::put_periodic_rule(const std::string& name, const std::string& rule, bool replaces) {
  const std::lock_guard lock(periodic_mutex_);
  const auto [known, is_new] = periodic_rules_.try_emplace(name, rule);
  if (is_new) return PutRule::Outcome::added;
  if (!replaces) return PutRule::Outcome::exists;
  known->second = rule;
  return PutRule::Outcome::replaced;
}

bool PushReceiver::remove_periodic_rule(const std::string& name) {
  const std::lock_guard lock(periodic_mutex_);
  return periodic_rules_.erase(name) > 0;
}

std::map<std::string, std::string> PushReceiver::periodic_rules() const {
  const std::lock_guard lock(periodic_mutex_);
  return periodic_rules_;
}

void add_push_receiver(std::shared_ptr<PushReceiver> receiver) {
  const std::lock_guard lock(mutex);
  receivers().push_back(std::move(receiver));
  count = receivers().size();
}

void remove_push_receiver(const PushReceiver& receiver) {
  const std::lock_guard lock(mutex);
  std::erase_if(receivers(), [&](const auto& one) { return one.get() == &receiver; });
  count = receivers().size();
}

std::shared_ptr<PushReceiver> push_receiver() {
  [[maybe_unused]] static const bool looked_at_environment = [] {
    if (auto shown = shown_pushes_if_told()) add_push_receiver(std::move(shown));
    return true;
  }();
  if (count.load(std::memory_order_acquire) == 0) return nullptr;
  const std::lock_guard lock(mutex);
  return receivers().empty() ? nullptr : receivers().back();
}

}  // namespace brood
