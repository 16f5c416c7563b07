#include "shared/job/payload.hpp"

#include <simdjson.h>

#include <boost/test/unit_test.hpp>
#include <random>

#include "shared/job/number_member.hpp"
#include "shared/job/uniqueness.hpp"
#include "tests/support/vectors.hpp"

using namespace brood;
using namespace std::string_literals;

namespace {

constexpr const char* plain =
    R"({"class":"HardJob","args":[1,"two"],"queue":"default","jid":"0123456789abcdef01234567"})";

std::string refusal(const std::string& text) {
  try {
    Payload::parse(text);
  } catch (const BadPayload& error) {
    return error.what();
  }
  return "";
}

Payload with_members(const std::string& members) {
  return Payload::parse(R"({"class":"A","args":[],)" + members + "}");
}

bool dom_reads(const std::string& text) {
  simdjson::dom::parser parser;
  simdjson::dom::element element;
  return parser.parse(text).get(element) == simdjson::SUCCESS;
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_members_of_a_job_are_read) {
  const Payload job = Payload::parse(plain);

  BOOST_TEST(job.text() == plain);
  BOOST_TEST(job.job_class() == "HardJob");
  BOOST_TEST(job.args() == R"([1,"two"])");
  BOOST_TEST(job.jid() == "0123456789abcdef01234567");
  BOOST_TEST(job.raw("queue").value() == "\"default\"");
  BOOST_TEST(!job.raw("retry"));
  BOOST_TEST(Payload::parse(R"({"class":"A","args":[]})").jid() == "");
}

BOOST_AUTO_TEST_CASE(every_payload_of_the_vectors_is_read_as_it_is) {
  int read = 0;
  for (const char* family : {"push-", "fail-", "foreign-", "mixed-retry-for-"}) {
    for (const auto& vector : test::vectors(family)) {
      if (!vector.input.has("payload") || vector.id.starts_with("fail-not-json")) continue;
      const std::string& text = vector.input["payload"].text;
      BOOST_TEST_CONTEXT(vector.id) BOOST_TEST(Payload::parse(text).with({}).text() == text);
      ++read;
    }
  }
  BOOST_TEST(read > 50);
}

BOOST_AUTO_TEST_CASE(display_class_prefers_what_was_asked_for) {
  BOOST_TEST(with_members(R"("wrapped":"W","display_class":"D")").display_class() == "D");
  BOOST_TEST(with_members(R"("wrapped":"W")").display_class() == "W");
  BOOST_TEST(with_members(R"("wrapped":null,"display_class":7)").display_class() == "A");
}

BOOST_AUTO_TEST_CASE(the_last_counts_of_a_key_given_twice) {
  const Payload job = Payload::parse(R"({"class":1,"args":[],"class":"First","cl\u0061ss":"Last"})");
  BOOST_TEST(job.job_class() == "Last");
  BOOST_TEST(job.with({{"class", "\"New\""}}).text() == R"({"class":1,"args":[],"class":"First","cl\u0061ss":"New"})");
  BOOST_TEST(job.with({{"class", "\"New\""}}).job_class() == "New");
  BOOST_TEST(!refusal(R"({"class":"A","args":[],"class":null})").empty());
}

BOOST_AUTO_TEST_CASE(an_edit_keeps_every_other_byte) {
  const Payload job = Payload::parse(" { \"class\" : \"A\",\n\"args\":[ 1E400 ] , \"n\":1.00,\"x\":{\"\\/\":[]} } ");

  BOOST_TEST(job.with({{"n", "2"}, {"y", "[]"}}).text() ==
             " { \"class\" : \"A\",\n\"args\":[ 1E400 ] , \"n\":2,\"x\":{\"\\/\":[]},\"y\":[] } ");
  BOOST_TEST(job.with({{"n", std::nullopt}}).text() ==
             " { \"class\" : \"A\",\n\"args\":[ 1E400 ],\"x\":{\"\\/\":[]} } ");
  BOOST_TEST(job.with({{"absent", std::nullopt}}).text() == job.text());
  BOOST_TEST(job.with({{"a \"key\"", "1"}}).integer("a \"key\"").value() == 1);
}

BOOST_AUTO_TEST_CASE(an_edit_cannot_make_what_is_no_job) {
  const Payload job = Payload::parse(plain);
  BOOST_CHECK_THROW(job.with({{"class", std::nullopt}}), BadPayload);
  BOOST_CHECK_THROW(job.with({{"args", "{}"}}), BadPayload);
  BOOST_CHECK_THROW(job.with({{"n", "nonsense"}}), BadPayload);
}

// Builds objects of odd spellings whose parts are known, edits them at random, and compares with the parts put
// together again.
BOOST_AUTO_TEST_CASE(random_edits_keep_every_other_byte) {
  std::mt19937_64 random(20);
  const auto pick = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  const std::vector<std::string> spaces{"", "", " ", "\n", "\t ", "\r\n"};
  const std::vector<std::string> values{"0",
                                        "-0",
                                        "1.0",
                                        "1E400",
                                        "1180591620717411303424",
                                        "null",
                                        "true",
                                        "\"\"",
                                        "\"a\\\"},{\"",
                                        "\"\\ud83d\"",
                                        "\"é\\u00e9\"",
                                        "[]",
                                        "[ 1 , [ ] ]",
                                        "{\"class\":[{}]}",
                                        "{ }"};
  const std::vector<std::string> keys{"k0", "k1", "k2", "k3", "k4", "k5", "k6", "k7"};

  struct Part {
    std::string before, key, spelled, colon, value, after;
  };
  for (int round = 0; round < 3000; ++round) {
    const auto space = [&] { return spaces[pick(spaces.size())]; };
    std::vector<Part> parts{{space(), "class", "\"class\"", space() + ":" + space(), "\"A\"", space()},
                            {space(), "args", "\"args\"", ":" + space(), "[" + space() + "]", space()}};
    for (const std::string& key : keys) {
      if (pick(2) == 0) continue;
      const std::string spelled = pick(3) == 0 ? "\"\\u006b" + key.substr(1) + "\"" : "\"" + key + "\"";
      parts.insert(parts.begin() + static_cast<std::ptrdiff_t>(pick(parts.size() + 1)),
                   {space(), key, spelled, space() + ":" + space(), values[pick(values.size())], space()});
    }
    std::string text = space() + "{";
    for (std::size_t i = 0; i < parts.size(); ++i)
      text +=
          (i > 0 ? "," : "") + parts[i].before + parts[i].spelled + parts[i].colon + parts[i].value + parts[i].after;
    text += "}" + space();

    std::vector<Payload::Edit> edits;
    for (const std::string& key : keys) {
      if (pick(3) == 0) edits.push_back({key, values[pick(values.size())]});
    }
    std::string expected = text.substr(0, text.find('{') + 1), appended;
    for (const auto& edit : edits) {
      const auto part = std::find_if(parts.begin(), parts.end(), [&](const Part& p) { return p.key == edit.key; });
      if (part != parts.end())
        part->value = *edit.raw;
      else
        appended += ",\"" + edit.key + "\":" + *edit.raw;
    }
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const bool last = i + 1 == parts.size();
      expected += (i > 0 ? "," : "") + parts[i].before + parts[i].spelled + parts[i].colon + parts[i].value +
                  (last ? appended : "") + parts[i].after;
    }
    expected += text.substr(text.rfind('}'));

    BOOST_REQUIRE_EQUAL(Payload::parse(text).with(edits).text(), expected);
    for (const auto& part : parts) BOOST_REQUIRE_EQUAL(*Payload::parse(expected).raw(part.key), part.value);
  }
}

