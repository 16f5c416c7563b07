#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <stdexcept>

#include "shared/job/retry_decision.hpp"
#include "shared/json/json.hpp"

namespace brood {
namespace {

constexpr std::string_view alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

std::string to_base64(std::string_view bytes) {
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const auto byte = [&](std::size_t k) -> std::uint32_t {
      return i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0;
    };
    const std::uint32_t bits = byte(0) << 16 | byte(1) << 8 | byte(2);
    out += alphabet[bits >> 18];
    out += alphabet[bits >> 12 & 63];
    out += i + 1 < bytes.size() ? alphabet[bits >> 6 & 63] : '=';
    out += i + 2 < bytes.size() ? alphabet[bits & 63] : '=';
  }
  return out;
}

constexpr auto digit_values = [] {
  std::array<std::int8_t, 256> values{};
  values.fill(-1);
  for (std::size_t i = 0; i < alphabet.size(); ++i)
    values[static_cast<unsigned char>(alphabet[i])] = static_cast<std::int8_t>(i);
  return values;
}();

// Like Ruby's unpack("m"): skips what is not a base64 digit, and ends at padding.
std::string from_base64(std::string_view text) {
  std::string out;
  out.reserve(text.size() / 4 * 3);
  std::uint32_t bits = 0;
  int held = 0;
  for (const char c : text) {
    if (c == '=') break;
    const int value = digit_values[static_cast<unsigned char>(c)];
    if (value < 0) continue;
    bits = bits << 6 | static_cast<std::uint32_t>(value);
    held += 6;
    if (held >= 8) {
      held -= 8;
      out += static_cast<char>(bits >> held & 0xff);
    }
  }
  return out;
}

std::string deflated(const std::string& text) {
  uLongf size = compressBound(text.size());
  std::string out(size, '\0');
  const int result =
      compress(reinterpret_cast<Bytef*>(out.data()), &size, reinterpret_cast<const Bytef*>(text.data()), text.size());
  if (result != Z_OK) throw std::runtime_error("compress: " + std::to_string(result));
  out.resize(size);
  return out;
}

// Unpacks in pieces and stops as soon as there is too much, so that a bomb costs max_bytes and no more.
std::optional<std::string> inflated(std::string_view bytes, std::size_t max_bytes) {
  z_stream stream{};
  if (inflateInit(&stream) != Z_OK) throw std::runtime_error("inflateInit");
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(std::min<std::size_t>(bytes.size(), UINT32_MAX));
  std::string out;
  std::array<char, 16'384> piece;
  int result = Z_OK;
  while (result == Z_OK && out.size() <= max_bytes) {
    stream.next_out = reinterpret_cast<Bytef*>(piece.data());
    stream.avail_out = piece.size();
    result = inflate(&stream, Z_NO_FLUSH);
    out.append(piece.data(), piece.size() - stream.avail_out);
  }
  inflateEnd(&stream);
  if (result != Z_STREAM_END || out.size() > max_bytes) return std::nullopt;
  return out;
}

}  // namespace

std::string encode_backtrace(const std::vector<std::string>& lines) {
  std::string json = "[";
  for (const std::string& line : lines) {
    if (json.size() > 1) json += ',';
    json += json_string(line);
  }
  json += ']';
  return to_base64(deflated(json));
}

std::optional<std::vector<std::string>> decode_backtrace(std::string_view text, std::size_t max_bytes) {
  const auto json = inflated(from_base64(text), max_bytes);
  if (!json) return std::nullopt;
  try {
    std::vector<std::string> lines = json_elements(*json);
    for (std::string& line : lines) {
      if (line.front() != '"') return std::nullopt;
      line = json_unescape(line);
    }
    return lines;
  } catch (const BadJson&) {
    return std::nullopt;
  }
}

}  // namespace brood
