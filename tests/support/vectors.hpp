#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace brood::test {

// One value of the vectors' file, read independently of the code under test.
struct VectorValue {
  struct Member;
  enum class Kind { object, array, string, other } kind = Kind::other;
  std::string text;  // a string without its escapes; a number, true, false and null as spelled
  std::vector<VectorValue> elements;
  std::vector<Member> members;

  bool has(std::string_view key) const;                       // and it is not null
  const VectorValue& operator[](std::string_view key) const;  // throws if it is absent
  double number() const;
};

struct VectorValue::Member {
  std::string name;
  VectorValue value;
};

struct Vector {
  std::string id;
  std::string version;
  VectorValue input;
  VectorValue expect;
};

// The conformance vectors whose id begins with `prefix`: what the Ruby releases were observed to write, and formulas.
// Throws if there is none, so that no test passes by finding nothing.
std::vector<Vector> vectors(std::string_view prefix,
                            const std::string& file = BROOD_SOURCE_DIR "/tests/support/vectors.json");

}  // namespace brood::test