// Whatever byte changes, we and a full parser agree on what is JSON.  Three changes make no number that no double
// holds, on which we would differ.
BOOST_AUTO_TEST_CASE(mutations_are_read_exactly_when_they_are_json) {
  const std::string seed = R"( {"class":"A","args":[1,-2.5,{"x":[true,false,null,"a\nb"]},[]],"n":{"m":{}},"s":"é"} )";
  const std::string bytes = "{}[]:,\"\\ \n01.-+eEtrufalsn\x01\xff";
  BOOST_REQUIRE(dom_reads(seed));
  std::mt19937_64 random(21);
  int accepted = 0;
  for (int round = 0; round < 60'000; ++round) {
    std::string text = seed;
    for (std::size_t changes = 1 + random() % 3; changes > 0; --changes) {
      const std::size_t at = random() % text.size();
      switch (random() % 3) {
        case 0:
          text.erase(at, 1);
          break;
        case 1:
          text.insert(at, 1, bytes[random() % bytes.size()]);
          break;
        default:
          text[at] = bytes[random() % bytes.size()];
      }
    }
    const bool ours = is_json(text);
    BOOST_REQUIRE_MESSAGE(ours == dom_reads(text), text);
    accepted += ours;
  }
  BOOST_TEST(accepted > 1000);
}

