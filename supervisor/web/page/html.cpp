#include "supervisor/web/page/html.hpp"

#include "shared/base/log_line.hpp"
#include "supervisor/web/http/http_message.hpp"

namespace brood {
namespace {

constexpr std::size_t longest_text = 4'000, longest_value = 4'000, longest_query = 8'000;  // bytes

}  // namespace

std::string_view beginning_of(std::string_view text, std::size_t most_bytes) {
  if (text.size() <= most_bytes) return text;
  std::size_t end = most_bytes;
  // A UTF-8 character has at most three such bytes; a longer run is not UTF-8.
  for (int i = 0; i < 3 && end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80; ++i) --end;
  return text.substr(0, end);
}

std::string html_escaped(std::string_view text) {
  std::string escaped;
  for (const char c : log::printable(text)) {
    switch (c) {
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '&':
        escaped += "&amp;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      case '\'':
        escaped += "&#39;";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

Url Url::of_asset(std::string_view name) {
  Url url("/assets/");
  url.rest_ = percent_encoded_value(name);
  return url;
}

Url Url::with(std::string_view name, std::string_view value) const {
  Url url = *this;
  url.is_too_long_ |= value.size() > longest_value || url.query_.size() > longest_query;
  if (url.is_too_long_) return url;
  url.query_ += (url.query_.empty() ? '?' : '&') + percent_encoded_value(name) + "=" + percent_encoded_value(value);
  return url;
}

Url Url::with_all(const std::vector<std::pair<std::string, std::string>>& values) const {
  Url url = *this;
  for (const auto& [name, value] : values) url = url.with(name, value);
  return url;
}

std::string Html::in_page(std::string_view text) {
  const std::string_view shown = beginning_of(text, longest_text);
  return html_escaped(shown) + (shown.size() < text.size() ? "…" : "");
}

void Html::append(std::string_view markup, std::initializer_list<std::string> values) {
  for (const std::string& value : values) {
    const std::size_t at = markup.find("{}");
    text_ += markup.substr(0, at);
    text_ += value;
    markup.remove_prefix(at + 2);
  }
  text_ += markup;
}

}  // namespace brood
