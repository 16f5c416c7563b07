#pragma once

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>

#include <brood/detail/base64.hpp>
#include <brood/detail/field_types.hpp>
#include <brood/detail/json_reader.hpp>

// Writes a job's fields as JSON arguments.  They have the form that Ruby writes, so a Ruby Sidekiq that reads the
// payload and writes it again gets the same bytes.
#pragma GCC visibility push(hidden)
namespace brood::detail {

inline void write_string(std::string& out, std::string_view text) {
  out.push_back('"');
  for (std::size_t at = 0; at < text.size();) {
    const auto byte = static_cast<unsigned char>(text[at]);
    const std::size_t length = JsonReader::utf8_length(text, at);
    if (length == 0) throw std::invalid_argument("a string is no UTF-8 and has no place in JSON");
    constexpr std::string_view named = "\bb\ff\nn\rr\tt\"\"\\\\";
    std::size_t pair = 0;
    while (pair < named.size() && named[pair] != text[at]) pair += 2;
    if (pair < named.size()) {
      out.push_back('\\');
      out.push_back(named[pair + 1]);
    } else if (byte < 0x20) {
      constexpr std::string_view hex = "0123456789abcdef";
      out.append("\\u00").append({hex[byte >> 4], hex[byte & 15]});
    } else {
      out.append(text.substr(at, length));
    }
    at += length;
  }
  out.push_back('"');
}

// Writes a number, always with a fraction, since in Ruby 1 is an Integer and 1.0 a Float.  Ruby writes an exponent for
// whole numbers from 1e15 on, and for numbers below 0.0001.  Ruby's Float is a double, so further digits would be lost.
template <std::floating_point Number>
void write_floating(std::string& out, Number value) {
  if constexpr (std::same_as<Number, long double>) return write_floating(out, static_cast<double>(value));
  if (!std::isfinite(value)) throw std::invalid_argument("NaN and infinity have no place in JSON");
  const Number size = std::fabs(value);
  const bool plain = size == 0 || (size >= static_cast<Number>(1e-4) &&
                                   (size < static_cast<Number>(1e15) || size != std::floor(size)));
  char buffer[128];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value,
                                 plain ? std::chars_format::fixed : std::chars_format::scientific)
                       .ptr;
  std::string text(buffer, end);
  if (text.find('.') == std::string::npos) text.insert(std::min(text.find('e'), text.size()), ".0");
  out += text;
}

template <typename Struct>
void write_struct(std::string& out, const Struct& value, std::size_t count);

template <typename Type>
void write_value(std::string& out, const Type& value);

template <typename Enum>
void write_enum(std::string& out, Enum value) {
  for (const auto& [name, named] : EnumNames<Enum>::names) {
    if (named == value) return write_string(out, name);
  }
  throw std::invalid_argument("the value " + std::to_string(static_cast<std::underlying_type_t<Enum>>(value)) +
                              " of an enum has no name");
}

template <typename Duration>
void write_duration(std::string& out, Duration length) {
  if constexpr (has_whole_seconds<Duration>) {
    std::int64_t seconds = 0;
    if (__builtin_mul_overflow(length.count(), Duration::period::num, &seconds))
      throw std::invalid_argument("a length of time is too large for its seconds to be counted");
    out += std::to_string(seconds);
  } else {
    std::string seconds;
    write_floating(seconds, seconds_of(length));
    if constexpr (!std::chrono::treat_as_floating_point_v<typename Duration::rep>) {
      if (duration_of_seconds<Duration>(seconds) != length)
        throw std::invalid_argument("a length of time has more digits than a JSON number keeps");
    }
    out += seconds;
  }
}

template <typename Duration>
void write_time(std::string& out, std::chrono::time_point<std::chrono::system_clock, Duration> time) {
  if constexpr (has_whole_seconds<Duration>) {
    write_duration(out, time.time_since_epoch());
  } else {
    using Microseconds = std::chrono::microseconds;
    write_floating(out, static_cast<double>(std::chrono::floor<Microseconds>(time).time_since_epoch().count()) / 1e6);
  }
}

template <typename Tuple>
void write_tuple(std::string& out, const Tuple& values) {
  out.push_back('[');
  std::size_t written = 0;
  const auto write_one = [&](const auto& value) {
    if (written++ > 0) out.push_back(',');
    write_value(out, value);
  };
  std::apply([&](const auto&... value) { (write_one(value), ...); }, values);
  out.push_back(']');
}

