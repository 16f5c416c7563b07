#include <boost/test/unit_test.hpp>

#include <chrono>
#include <functional>
#include <stdexcept>
#include <string>

#include "shared/json/json.hpp"
#include "supervisor/cli/schema/config_schema.hpp"
#include "supervisor/cli/schema/schema_section.hpp"
#include "supervisor/cli/schema/setting_descriptions.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::string schema_of(const std::function<void(const ConfigSection&)>& reader, const std::string& kind = "restart") {
  const SettingDescriptions none("");
  SchemaSection section(kind, none);
  section.ask(reader);
  return section.json();
}

}  // namespace

BOOST_AUTO_TEST_CASE(each_reader_asks_for_every_key_of_its_section) {
  const std::string schema = config_schema(example_configuration());
  for (const char* part :
       {R"("concurrency":{"type":"integer","minimum":0,"maximum":)", R"("additionalProperties":false)",
        R"("min_version":{"type":"string","enum":["1.2","1.3"])",
        R"("per":{"type":"string","enum":["queue","class","tenant"])",
        R"("show_args":{"anyOf":[{"type":"boolean"},{"type":"string","enum":["none","keys","all"]}])",
        R"("propagation":{"type":"string","enum":["link","child","none"])",
        R"("shard":{"type":"array","items":{"type":"object",)"})
    BOOST_TEST(contains(schema, part), part);
}

BOOST_AUTO_TEST_CASE(a_reader_that_leaves_out_a_key_is_an_error) {
  bool canary = false;
  std::chrono::seconds watch{};
  BOOST_CHECK_THROW(schema_of([&](const ConfigSection& section) { section.boolean("canary", canary); }),
                    std::logic_error);
  const auto whole = [&](const ConfigSection& section) {
    section.boolean("canary", canary);
    section.duration("canary_watch", watch, 0ms, 1h);
  };
  BOOST_TEST(contains(schema_of(whole), R"("canary":{"type":"boolean"})"));
}

BOOST_AUTO_TEST_CASE(the_comment_above_a_key_describes_it) {
  const SettingDescriptions texts(
      "# Of the whole file.\n\n# How many.\n# More of it.\n#concurrency = 8\n\n[redis]\n# Where it is.\nurl = "
      "\"x\"\n#user = "
      "\"y\"\n\n# For TLS.\n#[redis.tls]\n# Whom to trust.\n#ca = \"z\"\n\n# A cap.\n#[limits.erp]\n# So "
      "many.\n#concurrent = 4\n"
      "[worker]\n# Jobs.\nmax_jobs = 0\n");
  BOOST_TEST(texts.of("", "concurrency") == "How many. More of it.");
  BOOST_TEST(texts.of("redis", "url") == "Where it is.");
  BOOST_TEST(texts.of("redis", "user") == "");
  BOOST_TEST(texts.of("redis", "tls") == "For TLS.");
  BOOST_TEST(texts.of("redis.tls", "ca") == "Whom to trust.");
  BOOST_TEST(texts.of("", "limits") == "A cap.");
  BOOST_TEST(texts.of("limits.*", "concurrent") == "So many.");
  BOOST_TEST(texts.of("capsules.*", "max_jobs") == "Jobs.");
}
