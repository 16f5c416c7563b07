#include "supervisor/web/page/authenticator.hpp"

#include <arpa/inet.h>

#include <brood/detail/base64.hpp>

#include <algorithm>
#include <cstddef>

#include "supervisor/web/http/digest.hpp"

namespace brood {
namespace {

constexpr int cookie_bytes = 16, key_bytes = 32;

std::string in_small_letters(std::string_view text) {
  std::string small(text);
  for (char& c : small) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return small;
}

// Cuts off the port: "[::1]:80" becomes "[::1]".  Only a number is a port.
std::string_view without_port(std::string_view host) {
  const std::size_t colon = host.rfind(':');
  const std::size_t bracket = host.rfind(']');
  if (colon == host.npos || (bracket != host.npos && colon < bracket)) return host;
  if (host.find_first_not_of("0123456789", colon + 1) != host.npos) return host;
  return host.substr(0, colon);
}

// Returns an empty text if `text` is not valid base64.
std::string decoded_base64(std::string_view text) {
  std::vector<std::byte> bytes;
  if (!detail::read_base64(text, bytes)) return "";
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// The text behind a word such as "Basic" in the header Authorization.
std::optional<std::string_view> credentials(const HttpRequest& request, std::string_view scheme) {
  const auto header = request.header("authorization");
  if (!header || header->size() <= scheme.size() || (*header)[scheme.size()] != ' ') return std::nullopt;
  if (in_small_letters(header->substr(0, scheme.size())) != scheme) return std::nullopt;
  std::string_view rest = header->substr(scheme.size() + 1);
  rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
  return rest;
}

// nullopt if the request has no credentials, or a token.
std::optional<std::pair<std::string, std::string>> name_and_password(const HttpRequest& request) {
  const auto basic = credentials(request, "basic");
  if (!basic) return std::nullopt;
  const std::string pair = decoded_base64(*basic);
  const std::size_t colon = std::min(pair.find(':'), pair.size());
  return std::pair(pair.substr(0, colon), pair.substr(std::min(colon + 1, pair.size())));
}

}  // namespace

void FailedGuesses::note(const std::string& name, SteadyTime now) {
  const std::lock_guard lock(mutex_);
  if (is_over(now)) {
    begun_ = now;
    in_all_ = 0;
    of_name_.clear();
  }
  ++in_all_;
  ++of_name_[name];
}

bool FailedGuesses::are_too_many(const std::string& name, SteadyTime now) const {
  const std::lock_guard lock(mutex_);
  if (is_over(now)) return false;
  const auto found = of_name_.find(name);
  return in_all_ >= most_in_all || (found != of_name_.end() && found->second >= most_of_name);
}

bool FailedGuesses::is_over(SteadyTime now) const { return in_all_ == 0 || now - begun_ >= std::chrono::minutes(1); }

Authenticator::Authenticator(Settings settings)
    : settings_(std::move(settings)),
      key_(random_digits(key_bytes)),
      rate_(settings_.api_rate),
      users_(std::make_shared<const Users>(settings_.users)) {}

std::shared_ptr<const Users> Authenticator::users() const {
  const std::lock_guard lock(mutex_);
  return users_;
}

void Authenticator::replace_users(Users users) {
  auto replaced = std::make_shared<const Users>(std::move(users));
  const std::lock_guard lock(mutex_);
  users_ = std::move(replaced);
}

bool Authenticator::knows_host(const HttpRequest& request) const {
  if (!settings_.checks_hosts) return true;
  const auto header = request.header("host");
  if (!header) return false;
  const std::string host = in_small_letters(*header);
  return std::any_of(settings_.hosts.begin(), settings_.hosts.end(),
                     [&](const std::string& known) { return host == known || without_port(host) == known; });
}

bool Authenticator::is_for_a_number(const HttpRequest& request) {
  const auto header = request.header("host");
  if (!header) return false;
  std::string host(without_port(*header));
  const bool is_bracketed = host.starts_with('[') && host.ends_with(']');
  if (is_bracketed) host = host.substr(1, host.size() - 2);
  in6_addr number{};
  return inet_pton(is_bracketed ? AF_INET6 : AF_INET, host.c_str(), &number) == 1;
}

std::optional<Authenticator::Visitor> Authenticator::visitor(const HttpRequest& request) const {
  Visitor visitor{.user = "", .role = Role::admin};
  if (const auto users = this->users(); !users->empty()) {
    std::optional<Users::User> user;
    if (const auto token = credentials(request, "bearer")) {
      user = users->by_token(*token);
      visitor.brings_token = user.has_value();
    } else if (const auto basic = name_and_password(request)) {
      user = users->by_password(basic->first, basic->second);
      if (!user) guesses_.note(basic->first, steady_now());
    } else if (settings_.proxy_user && request.peer == settings_.proxy_user) {
      if (const auto name = request.header(settings_.user_header)) user = users->by_name(*name);
    }
    if (!user) return std::nullopt;
    visitor.user = user->name;
    visitor.role = user->role;
  }
  if (settings_.read_only) visitor.role = Role::read;
  return visitor;
}

bool Authenticator::brings_password(const HttpRequest& request) const {
  return asks_for_names() && name_and_password(request).has_value();
}

bool Authenticator::has_guessed_too_often(const HttpRequest& request) const {
  const auto basic = name_and_password(request);
  return basic && guesses_.are_too_many(basic->first, steady_now()) &&
         !users()->by_known_password(basic->first, basic->second);
}

std::string Authenticator::name_brought(const HttpRequest& request) const {
  const auto basic = name_and_password(request);
  return basic ? basic->first : "-";
}

std::string Authenticator::new_cookie() const { return random_digits(cookie_bytes); }

std::string Authenticator::token_of(std::string_view cookie) const { return hmac_digits(key_, cookie); }

std::string Authenticator::why_forged(const HttpRequest& request, const FormValues& form) const {
  const auto site = request.header("sec-fetch-site");
  const auto origin = request.header("origin");
  if (site && *site != "same-origin") return "The form came from another site.";
  if (!site && !origin) return "The browser did not send from which page the form came.";
  // A browser that sends no referrer also hides the origin of a form.  Its header Sec-Fetch-Site still tells where the
  // form is from.
  const bool is_hidden = origin && *origin == "null" && site;
  if (origin && !is_hidden && !is_own_origin(*origin, request)) return "The form came from another site.";
  const auto cookie = request.cookie(cookie_name);
  const std::string token = form.value("token");
  if (!cookie || cookie->size() != 2 * cookie_bytes || !are_same(token, token_of(*cookie)))
    return "The form is out of date, or not from this server. Load the page again.";
  return "";
}

std::string Authenticator::why_foreign(const HttpRequest& request) const {
  const auto site = request.header("sec-fetch-site");
  const auto origin = request.header("origin");
  const bool is_ours =
      (!site || *site == "same-origin" || *site == "none") && (!origin || is_own_origin(*origin, request));
  return is_ours ? "" : "The request came from a page of another site.";
}

std::optional<std::chrono::seconds> Authenticator::wait_of(const std::string& user) const {
  return rate_.wait_of(user, steady_now());
}

bool Authenticator::is_own_origin(std::string_view origin, const HttpRequest& request) const {
  const auto host = request.header("host");
  if (!host) return false;
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (origin.starts_with(scheme) && in_small_letters(origin.substr(scheme.size())) == in_small_letters(*host))
      return true;
  }
  return false;
}

}  // namespace brood