BOOST_AUTO_TEST_CASE(what_is_no_job_is_refused_with_a_reason) {
  for (const std::string& text :
       {""s, " \n"s, "null"s, "[]"s, "\"x\""s, "1"s, "not json"s, plain + "x"s, plain + " {}"s, "\xef\xbb\xbf"s + plain,
        "{\0\"\0"s, R"({"class":"A","args":["\xff"]})"s, "{\"class\":\"A\",\"args\":[\"\xff\"]}"s,
        R"({"class":"A","args":[NaN]})"s, R"({"class":"A","args":[Infinity]})"s,
        R"({"class":"A","args":[-Infinity]})"s}) {
    BOOST_TEST(refusal(text).starts_with("the payload is not a JSON object: "), text << " -> " << refusal(text));
  }
  BOOST_TEST(refusal("not json") == "the payload is not a JSON object: unexpected n at byte 0");
  BOOST_TEST(refusal("{}") == "the payload has no class");
  BOOST_TEST(refusal(R"({"args":[]})") == "the payload has no class");
  BOOST_TEST(refusal(R"({"class":"A"})") == "the payload has no args");
  for (const char* wrong : {"1", "null", "true", "[]", "{}"})
    BOOST_TEST(refusal(R"({"args":[],"class":)" + std::string(wrong) + "}") == "the payload's class is not a string");
  BOOST_TEST(refusal(R"({"args":[],"class":""})") == "the payload's class is empty");
  for (const char* wrong : {"1", "null", "true", "\"[]\"", "{}"})
    BOOST_TEST(refusal(R"({"class":"A","args":)" + std::string(wrong) + "}") == "the payload's args are not an array");
}

BOOST_AUTO_TEST_CASE(every_truncation_is_refused) {
  const std::string text = plain;
  for (std::size_t length = 0; length < text.size(); ++length) BOOST_TEST(!refusal(text.substr(0, length)).empty());
}

BOOST_AUTO_TEST_CASE(depth_counts_from_the_payload_itself) {
  const auto nested = [](std::size_t depth) {
    return R"({"class":"A","args":)" + std::string(depth, '[') + std::string(depth, ']') + "}";
  };
  BOOST_TEST(refusal(nested(99)) == "");
  BOOST_TEST(refusal(nested(100)).find("deeper than 100") != std::string::npos);
  BOOST_TEST(!refusal(nested(1'000'000)).empty());
}

BOOST_AUTO_TEST_CASE(odd_but_readable_payloads_survive_untouched) {
  for (const std::string& members :
       {R"("n":[9007199254740993,18446744073709551616,1E400,1e999,-0,-0.0,1.50])"s,
        "\"n\":" + std::string(1'000'000, '7'), R"("s":"\ud800 \udc00")"s, R"("jid":"\u0000")"s,
        R"("jid":"../../x*\r\n")"s, R"("retry":{})"s, R"("__proto__":{"\u2028":"/\/"})"s,
        "\"s\":\"" + std::string(10'000'000, 'x') + "\"", "\"\":\"\""s}) {
    const Payload job = with_members(members);
    BOOST_TEST(
        (job.with({{"retry_count", "0"}}).text() == R"({"class":"A","args":[],)" + members + R"(,"retry_count":0})"));
  }
  BOOST_TEST(Payload::parse(R"({"class":"\u0000","args":[]})").job_class() == "\0"s);
  BOOST_TEST(with_members(R"("jid":5)").jid() == "");
}

BOOST_AUTO_TEST_CASE(a_million_args_are_read) {
  std::string args = "[0";
  for (int i = 1; i < 1'000'000; ++i) args += ",0";
  args += "]";
  BOOST_TEST((Payload::parse(R"({"class":"A","args":)" + args + "}").args() == args));
}

BOOST_AUTO_TEST_CASE(the_unit_is_that_of_created_at) {
  BOOST_CHECK(with_members(R"("created_at":1795237318514)").time_unit() == TimeUnit::integer_milliseconds);
  BOOST_CHECK(with_members(R"("created_at":1795237318.5)").time_unit() == TimeUnit::float_seconds);
  BOOST_CHECK(with_members(R"("created_at":1.7e9)").time_unit() == TimeUnit::float_seconds);
  BOOST_CHECK(with_members(R"("created_at":1.5,"enqueued_at":1)").time_unit() == TimeUnit::float_seconds);
}

