#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace brood {

// The decoded "name=value" pairs of a query or a form.  If a name occurs twice, the first counts.
class FormValues {
 public:
  // Parses "a=1&b=two%20words", with "+" for a space; an invalid percent escape stays as it is.  The number of pairs is
  // limited.
  static FormValues parse(std::string_view text);

  std::optional<std::string> find(std::string_view name) const;
  std::string value(std::string_view name) const { return find(name).value_or(""); }  // empty if there is none
  std::vector<std::string> all(std::string_view name) const;
  bool has(std::string_view name) const { return find(name).has_value(); }
  const std::vector<std::pair<std::string, std::string>>& pairs() const { return pairs_; }

 private:
  std::vector<std::pair<std::string, std::string>> pairs_;
};

// An invalid percent escape stays as it is.
std::string percent_decoded(std::string_view text);
// Writes everything except letters, digits and -._~ as %XX.
std::string percent_encoded_value(std::string_view text);

// One whole request.  Its members may contain anything.
struct HttpRequest {
  std::string method;                                        // as written: "GET"
  std::string path;                                          // decoded, begins with "/"
  std::string query;                                         // as written, without "?"
  std::vector<std::pair<std::string, std::string>> headers;  // names in small letters
  std::string body;
  bool keeps_alive = false;
  std::optional<uid_t> peer;  // the user of the sending process, from the kernel; nullopt unless by a Unix socket

  // The only value of that name; nullopt if there is none, or more than one.
  std::optional<std::string_view> header(std::string_view name) const;
  // Whether its Content-Type is this one, with any parameters.
  bool is_of_type(std::string_view type) const;
  // The value of a cookie; nullopt if there is none.
  std::optional<std::string> cookie(std::string_view name) const;
};

struct HttpResponse {
  int status = 200;
  std::string type = "text/plain; charset=utf-8";
  std::string body = {};
  std::vector<std::pair<std::string, std::string>> headers = {};  // beside those of every answer
  bool is_lasting = false;                                        // a client may keep it forever; otherwise not at all
};

// The bytes of an answer, without the body for a HEAD.  Every answer forbids foreign scripts, styles, frames and forms,
// guessing of types, referrers and, unless it is lasting, keeping.  Throws std::logic_error for a header with a CR, LF
// or NUL: foreign text must never get into one unchanged.
std::string bytes_of(const HttpResponse& response, bool with_body, bool keeps_alive);
// The beginning of an endless answer, with the first part of its body.
std::string beginning_of_stream(const HttpResponse& response);

// One event of a stream of type text/event-stream, whatever `data` contains.
std::string event_text(std::string_view name, std::string_view data);

// The text of a status, as "404 Not Found".
std::string_view reason_of(int status);

}  // namespace brood
