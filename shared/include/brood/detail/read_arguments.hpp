#pragma once

#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <exception>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <brood/detail/base64.hpp>
#include <brood/detail/field_types.hpp>
#include <brood/detail/json_reader.hpp>
#include <brood/error.hpp>

// Reads JSON arguments into a job's fields.
#pragma GCC visibility push(hidden)
namespace brood::detail {

// A value does not fit.  The path is built from the inside out, in the form of C++ code: ".points[2].x".
struct Misfit {
  std::string path, problem;
  void inside(const std::string& step) { path.insert(0, step); }
};

inline std::string element_step(std::size_t index) { return "[" + std::to_string(index) + "]"; }
inline std::string field_step(std::string_view name) { return std::string(".").append(name); }

// Returns a text such as "argument 3 (points[2].x)".
inline std::string argument_text(std::size_t index, const std::string& path) {
  return "argument " + std::to_string(index + 1) + " (" + path.substr(1) + ")";
}

// Returns a value as a message shows it: short, and never cut within a character.
inline std::string shown(std::string_view json) {
  constexpr std::size_t limit = 60;
  if (json.size() <= limit) return std::string(json);
  std::size_t end = limit;
  while (end > 0 && (static_cast<unsigned char>(json[end]) & 0xC0) == 0x80) --end;
  return std::string(json.substr(0, end)) + "...";
}

[[noreturn]] inline void misfit(const std::string& expected, JsonReader& reader) {
  throw Misfit{{}, "expected " + expected + ", got " + shown(reader.look_at_value())};
}

inline bool is_number_next(JsonReader& reader) {
  const char first = reader.peek();
  return first == '-' || (first >= '0' && first <= '9');
}

template <typename Struct>
void read_nested(JsonReader& reader, Struct& out);

template <typename Type>
void read_value(JsonReader& reader, Type& out);

// Reads epoch seconds, to the microsecond.
template <typename Duration>
void read_time(JsonReader& reader, std::chrono::time_point<std::chrono::system_clock, Duration>& out) {
  using Step = std::conditional_t<has_whole_seconds<Duration>, Duration, std::chrono::microseconds>;
  double seconds = 0;
  if (is_number_next(reader)) {
    const std::string_view text = reader.look_at_value();
    std::from_chars(text.data(), text.data() + text.size(), seconds);
  }
  std::optional<Step> since;
  if constexpr (has_whole_seconds<Duration>) {
    if (is_number_next(reader)) since = duration_of_seconds<Step>(reader.look_at_value());
  } else {
    constexpr double limit = 9.2e9;  // seconds; 64 bits of nanoseconds cannot count more
    if (is_number_next(reader) && seconds > -limit && seconds < limit) since = Step(std::llround(seconds * 1e6));
  }
  if (!since) misfit("seconds since the epoch", reader);
  out = std::chrono::time_point<std::chrono::system_clock, Duration>(std::chrono::floor<Duration>(*since));
  reader.skip_value();
}

template <typename Enum>
void read_enum(JsonReader& reader, Enum& out) {
  std::string expected;
  std::string given;
  if (reader.peek() == '"') JsonReader(reader.look_at_value()).read_string(given);
  const std::string_view number = is_number_next(reader) ? reader.look_at_value() : std::string_view();
  for (const auto& [name, value] : EnumNames<Enum>::names) {
    expected.append(expected.empty() ? "one of \"" : ", \"").append(name).append("\"");
    const bool is_named = reader.peek() == '"' && given == name;
    if (!is_named && number != std::to_string(static_cast<std::underlying_type_t<Enum>>(value))) continue;
    out = value;
    reader.skip_value();
    return;
  }
  misfit(expected, reader);
}

template <typename Bytes>
void read_bytes(JsonReader& reader, Bytes& out) {
  constexpr bool is_vector = std::same_as<Bytes, std::vector<std::byte>>;
  std::string expected = "bytes in base64";
  if constexpr (!is_vector) expected = std::to_string(out.size()) + " " + expected;
  if (reader.peek() != '"') misfit(expected, reader);
  std::string text;
  JsonReader(reader.look_at_value()).read_string(text);
  std::vector<std::byte> bytes;
  if (!read_base64(text, bytes)) misfit(expected, reader);
  if constexpr (is_vector) {
    out = std::move(bytes);
  } else {
    if (bytes.size() != out.size()) misfit(expected, reader);
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = bytes[i];
  }
  reader.skip_value();
}

// Reads the value as the first type that it fits.
template <typename... Types>
void read_variant(JsonReader& reader, std::variant<Types...>& out) {
  const auto fits = [&]<typename Type>(Type value) {
    JsonReader trial = reader;
    try {
      read_value(trial, value);
    } catch (const Misfit&) {
      return false;
    }
    out = std::move(value);
    reader = trial;
    return true;
  };
  if (!(fits(Types{}) || ...)) misfit("a value of one of its " + std::to_string(sizeof...(Types)) + " types", reader);
}

// Reads an array with one value for each type.
template <typename Tuple>
void read_tuple(JsonReader& reader, Tuple& out) {
  constexpr std::size_t size = std::tuple_size_v<Tuple>;
  const std::string expected = "an array of " + std::to_string(size);
  if (reader.peek() != '[') misfit(expected, reader);
  const std::string_view whole = reader.look_at_value();
  const auto wrong_size = [&] { return Misfit{{}, "expected " + expected + ", got " + shown(whole)}; };
  const std::size_t count = reader.each_element([&](std::size_t i) {
    if (i >= size) throw wrong_size();
    try {
      [&]<std::size_t... I>(std::index_sequence<I...>) {
        ((I == i ? read_value(reader, std::get<I>(out)) : void()), ...);
      }
      (std::make_index_sequence<size>{});
    } catch (Misfit& problem) {
      problem.inside(element_step(i));
      throw;
    }
  });
  if (count != size) throw wrong_size();
}

template <typename Type>
void read_own(JsonReader& reader, Type& out) {
  const std::string_view json = reader.look_at_value();
  typename Argument<Type>::Wire wire{};
  read_value(reader, wire);
  try {
    out = Argument<Type>::read(wire);
  } catch (const std::exception& problem) {
    throw Misfit{{}, std::string(problem.what()) + ", got " + shown(json)};
  }
}

template <typename Type>
void read_value(JsonReader& reader, Type& out) {
  if constexpr (OwnArgument<Type>) {
    read_own(reader, out);
  } else if constexpr (NamedEnum<Type>) {
    read_enum(reader, out);
  } else if constexpr (std::is_enum_v<Type>) {
    std::underlying_type_t<Type> number{};
    read_value(reader, number);
    out = static_cast<Type>(number);
  } else if constexpr (is_duration<Type>) {
    const auto length = is_number_next(reader) ? duration_of_seconds<Type>(reader.look_at_value()) : std::nullopt;
    if (!length) misfit(expected_seconds<Type>(), reader);
    out = *length;
    reader.skip_value();
  } else if constexpr (is_wall_time<Type>) {
    read_time(reader, out);
  } else if constexpr (Bytes<Type>) {
    read_bytes(reader, out);
  } else if constexpr (Path<Type>) {
    std::string text;
    read_value(reader, text);
    out = Type(text);
  } else if constexpr (std::same_as<Type, std::monostate>) {
    if (!reader.skip_word("null")) misfit("null", reader);
  } else if constexpr (is_a<Type, std::variant>) {
    read_variant(reader, out);
  } else if constexpr (Tuple<Type>) {
    read_tuple(reader, out);
  } else if constexpr (Set<Type>) {
    std::vector<typename Type::value_type> elements;
    read_value(reader, elements);
    out.clear();
    for (auto& element : elements) out.insert(std::move(element));
  } else if constexpr (std::same_as<Type, bool>) {
    if (reader.skip_word("true")) {
      out = true;
    } else if (reader.skip_word("false")) {
      out = false;
    } else {
      misfit("true or false", reader);
    }
  } else if constexpr (Integer<Type>) {
    const std::string_view text = is_number_next(reader) ? reader.look_at_value() : std::string_view();
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
    const bool whole = !text.empty() && text.find_first_of(".eE") == std::string_view::npos;
    if (!whole) misfit("an integer", reader);
    if (error != std::errc() || end != text.data() + text.size()) {
      misfit("an integer from " + std::to_string(std::numeric_limits<Type>::min()) + " to " +
                 std::to_string(std::numeric_limits<Type>::max()),
             reader);
    }
    reader.skip_value();
  } else if constexpr (std::floating_point<Type>) {
    if (!is_number_next(reader)) misfit("a number", reader);
    const std::string_view text = reader.look_at_value();
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
    if (error != std::errc()) misfit("a number that fits the field", reader);
    reader.skip_value();
  } else if constexpr (std::same_as<Type, std::string>) {
    if (reader.peek() != '"') misfit("a string", reader);
    out.clear();
    reader.read_string(out);
  } else if constexpr (std::same_as<Type, Json>) {
    out.text = reader.skip_value();
  } else if constexpr (is_a<Type, std::optional>) {
    if (reader.skip_word("null")) {
      out.reset();
    } else {
      read_value(reader, out.emplace());
    }
  } else if constexpr (is_a<Type, std::vector>) {
    if (reader.peek() != '[') misfit("an array", reader);
    out.clear();
    reader.each_element([&](std::size_t i) {
      typename Type::value_type element{};  // a value, since vector<bool> has no references to its elements
      try {
        read_value(reader, element);
      } catch (Misfit& problem) {
        problem.inside(element_step(i));
        throw;
      }
      out.push_back(std::move(element));
    });
  } else if constexpr (is_std_array<Type>) {
    const std::string expected = "an array of " + std::to_string(out.size());
    if (reader.peek() != '[') misfit(expected, reader);
    const std::string_view whole = reader.look_at_value();
    const std::size_t count = reader.each_element([&](std::size_t i) {
      if (i >= out.size()) throw Misfit{{}, "expected " + expected + ", got " + shown(whole)};
      try {
        read_value(reader, out[i]);
      } catch (Misfit& problem) {
        problem.inside(element_step(i));
        throw;
      }
    });
    if (count != out.size()) throw Misfit{{}, "expected " + expected + ", got " + shown(whole)};
  } else if constexpr (is_string_map<Type>) {
    if (reader.peek() != '{') misfit("an object", reader);
    out.clear();
    reader.each_member([&](const std::string& key) {
      typename Type::mapped_type value{};
      try {
        read_value(reader, value);
      } catch (Misfit& problem) {
        problem.inside("[\"" + shown(key) + "\"]");
        throw;
      }
      out.insert_or_assign(key, std::move(value));
    });
  } else {
    read_nested(reader, out);
  }
}

inline std::size_t count_elements(std::string_view array) {
  JsonReader reader(array);
  return reader.each_element([&](std::size_t) { reader.skip_value(); });
}

template <typename Struct, std::size_t i>
void read_field(JsonReader& reader, Struct& out) {
  try {
    read_value(reader, std::get<i>(fields_of(out)));
  } catch (Misfit& problem) {
    problem.inside(field_step(field_name<Struct, i>()));
    throw;
  }
}

// Reads the elements of an array into the first fields.  Fields without an element keep their defaults.  The caller has
// checked the number of elements.  It calls `at(index)` before each.
template <typename Struct, typename At>
void read_array(JsonReader& reader, Struct& out, At at) {
  [[maybe_unused]] const auto read_one = [&]<std::size_t... I>(std::size_t index, std::index_sequence<I...>) {
    ((I == index ? read_field<Struct, I>(reader, out) : void()), ...);
  };
  reader.each_element([&]([[maybe_unused]] std::size_t index) {
    at(index);
    read_one(index, std::make_index_sequence<field_count<Struct>>{});
  });
}

template <typename Struct>
std::string field_names() {
  return []<std::size_t... I>(std::index_sequence<I...>) {
    std::string names;
    ((names.append(names.empty() ? "" : ", ").append(field_name<Struct, I>())), ...);
    return names.empty() ? "none" : names;
  }
  (std::make_index_sequence<field_count<Struct>>{});
}

// Returns the number of leading fields that an object must have.  An object names its fields, so the others may keep
// their defaults.
template <typename Struct>
constexpr std::size_t required_members() {
  if constexpr (requires { Struct::options.required; }) {
    if constexpr (Struct::options.required >= 0) return required_fields<Struct>();
  }
  return 0;
}

// Reads the members of an object into the fields of their names.  Fields without a member keep their defaults.  A
// member without a field is an error: otherwise a misspelt name would silently leave a field at its default.
template <typename Struct>
void read_object(JsonReader& reader, Struct& out) {
  std::array<bool, field_count<Struct> + 1> given{};
  reader.each_member([&](const std::string& key) {
    const auto read_one = [&]<std::size_t... I>(std::index_sequence<I...>) {
      std::size_t index = field_count<Struct>;
      ((index = key == field_name<Struct, I>() ? I : index), ...);
      if (index == field_count<Struct>)
        throw Misfit{{}, "no field is called \"" + shown(key) + "\", only: " + field_names<Struct>()};
      if (std::exchange(given[index], true)) throw Misfit{{}, "the field \"" + key + "\" is given twice"};
      ((I == index ? read_field<Struct, I>(reader, out) : void()), ...);
    };
    read_one(std::make_index_sequence<field_count<Struct>>{});
  });
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    ((I < required_members<Struct>() && !given[I]
          ? throw Misfit{{}, "the field \"" + std::string(field_name<Struct, I>()) + "\" is missing"}
          : void()),
     ...);
  }
  (std::make_index_sequence<field_count<Struct>>{});
}

