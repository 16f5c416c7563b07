#include "shared/otlp/trace_context.hpp"

#include <algorithm>

namespace brood {
namespace {

constexpr std::size_t size_of_version_00 = 55, version_at = 0, trace_at = 3, span_at = 36, flags_at = 53;
constexpr std::size_t most_members = 32, longest_key = 256, longest_value = 256, longest_state = 512;

// Accepts only lower case, as the standard requires.
bool read_hex(std::string_view digits, std::uint8_t* into, std::size_t size) {
  const auto value = [](char c) {
    if (c >= '0' && c <= '9') return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
  };
  for (std::size_t i = 0; i < size; ++i) {
    const int high = value(digits[2 * i]), low = value(digits[2 * i + 1]);
    if (high < 0 || low < 0) return false;
    into[i] = static_cast<std::uint8_t>(high << 4 | low);
  }
  return true;
}

void put_hex(const std::uint8_t* bytes, std::size_t size, char* into) {
  constexpr char digits[] = "0123456789abcdef";
  for (std::size_t i = 0; i < size; ++i) {
    into[2 * i] = digits[bytes[i] >> 4];
    into[2 * i + 1] = digits[bytes[i] & 0xf];
  }
}

template <typename Id>
bool is_zero(const Id& id) {
  return std::all_of(id.begin(), id.end(), [](std::uint8_t byte) { return byte == 0; });
}

bool is_lower_or_digit(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }

bool is_member(std::string_view member) {
  const std::size_t equals = member.find('=');
  if (equals == member.npos) return false;
  const std::string_view key = member.substr(0, equals), value = member.substr(equals + 1);
  if (key.empty() || key.size() > longest_key || !is_lower_or_digit(key.front())) return false;
  const auto in_key = [](char c) {
    return is_lower_or_digit(c) || std::string_view("_-*/@").find(c) != std::string_view::npos;
  };
  if (!std::all_of(key.begin(), key.end(), in_key) || std::count(key.begin(), key.end(), '@') > 1) return false;
  if (value.empty() || value.size() > longest_value || value.back() == ' ') return false;
  return std::all_of(value.begin(), value.end(), [](char c) { return c >= ' ' && c <= '~' && c != ',' && c != '='; });
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

}  // namespace

std::optional<SpanContext> parse_traceparent(std::string_view text) {
  if (text.size() < size_of_version_00) return std::nullopt;
  std::uint8_t version = 0;
  if (!read_hex(text.substr(version_at), &version, 1) || version == 0xff) return std::nullopt;
  if (version == 0 && text.size() != size_of_version_00) return std::nullopt;
  if (text.size() > size_of_version_00 && text[size_of_version_00] != '-') return std::nullopt;
  if (text[trace_at - 1] != '-' || text[span_at - 1] != '-' || text[flags_at - 1] != '-') return std::nullopt;
  SpanContext context;
  if (!read_hex(text.substr(trace_at), context.trace.data(), context.trace.size())) return std::nullopt;
  if (!read_hex(text.substr(span_at), context.span.data(), context.span.size())) return std::nullopt;
  if (!read_hex(text.substr(flags_at), &context.flags, 1)) return std::nullopt;
  if (is_zero(context.trace) || is_zero(context.span)) return std::nullopt;
  return context;
}

std::string hex_of(const std::uint8_t* bytes, std::size_t size) {
  std::string text(2 * size, '0');
  put_hex(bytes, size, text.data());
  return text;
}

std::string traceparent_text(const SpanContext& context) {
  std::string text(size_of_version_00, '-');
  text[version_at] = text[version_at + 1] = '0';
  put_hex(context.trace.data(), context.trace.size(), &text[trace_at]);
  put_hex(context.span.data(), context.span.size(), &text[span_at]);
  put_hex(&context.flags, 1, &text[flags_at]);
  return text;
}

bool is_tracestate(std::string_view text) {
  if (text.empty() || text.size() > longest_state) return false;
  std::size_t members = 0;
  for (bool last = false; !last;) {
    const std::size_t comma = text.find(',');
    last = comma == text.npos;
    const std::string_view member = trimmed(text.substr(0, comma));
    text.remove_prefix(last ? text.size() : comma + 1);
    if (member.empty()) continue;  // which the standard allows
    if (!is_member(member) || ++members > most_members) return false;
  }
  return members > 0;
}

}  // namespace brood