template <typename Type>
void write_value(std::string& out, const Type& value) {
  if constexpr (OwnArgument<Type>) {
    write_value(out, typename Argument<Type>::Wire(Argument<Type>::write(value)));
  } else if constexpr (NamedEnum<Type>) {
    write_enum(out, value);
  } else if constexpr (std::is_enum_v<Type>) {
    write_value(out, static_cast<std::underlying_type_t<Type>>(value));
  } else if constexpr (is_duration<Type>) {
    write_duration(out, value);
  } else if constexpr (is_wall_time<Type>) {
    write_time(out, value);
  } else if constexpr (Bytes<Type>) {
    write_string(out, base64_of(value));
  } else if constexpr (Path<Type>) {
    write_string(out, value.native());
  } else if constexpr (std::same_as<Type, std::monostate>) {
    out += "null";
  } else if constexpr (is_a<Type, std::variant>) {
    std::visit([&](const auto& chosen) { write_value(out, chosen); }, value);
  } else if constexpr (Tuple<Type>) {
    write_tuple(out, value);
  } else if constexpr (std::same_as<Type, bool>) {
    out += value ? "true" : "false";
  } else if constexpr (Integer<Type>) {
    out += std::to_string(value);
  } else if constexpr (std::floating_point<Type>) {
    write_floating(out, value);
  } else if constexpr (std::same_as<Type, std::string>) {
    write_string(out, value);
  } else if constexpr (std::same_as<Type, Json>) {
    JsonReader reader(value.text);
    const std::string_view only = reader.skip_value();
    reader.expect_end();
    out += only;
  } else if constexpr (is_a<Type, std::optional>) {
    if (value) {
      write_value(out, *value);
    } else {
      out += "null";
    }
  } else if constexpr (Sequence<Type> || Set<Type>) {
    out.push_back('[');
    std::size_t written = 0;
    for (const auto& element : value) {
      if (written++ > 0) out.push_back(',');
      write_value(out, static_cast<const typename Type::value_type&>(element));
    }
    out.push_back(']');
  } else if constexpr (is_string_map<Type>) {
    out.push_back('{');
    std::size_t written = 0;
    for (const auto& [key, member] : value) {
      if (written++ > 0) out.push_back(',');
      write_string(out, key);
      out.push_back(':');
      write_value(out, member);
    }
    out.push_back('}');
  } else {
    write_struct(out, value, field_count<Type>);
  }
}

// Writes the first `count` fields as an array.
template <typename Struct>
void write_struct(std::string& out, const Struct& value, std::size_t count) {
  out.push_back('[');
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    [[maybe_unused]] const auto fields = fields_of(value);
    [[maybe_unused]] const auto write_one = [&](std::size_t index, const auto& field) {
      if (index >= count) return;
      if (index > 0) out.push_back(',');
      write_value(out, field);
    };
    (write_one(I, std::get<I>(fields)), ...);
  }
  (std::make_index_sequence<field_count<Struct>>{});
  out.push_back(']');
}

// Returns the number of arguments to write.  Trailing optional fields that are empty are left out, so that older
// workers, which lack a new optional field, still accept the job.
template <typename Job>
std::size_t count_arguments(const Job& job) {
  std::size_t count = required_fields<Job>();
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    [[maybe_unused]] const Job usual{};
    [[maybe_unused]] const auto look_at = [&](std::size_t index, const auto& field, const auto& usual_field) {
      if constexpr (is_a<std::remove_cvref_t<decltype(field)>, std::optional>) {
        if (!field && !usual_field) return;
      }
      if (index >= count) count = index + 1;
    };
    (look_at(I, std::get<I>(fields_of(job)), std::get<I>(fields_of(usual))), ...);
  }
  (std::make_index_sequence<field_count<Job>>{});
  return count;
}

// Returns the job's `args`.  Throws std::invalid_argument for values that JSON does not have.
template <typename Job>
std::string write_arguments(const Job& job) {
  std::string out;
  write_struct(out, job, count_arguments(job));
  return out;
}

}  // namespace brood::detail
#pragma GCC visibility pop
