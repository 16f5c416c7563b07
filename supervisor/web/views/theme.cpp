#include <string>

#include "supervisor/web/page/call.hpp"
#include "supervisor/web/page/html.hpp"
#include "supervisor/web/page/router.hpp"

namespace brood {

HttpResponse choose_theme(Call& call) {
  const std::string theme = call.query.value("theme");
  const bool is_one = theme == "light" || theme == "dark";
  std::string to = "/";
  // Returns only to a page of ours.
  const std::string wanted = call.query.value("to");
  const std::string path = wanted.substr(0, wanted.find('?'));
  for (const Route& route : routes()) {
    if (route.kind != Route::Kind::page || route.path != path || path == "/theme") continue;
    const std::string query = wanted.size() > path.size() ? wanted.substr(path.size() + 1) : "";
    to = Url::of_route(route.path).with_all(FormValues::parse(query).pairs()).text();
  }
  // Changes only how this visitor sees the page.
  const std::string cookie =
      is_one ? "brood_theme=" + theme + "; Path=" + Url::base() + "/; Max-Age=31536000; HttpOnly; SameSite=Strict"
             : "brood_theme=; Path=" + Url::base() + "/; Max-Age=0; HttpOnly; SameSite=Strict";
  return {.status = 303, .body = "", .headers = {{"Location", to}, {"Set-Cookie", cookie}}};
}

}  // namespace brood
