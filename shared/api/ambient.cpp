#include <brood/ambient.hpp>

#include <algorithm>
#include <stdexcept>

#include <brood/detail/members.hpp>

#include "shared/api/span_of_run.hpp"

namespace brood::ambient {
namespace {

struct Attribute {
  std::string name;
  std::string key;  // JSON: Active Job writes symbols as objects
  std::string value;
};

struct State {
  std::vector<Attribute> attributes;
  bool as_pairs = false;                                      // Sidekiq 8's form, not 7's
  std::vector<std::pair<std::string, std::string>> unread{};  // members passed on as they are
  std::string locale, traceparent;
};

// The span of the run on this thread, if its runs go to a collector.
struct SpanOfRun {
  std::string traceparent, tracestate;
};

SpanOfRun& span_of_run() {
  static thread_local SpanOfRun span;
  return span;
}

State& here() {
  static thread_local State state;
  return state;
}

// The last attribute of this name, as Ruby reads it; null when there is none.
Attribute* find(std::string_view name) {
  auto& attributes = here().attributes;
  const auto found = std::find_if(attributes.rbegin(), attributes.rend(),
                                  [&](const Attribute& attribute) { return attribute.name == name; });
  return found == attributes.rend() ? nullptr : &*found;
}

class NoAttributes : public std::invalid_argument {
 public:
  NoAttributes() : std::invalid_argument("no attributes") {}
};

// "tenant", or {"_aj_serialized":"ActiveJob::Serializers::SymbolSerializer","value":"tenant"}.
std::string name_of(std::string_view key) {
  if (key.starts_with('"')) return detail::unquoted(key);
  if (!key.starts_with('{')) throw NoAttributes();
  const detail::Members members(key);
  const std::string* const value = members.find("value");
  if (value == nullptr || !value->starts_with('"')) throw NoAttributes();
  return detail::unquoted(*value);
}

std::vector<Attribute> read_object(std::string_view json) {
  std::vector<Attribute> attributes;
  for (const auto& [name, value] : detail::Members(json)) attributes.push_back({name, detail::quoted(name), value});
  return attributes;
}

std::vector<Attribute> read_pairs(std::string_view json) {
  std::vector<Attribute> attributes;
  detail::JsonReader reader(json);
  reader.each_element([&](std::size_t) {
    if (reader.peek() != '[') throw NoAttributes();
    Attribute attribute;
    const std::size_t elements =
        reader.each_element([&](std::size_t i) { (i == 0 ? attribute.key : attribute.value) = reader.skip_value(); });
    if (elements != 2) throw NoAttributes();
    attribute.name = name_of(attribute.key);
    attributes.push_back(std::move(attribute));
  });
  return attributes;
}

std::string written(const State& state) {
  std::string json;
  for (const Attribute& attribute : state.attributes) {
    json += json.empty() ? "" : ",";
    json += state.as_pairs ? "[" + attribute.key + "," + attribute.value + "]"
                           : detail::quoted(attribute.name) + ":" + attribute.value;
  }
  return state.as_pairs ? "[" + json + "]" : "{" + json + "}";
}

bool names_attributes(std::string_view member) {
  constexpr std::string_view first = "cattr";
  if (!member.starts_with(first)) return false;
  member.remove_prefix(first.size());
  if (member.empty()) return true;
  return member.size() > 1 && member.front() == '_' &&
         member.find_first_not_of("0123456789", 1) == std::string_view::npos;
}

std::string text_of(std::string_view json) { return json.starts_with('"') ? detail::unquoted(json) : std::string(); }

void read_member(State& into, const std::string& name, const std::string& json) {
  if (name == "locale") into.locale = text_of(json);
  if (name == "traceparent") into.traceparent = text_of(json);
  if (!names_attributes(name)) return;
  if (name != "cattr") {
    into.unread.emplace_back(name, json);
    return;
  }
  try {
    into.as_pairs = json.starts_with('[');
    into.attributes = into.as_pairs ? read_pairs(json) : read_object(json);
  } catch (const std::invalid_argument&) {
    into.unread.emplace_back(name, json);
  }
}

void carry_member(Push& push, const std::string& name, const std::string& json) {
  const auto has = [&](const auto& member) { return member.first == name; };
  if (std::none_of(push.members.begin(), push.members.end(), has)) push.members.emplace_back(name, json);
}

}  // namespace

std::optional<std::string> get(std::string_view name) {
  const Attribute* const found = find(name);
  return found == nullptr ? std::nullopt : std::optional(found->value);
}

void set(std::string_view name, std::string_view json) {
  detail::JsonReader reader(json, 2);
  const std::string_view value = reader.skip_value();
  reader.expect_end();
  if (Attribute* const found = find(name); found != nullptr) {
    found->value = value;
  } else {
    here().attributes.push_back({std::string(name), detail::quoted(name), std::string(value)});
  }
}

void unset(std::string_view name) {
  std::erase_if(here().attributes, [&](const Attribute& attribute) { return attribute.name == name; });
}

std::vector<std::pair<std::string, std::string>> attributes() {
  std::vector<std::pair<std::string, std::string>> all;
  for (const Attribute& attribute : here().attributes) all.emplace_back(attribute.name, attribute.value);
  return all;
}

std::string locale() { return here().locale; }
void set_locale(std::string_view name) { here().locale = name; }
std::string traceparent() { return here().traceparent; }
void set_traceparent(std::string_view value) { here().traceparent = value; }

void clear() { here() = {}; }

void set_span_of_run(std::string_view traceparent, std::string_view tracestate) {
  SpanOfRun& span = span_of_run();
  State& state = here();
  if (!traceparent.empty() || state.traceparent == span.traceparent) state.traceparent = traceparent;
  span.traceparent = traceparent;
  span.tracestate = tracestate;
}

void restore(std::string_view payload) {
  clear();
  const std::string& of_run = span_of_run().traceparent;
  if (!of_run.empty()) here().traceparent = of_run;
  try {
    State read;
    for (const auto& [name, json] : detail::Members(payload)) read_member(read, name, json);
    if (!of_run.empty()) read.traceparent = of_run;
    here() = std::move(read);
  } catch (const std::invalid_argument&) {  // such as a string that is not UTF-8: nothing of it is used
  }
}

void carry(Push& push) {
  const State& state = here();
  // Attributes in a form that we do not know count as set: ours must not replace them.
  for (const auto& [name, json] : state.unread) carry_member(push, name, json);
  if (!state.attributes.empty()) carry_member(push, "cattr", written(state));
  if (!state.locale.empty()) carry_member(push, "locale", detail::quoted(state.locale));
  if (!state.traceparent.empty()) carry_member(push, "traceparent", detail::quoted(state.traceparent));
  const SpanOfRun& span = span_of_run();
  // A caller outside may have written it, and Sidekiq's pages print it unescaped.
  const bool is_markup = span.tracestate.find_first_of("<>") != std::string::npos;
  if (!span.tracestate.empty() && !is_markup && state.traceparent == span.traceparent)
    carry_member(push, "tracestate", detail::quoted(span.tracestate));
}

struct Scope::Before {
  State state;
};

Scope::Scope() : before_(std::make_unique<Before>(Before{here()})) {}
Scope::~Scope() { here() = std::move(before_->state); }

}  // namespace brood::ambient
