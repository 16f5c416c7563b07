#pragma once

#include <array>
#include <initializer_list>
#include <iterator>
#include <ranges>
#include <type_traits>
#include <utility>
#include <vector>

// A range that items own: they walk it after the function that made it has returned.
#pragma GCC visibility push(hidden)
namespace brood::detail {

template <typename Type>
inline constexpr bool is_ref_view = false;
template <typename Range>
inline constexpr bool is_ref_view<std::ranges::ref_view<Range>> = true;

// Whether a type is a pair of iterators into a range.  Input iterators, as of a directory or a stream, own what they
// walk.
template <typename Type>
inline constexpr bool is_subrange = false;
template <std::forward_iterator Place, std::sentinel_for<Place> End, std::ranges::subrange_kind kind>
inline constexpr bool is_subrange<std::ranges::subrange<Place, End, kind>> = true;

template <typename Type>
inline constexpr bool is_initializer_list = false;
template <typename Element>
inline constexpr bool is_initializer_list<std::initializer_list<Element>> = true;

// Whether a view, such as std::views::all or filter, or the range that it adapts, was made from a range with a name, or
// from two iterators into one.  Then it refers to that range, which its code does not show.
template <typename View>
constexpr bool hides_a_reference() {
  if constexpr (is_ref_view<View> || is_subrange<View>) {
    return true;
  } else if constexpr (requires(View view) { std::move(view).base(); }) {
    using Base = std::remove_cvref_t<decltype(std::declval<View>().base())>;
    if constexpr (std::ranges::view<Base>) return hides_a_reference<Base>();
  }
  return false;
}

// The stored range: an rvalue is moved, an lvalue is copied.  A copy is const, so that no code changes it instead of
// the original by mistake.  A view stays a view: types such as std::span refer to elements elsewhere.
template <typename Range>
auto owned_range(Range&& range) {
  using Own = std::remove_cvref_t<Range>;
  constexpr bool given_up = !std::is_lvalue_reference_v<Range>;
  if constexpr (std::is_array_v<Own>) {
    return std::to_array(std::forward<Range>(range));
  } else if constexpr (is_initializer_list<Own>) {
    return std::vector(range.begin(), range.end());
  } else {
    static_assert(!std::ranges::view<Own> || !hides_a_reference<Own>(),
                  "brood: this view refers to a range with a name, which may be gone before its items are asked for; "
                  "give the range up, as in `std::move(rows) | std::views::filter(...)`, or say that it outlives them, "
                  "as in `std::span(rows) | ...`");
    static_assert(given_up || std::ranges::view<Own> || std::is_copy_constructible_v<std::ranges::range_value_t<Own>>,
                  "brood: items own what they walk, and this range cannot be copied; give it up by std::move");
    return Own(std::forward<Range>(range));
  }
}

template <typename Range>
using OwnedRange = decltype(owned_range(std::declval<Range>()));

// The type that items store.
template <typename Range>
using KeptRange = std::conditional_t<std::is_lvalue_reference_v<Range> && !std::ranges::view<OwnedRange<Range>> &&
                                         std::ranges::input_range<const OwnedRange<Range>>,
                                     const OwnedRange<Range>, OwnedRange<Range>>;

// Whether a `Type` only refers to its content, as std::string_view does.
template <typename Type>
inline constexpr bool only_refers = std::is_reference_v<Type>;
template <std::ranges::view Type>
inline constexpr bool only_refers<Type> = std::ranges::borrowed_range<Type>;

}  // namespace brood::detail
#pragma GCC visibility pop
