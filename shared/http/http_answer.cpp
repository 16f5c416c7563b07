#include "shared/http/http_answer.hpp"

#include <algorithm>
#include <charconv>
#include <limits>

namespace brood {
namespace {

constexpr std::size_t longest_chunk_line = 1'024;
constexpr std::size_t size_of_status_line = 12;  // "HTTP/1.1 200", before the reason phrase

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_same_word(std::string_view one, std::string_view other) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  return std::equal(one.begin(), one.end(), other.begin(), other.end(),
                    [&](char a, char b) { return lower(a) == lower(b); });
}

std::optional<std::size_t> read_size(std::string_view digits, int base) {
  std::size_t size = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), size, base);
  const bool is_size = error == std::errc() && end == digits.data() + digits.size() && !digits.empty() &&
                       size <= std::numeric_limits<std::size_t>::max() / 2;
  return is_size ? std::optional(size) : std::nullopt;
}

}  // namespace

void HttpAnswer::add(std::string_view bytes) {
  if (state_ == State::whole || state_ == State::broken) return;
  if (state_ == State::until_end) return keep(bytes);
  bytes_ += bytes;
  if (state_ == State::head) read_head();
  if (state_ == State::counted) read_counted();
  if (state_ == State::chunked) read_chunks();
  if (state_ == State::until_end) {
    keep(bytes_);
    bytes_.clear();
  }
}

void HttpAnswer::end() {
  if (state_ == State::until_end) state_ = State::whole;
  if (state_ != State::whole) state_ = State::broken;
}

void HttpAnswer::read_head() {
  for (;;) {
    const std::size_t end = bytes_.find("\r\n\r\n");
    if (end == bytes_.npos || end > longest_head) {
      if (bytes_.size() > longest_head) state_ = State::broken;
      return;
    }
    std::string_view head = std::string_view(bytes_).substr(0, end);
    const bool is_status_line = head.size() >= size_of_status_line && head.starts_with("HTTP/1.") &&
                                is_digit(head[7]) && head[8] == ' ' && is_digit(head[9]) && is_digit(head[10]) &&
                                is_digit(head[11]);
    if (!is_status_line) {
      state_ = State::broken;
      return;
    }
    status_ = (head[9] - '0') * 100 + (head[10] - '0') * 10 + (head[11] - '0');
    headers_.clear();
    length_.reset();
    is_chunked_ = false;
    for (std::size_t next = head.find("\r\n"); next != head.npos; next = head.find("\r\n")) {
      head.remove_prefix(next + 2);
      if (!read_line(head.substr(0, head.find("\r\n")))) {
        state_ = State::broken;
        return;
      }
    }
    bytes_.erase(0, end + 4);
    if (status_ < 100) state_ = State::broken;
    if (status_ >= 200 || state_ == State::broken) break;  // below 200 the final answer is still to come
  }
  if (state_ == State::broken) return;
  const bool has_no_body = status_ == 204 || status_ == 304;
  left_ = has_no_body ? 0 : length_.value_or(0);
  if (is_chunked_ && !has_no_body)
    state_ = State::chunked;
  else
    state_ = length_ || has_no_body ? State::counted : State::until_end;
}

std::string HttpAnswer::header(std::string_view name) const {
  std::string last;
  for (const auto& [known, value] : headers_) {
    if (is_same_word(known, name)) last = value;
  }
  return last;
}

bool HttpAnswer::read_line(std::string_view line) {
  const std::size_t colon = line.find(':');
  if (colon == line.npos || colon == 0) return false;
  const std::string_view name = line.substr(0, colon);
  std::string_view value = line.substr(colon + 1);
  while (!value.empty() && (value.front() == ' ' || value.front() == '\t')) value.remove_prefix(1);
  while (!value.empty() && (value.back() == ' ' || value.back() == '\t')) value.remove_suffix(1);
  headers_.emplace_back(name, value);
  if (is_same_word(name, "transfer-encoding")) {
    if (!is_same_word(value, "chunked")) return false;
    is_chunked_ = true;
  }
  if (is_same_word(name, "content-length")) {
    const std::optional<std::size_t> length = read_size(value, 10);
    if (!length || (length_ && length_ != length)) return false;
    length_ = length;
  }
  return true;
}

void HttpAnswer::read_counted() {
  const std::size_t size = std::min(bytes_.size(), left_);
  keep(std::string_view(bytes_).substr(0, size));
  bytes_.erase(0, size);
  left_ -= size;
  if (left_ == 0) state_ = State::whole;
}

void HttpAnswer::read_chunks() {
  constexpr std::size_t line_end = 2;
  std::size_t read = 0;
  while (state_ == State::chunked) {
    const std::string_view rest = std::string_view(bytes_).substr(read);
    if (left_ > 0) {
      const std::size_t size = std::min(rest.size(), left_);
      keep(rest.substr(0, std::min(size, left_ > line_end ? left_ - line_end : 0)));
      read += size;
      left_ -= size;
      if (left_ > 0) break;
      continue;
    }
    const std::size_t end = rest.find("\r\n");
    if (end == rest.npos || end > longest_chunk_line) {
      if (rest.size() > longest_chunk_line) state_ = State::broken;
      break;
    }
    const std::string_view line = rest.substr(0, end);
    const std::optional<std::size_t> size = read_size(line.substr(0, line.find_first_of("; \t")), 16);
    read += end + line_end;
    if (!size) state_ = State::broken;
    if (size == std::size_t{0}) state_ = State::whole;  // trailers are not needed
    left_ = size.value_or(0) + line_end;
  }
  bytes_.erase(0, read);
}

void HttpAnswer::keep(std::string_view bytes) {
  body_ += bytes.substr(0, longest_body - std::min(longest_body, body_.size()));
  if (body_.size() == longest_body) state_ = State::whole;
}

}  // namespace brood
