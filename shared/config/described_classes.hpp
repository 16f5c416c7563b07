#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace brood {

// The description of the job classes, by which workers tell their supervisor of them, in a file of its runtime
// directory.  The supervisor loads no job library, and publishes the text as it is:
// {"classes":{"ResizeImage":{"options":{...},"fields":[...]},...}}.
struct DescribedClasses {
  std::uint32_t generation = 0;
  std::string document;
};

// A longer document is not published.
inline constexpr std::size_t longest_description_of_classes = 900'000;

std::string described_classes_path(const std::string& runtime_directory, const std::string& identity);

// The generation whose workers wrote the file last; 0: none.
std::uint32_t generation_of_described_classes(const std::string& path);
void tell_described_classes(const std::string& path, const DescribedClasses& classes);

// nullopt: there is none, or it cannot be read.  A job may have written it.
std::optional<DescribedClasses> read_described_classes(const std::string& path);

// Identifies a document: 16 hex digits.
std::string build_of_classes(const std::string& document);

}  // namespace brood
