#pragma once

#include <array>
#include <cstddef>
#include <exception>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>

#include <brood/abi.hpp>
#include <brood/detail/field_types.hpp>
#include <brood/detail/pushed_job.hpp>
#include <brood/detail/read_arguments.hpp>
#include <brood/detail/write_arguments.hpp>

// A job class described as JSON: its options as a push writes them, and the names and types of its fields.  Workers
// publish it, so that other programs can check a push.
//
//   {"options":{"queue":"images","retry":5,"timeout":30,"encrypt":true},"required":2,
//    "fields":[{"name":"path","type":"string"},{"name":"width","type":"integer","min":-2147483648,"max":2147483647},
//              {"name":"quality","nullable":true,"type":"integer","min":0,"max":255,"default":null}]}
//
// A type is any, null, boolean, integer (min, max), number, string (format: base64, of `bytes` bytes, or path), array
// (items: one type, or one for each element; size), object (values), struct (fields, required, required_members), enum
// (names, numbers) or variant (types).  A number may have the format seconds or time, and "whole" seconds have no
// fraction.  If "nullable" is true, null is accepted too.
#pragma GCC visibility push(hidden)
namespace brood::detail {

// The greatest depth of the description: that of a struct that contains itself would not end.
inline constexpr int deepest_description = 6;

template <typename Type>
std::string type_members(int depth);

template <typename... Types>
std::string types_json(int depth) {
  std::string json;
  ((json.append(json.empty() ? "[{" : ",{").append(type_members<Types>(depth)).append("}")), ...);
  return json + "]";
}

template <typename Enum>
std::string enum_members() {
  std::string names, numbers;
  for (const auto& [name, value] : EnumNames<Enum>::names) {
    names.append(names.empty() ? "[" : ",").append(json_text(std::string_view(name)));
    numbers.append(numbers.empty() ? "[" : ",")
        .append(std::to_string(static_cast<std::underlying_type_t<Enum>>(value)));
  }
  return R"("type":"enum","names":)" + names + R"(],"numbers":)" + numbers + "]";
}

template <typename Struct, std::size_t i>
std::string field_members(int depth) {
  return R"("name":)" + json_text(field_name<Struct, i>()) + "," + type_members<FieldType<Struct, i>>(depth);
}

template <typename Struct>
std::string struct_members(int depth) {
  std::string fields;
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    ((fields.append(fields.empty() ? "{" : ",{").append(field_members<Struct, I>(depth)).append("}")), ...);
  }
  (std::make_index_sequence<field_count<Struct>>{});
  return R"("type":"struct","required":)" + std::to_string(required_fields<Struct>()) + R"(,"required_members":)" +
         std::to_string(required_members<Struct>()) + R"(,"fields":[)" + fields + "]";
}

template <typename Duration>
std::string seconds_members(const char* format) {
  return R"("type":"number","format":")" + std::string(format) + "\"" +
         (has_whole_seconds<Duration> ? R"(,"whole":true)" : "");
}

