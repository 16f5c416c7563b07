#pragma once

#include <array>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <stdexcept>
#include <string_view>

namespace brood {

// Sidekiq's `retry` and `backtrace`: yes, no, or how many.
class YesNoOrCount {
 public:
  enum class Kind { yes, no, count };

  constexpr YesNoOrCount(bool yes) : kind_(yes ? Kind::yes : Kind::no) {}
  template <std::integral Integer>
  requires(!std::same_as<Integer, bool>) constexpr YesNoOrCount(Integer n)
      : kind_(Kind::count),
        count_(n >= 0 && static_cast<std::uint64_t>(n) <= 1'000'000
                   ? static_cast<std::uint32_t>(n)
                   : throw std::invalid_argument("a count is 0 to 1,000,000")) {}

  constexpr Kind kind() const { return kind_; }
  constexpr std::uint32_t count() const { return count_; }
  friend constexpr bool operator==(const YesNoOrCount&, const YesNoOrCount&) = default;

 private:
  Kind kind_;
  std::uint32_t count_ = 0;
};

// Up to 16 labels: `.tags = {"slow", "images"}`.
class Tags {
 public:
  constexpr Tags() = default;
  constexpr Tags(std::initializer_list<std::string_view> tags) {
    for (const std::string_view tag : tags) {
      if (size_ == tags_.size()) throw "at most 16 tags";
      tags_[size_++] = tag;
    }
  }
  constexpr const std::string_view* begin() const { return tags_.data(); }
  constexpr const std::string_view* end() const { return tags_.data() + size_; }
  constexpr bool empty() const { return size_ == 0; }

 private:
  std::array<std::string_view, 16> tags_{};
  std::size_t size_ = 0;
};

// `static constexpr brood::JobOptions options{.queue = "images", .retry = 5, .timeout = 30s};`
// C++ wants designated members in the order of this list.
struct JobOptions {
  std::string_view queue = "default";
  YesNoOrCount retry = true;             // true: the server's max_retries; false: a failure is stored nowhere
  std::chrono::milliseconds timeout{0};  // 0: the worker's job_timeout
  YesNoOrCount backtrace = false;        // how much of a failure's backtrace is stored
  bool dead = true;                      // false: an exhausted job is dropped
  Tags tags = {};
  std::chrono::seconds retry_for{0};  // retry for so long instead of so often; 0: not used
  std::string_view retry_queue = {};  // empty: the queue it failed in
  int required = -1;                  // how many fields must be given; -1: all but trailing std::optional ones
};

}  // namespace brood
