#include "shared/config/reading/statsd_section.hpp"

#include <string>
#include <string_view>

namespace brood {
namespace {

using namespace setting;

constexpr std::size_t most_tags = 10;

// Refuses characters that would end a line of StatsD, or one of its words.
void check_word(const Place& at, const std::string& word, std::string_view forbidden) {
  if (word.size() > 200) at.refuse("must have 200 bytes at most");
  for (const char c : word) {
    if (static_cast<unsigned char>(c) <= ' ' || c == '\x7f' || forbidden.find(c) != forbidden.npos)
      at.refuse(fmt::format("must hold no spaces and none of {}", forbidden));
  }
}

}  // namespace

void read_statsd(const ConfigSection& section, StatsdSettings& statsd) {
  section.text("address",
               [&](const Place& at, const std::string& text) { statsd.address = check_listen_address(at, text); });
  section.text("format", [&](const Place& at, const std::string& word) {
    statsd.has_tags = choose<bool>(at, word, {{"dogstatsd", true}, {"statsd", false}});
  });
  section.text("prefix", [&](const Place& at, const std::string& prefix) {
    check_word(at, prefix, ":|@#,");
    statsd.prefix = prefix;
  });
  section.texts("tags", [&](const Place& at, const std::string& tag) {
    check_word(at, tag, "|#,");
    if (tag.empty() || statsd.tags.size() == most_tags) at.refuse("must be \"name:value\", 10 of them at most");
    statsd.tags.push_back(tag);
  });
  if (!statsd.has_tags && !statsd.tags.empty())
    section.where_is("tags").refuse("a plain StatsD server knows no tags: format = \"dogstatsd\" sends them");
}

}  // namespace brood