inline std::string counted(std::size_t required, std::size_t all, std::string_view what) {
  std::string text = (required == all ? "" : std::to_string(required) + " to ") + std::to_string(all);
  return text.append(" ").append(what).append(all == 1 ? "" : "s");
}

template <typename Struct>
void read_nested(JsonReader& reader, Struct& out) {
  if (reader.peek() == '{') return read_object(reader, out);
  constexpr std::size_t required = required_fields<Struct>();
  const std::string expected = "an object or an array of " + counted(required, field_count<Struct>, "field");
  if (reader.peek() != '[') misfit(expected, reader);
  const std::size_t given = count_elements(reader.look_at_value());
  if (given < required || given > field_count<Struct>) misfit(expected, reader);
  read_array(reader, out, [](std::size_t) {});
}

// Returns the job whose fields are `args`, a JSON array.  Throws ArgumentError if they do not fit.
template <typename Job>
Job read_arguments(std::string_view job_class, std::string_view args) {
  constexpr std::size_t required = required_fields<Job>();
  Job job{};
  std::size_t argument = 0;
  try {
    JsonReader reader(args);
    if (reader.peek() != '[') throw ArgumentError(std::string(job_class) + ": the arguments are no array");
    const std::size_t given = count_elements(reader.look_at_value());
    if (given < required || given > field_count<Job>) {
      throw ArgumentError(std::string(job_class) + " takes " + counted(required, field_count<Job>, "argument") +
                          ", got " + std::to_string(given));
    }
    read_array(reader, job, [&](std::size_t index) { argument = index; });
    reader.expect_end();
  } catch (const Misfit& problem) {
    throw ArgumentError(std::string(job_class) + ": " + argument_text(argument, problem.path) + ": " + problem.problem);
  } catch (const BadJson& problem) {
    throw ArgumentError(std::string(job_class) + ": " + problem.what());
  }
  return job;
}

}  // namespace brood::detail
#pragma GCC visibility pop
