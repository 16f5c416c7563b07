#pragma once

#include <string>
#include <vector>

#include "supervisor/web/page/call.hpp"
#include "supervisor/web/page/html.hpp"

namespace brood {

// What one page has that others have not.
struct Page {
  std::string title;
  Html body;
  Html beside_title = {};                 // such as a number, or a button
  std::vector<std::string> notices = {};  // what is amiss, above everything
  std::string said = {};                  // what an action has done
};

// The whole document: navigation, title, body; for browsers with and without scripts.  Of a page that is followed only
// what changes.
std::string page_text(const Call& call, const Page& page);
HttpResponse page_response(const Call& call, Page page);

// After an action: to `place`, which then shows what was done.
HttpResponse see_other(const Call& call, const Url& place, std::string_view said = "");

}  // namespace brood
