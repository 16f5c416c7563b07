#pragma once

#include <string_view>
#include <utility>

// The JSON of your own types as fields of a job.
namespace brood {

// The names of an enum's values.  With names, values are written as JSON strings, without names as integers.
//
//   template <>
//   struct brood::EnumNames<Colour> {
//     static constexpr std::pair<std::string_view, Colour> names[] = {{"red", Colour::red}, {"green", Colour::green}};
//   };
//
// A worker still reads the integer of a named value, so jobs that were queued before the value had a name run.  Any
// other value is an ArgumentError there.  Pushing a value that has no name throws std::invalid_argument.
template <typename Enum>
struct EnumNames;

// A type that is written as another type, `Wire`, which may be any type that a field may have.
//
//   template <>
//   struct brood::Argument<Uuid> {
//     using Wire = std::string;
//     static Wire write(const Uuid& uuid) { return uuid.text(); }
//     static Uuid read(const Wire& text) { return Uuid::parse(text); }
//   };
//
// If `read` throws a std::exception, the job fails with an ArgumentError, whose message is the field's name and the
// exception's what().  If `write` throws, the push fails with that exception.  The type needs a default constructor
// that is not explicit.
template <typename Type>
struct Argument;

}  // namespace brood
