#include <algorithm>
#include <string>

#include "supervisor/web/page/assets.hpp"
#include "supervisor/web/page/call.hpp"
#include "supervisor/web/page/json_answer.hpp"

namespace brood {

// The description of the API, supervisor/web/assets/openapi.json.
HttpResponse answer_openapi(Call&) {
  const auto file =
      std::find_if(assets().begin(), assets().end(), [](const Asset& asset) { return asset.name == "openapi.json"; });
  if (file == assets().end()) throw Refused(404, "This page has no description of its API.");
  return json_answer(200, std::string(file->content));
}

}  // namespace brood