BOOST_AUTO_TEST_CASE(without_created_at_the_unit_is_that_of_another_time_and_else_seconds) {
  BOOST_CHECK(with_members(R"("created_at":"2026-11-21")").time_unit() == usual_time_unit);
  BOOST_CHECK(with_members(R"("enqueued_at":1795237318514)").time_unit() == TimeUnit::integer_milliseconds);
  BOOST_CHECK(with_members(R"("failed_at":1795237318514)").time_unit() == TimeUnit::integer_milliseconds);
  BOOST_CHECK(Payload::parse(plain).time_unit() == TimeUnit::float_seconds);  // which every release reads
}

BOOST_AUTO_TEST_CASE(times_are_read_in_both_units_and_refused_beyond_the_clock) {
  const auto seconds = [](const char* raw) -> double {
    const auto t = with_members(R"("t":)" + std::string(raw)).time("t");
    return t ? epoch_seconds(*t) : -1e18;
  };
  BOOST_TEST(seconds("1795237318514") == 1795237318.514);
  BOOST_TEST(seconds("1795237318.514") == 1795237318.514);
  BOOST_TEST(seconds("1795237318514.0") == 1795237318.514);
  BOOST_TEST(seconds("1795237318") == 1795237318.0);
  BOOST_TEST(seconds("-5") == -5.0);
  BOOST_TEST(seconds("-999999999") == -999999999.0);
  for (const char* raw : {"1E400", "-1e400", "1e30", "-1e12", "-9000000000", "-9000000000.5", "-1000000000",
                          "99999999999999999999", "9e18", "31556889864403200000", "\"now\"", "null", "[]"})
    BOOST_TEST(seconds(raw) == -1e18, raw);
}

// Rails' 30.seconds is "30" in Ruby's JSON.
BOOST_AUTO_TEST_CASE(a_number_in_quotes_counts_as_that_number) {
  const auto job = [](const std::string& raw) { return Payload::parse(R"({"class":"A","args":[],"n":)" + raw + "}"); };
  BOOST_TEST(job(R"("30")").number("n").value() == 30.0);
  BOOST_TEST(job(R"("30.5")").number("n").value() == 30.5);
  BOOST_TEST(job(R"("1e1")").number("n").value() == 10.0);
  BOOST_TEST(job(R"("-0.5E+2")").number("n").value() == -50.0);
  BOOST_TEST(job(R"("30")").integer("n").value() == 30);
  BOOST_TEST(job(R"("0")").integer("n").value() == 0);
  BOOST_TEST(job(R"("1795237318.5")").time("n").has_value());
  for (const char* integer : {R"("30.5")", R"("1e1")", R"("99999999999999999999")"})
    BOOST_TEST(!job(integer).integer("n"), integer);
  for (const char* none :
       {R"("5m")", R"("abc")", R"("")", R"(" 30")", R"("30 ")", R"("+30")", R"("030")", R"("0x10")", R"("1.")",
        R"(".5")", R"("1e")", R"("inf")", R"("nan")", R"("-")", R"("1,5")", "true", "[30]"}) {
    BOOST_TEST(!job(none).number("n"), none);
    BOOST_TEST(!job(none).integer("n"), none);
  }
}

BOOST_AUTO_TEST_CASE(an_option_that_is_no_number_is_named) {
  const auto ignored = [](const std::string& members) {
    return ignored_options(Payload::parse(R"({"class":"A","args":[],)" + members + "}"));
  };
  for (
      const char* fine :
      {R"("timeout":"30","retry_for":172800,"expires_in":"1e3","expiry":1.8e9,"unique_for":0.5,"retry":7,"backtrace":"5")",
       R"("timeout":null,"retry_for":false,"expires_in":null,"unique_for":false,"retry":false,"backtrace":true)",
       R"("retry":true,"timeout":0)"})
    BOOST_TEST(ignored(fine).empty(), fine);
  for (const char* name : {"timeout", "retry_for", "expires_in", "expiry", "unique_for"}) {
    for (const char* slip : {R"("5m")", "true", "-1", "[]", R"("-1")"}) {
      const auto all = ignored("\"" + std::string(name) + "\":" + slip);
      BOOST_TEST_REQUIRE(all.size() == 1U, name << slip);
      BOOST_TEST(all[0] == std::string(name) + "=" + slip);
    }
  }
  BOOST_TEST(ignored(R"("retry":"7","backtrace":"all")").size() == 2U);  // to Sidekiq too "7" means true
  BOOST_TEST(ignored(R"("timeout":")" + std::string(500, 'x') + "\"")[0].size() < 100U);
}

