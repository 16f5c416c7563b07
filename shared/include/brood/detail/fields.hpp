#pragma once

#include <cstddef>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

// The fields of an aggregate, in order: their number, their names, and a tuple of references to them.
#pragma GCC visibility push(hidden)
namespace brood::detail {

inline constexpr std::size_t max_fields = 16;

// Converts to the type of any field.  The conversion is never executed, but clang requires its body for a type that
// only one file has.  `Job` itself and its bases are left out, so that the initialiser of a one-field struct is not
// taken as a copy, and a base is not taken as a field.
template <typename Job>
struct AnyField {
  template <typename Field>
  requires(!std::is_base_of_v<Field, Job>) operator Field() const { __builtin_unreachable(); }
};

template <typename Job>
struct AnyBase {
  template <typename Base>
  requires(std::is_base_of_v<Base, Job> && !std::is_same_v<Base, Job>) operator Base() const {
    __builtin_unreachable();
  }
};

template <typename Job, std::size_t... I>
constexpr bool can_be_made_of(std::index_sequence<I...>) {
  return requires { Job{(void(I), AnyField<Job>{})...}; };
}

template <typename Job, std::size_t n = max_fields + 1>
constexpr std::size_t count_fields() {
  if constexpr (can_be_made_of<Job>(std::make_index_sequence<n>{})) {
    return n;
  } else if constexpr (n == 0) {
    return 0;
  } else {
    return count_fields<Job, n - 1>();
  }
}

template <typename Job>
inline constexpr std::size_t field_count = count_fields<Job>();

template <typename Job>
constexpr bool has_base() {
  return requires { Job{AnyBase<Job>{}}; };
}

// Whether `{}` initialises exactly one of the counted fields.  An array int[3] was counted as three, and `{}`
// initialises all three, so that fewer initialisers may follow.  A field without a default constructor does not accept
// `{}`.
template <typename Job, std::size_t... Before, std::size_t... After>
constexpr bool is_one_field(std::index_sequence<Before...>, std::index_sequence<After...>) {
  return requires { Job{(void(Before), AnyField<Job>{})..., {}, (void(After), AnyField<Job>{})...}; };
}

template <typename Job, std::size_t... I>
constexpr bool has_array(std::index_sequence<I...>) {
  return !(is_one_field<Job>(std::make_index_sequence<I>{}, std::make_index_sequence<field_count<Job> - I - 1>{}) &&
           ...);
}

// Whether the field after `before` others has no default, for any number of initialisers that follow.
template <typename Job, std::size_t before, std::size_t... After>
constexpr bool lacks_default(std::index_sequence<After...>) {
  return !(is_one_field<Job>(std::make_index_sequence<before>{}, std::make_index_sequence<After>{}) || ...);
}

template <typename Job, std::size_t... I>
constexpr bool has_field_without_default(std::index_sequence<I...>) {
  return (lacks_default<Job, I>(std::make_index_sequence<field_count<Job> - I>{}) || ...);
}

// Returns references to the fields of `job`; they are const for a const job.
template <typename Job>
constexpr auto fields_of(Job& job) {
  constexpr std::size_t n = field_count<std::remove_const_t<Job>>;
  if constexpr (n == 0) {
    return std::tie();
  } else if constexpr (n == 1) {
    auto& [a] = job;
    return std::tie(a);
  } else if constexpr (n == 2) {
    auto& [a, b] = job;
    return std::tie(a, b);
  } else if constexpr (n == 3) {
    auto& [a, b, c] = job;
    return std::tie(a, b, c);
  } else if constexpr (n == 4) {
    auto& [a, b, c, d] = job;
    return std::tie(a, b, c, d);
  } else if constexpr (n == 5) {
    auto& [a, b, c, d, e] = job;
    return std::tie(a, b, c, d, e);
  } else if constexpr (n == 6) {
    auto& [a, b, c, d, e, f] = job;
    return std::tie(a, b, c, d, e, f);
  } else if constexpr (n == 7) {
    auto& [a, b, c, d, e, f, g] = job;
    return std::tie(a, b, c, d, e, f, g);
  } else if constexpr (n == 8) {
    auto& [a, b, c, d, e, f, g, h] = job;
    return std::tie(a, b, c, d, e, f, g, h);
  } else if constexpr (n == 9) {
    auto& [a, b, c, d, e, f, g, h, i] = job;
    return std::tie(a, b, c, d, e, f, g, h, i);
  } else if constexpr (n == 10) {
    auto& [a, b, c, d, e, f, g, h, i, j] = job;
    return std::tie(a, b, c, d, e, f, g, h, i, j);
  } else if constexpr (n == 11) {
    auto& [a, b, c, d, e, f, g, h, i, j, k] = job;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k);
  } else if constexpr (n == 12) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l] = job;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k, l);
  } else if constexpr (n == 13) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m] = job;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k, l, m);
  } else if constexpr (n == 14) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, o] = job;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k, l, m, o);
  } else if constexpr (n == 15) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, o, p] = job;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k, l, m, o, p);
  } else {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, o, p, q] = job;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k, l, m, o, p, q);
  }
}

template <typename Job, std::size_t i>
using FieldType = std::remove_cvref_t<std::tuple_element_t<i, decltype(fields_of(std::declval<Job&>()))>>;

// An object that is declared and never defined.  The compiler's text of a field's address in it has the field's name.
template <typename Job>
struct Imagined {
  Job job;
};
#if defined(__clang__)
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wundefined-var-template"
#pragma clang diagnostic ignored "-Wundefined-internal"  // of a type in an unnamed namespace
#endif
template <typename Job>
extern const Imagined<Job> imagined;

template <typename Pointer>
struct Address {
  Pointer pointer;
};
template <typename Pointer>
Address(Pointer) -> Address<Pointer>;

template <auto address>
consteval std::string_view spelled_address() {
  // g++: "... [with auto address = Address<const int*>{(& imagined<Job>.Imagined<Job>::job.Job::width)}; ..."
  // clang: "... [address = {&imagined.job.width}]"
  const std::string_view text = __PRETTY_FUNCTION__;
  const std::size_t gnu_end = text.rfind(")}");
  const std::size_t end = gnu_end != std::string_view::npos ? gnu_end : text.rfind("}]");
  std::size_t begin = end;
  while (begin > 0 && text[begin - 1] != '.' && text[begin - 1] != ':') --begin;
  return text.substr(begin, end - begin);
}

template <typename Job, std::size_t i>
consteval std::string_view field_name() {
  return spelled_address<Address{&std::get<i>(fields_of(imagined<Job>.job))}>();
}

#if defined(__clang__)
#pragma clang diagnostic pop
#endif

}  // namespace brood::detail
#pragma GCC visibility pop
