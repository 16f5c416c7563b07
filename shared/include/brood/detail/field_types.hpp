#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include <brood/argument.hpp>
#include <brood/detail/fields.hpp>
#include <brood/detail/seconds.hpp>
#include <brood/json.hpp>

// The C++ types that a job's fields may have, and the refusal of all others at compile time.
#pragma GCC visibility push(hidden)
namespace brood::detail {

template <typename Type, template <typename...> typename Template>
inline constexpr bool is_a = false;
template <template <typename...> typename Template, typename... Args>
inline constexpr bool is_a<Template<Args...>, Template> = true;

template <typename Type>
inline constexpr bool is_std_array = false;
template <typename Element, std::size_t n>
inline constexpr bool is_std_array<std::array<Element, n>> = true;

template <typename Type>
inline constexpr bool is_string_map = false;
template <typename Value, typename... Rest>
inline constexpr bool is_string_map<std::map<std::string, Value, Rest...>> = true;
template <typename Value, typename... Rest>
inline constexpr bool is_string_map<std::unordered_map<std::string, Value, Rest...>> = true;

// Character types do not count as integers: otherwise 65 would fit `char grade`.
template <typename Type>
concept Integer =
    std::integral<Type> && !std::same_as<Type, bool> && !std::same_as<Type, char> && !std::same_as<Type, wchar_t> &&
    !std::same_as<Type, char8_t> && !std::same_as<Type, char16_t> && !std::same_as<Type, char32_t>;

template <typename Type>
concept Sequence = is_a<Type, std::vector> || is_std_array<Type>;

// std::set, std::unordered_set and types with the same interface.
template <typename Type>
concept Set = std::same_as<typename Type::key_type, typename Type::value_type> &&
    requires(Type set, typename Type::key_type element) {
  set.insert(element);
  set.begin();
};

// A fixed number of values of several types.
template <typename Type>
concept Tuple = is_a<Type, std::pair> || is_a<Type, std::tuple>;

// Bytes are written as base64, but a std::vector<std::uint8_t> as numbers.
template <typename Type>
inline constexpr bool is_byte_array = false;
template <std::size_t n>
inline constexpr bool is_byte_array<std::array<std::byte, n>> = true;
template <typename Type>
concept Bytes = std::same_as<Type, std::vector<std::byte>> || is_byte_array<Type>;

// std::filesystem::path, whose header is included only by users of it.
template <typename Type>
concept Path = requires(const Type path) {
  { path.native() } -> std::same_as<const std::string&>;
  { path.lexically_normal() } -> std::same_as<Type>;
};

template <typename Type>
concept NamedEnum = std::is_enum_v<Type> && requires {
  EnumNames<Type>::names;
};

template <typename Type>
concept OwnArgument = requires {
  typename Argument<Type>::Wire;
};

template <typename Type>
concept Scalar = std::same_as<Type, bool> || Integer<Type> || std::floating_point<Type> ||
    std::same_as<Type, std::string> || std::same_as<Type, Json> || std::is_enum_v<Type> || is_duration<Type> ||
    is_wall_time<Type> || Bytes<Type> || Path<Type> || std::same_as<Type, std::monostate>;

template <typename Type>
concept NestedStruct = std::is_class_v<Type> && std::is_aggregate_v<Type> && !Scalar<Type> && !Sequence<Type>;

template <typename Job, auto field, typename Type>
constexpr bool refuse_field();

template <typename Type>
inline constexpr bool never = false;

template <typename Struct, typename... Outer>
constexpr bool check_fields();

// Whether the types of a variant are in a valid order.  A value is read as the first of its types that it fits.
template <typename Variant>
constexpr bool narrow_before_wide() {
  return []<typename... Types>(std::variant<Types...>*) {
    bool floating = false, json = false, right = true;
    const auto look_at = [&](bool is_integer, bool is_floating, bool is_json) {
      right = right && !json && !(is_integer && floating);
      floating = floating || is_floating;
      json = json || is_json;
    };
    (look_at(Integer<Types>, std::floating_point<Types>, std::same_as<Types, Json>), ...);
    return right;
  }(static_cast<Variant*>(nullptr));
}

// Checks a field of a job.  `Outer` are the structs around it: a struct that contains itself is checked once.
template <typename Job, std::size_t number, typename Type, typename... Outer>
constexpr bool check_field() {
  if constexpr (OwnArgument<Type>) {
    return check_field<Job, number, typename Argument<Type>::Wire, Outer...>();
  } else if constexpr (Scalar<Type>) {
    return true;
  } else if constexpr (is_a<Type, std::optional> || Sequence<Type> || Set<Type>) {
    return check_field<Job, number, typename Type::value_type, Outer...>();
  } else if constexpr (is_string_map<Type>) {
    return check_field<Job, number, typename Type::mapped_type, Outer...>();
  } else if constexpr (Tuple<Type> || is_a<Type, std::variant>) {
    if constexpr (is_a<Type, std::variant>) {
      static_assert(
          narrow_before_wide<Type>(),
          "brood: an integer is a number, too, and everything is brood::Json: in a std::variant integers stand "
          "before floating point numbers, and brood::Json last");
    }
    return []<template <typename...> typename Of, typename... Types>(Of<Types...>*) {
      return (check_field<Job, number, Types, Outer...>() && ...);
    }(static_cast<Type*>(nullptr));
  } else if constexpr ((std::same_as<Type, Job> || ... || std::same_as<Type, Outer>)) {
    return true;
  } else if constexpr (NestedStruct<Type>) {
    return check_fields<Type, Job, Outer...>();
  } else {
    return refuse_field<Job, Address{&std::get<number - 1>(fields_of(imagined<Job>.job))}, Type>();
  }
}

// Fails to compile.  The compiler's note names the job, the field by its address, and its type.
template <typename Job, auto field, typename Type>
constexpr bool refuse_field() {
  static_assert(
      never<Type>,
      "brood: this field of the job has a type that no JSON argument fits; use bool, an integer, a floating point "
      "number, an enum, std::string, std::chrono's durations and system time, std::filesystem::path, std::optional, "
      "std::vector, std::array, std::set, std::pair, std::tuple, std::variant, a map with std::string keys, a plain "
      "struct, brood::Json, or specialise brood::Argument of <brood/argument.hpp>");
  return false;
}

template <typename Job, typename... Outer, std::size_t... I>
constexpr bool check_each_field(std::index_sequence<I...>) {
  return (check_field<Job, I + 1, FieldType<Job, I>, Outer...>() && ...);
}

// Does not compile for a struct whose fields cannot be arguments; the message is a sentence.
template <typename Job, typename... Outer>
constexpr bool check_fields() {
  static_assert(
      std::is_aggregate_v<Job>,
      "brood: the job is no plain struct: constructors, private fields and virtual functions hide its fields");
  if constexpr (std::is_aggregate_v<Job>) {
    static_assert(!has_base<Job>(), "brood: the job has a base class; its fields must all be its own");
    static_assert(field_count<Job> <= max_fields, "brood: the job has more than 16 fields");
    if constexpr (!has_base<Job>() && field_count<Job> <= max_fields) {
      using Fields = std::make_index_sequence<field_count<Job>>;
      constexpr bool odd = has_array<Job>(Fields{});
      if constexpr (odd) {
        constexpr bool array = !has_field_without_default<Job>(Fields{});
        static_assert(!array, "brood: the job has a field that is an array such as int[3]; use std::array");
        static_assert(array,
                      "brood: the job has a field whose type has no default constructor; give the type one, since the "
                      "field is made before its argument is read");
      }
      if constexpr (!odd) return check_each_field<Job, Outer...>(std::make_index_sequence<field_count<Job>>{});
    }
  }
  return false;
}

// Returns the number of leading fields that must be given.
template <typename Job>
constexpr std::size_t required_fields() {
  if constexpr (requires { Job::options.required; }) {
    constexpr int required = Job::options.required;
    static_assert(required <= static_cast<int>(field_count<Job>), "brood: `required` is more than the job has fields");
    if (required >= 0) return static_cast<std::size_t>(required);
  }
  return []<std::size_t... I>(std::index_sequence<I...>) {
    std::size_t required = 0;
    ((required = is_a<FieldType<Job, I>, std::optional> ? required : I + 1), ...);
    return required;
  }
  (std::make_index_sequence<field_count<Job>>{});
}

// Whether check_field() accepts the type, for a type that is not a field.
template <typename Type>
constexpr bool fits_json() {
  if constexpr (OwnArgument<Type>) {
    return fits_json<typename Argument<Type>::Wire>();
  } else if constexpr (Scalar<Type>) {
    return true;
  } else if constexpr (is_a<Type, std::optional> || Sequence<Type> || Set<Type>) {
    return fits_json<typename Type::value_type>();
  } else if constexpr (Tuple<Type> || is_a<Type, std::variant>) {
    return []<template <typename...> typename Of, typename... Types>(Of<Types...>*) {
      return (fits_json<Types>() && ...);
    }(static_cast<Type*>(nullptr));
  } else if constexpr (is_string_map<Type>) {
    return fits_json<typename Type::mapped_type>();
  } else {
    return NestedStruct<Type>;
  }
}

}  // namespace brood::detail
#pragma GCC visibility pop
