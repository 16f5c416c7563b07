#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "supervisor/workers/generation/generation.hpp"

namespace brood {

// The generations of living workers: the present one, perhaps a coming one, and older ones whose workers still finish.
// Pure: WorkerSuccession makes one follow another.
class Generations {
 public:
  using Known = std::map<std::uint32_t, std::shared_ptr<const Generation>>;

  explicit Generations(std::shared_ptr<const Generation> present);
  // Takes over the generations of another program; `present` is the number of one of them.
  Generations(Known left, std::uint32_t present) : present_(present), known_(std::move(left)) {}

  const std::shared_ptr<const Generation>& present() const { return known_.at(present_); }
  std::uint32_t present_number() const { return present_; }
  const Known& known() const { return known_; }
  // A coming generation gets a larger number than all: workers of one that was rolled back may still finish.
  std::uint32_t largest_number() const { return known_.rbegin()->first; }

  // `number` must be known.
  const Generation& of(std::uint32_t number) const { return *known_.at(number); }
  const CapsuleSettings& capsule(std::uint32_t number, int capsule) const;
  const WorkerSettings& worker(std::uint32_t number, int capsule) const {
    return of(number).config->worker_of(capsule);
  }

  // The capsules of the present generation, followed by those of the coming one.
  std::vector<CapsuleSettings> capsules() const;
  // The generation of the capsule at this index of capsules().
  const Generation& of_index(int capsule) const;
  // The index of this capsule in capsules().
  int index_of(std::uint32_t number, int capsule) const;

  bool another_comes() const { return coming_.has_value(); }
  // `next` is coming, until it becomes the present one or is dropped.
  void bring(std::shared_ptr<const Generation> next);
  void take_the_coming_one() { present_ = coming_.value_or(present_), coming_.reset(); }
  void drop_the_coming_one() { coming_.reset(); }
  // Gives the present generation other settings; it keeps its number.
  void replace_present(std::shared_ptr<const Generation> changed) { known_[present_] = std::move(changed); }
  // Forgets all generations except the present one and those `in_use`.
  void keep(const std::set<std::uint32_t>& in_use);

 private:
  std::uint32_t present_;
  std::optional<std::uint32_t> coming_;
  Known known_;
};

}  // namespace brood
