#include "shared/job/page_text.hpp"

#include <boost/test/unit_test.hpp>

#include "shared/api/push/push_writer.hpp"
#include "shared/job/retry_decision.hpp"

using namespace brood;
using namespace std::string_literals;

BOOST_AUTO_TEST_CASE(text_is_readable_and_no_markup) {
  BOOST_TEST(page_text("std::vector<int>") == "std::vector‹int›");
  BOOST_TEST(page_text("<script>alert(\"1\")</script>") == "‹script›alert(\"1\")‹/script›");
  BOOST_TEST(page_text("ü & \n") == "ü & \n");
}

BOOST_AUTO_TEST_CASE(what_was_shown_is_read_back) {
  for (const char* const text : {"boost::wrapexcept<std::runtime_error>", "", "plain", "a<b<c>>", "ü"})
    BOOST_TEST(from_page_text(page_text(text)) == text);
  BOOST_TEST(from_page_text("\xe2\x80") == "\xe2\x80");
}

BOOST_AUTO_TEST_CASE(names_hold_nothing_that_ends_a_quote) {
  BOOST_TEST(page_name("<a href='x' & \"y\">") == "_a href=_x_ _ _y__");
  BOOST_TEST(has_markup("it's"));
  BOOST_TEST(!has_markup("Images::Resize"));
}

BOOST_AUTO_TEST_CASE(words_are_plain) { BOOST_TEST(page_word("tag <b>; ü*!~") == "tag--b-----*!~"); }

// Programs, exceptions and crashes alike.
BOOST_AUTO_TEST_CASE(a_record_of_a_failure_holds_no_markup_where_a_page_prints_it) {
  Failure failure;
  failure.error_class = "wrapexcept<E>";
  failure.message = "<b>bold</b>";
  failure.backtrace = {"<script>alert(1)</script>", "f(std::vector<int>)"};
  failure.always_backtrace = true;
  const Payload job = Payload::parse(R"({"class":"A","args":[],"retry":true})");
  for (const Payload& record : {judge_failure(job, failure, {}, {}, "q", {}, 0, {}).payload,
                                with_failure(job, failure, {}), retry_uncharged(job, failure, "q", {}, 0).payload}) {
    BOOST_TEST(record.string("error_class").value() == "wrapexcept‹E›");
    BOOST_TEST(record.string("error_message").value() == "<b>bold</b>");  // every page escapes it
    const auto lines = decode_backtrace(record.string("error_backtrace").value()).value();
    BOOST_TEST(lines.at(0) == "‹script›alert(1)‹/script›");
    BOOST_TEST(lines.at(1) == "f(std::vector‹int›)");
  }
}

BOOST_AUTO_TEST_CASE(a_push_names_nothing_that_a_page_would_take_for_markup) {
  const auto refused = [](const Push& push) {
    try {
      prepare_push(push, WallTime{});
    } catch (const std::invalid_argument&) {
      return true;
    }
    return false;
  };
  BOOST_TEST(refused({.job_class = "<b>"}));
  BOOST_TEST(refused({.job_class = "A", .jid = "'x"}));
  BOOST_TEST(refused({.job_class = "A", .queue = "<q>"}));
  for (const char* const name : {"wrapped", "display_class"}) {
    for (const char* const json : {R"("<script>")", R"("\u003cscript\u003e")", R"("a\"b")", R"("x' onload='y")"})
      BOOST_TEST(refused({.job_class = "A", .members = {{name, json}}}));
    for (const char* const json : {R"("Images::Resize #1")", "null", "7", R"("")"})
      BOOST_TEST(!refused({.job_class = "A", .members = {{name, json}}}));
  }
}
