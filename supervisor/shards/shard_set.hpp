#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace brood {

// All shards of a supervisor by their numbers, which are their places in the configuration.  A removed shard keeps its
// place but is not served any more.
template <typename T>
class ShardSet {
 public:
  T& add(std::unique_ptr<T> shard) { return *shards_.emplace_back(std::move(shard)); }

  int size() const { return static_cast<int>(shards_.size()); }
  bool are_several() const { return shards_.size() > 1; }
  bool has(int number) const { return number >= 0 && number < size(); }
  // Throws std::out_of_range if there is none.
  T& operator[](int number) const { return *shards_.at(static_cast<std::size_t>(number)); }
  T& first() const { return *shards_.front(); }

  // Does this in each served shard, in order.
  template <typename Act>
  void each(Act act) const {
    for (const auto& shard : shards_) {
      if (shard->is_served()) act(*shard);
    }
  }
  // Whether this holds for any served shard.
  template <typename Holds>
  bool any(Holds holds) const {
    return std::any_of(shards_.begin(), shards_.end(),
                       [&](const auto& shard) { return shard->is_served() && holds(std::as_const(*shard)); });
  }
  // The number of the first served shard for which this holds; `otherwise` if there is none.
  template <typename Holds>
  int first_where(Holds holds, int otherwise) const {
    for (int number = 0; number < size(); ++number) {
      if ((*this)[number].is_served() && holds(std::as_const((*this)[number]))) return number;
    }
    return otherwise;
  }

  // All shards, also those that are not served.
  class Iterator {
   public:
    explicit Iterator(const std::unique_ptr<T>* at) : at_(at) {}
    T& operator*() const { return **at_; }
    Iterator& operator++() {
      ++at_;
      return *this;
    }
    bool operator!=(const Iterator& other) const { return at_ != other.at_; }

   private:
    const std::unique_ptr<T>* at_;
  };
  Iterator begin() const { return Iterator(shards_.data()); }
  Iterator end() const { return Iterator(shards_.data() + shards_.size()); }

 private:
  std::vector<std::unique_ptr<T>> shards_;
};

}  // namespace brood
