#pragma once

#include <string>
#include <vector>

#include "supervisor/web/page/call.hpp"
#include "supervisor/web/page/html.hpp"

namespace brood {

// The parts of a page that differ from page to page.
struct Page {
  std::string title;
  Html body;
  Html beside_title = {};                 // for example a number or a button
  std::vector<std::string> notices = {};  // problems, above everything
  std::string said = {};                  // the result of an action
};

// The whole document: navigation, title, body; for browsers with and without scripts.  For a followed page, only the
// part that changes.
std::string page_text(const Call& call, const Page& page);
HttpResponse page_response(const Call& call, Page page);

// After an action: redirects to `place`, which then shows the result.
HttpResponse see_other(const Call& call, const Url& place, std::string_view said = "");

}  // namespace brood
