#include "supervisor/web/http/http_message.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <stdexcept>

namespace brood {
namespace {

constexpr std::size_t most_pairs = 200;

constexpr std::string_view policy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; "
    "frame-ancestors 'none'; base-uri 'none'";

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

enum class Plus { is_itself, is_space };

std::string decoded(std::string_view text, Plus plus = Plus::is_space) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+' && plus == Plus::is_space) {
      plain += ' ';
    } else if (text[i] == '%' && i + 2 < text.size() && hex_digit(text[i + 1]) >= 0 && hex_digit(text[i + 2]) >= 0) {
      plain += static_cast<char>(hex_digit(text[i + 1]) * 16 + hex_digit(text[i + 2]));
      i += 2;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

void add_header(std::string& head, std::string_view name, std::string_view value) {
  if (std::any_of(value.begin(), value.end(), [](char c) { return c == '\r' || c == '\n' || c == '\0'; }))
    throw std::logic_error(fmt::format("the value of the header {} has more than one line", name));
  head += fmt::format("{}: {}\r\n", name, value);
}

std::string date_of_now() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  constexpr std::array days{"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  constexpr std::array months{"Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  return fmt::format("{}, {:02} {} {} {:02}:{:02}:{:02} GMT", days.at(static_cast<std::size_t>(utc.tm_wday)),
                     utc.tm_mday, months.at(static_cast<std::size_t>(utc.tm_mon)), utc.tm_year + 1900, utc.tm_hour,
                     utc.tm_min, utc.tm_sec);
}

// The head of a response; without `length` the body ends with the connection.
std::string head_of(const HttpResponse& response, bool keeps_alive, const std::optional<std::size_t>& length) {
  std::string bytes = fmt::format("HTTP/1.1 {} {}\r\n", response.status, reason_of(response.status));
  add_header(bytes, "Date", date_of_now());
  add_header(bytes, "Content-Type", response.type);
  if (length) add_header(bytes, "Content-Length", std::to_string(*length));
  add_header(bytes, "Connection", keeps_alive ? "keep-alive" : "close");
  add_header(bytes, "Cache-Control", response.is_lasting ? "public, max-age=31536000, immutable" : "no-store");
  add_header(bytes, "Content-Security-Policy", policy);
  add_header(bytes, "X-Content-Type-Options", "nosniff");
  add_header(bytes, "X-Frame-Options", "DENY");
  add_header(bytes, "Referrer-Policy", "no-referrer");
  add_header(bytes, "Cross-Origin-Opener-Policy", "same-origin");
  add_header(bytes, "Cross-Origin-Resource-Policy", "same-origin");
  for (const auto& [name, value] : response.headers) add_header(bytes, name, value);
  return bytes += "\r\n";
}

}  // namespace

FormValues FormValues::parse(std::string_view text) {
  FormValues values;
  for (std::size_t begin = 0; begin < text.size() && values.pairs_.size() < most_pairs;) {
    const std::size_t mark = text.find('&', begin), end = mark == text.npos ? text.size() : mark;
    const std::string_view pair = text.substr(begin, end - begin);
    begin = end + 1;
    if (pair.empty()) continue;
    const std::size_t equals = pair.find('=');
    const bool has_value = equals != pair.npos;
    values.pairs_.emplace_back(decoded(pair.substr(0, equals)), has_value ? decoded(pair.substr(equals + 1)) : "");
  }
  return values;
}

std::optional<std::string> FormValues::find(std::string_view name) const {
  for (const auto& [key, value] : pairs_) {
    if (key == name) return value;
  }
  return std::nullopt;
}

std::vector<std::string> FormValues::all(std::string_view name) const {
  std::vector<std::string> values;
  for (const auto& [key, value] : pairs_) {
    if (key == name) values.push_back(value);
  }
  return values;
}

std::string percent_decoded(std::string_view text) { return decoded(text, Plus::is_itself); }

std::string percent_encoded_value(std::string_view text) {
  std::string encoded;
  for (const char c : text) {
    const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
                          c == '.' || c == '_' || c == '~';
    if (is_plain)
      encoded += c;
    else
      encoded += fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return encoded;
}

std::optional<std::string_view> HttpRequest::header(std::string_view name) const {
  std::optional<std::string_view> found;
  for (const auto& [key, value] : headers) {
    if (key != name) continue;
    if (found) return std::nullopt;
    found = value;
  }
  return found;
}

bool HttpRequest::is_of_type(std::string_view type) const {
  std::string_view value = header("content-type").value_or("");
  value = value.substr(0, value.find(';'));
  while (!value.empty() && value.back() == ' ') value.remove_suffix(1);
  return std::equal(value.begin(), value.end(), type.begin(), type.end(), [](char one, char other) {
    return (one >= 'A' && one <= 'Z' ? static_cast<char>(one - 'A' + 'a') : one) == other;
  });
}

std::optional<std::string> HttpRequest::cookie(std::string_view name) const {
  for (const auto& [key, value] : headers) {
    if (key != "cookie") continue;
    std::string_view rest = value;
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find(';'), rest.size());
      std::string_view one = rest.substr(0, end);
      rest.remove_prefix(std::min(end + 1, rest.size()));
      one.remove_prefix(std::min(one.find_first_not_of(' '), one.size()));
      if (one.size() > name.size() && one.starts_with(name) && one[name.size()] == '=')
        return std::string(one.substr(name.size() + 1));
    }
  }
  return std::nullopt;
}

std::string_view reason_of(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 303:
      return "See Other";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 408:
      return "Request Timeout";
    case 409:
      return "Conflict";
    case 413:
      return "Content Too Large";
    case 415:
      return "Unsupported Media Type";
    case 421:
      return "Misdirected Request";
    case 422:
      return "Unprocessable Content";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 501:
      return "Not Implemented";
    case 503:
      return "Service Unavailable";
    case 505:
      return "HTTP Version Not Supported";
    default:
      return "Internal Server Error";
  }
}

std::string bytes_of(const HttpResponse& response, bool with_body, bool keeps_alive) {
  std::string bytes = head_of(response, keeps_alive, response.body.size());
  if (with_body) bytes += response.body;
  return bytes;
}

std::string beginning_of_stream(const HttpResponse& response) {
  return head_of(response, false, std::nullopt) + response.body;
}

std::string event_text(std::string_view name, std::string_view data) {
  std::string text = fmt::format("event: {}\n", name);
  for (;;) {
    const std::size_t end = data.find_first_of("\r\n");
    text += "data: ";
    text += data.substr(0, end);
    text += '\n';
    if (end == data.npos) break;
    data.remove_prefix(end + 1);
  }
  return text += '\n';
}

}  // namespace brood
