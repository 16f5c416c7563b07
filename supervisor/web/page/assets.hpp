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

// Where it is served: its name there holds a digest of its content, so that a browser may keep it for ever.
Url asset_url(std::string_view name);

// Nullopt: there is no such file.
std::optional<HttpResponse> find_asset(std::string_view path);

}  // namespace brood
