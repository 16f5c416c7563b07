#include "supervisor/otlp/request_headers.hpp"

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <stdexcept>
#include <string_view>
#include <system_error>

#include "shared/base/ascii.hpp"
#include "shared/config/password_files.hpp"

namespace brood {
namespace {

constexpr std::size_t longest_headers = 16'384;

bool is_token(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return ascii::is_letter_or_digit(c) || std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
  });
}

bool is_ours(std::string name) {
  std::transform(name.begin(), name.end(), name.begin(), ascii::lower);
  return name == "host" || name == "content-length" || name == "content-type" || name == "transfer-encoding" ||
         name == "connection";
}

}  // namespace

std::string read_headers(const std::string& path) {
  const std::string file = credential_path(path);
  std::ifstream in(file, std::ios::binary);
  if (!in) throw std::runtime_error(file + ": " + std::generic_category().message(errno));
  std::string headers, line;
  while (std::getline(in, line)) {
    if (line.ends_with('\r')) line.pop_back();
    if (line.empty() || line.starts_with('#')) continue;
    const std::size_t colon = line.find(':');
    const std::string name = line.substr(0, colon);
    const bool is_plain = std::all_of(line.begin(), line.end(),
                                      [](char c) { return static_cast<unsigned char>(c) >= ' ' && c != '\x7f'; });
    if (colon == line.npos || !is_token(name) || is_ours(name) || !is_plain)
      throw std::runtime_error(file + ": a line is no \"Name: value\" of a header that may be set");
    headers += line + "\r\n";
    if (headers.size() > longest_headers) throw std::runtime_error(file + ": it is longer than 16 KB");
  }
  return headers;
}

}  // namespace brood
