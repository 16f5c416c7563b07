#include "supervisor/web/page/authenticator.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <set>
#include <string>

#include "shared/json/json_object.hpp"
#include "supervisor/web/http/digest.hpp"
#include "supervisor/web/page/assets.hpp"
#include "supervisor/web/page/request_rate.hpp"
#include "supervisor/web/page/router.hpp"

using namespace brood;

namespace {

// "secret", by `openssl passwd -6 -salt salt secret`.
const std::string users_text =
    "# who may come\n"
    "ann admin "
    "$6$salt$egUxKNxDs8kPfh8iPMNcosMhb2eWah6d3R44JDm5Rj/j/XWR5E33QPd0YmHXoDHOIDR6kL5D3JcQcz0O8FHE00\n"
    "bot read sha256:" +
    sha256_digits("token") + "\nproxied operate -\n";

HttpRequest request_with(std::vector<std::pair<std::string, std::string>> headers) {
  HttpRequest request;
  request.headers = std::move(headers);
  return request;
}

constexpr uid_t proxy = 33;

HttpRequest proxied_by(uid_t peer, const char* name) {
  HttpRequest request = request_with({{"x-user", name}});
  request.peer = peer;
  return request;
}

Authenticator doors_with_users(bool read_only = false) {
  return Authenticator({.hosts = {"here"},
                        .users = Users::parse(users_text),
                        .user_header = "x-user",
                        .proxy_user = proxy,
                        .read_only = read_only});
}

}  // namespace

BOOST_AUTO_TEST_CASE(without_users_each_client_that_reaches_the_socket_may_do_everything) {
  const Authenticator authenticator({.hosts = {}});
  BOOST_REQUIRE(authenticator.visitor({}));
  BOOST_CHECK(authenticator.visitor({})->role == Role::admin);
}

BOOST_AUTO_TEST_CASE(only_a_token_or_a_proxy_names_the_user) {
  const Authenticator authenticator = doors_with_users();
  BOOST_TEST(!authenticator.visitor({}));
  BOOST_TEST(!authenticator.visitor(request_with({{"authorization", "Bearer wrong"}})));
  BOOST_TEST(!authenticator.visitor(request_with({{"authorization", "Basic !"}})));
  BOOST_TEST(!authenticator.visitor(proxied_by(proxy, "nobody")));
  BOOST_TEST(!authenticator.visitor(proxied_by(proxy, "ann")));  // a user with a password must send it
  BOOST_TEST(!authenticator.visitor(proxied_by(proxy + 1, "proxied")));
  BOOST_TEST(!authenticator.visitor(request_with({{"x-user", "proxied"}})));
  BOOST_TEST(!authenticator.visitor(request_with({{"authorization", "Basic YW5uOnNlY3JldC4="}})));  // ann:secret.
  BOOST_TEST(
      !authenticator.visitor(request_with({{"authorization", "Basic YW5uOnNlY3JldAB4"}})));  // ann:secret, NUL, x
  for (int time = 0; time < 2; ++time) {
    const auto ann = authenticator.visitor(request_with({{"authorization", "Basic YW5uOnNlY3JldA=="}}));
    BOOST_REQUIRE(ann);
    BOOST_CHECK(ann->role == Role::admin);
  }
  const auto bot = authenticator.visitor(request_with({{"authorization", "bearer token"}}));
  BOOST_REQUIRE(bot);
  BOOST_TEST(bot->user == "bot");
  BOOST_CHECK(bot->role == Role::read);
  BOOST_TEST(bot->brings_token);
  const auto proxied = authenticator.visitor(proxied_by(proxy, "proxied"));
  BOOST_REQUIRE(proxied);
  BOOST_CHECK(proxied->role == Role::operate);
  BOOST_TEST(!proxied->brings_token);
}

BOOST_AUTO_TEST_CASE(a_line_without_a_name_is_an_error) {
  for (const char* const line : {"ann", "ann king -", "ann admin secret", "ann admin sha256:12", "ann admin - more"})
    BOOST_CHECK_THROW(Users::parse(line), std::runtime_error);
}

BOOST_AUTO_TEST_CASE(read_only_takes_every_right_but_to_look) {
  const auto proxied = doors_with_users(true).visitor(proxied_by(proxy, "proxied"));
  BOOST_REQUIRE(proxied);
  BOOST_CHECK(proxied->role == Role::read);
}

