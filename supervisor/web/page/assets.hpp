#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "supervisor/web/http/http_message.hpp"
#include "supervisor/web/page/html.hpp"

namespace brood {

// A file of the page that is compiled into the program.
struct Asset {
  std::string name;  // "brood.css"
  std::string_view content;
};

// Made from supervisor/web/assets.
const std::vector<Asset>& assets();

// Where it is served: the name there contains a digest of its content, so that a browser may keep it forever.
Url asset_url(std::string_view name);

// nullopt if there is no such file.
std::optional<HttpResponse> find_asset(std::string_view path);

}  // namespace brood