// Returns the members of the object that describes a type.
template <typename Type>
std::string type_members(int depth) {
  if (depth > deepest_description) return R"("type":"any")";
  if constexpr (OwnArgument<Type>) {
    return type_members<typename Argument<Type>::Wire>(depth);
  } else if constexpr (NamedEnum<Type>) {
    return enum_members<Type>();
  } else if constexpr (std::is_enum_v<Type>) {
    return type_members<std::underlying_type_t<Type>>(depth);
  } else if constexpr (is_duration<Type>) {
    return seconds_members<Type>("seconds");
  } else if constexpr (is_wall_time<Type>) {
    return seconds_members<typename Type::duration>("time");
  } else if constexpr (Bytes<Type>) {
    std::string members = R"("type":"string","format":"base64")";
    if constexpr (is_byte_array<Type>) members += R"(,"bytes":)" + std::to_string(std::tuple_size_v<Type>);
    return members;
  } else if constexpr (Path<Type>) {
    return R"("type":"string","format":"path")";
  } else if constexpr (std::same_as<Type, std::monostate>) {
    return R"("type":"null")";
  } else if constexpr (is_a<Type, std::variant>) {
    return []<typename... Types>(std::variant<Types...>*, int inside) {
      return R"("type":"variant","types":)" + types_json<Types...>(inside);
    }(static_cast<Type*>(nullptr), depth + 1);
  } else if constexpr (Tuple<Type>) {
    return []<template <typename...> typename Of, typename... Types>(Of<Types...>*, int inside) {
      return R"("type":"array","items":)" + types_json<Types...>(inside) + R"(,"size":)" +
             std::to_string(sizeof...(Types));
    }(static_cast<Type*>(nullptr), depth + 1);
  } else if constexpr (std::same_as<Type, bool>) {
    return R"("type":"boolean")";
  } else if constexpr (Integer<Type>) {
    return R"("type":"integer","min":)" + std::to_string(std::numeric_limits<Type>::min()) + R"(,"max":)" +
           std::to_string(std::numeric_limits<Type>::max());
  } else if constexpr (std::floating_point<Type>) {
    return R"("type":"number")";
  } else if constexpr (std::same_as<Type, std::string>) {
    return R"("type":"string")";
  } else if constexpr (std::same_as<Type, Json>) {
    return R"("type":"any")";
  } else if constexpr (is_a<Type, std::optional>) {
    return R"("nullable":true,)" + type_members<typename Type::value_type>(depth + 1);
  } else if constexpr (is_string_map<Type>) {
    return R"("type":"object","values":{)" + type_members<typename Type::mapped_type>(depth + 1) + "}";
  } else if constexpr (Sequence<Type> || Set<Type>) {
    std::string members = R"("type":"array","items":{)" + type_members<typename Type::value_type>(depth + 1) + "}";
    if constexpr (is_std_array<Type>) members += R"(,"size":)" + std::to_string(std::tuple_size_v<Type>);
    return members;
  } else {
    return struct_members<Type>(depth + 1);
  }
}

// Returns the object that describes a field.  It has the default value of a field that may be left out.
template <typename Job, std::size_t i>
std::string described_field() {
  std::string field = "{" + field_members<Job, i>(0);
  if constexpr (i >= required_fields<Job>()) {
    try {
      const Job usual{};
      std::string value;
      write_value(value, std::get<i>(fields_of(usual)));
      field += R"(,"default":)" + value;
    } catch (const std::exception&) {  // JSON has no such value
    }
  }
  return field + "}";
}

// Returns the indices of the arguments by which a job is unique.
template <typename Job>
std::string unique_by_json() {
  std::string places;
  if constexpr (requires { Job::unique_by; }) {
    const Job job{};
    const auto place_of = [&](const void* wanted) {
      std::size_t place = 0, found = 0;
      std::apply([&](const auto&... field) { ((found = &field == wanted ? place : found, ++place), ...); },
                 fields_of(job));
      return std::to_string(found);
    };
    std::apply(
        [&](auto... fields) {
          ((places += (places.empty() ? "" : ",") + place_of(static_cast<const void*>(&(job.*fields)))), ...);
        },
        Job::unique_by);
  }
  return "[" + places + "]";
}

template <typename Job>
std::string described_options() {
  static constexpr JobOptions options = options_of<Job>();
  std::string json = R"({"queue":)" + json_text(options.queue) + R"(,"retry":)" + json_text(options.retry);
  if (options.timeout.count() > 0) json += R"(,"timeout":)" + json_seconds(options.timeout);
  Push push;
  add_options(push, options, {});
  for (const auto& [name, value] : push.members) json += ",\"" + name + "\":" + value;
  if (options.unique || options.unique_for.count() > 0) {
    json += std::string(R"(,"unique_until":)") + json_word(options.unique_until);
    if (options.unique_for.count() > 0) json += R"(,"unique_for":)" + std::to_string(options.unique_for.count());
    if (options.on_conflict) json += std::string(R"(,"on_conflict":)") + json_word(*options.on_conflict);
    if constexpr (requires { Job::unique_by; }) json += R"(,"unique_by":)" + unique_by_json<Job>();
  }
  return json + "}";
}

template <typename Job>
std::string description_of() {
  std::string fields;
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    ((fields.append(fields.empty() ? "" : ",").append(described_field<Job, I>())), ...);
  }
  (std::make_index_sequence<field_count<Job>>{});
  return R"({"options":)" + described_options<Job>() + R"(,"required":)" + std::to_string(required_fields<Job>()) +
         R"(,"fields":[)" + fields + "]}";
}

template <typename Job>
abi::Text describe_class() {
  static const std::string text = [] {
    try {
      return description_of<Job>();
    } catch (const std::exception&) {  // the options have negative seconds
      return std::string();
    }
  }();
  return {text.data(), text.size()};
}

}  // namespace brood::detail
#pragma GCC visibility pop
