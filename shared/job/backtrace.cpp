#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <stdexcept>

#include "shared/base/base64.hpp"
#include "shared/job/retry_decision.hpp"
#include "shared/json/json.hpp"

namespace brood {
namespace {

std::string deflated(const std::string& text) {
  uLongf size = compressBound(text.size());
  std::string out(size, '\0');
  const int result =
      compress(reinterpret_cast<Bytef*>(out.data()), &size, reinterpret_cast<const Bytef*>(text.data()), text.size());
  if (result != Z_OK) throw std::runtime_error("compress: " + std::to_string(result));
  out.resize(size);
  return out;
}

// Unpacks in pieces and stops beyond max_bytes, so that a zip bomb costs no more memory than that.
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
  return base64_of(deflated(json));
}

std::optional<std::vector<std::string>> decode_backtrace(std::string_view text, std::size_t max_bytes) {
  const auto json = inflated(read_base64_leniently(text), max_bytes);
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
