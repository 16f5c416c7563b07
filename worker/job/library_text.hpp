#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <brood/abi.hpp>

namespace brood {

// As many characters as Sidekiq stores of an error message.
inline constexpr std::size_t longest_text = 10'000;

// For a library to read; valid as long as `text`.
inline abi::Text text_of(std::string_view text) { return {text.data(), text.size()}; }

// A text from a library, whatever it is, as UTF-8.
std::string read_text(const abi::Text& text, std::string_view otherwise = "");

}  // namespace brood