BOOST_AUTO_TEST_CASE(a_name_that_is_not_ours_is_not_answered) {
  const Authenticator authenticator({.hosts = {"here", "[::1]"}});
  BOOST_TEST(authenticator.knows_host(request_with({{"host", "here:7433"}})));
  BOOST_TEST(authenticator.knows_host(request_with({{"host", "HERE"}})));
  BOOST_TEST(authenticator.knows_host(request_with({{"host", "[::1]:80"}})));
  BOOST_TEST(!authenticator.knows_host(request_with({{"host", "there"}})));
  BOOST_TEST(!authenticator.knows_host(request_with({{"host", "here.evil"}})));
  BOOST_TEST(!authenticator.knows_host(request_with({{"host", "here:80@evil"}})));
  BOOST_TEST(!authenticator.knows_host(request_with({{"host", "[::1]:80@evil"}})));
  BOOST_TEST(!authenticator.knows_host(request_with({})));
}

BOOST_AUTO_TEST_CASE(only_a_form_of_ours_counts) {
  const Authenticator authenticator({.hosts = {"here"}});
  const std::string cookie = authenticator.new_cookie();
  const FormValues form = FormValues::parse("token=" + authenticator.token_of(cookie));
  const auto with = [&](std::vector<std::pair<std::string, std::string>> more, const FormValues& sent) {
    more.emplace_back("host", "here:1");
    more.emplace_back("cookie", "a=b; brood_visit=" + cookie);
    return authenticator.why_forged(request_with(more), sent);
  };
  BOOST_TEST(with({{"sec-fetch-site", "same-origin"}}, form) == "");
  BOOST_TEST(with({{"origin", "http://here:1"}}, form) == "");
  BOOST_TEST(with({{"sec-fetch-site", "same-origin"}, {"origin", "null"}}, form) == "");
  BOOST_TEST(with({{"origin", "https://here:1"}}, form) == "");
  BOOST_TEST(with({}, form) != "");
  BOOST_TEST(with({{"sec-fetch-site", "same-site"}}, form) != "");
  BOOST_TEST(with({{"sec-fetch-site", "none"}}, form) != "");
  BOOST_TEST(with({{"origin", "http://there"}}, form) != "");
  BOOST_TEST(with({{"origin", "null"}}, form) != "");
  BOOST_TEST(with({{"sec-fetch-site", "same-origin"}, {"origin", "http://there"}}, form) != "");
  BOOST_TEST(with({{"sec-fetch-site", "same-origin"}}, FormValues()) != "");
  BOOST_TEST(with({{"sec-fetch-site", "same-origin"}}, FormValues::parse("token=" + authenticator.token_of("other"))) !=
             "");
  BOOST_TEST(
      Authenticator({.hosts = {"here"}})
          .why_forged(request_with(
                          {{"host", "here:1"}, {"cookie", "brood_visit=" + cookie}, {"sec-fetch-site", "same-origin"}}),
                      form) != "");
}

BOOST_AUTO_TEST_CASE(what_only_programs_send_is_not_taken_from_a_browser_on_another_site) {
  const Authenticator authenticator({.hosts = {"here"}});
  const auto from = [&](std::vector<std::pair<std::string, std::string>> headers) {
    headers.emplace_back("host", "here:1");
    return authenticator.why_foreign(request_with(std::move(headers)));
  };
  BOOST_TEST(from({}) == "");
  BOOST_TEST(from({{"sec-fetch-site", "same-origin"}, {"origin", "http://here:1"}}) == "");
  BOOST_TEST(from({{"sec-fetch-site", "cross-site"}}) != "");
  BOOST_TEST(from({{"sec-fetch-site", "same-site"}}) != "");
  BOOST_TEST(from({{"origin", "http://there"}}) != "");
  BOOST_TEST(from({{"origin", "null"}}) != "");
}

BOOST_AUTO_TEST_CASE(each_user_has_so_many_requests_a_second_and_twice_as_many_at_once) {
  using namespace std::chrono_literals;
  RequestRate rate(10);
  const SteadyTime begin{};
  for (int i = 0; i < 20; ++i) BOOST_TEST(!rate.wait_of("ann", begin));
  BOOST_TEST((rate.wait_of("ann", begin) == 1s));
  BOOST_TEST(!rate.wait_of("bot", begin));
  BOOST_TEST(!rate.wait_of("ann", begin + 100ms));
  BOOST_TEST((rate.wait_of("ann", begin + 100ms) == 1s));
  BOOST_TEST(!RequestRate(0).wait_of("ann", begin));
}

