#include "supervisor/web/http/compression.hpp"

#include <zlib.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>

using namespace brood;

namespace {

std::string unpacked(const std::string& packed) {
  std::string text(1'000'000, '\0');
  z_stream stream{};
  BOOST_REQUIRE(inflateInit2(&stream, 15 + 16) == Z_OK);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());
  stream.next_out = reinterpret_cast<Bytef*>(text.data());
  stream.avail_out = static_cast<uInt>(text.size());
  BOOST_TEST(inflate(&stream, Z_FINISH) == Z_STREAM_END);
  text.resize(stream.total_out);
  inflateEnd(&stream);
  return text;
}

std::string table_of(int rows) {
  std::string text;
  for (int i = 0; i < rows; ++i) text += "<tr><td>" + std::to_string(i * 7'919) + "</td></tr>\n";
  return text;
}

HttpRequest asking(const std::string& encodings, const std::string& site) {
  HttpRequest request;
  if (!encodings.empty()) request.headers.emplace_back("accept-encoding", encodings);
  if (!site.empty()) request.headers.emplace_back("sec-fetch-site", site);
  return request;
}

HttpResponse page() { return {.type = "text/html; charset=utf-8", .body = table_of(500)}; }

bool is_packed(const HttpResponse& response) {
  return std::find(response.headers.begin(), response.headers.end(),
                   std::pair<std::string, std::string>("Content-Encoding", "gzip")) != response.headers.end();
}

bool is_packed(const HttpRequest& request, HttpResponse response = page()) {
  return is_packed(compressed_for(request, std::move(response)));
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_page_is_the_same_after_it_was_unpacked) {
  const HttpResponse packed = compressed_for(asking("gzip, deflate, br", "same-origin"), page());
  BOOST_TEST(is_packed(packed));
  BOOST_TEST(packed.body.size() < page().body.size() / 3);
  BOOST_TEST(unpacked(packed.body) == page().body);
  BOOST_TEST(bytes_of(packed, false, true).find("\r\nVary: Accept-Encoding\r\n") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_client_gets_what_it_takes) {
  for (const char* const takes : {"gzip", "GZIP", "br, gzip;q=0.5", "deflate,gzip;q=1.0", "identity;q=0, gzip"})
    BOOST_TEST(takes_gzip(takes), takes);
  for (const char* const takes :
       {"", "br", "gzip;q=0", "gzip; q=0.000", "gzip ; x=1 ; q = 0", "gzip-not", "x-gzip;q=1", ",,;", "\"gzip\""})
    BOOST_TEST(!takes_gzip(takes), takes);
  BOOST_TEST(!is_packed(asking("", "none")));
  BOOST_TEST(compressed_for(asking("", "none"), page()).body == page().body);
}

// The length of an answer that other sites request would reveal its content.
BOOST_AUTO_TEST_CASE(what_another_site_may_have_asked_for_stays_as_it_is) {
  BOOST_TEST(is_packed(asking("gzip", "none")));
  for (const char* const site : {"", "cross-site", "same-site", "Same-Origin"})
    BOOST_TEST(!is_packed(asking("gzip", site)), site);
  HttpRequest twice = asking("gzip", "same-origin");
  twice.headers.emplace_back("sec-fetch-site", "cross-site");
  BOOST_TEST(!is_packed(twice));
  HttpResponse file = page();
  file.is_lasting = true;
  BOOST_TEST(is_packed(asking("gzip", "cross-site"), file));
}

BOOST_AUTO_TEST_CASE(what_gets_no_shorter_stays_as_it_is) {
  const HttpRequest request = asking("gzip", "none");
  BOOST_TEST(!is_packed(request, {.type = "text/html", .body = "short"}));
  BOOST_TEST(!is_packed(request, {.type = "image/png", .body = table_of(500)}));
  std::string noise;
  for (unsigned state = 1; noise.size() < 5'000; state = state * 1'664'525U + 1'013'904'223U)
    noise += static_cast<char>(state >> 24);
  BOOST_TEST(compressed_for(request, {.type = "text/plain", .body = noise}).body == noise);
  BOOST_TEST(is_packed(request, {.type = "application/json", .body = table_of(500)}));
}
