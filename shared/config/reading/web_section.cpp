#include "shared/config/reading/web_section.hpp"

#include <algorithm>
#include <string>

#include "shared/config/http_endpoint.hpp"

namespace brood {
namespace {

using namespace setting;

WebSettings::Metrics read_web_metrics(const Place& at, const std::string& word) {
  using Metrics = WebSettings::Metrics;
  return choose<Metrics>(
      at, word,
      {{"auto", Metrics::elected}, {"all", Metrics::all}, {"host", Metrics::host}, {"redis", Metrics::redis}});
}

std::string read_host(const Place& at, std::string host) {
  for (char& c : host) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  const std::size_t scheme = host.find("://");
  if (scheme != host.npos) at.refuse("must be a name alone, without " + host.substr(0, scheme + 3) + " in front of it");
  if (host.find('/') != host.npos)
    at.refuse("must be names, such as \"brood.example.com\", not a range of addresses or a path: \"" + host +
              "\". Probes and Prometheus may come by any numeric address without being named here");
  if (host.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-._:[]") != host.npos)
    at.refuse("must be names, such as \"brood.example.com\", not \"" + host + "\"");
  if (std::count(host.begin(), host.end(), ':') > 1 && !host.starts_with('['))
    at.refuse("must have brackets around an address of IPv6: \"[" + host + "]\"");
  return host;
}

std::string read_header_name(const Place& at, std::string name) {
  for (char& c : name) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    if (!(c >= 'a' && c <= 'z') && !(c >= '0' && c <= '9') && c != '-')
      at.refuse("must be the name of a header, such as \"X-Forwarded-User\"");
  }
  return name;
}

std::string read_base_path(const Place& at, const std::string& path) {
  const bool is_plain = std::all_of(path.begin(), path.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
           c == '.' || c == '/';
  });
  if (!path.starts_with('/') || path.ends_with('/') || path.find("//") != path.npos || !is_plain)
    at.refuse("must be a path such as \"/brood\", of letters, digits, - _ . and /, without a / at its end");
  return path;
}

}  // namespace

void read_show_args(const ConfigSection& section, ShowArgs& out) {
  section.truth_or_text(
      "show_args", [&](bool shows) { out = shows ? ShowArgs::all : ShowArgs::none; },
      [&](const Place& at, const std::string& word) {
        out = choose<ShowArgs>(at, word, {{"none", ShowArgs::none}, {"keys", ShowArgs::keys}, {"all", ShowArgs::all}});
      });
}

void read_web(const ConfigSection& section, WebSettings& web) {
  section.text("listen",
               [&](const Place& at, const std::string& text) { web.listen = check_listen_address(at, text); });
  section.text("mode", [&](const Place& at, const std::string& mode) {
    if (mode.size() != 4 || mode[0] != '0' || mode.find_first_not_of("01234567") != mode.npos)
      at.refuse("must be the mode of a file, such as \"0660\"");
    web.mode = mode;
  });
  section.boolean("read_only", web.read_only);
  section.texts("hosts", [&](const Place& at, const std::string& host) {
    web.hosts.push_back(read_host(at, check_text(at, host)));
  });
  section.text("users",
               [&](const Place& at, const std::string& path) { web.users = read_path_or_credential(at, path); });
  section.text("user_header",
               [&](const Place& at, const std::string& name) { web.user_header = read_header_name(at, name); });
  section.text("proxy_user", [&](const Place& at, const std::string& name) { web.proxy_user = check_name(at, name); });
  section.text("metrics", [&](const Place& at, const std::string& word) { web.metrics = read_web_metrics(at, word); });
  read_show_args(section, web.show_args.usual);
  section.text("base_path",
               [&](const Place& at, const std::string& path) { web.base_path = read_base_path(at, path); });
  section.count("api_rate", web.api_rate, 0, 1'000'000);
  if (!web.user_header.empty() && web.users.empty())
    section.where_is("user_header").refuse("needs users = \"/path\", with the role of each");
  if (!web.user_header.empty() && web.proxy_user.empty())
    section.where_is("user_header").refuse("needs proxy_user, the user that the proxy runs as: anybody could send it");
  // The last digit of a mode is for all other users.
  if (web.users.empty() && web.mode.back() != '0')
    section.where_is("mode").refuse("lets every user of this machine do everything: set users = \"/path\"");
  if (web.listen.empty()) return;
  const ListenAddress address = ListenAddress::parse(web.listen);
  if (!address.is_local() && web.users.empty())
    section.where_is("listen").refuse("can be reached from other machines: set users = \"/path\"");
  if (!address.is_unix() && !web.user_header.empty())
    section.where_is("user_header").refuse("needs a Unix socket in listen, where the kernel says who sends it");
}

}  // namespace brood