BOOST_AUTO_TEST_CASE(a_lock_lives_as_long_as_a_number_in_quotes_says) {
  const auto longest = [](std::string_view unique_for) {
    return read_uniqueness("A", "default", "[]", [&](std::string_view name) {
      return name == "unique_for" ? std::optional(unique_for) : std::nullopt;
    });
  };
  BOOST_TEST(longest(R"("30.5")")->longest.count() == 30'500);
  BOOST_TEST(longest("30.5")->longest.count() == 30'500);
  BOOST_TEST(!longest(R"("0")"));
  for (const char* slip : {R"("5m")", R"("")", "true", "-1", R"("-1")", "1e10", R"("1e10")"})
    BOOST_CHECK_THROW(longest(slip), std::invalid_argument);
}

BOOST_AUTO_TEST_CASE(an_active_job_is_unique_by_its_own_class_and_arguments) {
  const auto lock = [](std::string_view wrapper, std::string_view args, std::string_view wrapped = "\"Report\"") {
    return read_uniqueness(wrapper, "default", args,
                           [&](std::string_view name) {
                             return name == "wrapped"        ? std::optional(wrapped)
                                    : name == "unique_until" ? std::optional<std::string_view>("\"done\"")
                                                             : std::nullopt;
                           })
        ->lock;
  };
  const auto job = [](const std::string& arguments, int id, const char* job_class = "Report") {
    return R"([{"job_class":")" + std::string(job_class) + R"(","job_id":")" + std::to_string(id) +
           R"(","arguments":)" + arguments + R"(,"executions":)" + std::to_string(id) + "}]";
  };
  const std::string wrapper = "ActiveJob::QueueAdapters::SidekiqAdapter::JobWrapper",
                    of_8 = "Sidekiq::ActiveJob::Wrapper";
  BOOST_TEST(lock(wrapper, job("[1]", 1)) == lock(wrapper, job("[ 1 ]", 2)));
  BOOST_TEST(lock(wrapper, job("[1]", 1)) == lock(of_8, job("[1]", 2)));
  BOOST_TEST(lock(wrapper, job("[1]", 1)) == lock("Report", "[1]", "null"));  // the same job by Sidekiq's own client
  BOOST_TEST(lock(wrapper, job("[1]", 1)) != lock(wrapper, job("[2]", 1)));
  BOOST_TEST(lock(wrapper, job("[1]", 1)) != lock(wrapper, job("[1]", 1, "Other")));
  for (const char* other :
       {"[]", "[1]", R"([{"job_class":"Report"}])", R"([{"job_class":1,"arguments":[]}])",
        R"([{"job_class":"Report","arguments":{}}])", R"([{"job_class":"Report","arguments":[]},1])"})
    BOOST_TEST(lock(wrapper, other) == lock(wrapper, other, "null"), other);
}

BOOST_AUTO_TEST_CASE(latency_is_that_of_the_vectors) {
  for (const auto& vector : test::vectors("latency-")) {
    BOOST_TEST_CONTEXT(vector.id) {
      std::string members;
      for (const char* key : {"enqueued_at", "created_at"}) {
        if (vector.input.has(key)) members += ",\"" + std::string(key) + "\":" + vector.input[key].text;
      }
      const Payload job = Payload::parse(R"({"class":"A","args":[])" + members + "}");
      const double now_s = vector.input.has("now_ms") ? vector.input["now_ms"].number() / 1e3
                           : vector.input.has("now")  ? vector.input["now"].number()
                                                      : 1.8e9;
      const WallTime now(std::chrono::nanoseconds(std::llround(now_s * 1e3) * 1'000'000));

      // Unlike release 8 we see by its size that an integer counts seconds.
      const double expected = vector.id == "latency-integer-seconds-trap" ? 0 : vector.expect["latency_s"].number();
      BOOST_TEST(job.latency_seconds(now) == expected, boost::test_tools::tolerance(1e-9));
    }
  }
}
