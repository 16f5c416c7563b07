#include "shared/config/reading/tls_section.hpp"

#include <stdexcept>

namespace brood {
namespace {

using namespace setting;

TlsSettings::Version read_tls_version(const Place& at, const std::string& word) {
  return choose<TlsSettings::Version>(at, word,
                                      {{"1.2", TlsSettings::Version::tls_1_2}, {"1.3", TlsSettings::Version::tls_1_3}});
}

TlsVerify read_verify(const Place& at, const std::string& text) try {
  return TlsVerify::parse(text);
} catch (const std::invalid_argument& error) {
  at.refuse(error.what());
}

}  // namespace

void read_tls(const ConfigSection& section, TlsSettings& tls) {
  const auto file = [&](const char* key, TlsSettings::File& out) {
    section.text(key, [&](const Place& at, const std::string& path) {
      out = {read_path_or_credential(at, path), at.name};
    });
  };
  file("ca", tls.ca);
  file("cert", tls.cert);
  file("key", tls.key);
  section.text("server_name",
               [&](const Place& at, const std::string& name) { tls.server_name = check_name(at, name); });
  section.text("min_version",
               [&](const Place& at, const std::string& word) { tls.min_version = read_tls_version(at, word); });
  section.text("verify", [&](const Place& at, const std::string& text) {
    tls.verify = read_verify(at, text);
    if (tls.verify.kind != TlsVerify::Kind::full && !tls.ca.path.empty())
      at.refuse("leaves ca without a use: \"full\" is the value that asks an authority");
  });
  if (tls.cert.path.empty() && !tls.key.path.empty())
    Place{tls.key.place}.refuse("is the key of a certificate that is not named: cert is missing");
}

}  // namespace brood
