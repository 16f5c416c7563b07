#include "supervisor/web/page/assets.hpp"

#include <stdexcept>

#include "shared/base/digest.hpp"

namespace brood {
namespace {

constexpr std::size_t digits_of_digest = 12;
constexpr std::string_view directory = "/assets/";

struct ServedAsset {
  const Asset* asset;
  std::string served_as;
};

const std::vector<ServedAsset>& served_assets() {
  static const std::vector<ServedAsset> all = [] {
    std::vector<ServedAsset> served;
    for (const Asset& asset : assets()) {
      const std::size_t dot = asset.name.rfind('.');
      served.push_back({&asset, asset.name.substr(0, dot) + "." + sha1_hex(asset.content).substr(0, digits_of_digest) +
                                    asset.name.substr(dot)});
    }
    return served;
  }();
  return all;
}

std::string type_of(std::string_view name) {
  if (name.ends_with(".css")) return "text/css; charset=utf-8";
  if (name.ends_with(".js")) return "text/javascript; charset=utf-8";
  if (name.ends_with(".json")) return "application/json";
  return "image/svg+xml";
}

}  // namespace

Url asset_url(std::string_view name) {
  for (const ServedAsset& one : served_assets()) {
    if (one.asset->name == name) return Url::of_asset(one.served_as);
  }
  throw std::logic_error("there is no asset " + std::string(name));
}

std::optional<HttpResponse> find_asset(std::string_view path) {
  if (!path.starts_with(directory)) return std::nullopt;
  for (const ServedAsset& one : served_assets()) {
    if (path.substr(directory.size()) == one.served_as)
      return HttpResponse{
          .type = type_of(one.asset->name), .body = std::string(one.asset->content), .is_lasting = true};
  }
  return std::nullopt;
}

}  // namespace brood
