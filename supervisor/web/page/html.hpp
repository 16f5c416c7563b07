#pragma once

#include <fmt/format.h>

#include <concepts>
#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace brood {

// Makes `text` plain text in a page, also within quotes: < > & " ' become character references, and invalid UTF-8,
// control characters and changes of direction are spelled out, as in the log.
std::string html_escaped(std::string_view text);

// The first `most_bytes` bytes of `text` at most, without a partial character.
std::string_view beginning_of(std::string_view text, std::size_t most_bytes);

// A path from the source, such as "/queues".
struct SitePath {
  consteval SitePath(const char* path) : text(path) {
    if (text.empty() || text.front() != '/' || text.starts_with("//")) throw "a path of this site begins with one /";
  }
  std::string_view text;
};

// A place of this site with its query: no value can make the link leave the site.  If a value is too long for any
// request, the link leads to a place that does not exist.
class Url {
 public:
  Url(SitePath path) : path_(path.text) {}
  // The Url of a route, whose path begins with a / too.
  static Url of_route(std::string_view path) {
    Url url("/");
    url.path_ = path;
    return url;
  }
  // A file below /assets/.
  static Url of_asset(std::string_view name);
  Url with(std::string_view name, std::string_view value) const;
  Url with_all(const std::vector<std::pair<std::string, std::string>>& values) const;
  bool is_too_long() const { return is_too_long_; }
  std::string text() const {
    return is_too_long_ ? base() + "/too-long" : base() + std::string(path_) + rest_ + query_;
  }

  // The path of this site on its server: "/brood"; empty: at the root.  Set it before the first page, and not again.
  static std::string& base() {
    static std::string base;
    return base;
  }

 private:
  std::string_view path_;
  std::string rest_, query_;
  bool is_too_long_ = false;
};

class Html;

// Markup from the source with a {} for each value.  The compiler checks it: a value is between tags, or within the
// double quotes of an attribute; the start of href, src or action must be a Url, and Html may only be between tags.  So
// a value that is not escaped, or escaped for another place, does not compile.
template <typename... Values>
class HtmlPattern {
 public:
  template <std::size_t size>
  consteval HtmlPattern(const char (&markup)[size]) : markup_(markup, size - 1) {
    constexpr bool is_html[] = {std::same_as<std::remove_cvref_t<Values>, Html>..., false};
    constexpr bool is_url[] = {std::same_as<std::remove_cvref_t<Values>, Url>..., false};
    std::size_t values = 0;
    bool in_tag = false, in_quotes = false;
    for (std::size_t i = 0; i < markup_.size(); ++i) {
      const char c = markup_[i];
      if (c == '"' && in_tag) in_quotes = !in_quotes;
      if (c == '\'' && in_tag && !in_quotes) throw "attributes stand in double quotes";
      if (c == '<' && !in_tag) {
        in_tag = true;
        const std::string_view rest = markup_.substr(i + 1);
        if ((rest.starts_with("script") && !rest.starts_with("script src=\"{}\"")) || rest.starts_with("style"))
          throw "nothing is inline";
      }
      if (c == '>' && in_tag && !in_quotes) in_tag = false;
      if (c == ' ' && in_tag && !in_quotes && i + 3 < markup_.size()) {
        const std::string_view rest = markup_.substr(i + 1);
        if (rest.starts_with("on") || rest.starts_with("style=")) throw "nothing is inline";
      }
      if (c != '{') continue;
      if (i + 1 == markup_.size() || markup_[i + 1] != '}') throw "a { stands for itself nowhere";
      if (values == sizeof...(Values)) throw "a value is missing";
      if (in_tag && !in_quotes) throw "a value of an attribute stands in double quotes";
      if (in_tag && is_html[values]) throw "Html stands between tags";
      const std::string_view before = markup_.substr(0, i);
      const bool is_place = in_tag && (before.ends_with("href=\"") || before.ends_with("src=\"") ||
                                       before.ends_with("action=\"") || before.ends_with("data=\""));
      if (is_place && !is_url[values]) throw "a place is a Url";
      ++values;
    }
    if (values != sizeof...(Values)) throw "a value has no place";
    if (in_tag) throw "a tag does not end";
  }
  std::string_view markup() const { return markup_; }

 private:
  std::string_view markup_;
};

// A part of a page.  Values added by a pattern are escaped, unless they are Html themselves, and cut if they are very
// long: foreign text may be a megabyte.
class Html {
 public:
  Html() = default;
  template <typename... Values>
  explicit Html(std::type_identity_t<HtmlPattern<Values...>> pattern, const Values&... values) {
    add(pattern, values...);
  }

  template <typename... Values>
  Html& add(std::type_identity_t<HtmlPattern<Values...>> pattern, const Values&... values) {
    append(pattern.markup(), {in_page(values)...});
    return *this;
  }
  Html& operator+=(const Html& other) {
    text_ += other.text_;
    return *this;
  }
  bool empty() const { return text_.empty(); }
  const std::string& text() const { return text_; }

  friend Html operator+(Html one, const Html& other) { return one += other; }

 private:
  static std::string in_page(const Html& html) { return html.text_; }
  static std::string in_page(const Url& url) { return html_escaped(url.text()); }
  static std::string in_page(std::string_view text);
  static std::string in_page(const std::string& text) { return in_page(std::string_view(text)); }
  static std::string in_page(const char* text) { return in_page(std::string_view(text)); }
  static std::string in_page(std::integral auto number) { return fmt::format("{}", number); }
  void append(std::string_view markup, std::initializer_list<std::string> values);

  std::string text_;
};

}  // namespace brood
