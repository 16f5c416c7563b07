#include "supervisor/web/page/layout.hpp"

#include <algorithm>
#include <charconv>

#include "shared/base/clock.hpp"
#include "supervisor/cli/terminal/iso_time.hpp"
#include "supervisor/version.hpp"
#include "supervisor/web/http/digest.hpp"
#include "supervisor/web/page/assets.hpp"
#include "supervisor/web/page/parts.hpp"
#include "supervisor/web/page/router.hpp"
#include "supervisor/web/page/site.hpp"

namespace brood {
namespace {

constexpr std::size_t most_bytes_said = 300;  // of the result of an action, which is in an address

Html navigation(const Call& call) {
  Html links;
  for (const Route& route : routes()) {
    if (route.title.empty() || !call.may(route.role)) continue;
    const bool is_here = call.request.path == route.path ||
                         (route.path != "/" && call.request.path.starts_with(std::string(route.path) + "/"));
    if (is_here)
      links.add("<li><a href=\"{}\" aria-current=\"page\">{}</a></li>", Url::of_route(route.path), route.title);
    else
      links.add("<li><a href=\"{}\">{}</a></li>", Url::of_route(route.path), route.title);
  }
  return Html("<nav aria-label=\"Pages\"><ul>{}</ul></nav>", links);
}

Html theme_switch(const Call& call) {
  const auto choice = [&](const char* theme, const char* label) {
    const char* const pressed = call.theme == theme ? "true" : "false";
    return Html("<button name=\"theme\" value=\"{}\" aria-pressed=\"{}\">{}</button>", theme, pressed, label);
  };
  return Html(
      "<form class=\"theme\" method=\"get\" action=\"{}\"><input type=\"hidden\" name=\"to\" value=\"{}\">"
      "<span class=\"sr\">Colours</span>{}{}{}</form>",
      Url("/theme"), call.request.path + (call.request.query.empty() ? "" : "?" + call.request.query),
      choice("", "Auto"), choice("light", "Light"), choice("dark", "Dark"));
}

// In seconds; 0: the page does not reload by itself.
int refresh_of(const Call& call) {
  const std::string text = call.query.value("refresh");
  int seconds = 0;
  std::from_chars(text.data(), text.data() + text.size(), seconds);
  return std::clamp(seconds, 0, 3600);
}

// Proves that we made the text: a link from another site must not make the page show its own text.
std::string proof_of(const Call& call, std::string_view said) { return hmac_digits(call.token, said).substr(0, 32); }

}  // namespace

std::string page_text(const Call& call, const Page& page) {
  Html notices;
  for (const std::string& notice : page.notices) notices.add("<p class=\"notice bad\" role=\"alert\">{}</p>", notice);
  if (!page.said.empty()) notices.add("<p class=\"notice good\" role=\"status\">{}</p>", page.said);
  const Html inside("{}<div class=\"title\"><h1>{}</h1>{}</div>{}", notices, page.title, page.beside_title, page.body);
  if (call.is_followed) return inside.text();
  const int refresh = refresh_of(call);
  const Html meta = refresh > 0 ? Html("<meta http-equiv=\"refresh\" content=\"{}\">", refresh) : Html();
  const std::string now = iso_time(wall_now());
  const Html document(
      "<!DOCTYPE html><html lang=\"en\" data-theme=\"{}\"><head><meta charset=\"utf-8\">"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">"
      "<meta name=\"color-scheme\" content=\"light dark\">{}"
      "<title>{} · brood</title><link rel=\"icon\" href=\"{}\"><link rel=\"stylesheet\" href=\"{}\">"
      "<script src=\"{}\" defer></script></head><body>"
      "<a class=\"skip\" href=\"#main\">Skip to content</a>"
      "<header class=\"top\"><a class=\"brand\" href=\"{}\"><img src=\"{}\" alt=\"\" width=\"24\" "
      "height=\"24\">brood</a>"
      "{}<div class=\"tools\"><button id=\"live\" type=\"button\" hidden "
      "aria-pressed=\"true\">Live</button>{}</div></header>"
      "<main id=\"main\" tabindex=\"-1\">{}</main>"
      "<footer><p>brood {} · <time datetime=\"{}\">{}</time>{}</p></footer></body></html>\n",
      call.theme, meta, page.title, asset_url("brood.svg"), asset_url("brood.css"), asset_url("brood.js"), Url("/"),
      asset_url("brood.svg"), navigation(call), theme_switch(call), inside, version, now, now,
      call.user.empty() ? Html() : Html(" · {} ({})", call.user, name_of(call.role)));
  return document.text();
}

HttpResponse page_response(const Call& call, Page page) {
  for (std::string& away : call.site.take_away()) page.notices.push_back(std::move(away));
  const std::string said = call.query.value("said");
  if (!said.empty() && are_same(call.query.value("proof"), proof_of(call, said))) page.said = said;
  return {.type = "text/html; charset=utf-8", .body = page_text(call, page)};
}

HttpResponse see_other(const Call& call, const Url& place, std::string_view whole) {
  const std::string_view said = beginning_of(whole, most_bytes_said);
  const Url url = said.empty() ? place : place.with("said", said).with("proof", proof_of(call, said));
  return {.status = 303, .body = "", .headers = {{"Location", url.text()}}};
}

}  // namespace brood
