#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace brood {

// The job classes of one build, in the published form.
struct BuildOfClasses {
  std::string build, document;
  friend bool operator==(const BuildOfClasses&, const BuildOfClasses&) = default;
};

// The job classes that the workers of each generation have described: see shared/config/described_classes.hpp.
class KnownBuilds {
 public:
  explicit KnownBuilds(std::string path) : path_(std::move(path)) {}

  // Reads the file unless all of these generations have described theirs.  Returns whether the builds have changed.
  bool look(const std::set<std::uint32_t>& generations);
  const std::vector<BuildOfClasses>& builds() const { return builds_; }
  const BuildOfClasses* of(std::uint32_t generation) const;  // nullptr: not described yet
  void remove_file() const;

 private:
  bool all_have_told(const std::set<std::uint32_t>& generations) const;

  const std::string path_;
  std::map<std::uint32_t, BuildOfClasses> told_;  // by generation
  std::vector<BuildOfClasses> builds_;            // of living generations, each once
};

}  // namespace brood
