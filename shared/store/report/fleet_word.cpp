#include "shared/store/report/fleet_word.hpp"

#include <algorithm>
#include <map>

#include "shared/base/ascii.hpp"
#include "shared/json/json.hpp"
#include "shared/json/json_object.hpp"
#include "shared/json/json_writer.hpp"

namespace brood {
namespace {

constexpr std::string_view prefix = "brood ";
constexpr std::size_t longest_word = 2'000;

enum class Ticket { none, may, must };

struct Verb {
  std::size_t arguments;
  Ticket ticket;
};

const std::map<std::string, Verb>& verbs() {
  static const std::map<std::string, Verb> all = {{"resume", {0, Ticket::none}},
                                                  {"scale", {2, Ticket::may}},
                                                  {"kill", {2, Ticket::none}},
                                                  {"restart", {0, Ticket::must}}};
  return all;
}

std::string json_of(const OrderTicket& ticket) {
  return JsonWriter().text("id", ticket.id).text("by", ticket.by).number("until", ticket.until).object();
}

bool is_id(std::string_view text) {
  return !text.empty() && text.size() <= OrderTicket::longest_id &&
         std::all_of(text.begin(), text.end(), [](char c) { return ascii::is_letter_or_digit(c) || c == '-'; });
}

// Throws BadJson.
std::optional<OrderTicket> parse_ticket(std::string_view json) {
  const JsonObject object = JsonObject::parse(json);
  const auto id = object.string("id"), by = object.string("by");
  const auto until = object.integer("until");
  if (!id || !is_id(*id) || !by || by->size() > OrderTicket::longest_name || !until) return std::nullopt;
  return OrderTicket{*id, *by, *until};
}

bool fits(const FleetWord& word) {
  const auto verb = verbs().find(word.verb);
  if (verb == verbs().end() || verb->second.arguments != word.arguments.size()) return false;
  return word.ticket ? verb->second.ticket != Ticket::none : verb->second.ticket != Ticket::must;
}

}  // namespace

std::string text_of(const FleetWord& word) {
  std::string text = std::string(prefix) + "[" + json_string(word.verb);
  for (const std::string& argument : word.arguments) text += "," + json_string(argument);
  if (word.ticket) text += "," + json_of(*word.ticket);
  return text + "]";
}

std::optional<FleetWord> parse_fleet_word(std::string_view text) {
  if (text.size() > longest_word || !text.starts_with(prefix)) return std::nullopt;
  try {
    FleetWord word;
    for (const std::string& element : json_elements(text.substr(prefix.size()))) {
      if (word.ticket) return std::nullopt;  // it is the last element
      if (element.starts_with('{')) {
        word.ticket = parse_ticket(element);
        if (!word.ticket) return std::nullopt;
      } else if (!element.starts_with('"')) {
        return std::nullopt;
      } else if (word.verb.empty()) {
        word.verb = json_unescape(element);
      } else {
        word.arguments.push_back(json_unescape(element));
      }
    }
    return fits(word) ? std::optional(word) : std::nullopt;
  } catch (const BadJson&) {
    return std::nullopt;
  }
}

}  // namespace brood
