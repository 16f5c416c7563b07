#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace brood {

// The type of a job's field, as a worker publishes it: see <brood/detail/describe_job.hpp>.
struct FieldType {
  enum class Kind {
    any,
    null,
    boolean,
    integer,    // from `least` to `most`
    number,     // whole: without a fraction
    string,     // base64: of `size` bytes, if it is known
    array,      // inside: the one type of its elements, `size` of them if it is known
    tuple,      // inside: the type of each element
    object,     // inside: the one type of its values
    structure,  // inside: the types of its fields
    one_of,     // names, or the numbers of their values
    variant,    // inside: the first that fits
  };
  Kind kind = Kind::any;
  bool nullable = false, whole = false, base64 = false;
  std::string format;  // "seconds", "time", "path"; for people
  std::string least, most;
  std::optional<std::size_t> size;
  std::vector<FieldType> inside;
  std::vector<std::string> names, numbers;  // of fields, or of values
  std::size_t required = 0;                 // how many fields an array must give
  std::size_t required_members = 0;         // how many an object must give

  // Reads the JSON object of a field, or of a type within one.  Unknown types count as `any`, so that a newer worker
  // can publish more.  Throws BadJson for JSON that is not an object, or is nested too deeply.
  static FieldType parse(std::string_view json);

  // The type for people to read: "integer", "[string]", "string or null", "{x: number, y: number}".
  std::string text() const;
  // In one word: "integer", "array", "struct".
  std::string_view kind_name() const;
};

// Why a worker would refuse a value: "expected an integer, got \"x\"", and the place within the value.
struct Misfitting {
  std::string path, problem;
};
// `json` is one JSON value that has been checked.  nullopt if a worker would accept it.
std::optional<Misfitting> misfit_of(const FieldType& type, std::string_view json);

}  // namespace brood
