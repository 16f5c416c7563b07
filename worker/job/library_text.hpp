#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <brood/abi.hpp>

namespace brood {

// How many characters of an error message Sidekiq stores.
inline constexpr std::size_t longest_text = 10'000;

// `text` in the form in which a library reads it; valid as long as `text`.
inline abi::Text text_of(std::string_view text) { return {text.data(), text.size()}; }

// A text from a library, of any bytes, as UTF-8.
std::string read_text(const abi::Text& text, std::string_view otherwise = "");

}  // namespace brood
