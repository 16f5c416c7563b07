#pragma once

#include <cerrno>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <ranges>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

#include <brood/detail/owned_range.hpp>
#include <brood/error.hpp>

// The items of an iterable job: see <brood/iteration.hpp>.
#pragma GCC visibility push(hidden)
namespace brood {

// An item and its cursor.
template <typename Item, typename Cursor = std::int64_t>
struct Step {
  Item item;      // the argument of each()
  Cursor cursor;  // items() finds the item again by it
};
// `brood::Step{row, id}` deduces the types.
template <typename Item, typename Cursor>
Step(Item, Cursor) -> Step<Item, Cursor>;

namespace detail {

template <typename Type>
inline constexpr bool is_step = false;
template <typename Item, typename Cursor>
inline constexpr bool is_step<Step<Item, Cursor>> = true;

template <typename Type>
inline constexpr bool is_maybe_step = false;
template <typename Item, typename Cursor>
inline constexpr bool is_maybe_step<std::optional<Step<Item, Cursor>>> = true;

// Returns the next step at each call, and nullopt at the end.
template <typename Type>
concept StepFunction = std::is_invocable_v<Type&> && is_maybe_step<std::invoke_result_t<Type&>>;

template <typename Type>
concept StepRange =
    std::ranges::input_range<Type> && is_step<std::remove_cvref_t<std::ranges::range_reference_t<Type>>>;

}  // namespace detail

// The items of a job, one after the other, with their cursors.  An Items is made from the result of each_of(),
// each_line() or batches_of(), from a function object that returns std::optional<brood::Step<...>>, or from a range of
// brood::Step.  An item may be a reference, as in Items<const Row&>, to an object that outlives the step.
//
//   return [rows = database.select_from(cursor)]() mutable -> std::optional<brood::Step<Row>> {
//     if (!rows.next()) return std::nullopt;
//     return brood::Step{rows.get(), rows.id()};
//   };
template <typename ItemType, typename CursorType = std::int64_t>
class Items {
 public:
  using Item = ItemType;      // the item of a step
  using Cursor = CursorType;  // the cursor of a step

  Items() = default;  // no items

  // Makes items of a function, which is called for each step until it returns nullopt.
  template <typename Function>
  requires(detail::StepFunction<Function> && !std::same_as<Function, Items>) Items(Function function)
      : source_(std::make_unique<Called<Function>>(std::move(function))) {}

  // Makes items of a range of steps, which is moved or copied.
  template <typename Range>
  requires(detail::StepRange<Range> && !detail::StepFunction<Range> && !std::is_reference_v<Range>) Items(Range range)
      : source_(std::make_unique<Walked<detail::OwnedRange<Range>>>(detail::owned_range(std::move(range)))) {}

  // Returns the next step; nullopt at the end.
  std::optional<Step<Item, Cursor>> operator()() { return source_ == nullptr ? std::nullopt : source_->next(); }

  // Returns the cursor after the last item, if the items come from each_of() a range with a size; else nullopt.  Call
  // it before the first item.
  std::optional<std::int64_t> total() const { return source_ == nullptr ? std::nullopt : source_->total(); }

 private:
  using Next = std::optional<Step<Item, Cursor>>;
  struct Source {
    virtual ~Source() = default;
    virtual Next next() = 0;
    virtual std::optional<std::int64_t> total() const { return std::nullopt; }
  };
  template <typename From, bool stays>
  static constexpr void check_lifetime() {
    static_assert(!detail::only_refers<Item> || detail::only_refers<From> || stays,
                  "brood: these items refer to what is gone with the step; take them by value");
  }
  template <typename Function>
  struct Called : Source {
    explicit Called(Function&& taken) : function(std::move(taken)) {}
    Next next() override {
      auto step = function();
      if (!step) return std::nullopt;
      using Own = std::remove_reference_t<decltype(*step)>;
      check_lifetime<decltype(Own::item), false>();
      return Step<Item, Cursor>{static_cast<decltype(Own::item)&&>(step->item), std::move(step->cursor)};
    }
    std::optional<std::int64_t> total() const override {
      if constexpr (requires { function.total(); }) return function.total();
      return std::nullopt;
    }
    Function function;
  };
  template <typename Range>
  struct Walked : Source {
    explicit Walked(Range&& taken) : range(std::move(taken)) {}
    Next next() override {
      if (!at) {
        at.emplace(std::ranges::begin(range));
      } else if (*at != std::ranges::end(range)) {
        ++*at;
      }
      if (*at == std::ranges::end(range)) return std::nullopt;
      auto&& step = **at;
      check_lifetime<decltype(step.item), std::is_lvalue_reference_v<std::ranges::range_reference_t<Range>>>();
      return Step<Item, Cursor>{step.item, step.cursor};
    }
    Range range;
    std::optional<std::ranges::iterator_t<Range>> at = {};
  };

  std::unique_ptr<Source> source_;
};

namespace detail {

template <typename Range, typename Cursor>
class EachOf {
  using Reference = std::ranges::range_reference_t<Range>;

