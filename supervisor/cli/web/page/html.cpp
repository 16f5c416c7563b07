#include "supervisor/cli/web/page/html.hpp"

#include "shared/base/log_line.hpp"
#include "supervisor/cli/web/http/http_message.hpp"

namespace brood {

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
  url.query_ += (url.query_.empty() ? '?' : '&') + percent_encoded_value(name) + "=" + percent_encoded_value(value);
  return url;
}

Url Url::with_all(const std::vector<std::pair<std::string, std::string>>& values) const {
  Url url = *this;
  for (const auto& [name, value] : values) url = url.with(name, value);
  return url;
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
