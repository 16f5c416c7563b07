#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace brood {

// The identity of a span, as W3C's Trace Context (https://www.w3.org/TR/trace-context/) writes it.
struct SpanContext {
  std::array<std::uint8_t, 16> trace{};
  std::array<std::uint8_t, 8> span{};
  std::uint8_t flags = 0;

  static constexpr std::uint8_t sampled = 1;
  bool is_sampled() const { return (flags & sampled) != 0; }
  bool operator==(const SpanContext&) const = default;
};

// Reads a `traceparent`; returns nullopt if the standard calls it invalid.  If its version is later than 00, reads the
// members that version 00 has.
std::optional<SpanContext> parse_traceparent(std::string_view text);

std::string traceparent_text(const SpanContext& context);

// Whether a `tracestate` is valid by the standard and has at most 512 bytes.  Otherwise it is dropped whole.
bool is_tracestate(std::string_view text);

std::string hex_of(const std::uint8_t* bytes, std::size_t size);

}  // namespace brood
