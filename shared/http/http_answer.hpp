#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace brood {

// Reads one HTTP/1.1 answer from the bytes of a connection, in pieces as they arrive.  It keeps at most longest_body
// bytes of the body, and counts as whole once it has those.
class HttpAnswer {
 public:
  static constexpr std::size_t longest_head = 16'384, longest_body = 65'536;

  void add(std::string_view bytes);
  void end();  // the connection has been closed

  bool is_whole() const { return state_ == State::whole; }
  bool is_broken() const { return state_ == State::broken; }  // the bytes are no HTTP answer, or it ended too early

  // Valid once the answer is whole.
  int status() const { return status_; }
  std::string header(std::string_view name) const;  // its last value; empty if there is none
  std::string retry_after() const { return header("retry-after"); }
  const std::string& body() const { return body_; }  // only the beginning if it is long

 private:
  enum class State { head, counted, chunked, until_end, whole, broken };

  void read_head();
  bool read_line(std::string_view line);
  void read_counted();
  void read_chunks();
  void keep(std::string_view bytes);

  State state_ = State::head;
  std::string bytes_;     // not parsed yet
  std::size_t left_ = 0;  // of the body, or of the chunk and the line end behind it
  int status_ = 0;
  std::vector<std::pair<std::string, std::string>> headers_;
  std::string body_;
  std::optional<std::size_t> length_;
  bool is_chunked_ = false;
};

}  // namespace brood
