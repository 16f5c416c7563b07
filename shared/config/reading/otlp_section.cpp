#include "shared/config/reading/otlp_section.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <stdexcept>

#include "shared/config/http_endpoint.hpp"
#include "shared/config/reading/tls_section.hpp"

namespace brood {
namespace {

using namespace setting;

constexpr std::size_t longest_attribute = 1'000, most_attributes = 64;
constexpr std::string_view name_of_service = "service.name";

// Reads "name=value", the form of the variables of OpenTelemetry.
std::pair<std::string, std::string> read_attribute(const Place& at, const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == 0 || equals == text.npos || text.size() > longest_attribute)
    at.refuse("must be \"name=value\", 1,000 bytes at most, not \"" + text + "\"");
  return {text.substr(0, equals), check_no_nul(at, text.substr(equals + 1))};
}

// If a name comes twice, the later value counts.
void set_attribute(const Place& at, std::pair<std::string, std::string> attribute, OtlpSettings& otlp) {
  std::erase_if(otlp.resource, [&](const auto& known) { return known.first == attribute.first; });
  if (attribute.first == name_of_service) {
    otlp.service_name = std::move(attribute.second);
    return;
  }
  if (otlp.resource.size() == most_attributes) at.refuse("has more than 64 attributes");
  otlp.resource.push_back(std::move(attribute));
}

// Reads "name=value,name=value", with %XX for characters that would end a value.
void read_attributes(const Place& at, std::string_view text, OtlpSettings& otlp) {
  while (!text.empty()) {
    const std::string_view one = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), one.size() + 1));
    std::string decoded;
    for (std::size_t i = 0; i < one.size(); ++i) {
      unsigned char byte = 0;
      const bool coded = one[i] == '%' && i + 2 < one.size() &&
                         std::from_chars(&one[i + 1], &one[i + 1] + 2, byte, 16).ptr == &one[i + 1] + 2;
      decoded += coded ? static_cast<char>(byte) : one[i];
      if (coded) i += 2;
    }
    const std::size_t begin = decoded.find_first_not_of(" \t");
    if (begin == decoded.npos) continue;
    set_attribute(at, read_attribute(at, decoded.substr(begin, decoded.find_last_not_of(" \t") + 1 - begin)), otlp);
  }
}

const char* variable(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr && *value != '\0' ? value : nullptr;
}

std::string check_endpoint(const Place& at, const std::string& url) {
  try {
    HttpEndpoint::parse(url);
  } catch (const std::invalid_argument& error) {
    at.refuse(error.what());
  }
  return url;
}

// The files that OpenTelemetry's standard variables name.
std::optional<TlsSettings> tls_of_variables() {
  TlsSettings tls;
  for (const auto& [name, file] : {std::pair{"OTEL_EXPORTER_OTLP_CERTIFICATE", &tls.ca},
                                   std::pair{"OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE", &tls.cert},
                                   std::pair{"OTEL_EXPORTER_OTLP_CLIENT_KEY", &tls.key}}) {
    if (const char* const path = variable(name)) *file = {path, name};
  }
  if (tls == TlsSettings{}) return std::nullopt;
  return tls;
}

TracePropagation read_propagation(const Place& at, const std::string& word) {
  return choose<TracePropagation>(
      at, word,
      {{"link", TracePropagation::link}, {"child", TracePropagation::child}, {"none", TracePropagation::none}});
}

}  // namespace

void read_otlp(const ConfigSection& section, OtlpSettings& otlp) {
  if (const char* const given = variable("OTEL_RESOURCE_ATTRIBUTES"))
    read_attributes({"OTEL_RESOURCE_ATTRIBUTES"}, given, otlp);
  if (const char* const given = variable("OTEL_SERVICE_NAME")) otlp.service_name = given;
  section.texts("resource",
                [&](const Place& at, const std::string& text) { set_attribute(at, read_attribute(at, text), otlp); });
  section.text("service_name", [&](const Place& at, const std::string& name) {
    if (name.size() > longest_attribute) at.refuse("must have 1,000 bytes at most");
    otlp.service_name = name;
  });
  if (otlp.service_name.empty()) otlp.service_name = "brood";
  section.text("endpoint", [&](const Place& at, const std::string& url) { otlp.endpoint = check_endpoint(at, url); });
  if (const char* const given = variable("OTEL_EXPORTER_OTLP_ENDPOINT"); given && otlp.endpoint.empty())
    otlp.endpoint = check_endpoint({"OTEL_EXPORTER_OTLP_ENDPOINT"}, given);
  section.section("tls", [&](const ConfigSection& tls) { read_tls(tls, otlp.tls.emplace()); });
  if (!otlp.tls && otlp.endpoint.starts_with("https:")) otlp.tls = tls_of_variables();
  section.text("headers_file", [&](const Place& at, const std::string& path) {
    otlp.headers_file = read_path_or_credential(at, path);
  });
  section.text("propagation",
               [&](const Place& at, const std::string& word) { otlp.propagation = read_propagation(at, word); });
  section.number("sample", otlp.sample, 0, 1);
}

}  // namespace brood
