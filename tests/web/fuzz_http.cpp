// Any bytes, in pieces of any size, become requests or a refusal; the content of a request stays text in a page.
//
//   build/fuzz/bin/fuzz_http -max_total_time=600 -max_len=4096

#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "supervisor/web/http/compression.hpp"
#include "supervisor/web/http/http_parser.hpp"
#include "supervisor/web/page/html.hpp"

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

// Escaped text is only text, also within quotes.
void check_escaping(std::string_view text) {
  const std::string escaped = brood::html_escaped(text);
  require(escaped.find_first_of(std::string_view("<>\"'\0\n\r", 7)) == escaped.npos);
  const brood::Html link("<a href=\"{}\">{}</a>", brood::Url("/a").with(text, text), text);
  std::size_t marks = 0;
  for (const char c : link.text()) marks += c == '<' || c == '>' ? 1 : 0;
  require(marks == 4);
}

// One event, whatever the text: each of its lines has its field.
void check_event(std::string_view text) {
  std::string event = brood::event_text("page", text);
  require(event.starts_with("event: page\ndata: ") && event.ends_with("\n\n"));
  event.resize(event.size() - 2);
  require(event.find('\r') == event.npos && event.find("\n\n") == event.npos);
  for (std::size_t end = event.find('\n'); end != event.npos; end = event.find('\n', end + 1))
    require(std::string_view(event).substr(end + 1).starts_with("data: "));
}

// An answer is whole and has the right Content-Encoding, whatever the request's header is.
void check_compression(const brood::HttpRequest& request) {
  const std::string text(2'000, 'a');
  const brood::HttpResponse response =
      brood::compressed_for(request, {.type = "text/css", .body = text, .is_lasting = true});
  require(response.headers.size() == (response.body == text ? 1U : 2U));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::size_t piece = data[0] == 0 ? size : data[0];
  std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  brood::HttpParser parser;
  while (!rest.empty() && parser.refusal() == 0) {
    const std::string_view some = rest.substr(0, piece);
    parser.add(some);
    rest.remove_prefix(some.size());
    while (const auto request = parser.next()) {
      require(request->path.starts_with('/'));
      require(request->body.size() <= brood::longest_http_body);
      check_escaping(request->path);
      const brood::FormValues query = brood::FormValues::parse(request->query);
      for (const auto& [name, value] : query.pairs()) {
        check_escaping(value);
        require(brood::percent_decoded(brood::percent_encoded_value(value)) == value);
      }
      brood::FormValues::parse(request->body);
      request->cookie("brood_visit");
      check_event(request->body);
      check_compression(*request);
      check_event(brood::percent_decoded(request->query));
      const std::string answer = brood::bytes_of({.body = request->body}, true, request->keeps_alive);
      require(answer.starts_with("HTTP/1.1 200 OK\r\n"));
    }
  }
  require(parser.refusal() == 0 || (parser.refusal() >= 400 && parser.refusal() < 600));
  return 0;
}
