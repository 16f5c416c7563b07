#include "supervisor/web/page/html.hpp"

#include <boost/test/unit_test.hpp>

using namespace brood;

BOOST_AUTO_TEST_CASE(a_value_is_text_wherever_it_stands) {
  const std::string hostile = "<script>alert('1')</script>\" onclick=\"x\" &amp;";
  const Html html("<a href=\"{}\" title=\"{}\">{}</a>", Url("/queues").with("name", hostile), hostile, hostile);

  BOOST_TEST(html.text().find("<script") == std::string::npos);
  BOOST_TEST(html.text().find(" onclick=\"") == std::string::npos);
  BOOST_TEST(html.text().find("&amp;amp;") != std::string::npos);
  BOOST_TEST(html.text().find("href=\"/queues?name=%3Cscript%3E") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(what_is_no_text_is_spelled_out) {
  BOOST_TEST(html_escaped("a\xff"
                          "b") == "a\\xffb");
  BOOST_TEST(html_escaped(std::string("a\0b", 3)) == "a\\x00b");
  BOOST_TEST(html_escaped("\xe2\x80\xae"
                          "fdp.exe")
                 .find("\xe2\x80\xae") == std::string::npos);
  BOOST_TEST(html_escaped("caf\xc3\xa9") == "caf\xc3\xa9");
}

BOOST_AUTO_TEST_CASE(html_alone_stays_markup) {
  const Html inner("<b>{}</b>", "<i>");
  BOOST_TEST(Html("<p>{}{}</p>", inner, 7).text() == "<p><b>&lt;i&gt;</b>7</p>");
}

BOOST_AUTO_TEST_CASE(a_text_that_is_very_long_is_cut_between_characters) {
  BOOST_TEST(Html("<p>{}</p>", std::string(1'000'000, 'x')).text().size() < 5'000u);
  const std::string text = "a\xc3\xa9\xe2\x82\xac";  // 1, 2 and 3 bytes
  const std::string_view parts[] = {"", "a", "a", "a\xc3\xa9", "a\xc3\xa9", "a\xc3\xa9", text};
  for (std::size_t most = 0; most < std::size(parts); ++most) BOOST_TEST(beginning_of(text, most) == parts[most]);
  BOOST_TEST(beginning_of(std::string(10, '\x80'), 5).size() <= 5u);
}

BOOST_AUTO_TEST_CASE(what_no_request_could_name_is_no_place) {
  const Url url = Url("/a").with("x", std::string(1'000'000, 'x'));
  BOOST_TEST(url.is_too_long());
  BOOST_TEST(url.text() == "/too-long");
  BOOST_TEST(url.with("y", "z").text() == "/too-long");
}

BOOST_AUTO_TEST_CASE(a_link_stays_on_this_site) {
  BOOST_TEST(Url("/a").with("x", "https://there/#\n").text() == "/a?x=https%3A%2F%2Fthere%2F%23%0A");
  BOOST_TEST(Url::of_asset("../x").text() == "/assets/..%2Fx");
}
