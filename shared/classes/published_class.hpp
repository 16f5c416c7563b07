#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "shared/classes/field_type.hpp"

namespace brood {

// The description of one job class of one build.  Pure.
struct PublishedClass {
  struct Field {
    std::string name;
    FieldType type;
    std::string usual;  // its default as JSON; empty: not known
  };

  std::string name;
  bool is_command = false;  // a program of [commands]
  std::string queue;        // empty: not set
  std::string retry;        // JSON; empty: not set
  std::string timeout;      // JSON, in seconds; empty: none.  Workers know it, so it is not pushed
  bool encrypts = false;
  std::vector<std::pair<std::string, std::string>> members;  // further members of the payload: name and JSON
  std::optional<std::vector<std::size_t>> unique_by;         // places of arguments; nullopt: all
  bool knows_fields = false;
  std::size_t required = 0;  // how many arguments must be given
  std::vector<Field> fields;

  // Reads what a worker has published.  Throws BadJson for what cannot be used.
  static PublishedClass parse(const std::string& name, std::string_view json);

  bool is_unique() const;
};

// Why a worker of that build would refuse these arguments, a JSON array, as a sentence that begins with the class.
// nullopt if it would accept them, or the fields are not known.
std::optional<std::string> problem_of_arguments(const PublishedClass& known, std::string_view args);

// The description as one JSON object, for programs.
std::string published_class_json(const PublishedClass& known);

}  // namespace brood
