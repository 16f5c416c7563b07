#include "supervisor/web/http/http_parser.hpp"

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <utility>

namespace brood {
namespace {

namespace http = boost::beast::http;
using BeastParser = http::request_parser<http::string_body>;

std::string_view view_of(boost::beast::string_view text) { return {text.data(), text.size()}; }

std::string in_small_letters(std::string_view text) {
  std::string small(text);
  std::transform(small.begin(), small.end(), small.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return small;
}

int status_of(const boost::beast::error_code& error) {
  if (error == http::error::header_limit) return 431;
  if (error == http::error::body_limit) return 413;
  if (error == http::error::bad_version) return 505;
  return 400;
}

// A line that begins with white space continues the one before it; proxies differ in how they read it.
bool has_folded_line(std::string_view header) {
  return header.find("\n ") != header.npos || header.find("\n\t") != header.npos;
}

// Headers with a single value: if there were two, a proxy might read one and we the other.
constexpr http::field said_once[] = {http::field::host, http::field::origin, http::field::authorization,
                                     http::field::content_length, http::field::content_type};
constexpr std::string_view said_once_too[] = {"Sec-Fetch-Site"};

bool is_number(std::string_view text) { return !text.empty() && text.find_first_not_of("0123456789") == text.npos; }

// Returns 0 if it can be served.
int why_refused(const BeastParser::value_type& message) {
  if (message.version() != 11 && message.version() != 10) return 505;
  if (message.count(http::field::transfer_encoding) > 0) return 501;
  for (const http::field field : said_once) {
    if (message.count(field) > 1) return 400;
  }
  for (const std::string_view field : said_once_too) {
    if (message.count(boost::beast::string_view(field.data(), field.size())) > 1) return 400;
  }
  // Some programs accept a list with the same length twice.
  const auto length = message.find(http::field::content_length);
  if (length != message.end() && !is_number(view_of(length->value()))) return 400;
  if (message.count(http::field::host) == 0 && message.version() == 11) return 400;
  if (message.count(http::field::expect) > 0) return 400;
  const std::string_view target = view_of(message.target());
  if (target.empty() || target.front() != '/' || target.starts_with("//")) return 400;
  const bool is_plain = std::all_of(target.begin(), target.end(), [](char c) { return c > ' ' && c < 0x7f; });
  return is_plain && target.find('#') == target.npos ? 0 : 400;
}

HttpRequest request_of(const BeastParser& parser) {
  const auto& message = parser.get();
  HttpRequest request;
  request.method = view_of(message.method_string());
  const std::string_view target = view_of(message.target());
  const std::size_t mark = std::min(target.find('?'), target.size());
  request.path = percent_decoded(target.substr(0, mark));
  request.query = target.substr(std::min(mark + 1, target.size()));
  for (const auto& field : message)
    request.headers.emplace_back(in_small_letters(view_of(field.name_string())), view_of(field.value()));
  request.body = message.body();
  request.keeps_alive = message.keep_alive();
  return request;
}

}  // namespace

struct HttpParser::Beast {
  Beast() {
    parser.header_limit(longest_http_header);
    parser.body_limit(longest_http_body);
    parser.eager(true);
  }
  BeastParser parser;
};

HttpParser::HttpParser() : beast_(std::make_unique<Beast>()) {}
HttpParser::~HttpParser() = default;

void HttpParser::add(std::string_view bytes) {
  if (refusal_ != 0) return;
  bytes_.erase(0, std::exchange(taken_, 0));  // once here, not for each of thousands of requests that came at once
  bytes_ += bytes;
}

bool HttpParser::has_begun() const { return size() > 0 || beast_->parser.got_some(); }
bool HttpParser::awaits_body() const { return header_is_read_; }

std::optional<HttpRequest> HttpParser::next() {
  BeastParser& parser = beast_->parser;
  while (refusal_ == 0 && size() > 0 && !parser.is_done()) {
    const std::string_view unread = std::string_view(bytes_).substr(taken_);
    if (!header_is_read_) {
      const std::size_t end = std::min(unread.find("\r\n\r\n"), unread.size());
      if (end > longest_http_header) refusal_ = 431;
      if (has_folded_line(unread.substr(0, end))) refusal_ = 400;
      if (refusal_ != 0) break;
    }
    boost::beast::error_code error;
    const std::size_t taken = parser.put(boost::asio::const_buffer(unread.data(), unread.size()), error);
    taken_ += taken;
    if (error && error != http::error::need_more) {
      refusal_ = status_of(error);
      break;
    }
    if (parser.is_header_done() && !header_is_read_) {
      header_is_read_ = true;
      refusal_ = why_refused(parser.get());
    }
    if (taken == 0) break;
  }
  if (refusal_ != 0 || size() == 0) {
    bytes_ = {};
    taken_ = 0;
  }
  if (refusal_ != 0 || !parser.is_done()) return std::nullopt;
  HttpRequest request = request_of(parser);
  beast_ = std::make_unique<Beast>();
  header_is_read_ = false;
  return request;
}

}  // namespace brood
