#include "supervisor/workers/generation/generations.hpp"

#include <utility>

namespace brood {

Generations::Generations(std::shared_ptr<const Generation> present) : present_(present->number) {
  known_.emplace(present_, std::move(present));
}

const CapsuleSettings& Generations::capsule(std::uint32_t number, int capsule) const {
  return of(number).config->capsules.at(static_cast<std::size_t>(capsule));
}

std::vector<CapsuleSettings> Generations::capsules() const {
  std::vector<CapsuleSettings> all = present()->config->capsules;
  if (coming_) {
    const auto& fresh = of(*coming_).config->capsules;
    all.insert(all.end(), fresh.begin(), fresh.end());
  }
  return all;
}

const Generation& Generations::of_index(int capsule) const {
  const bool is_of_present = static_cast<std::size_t>(capsule) < present()->config->capsules.size();
  return is_of_present || !coming_ ? *present() : of(*coming_);
}

int Generations::index_of(std::uint32_t number, int capsule) const {
  return capsule + (number == present_ ? 0 : static_cast<int>(present()->config->capsules.size()));
}

void Generations::bring(std::shared_ptr<const Generation> next) {
  coming_ = next->number;
  known_[*coming_] = std::move(next);
}

void Generations::keep(const std::set<std::uint32_t>& in_use) {
  std::erase_if(known_, [&](const auto& one) { return one.first != present_ && !in_use.contains(one.first); });
}

}  // namespace brood