BOOST_AUTO_TEST_CASE(the_client_that_asked_longest_ago_is_forgotten_where_too_many_ask) {
  using namespace std::chrono_literals;
  RequestRate rate(1);
  for (int i = 0; i < 5'000; ++i) rate.wait_of("user" + std::to_string(i), SteadyTime(i * 1ms));
  BOOST_TEST(rate.names() == RequestRate::most_names);
}

BOOST_AUTO_TEST_CASE(wrong_passwords_are_counted_for_a_minute_by_name_and_in_all) {
  using namespace std::chrono_literals;
  FailedGuesses guesses;
  const SteadyTime begin{1h};
  for (int i = 0; i < FailedGuesses::most_of_name; ++i) {
    BOOST_TEST(!guesses.are_too_many("ann", begin));
    guesses.note("ann", begin);
  }
  BOOST_TEST(guesses.are_too_many("ann", begin + 59s));
  BOOST_TEST(!guesses.are_too_many("bob", begin + 59s));
  BOOST_TEST(!guesses.are_too_many("ann", begin + 60s));
  for (int i = 0; i < FailedGuesses::most_in_all; ++i) guesses.note("user" + std::to_string(i), begin + 60s);
  BOOST_TEST(guesses.are_too_many("ann", begin + 60s));
  BOOST_TEST(!guesses.are_too_many("ann", begin + 120s));
}

BOOST_AUTO_TEST_CASE(every_route_has_a_role_and_every_change_is_a_post) {
  std::set<std::pair<std::string_view, bool>> seen;
  for (const Route& route : routes()) {
    BOOST_TEST_CONTEXT(route.path) {
      const bool posts = route.kind == Route::Kind::action || route.kind == Route::Kind::order;
      BOOST_TEST(seen.insert({route.path, posts}).second);
      BOOST_TEST((route.role != Role::read) == posts);
      BOOST_TEST(find_route(posts ? "POST" : "GET", route.path).route == &route);
      BOOST_TEST(find_route(posts ? "GET" : "POST", route.path).route != &route);
    }
  }
  BOOST_TEST(find_route("GET", "/nothing").status == 404);
  BOOST_TEST(find_route("PUT", "/queues").status == 405);
  BOOST_TEST(find_route("GET", "/retries/run").status == 405);
}

BOOST_AUTO_TEST_CASE(the_description_of_the_api_has_every_address_for_programs_and_no_other) {
  const auto file =
      std::find_if(assets().begin(), assets().end(), [](const Asset& asset) { return asset.name == "openapi.json"; });
  BOOST_REQUIRE(file != assets().end());
  const JsonObject description = JsonObject::parse(file->content);
  const std::string paths(description.raw("paths").value());
  std::set<std::string> described, real;
  for (const JsonOutline::Part& path : JsonOutline::of(paths).parts) {
    const std::size_t name = std::min(path.key.find('{'), path.key.size());
    const std::string address = path.key.substr(0, name) + (name < path.key.size() ? "*" : "");
    const std::string methods = paths.substr(path.value_begin, path.value_end - path.value_begin);
    for (const JsonOutline::Part& method : JsonOutline::of(methods).parts) described.insert(method.key + " " + address);
  }
  for (const Route& route : routes()) {
    if (route.is_for_programs()) real.insert((route.posts() ? "post " : "get ") + std::string(route.path));
  }
  BOOST_TEST(described == real, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(what_looks_through_a_whole_set_holds_up_searches_alone) {
  const auto lane = [](const char* method, const char* path, const char* query) {
    return lane_of(*find_route(method, path).route, query);
  };
  BOOST_TEST((lane("GET", "/retries", "") == Lane::redis));
  BOOST_TEST((lane("GET", "/dead", "class=&text=&page=2") == Lane::redis));
  BOOST_TEST((lane("GET", "/scheduled", "queue=mails") == Lane::search));
  BOOST_TEST((lane("GET", "/retries", "page=1&text=a%20b") == Lane::search));
  BOOST_TEST((lane("POST", "/dead/run/all", "") == Lane::search));
  BOOST_TEST((lane("GET", "/queues", "class=A") == Lane::redis));
}