 public:
  template <typename From>
  EachOf(From&& from, Cursor first) : walk_(std::make_unique<Walk>(owned_range(std::forward<From>(from)), first)) {}

  std::optional<Step<Reference, Cursor>> operator()() {
    Walk& walk = *walk_;
    if (!walk.at) {
      walk.at.emplace(std::ranges::begin(walk.range));
      using Distance = std::ranges::range_difference_t<Range>;
      std::ranges::advance(*walk.at, static_cast<Distance>(walk.index), std::ranges::end(walk.range));
    } else if (*walk.at != std::ranges::end(walk.range)) {
      ++*walk.at;
      ++walk.index;
    }
    if (*walk.at == std::ranges::end(walk.range)) return std::nullopt;
    return Step<Reference, Cursor>{**walk.at, walk.index};
  }

  std::optional<std::int64_t> total() const {
    if constexpr (std::ranges::sized_range<Range>) return static_cast<std::int64_t>(std::ranges::size(walk_->range));
    return std::nullopt;
  }

 private:
  struct Walk {
    template <typename From>
    Walk(From&& from, Cursor first) : range(std::forward<From>(from)), index(first) {}
    Range range;
    std::optional<std::ranges::iterator_t<Range>> at = {};
    Cursor index;
  };
  std::unique_ptr<Walk> walk_;  // on the heap, since a move of a range would make its iterators invalid
};

class EachLine {
 public:
  EachLine(const std::string& path, std::int64_t offset) : path_(path), file_(path, std::ios::binary), offset_(offset) {
    if (!file_.is_open() || !file_.seekg(static_cast<std::streamoff>(offset))) fail();
  }

  std::optional<Step<std::string, std::int64_t>> operator()() {
    Step<std::string, std::int64_t> step{{}, offset_};
    if (!std::getline(file_, step.item)) {
      if (file_.bad()) fail();
      return std::nullopt;
    }
    offset_ += static_cast<std::int64_t>(step.item.size()) + (file_.eof() ? 0 : 1);
    return step;
  }

 private:
  [[noreturn]] void fail() const { throw std::system_error(errno, std::generic_category(), path_); }

  std::string path_;
  std::ifstream file_;
  std::int64_t offset_;
};

template <typename MaybeStep>
struct StepParts;
template <typename ItemType, typename CursorType>
struct StepParts<std::optional<Step<ItemType, CursorType>>> {
  using Item = std::remove_cvref_t<ItemType>;
  using Cursor = CursorType;
};

template <typename Function>
class BatchesOf {
  using Parts = StepParts<std::invoke_result_t<Function&>>;

 public:
  using Batch = Step<std::vector<typename Parts::Item>, typename Parts::Cursor>;

  BatchesOf(std::size_t size, Function function) : size_(size), function_(std::move(function)) {}

  std::optional<Batch> operator()() {
    std::optional<Batch> batch;
    while (!ended_ && (!batch || batch->item.size() < size_)) {
      auto step = function_();
      ended_ = !step;
      if (ended_) break;
      if (!batch) batch.emplace(Batch{{}, step->cursor});
      batch->item.push_back(std::forward<decltype(step->item)>(step->item));
    }
    return batch;
  }

  std::optional<std::int64_t> total() const {
    if constexpr (requires { function_.total(); }) return function_.total();
    return std::nullopt;
  }

 private:
  std::size_t size_;
  Function function_;
  bool ended_ = false;  // the function returned nullopt, and may not be called again
};

}  // namespace detail

// Returns the elements of a range, from the cursor on.  The cursor of an element is its index, as in Sidekiq's
// array_enumerator.  The items own the range: an lvalue is copied, std::move() moves it.  A view type, such as
// `std::span(rows)` of a field of the job, refers to elements that must outlive the run.  A range without random access
// is walked up to the cursor.  Throws ArgumentError for a negative cursor.  A cursor beyond the end gives no items.
template <std::ranges::input_range Range, std::integral Cursor>
auto each_of(Range&& range, const std::optional<Cursor>& cursor) {
  if (cursor && *cursor < 0) throw ArgumentError("a cursor that is an index is not negative");
  return detail::EachOf<detail::KeptRange<Range>, Cursor>(std::forward<Range>(range), cursor.value_or(0));
}

// Returns the lines of a text file, from the cursor on, without line ends.  The cursor of a line is the offset of its
// first byte.  Throws std::system_error if the file cannot be read.
inline auto each_line(const std::string& path, const std::optional<std::int64_t>& cursor) {
  return detail::EachLine(path, cursor.value_or(0));
}

// Returns `items` in batches, each a std::vector of up to `size` items.  The cursor of a batch is that of its first
// item.  A size of 0 counts as 1.
//
//   return brood::batches_of(100, brood::each_line(file, cursor));
template <detail::StepFunction Function>
auto batches_of(std::size_t size, Function items) {
  return detail::BatchesOf<Function>(size, std::move(items));
}

}  // namespace brood
#pragma GCC visibility pop
