#include "supervisor/web/http/compression.hpp"

#include <zlib.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "shared/base/ascii.hpp"

namespace brood {
namespace {

constexpr std::size_t smallest_compressed = 1'000;  // below it the header costs what is saved
constexpr int fastest = 1;                          // a page of tables is a tenth longer than with the best level
constexpr int gzip_window = 15 + 16;                // the 16 means gzip
constexpr int usual_memory = 8;

// nullopt if it fails, perhaps for lack of memory.
std::optional<std::string> gzipped(std::string_view text) {
  z_stream stream{};
  if (deflateInit2(&stream, fastest, Z_DEFLATED, gzip_window, usual_memory, Z_DEFAULT_STRATEGY) != Z_OK)
    return std::nullopt;
  std::string packed(deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  const bool is_whole = deflate(&stream, Z_FINISH) == Z_STREAM_END;
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return is_whole ? std::optional(std::move(packed)) : std::nullopt;
}

std::string_view without_spaces(std::string_view text) {
  const std::size_t begin = std::min(text.find_first_not_of(" \t"), text.size());
  return text.substr(begin, text.find_last_not_of(" \t") + 1 - begin);
}

// Cuts the text before the mark off `rest`, and drops the mark.
std::string_view taken_up_to(char mark, std::string_view& rest) {
  const std::size_t end = std::min(rest.find(mark), rest.size());
  const std::string_view taken = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return without_spaces(taken);
}

bool is_word(std::string_view text, std::string_view word) { return ascii::equal_in_any_case(text, word); }

// "0", "0.0" and so on mean that the client does not accept this coding.
bool is_nothing(std::string_view quality) { return quality.find_first_not_of("0.") == quality.npos; }

bool is_asked_for_by_ourselves(const HttpRequest& request) {
  const auto site = request.header("sec-fetch-site");
  return site == "same-origin" || site == "none";
}

bool is_text(std::string_view type) {
  return type.starts_with("text/") || type.starts_with("application/json") || type.starts_with("image/svg");
}

}  // namespace

bool takes_gzip(std::string_view accept_encoding) {
  while (!accept_encoding.empty()) {
    std::string_view parameters = taken_up_to(',', accept_encoding);
    if (!is_word(taken_up_to(';', parameters), "gzip")) continue;
    while (!parameters.empty()) {
      std::string_view value = taken_up_to(';', parameters);
      if (is_word(taken_up_to('=', value), "q")) return !is_nothing(without_spaces(value));
    }
    return true;
  }
  return false;
}

HttpResponse compressed_for(const HttpRequest& request, HttpResponse response) {
  if (response.body.size() < smallest_compressed || !is_text(response.type)) return response;
  response.headers.emplace_back("Vary", "Accept-Encoding");
  if (!takes_gzip(request.header("accept-encoding").value_or(""))) return response;
  if (!response.is_lasting && !is_asked_for_by_ourselves(request)) return response;
  auto packed = gzipped(response.body);
  if (!packed || packed->size() >= response.body.size()) return response;
  response.body = std::move(*packed);
  response.headers.emplace_back("Content-Encoding", "gzip");
  return response;
}

}  // namespace brood
