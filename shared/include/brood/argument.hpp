#pragma once

#include <string_view>
#include <utility>

// How types of your own travel as fields of a job.
namespace brood {

// The names by which the values of an enum travel, as JSON strings; without them they travel as integers.
//
//   template <>
//   struct brood::EnumNames<Colour> {
//     static constexpr std::pair<std::string_view, Colour> names[] = {{"red", Colour::red}, {"green", Colour::green}};
//   };
//
// A worker still takes the integer of a named value, so that jobs run which were queued before it had a name.  Any
// other is an ArgumentError there; pushing a value that has no name throws std::invalid_argument.
template <typename Enum>
struct EnumNames;

// A type that travels as another: any that a field may have.
//
//   template <>
//   struct brood::Argument<Uuid> {
//     using Wire = std::string;
//     static Wire write(const Uuid& uuid) { return uuid.text(); }
//     static Uuid read(const Wire& text) { return Uuid::parse(text); }
//   };
//
// What `read` throws that is a std::exception is an ArgumentError with its what(), and the field's name before it.  Of
// what `write` throws the push fails.  The type must have a default constructor that is
// not explicit.
template <typename Type>
struct Argument;

}  // namespace brood
