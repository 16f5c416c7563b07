#include "shared/json/json_object.hpp"

#include <algorithm>
#include <utility>

namespace brood {
namespace {

constexpr std::size_t worth_keeping = 64 * 1024;  // how much of one text's memory is kept for the next

}  // namespace

JsonObject JsonObject::parse(std::string_view text) {
  JsonObject object;
  object.read(text);
  return object;
}

void JsonObject::read(std::string_view text) {
  if (text_.capacity() > worth_keeping) text_ = std::string();
  text_.reserve(text.size() + json_padding);
  text_ = text;
  outline_.read(text_);
  if (outline_.kind != JsonOutline::Kind::object) throw BadJson("not an object");
}

std::optional<std::string_view> JsonObject::raw(std::string_view key) const {
  const auto& parts = outline_.parts;
  const auto found = std::find_if(parts.rbegin(), parts.rend(), [&](const auto& part) { return part.key == key; });
  if (found == parts.rend()) return std::nullopt;
  return std::string_view(text_).substr(found->value_begin, found->value_end - found->value_begin);
}

std::optional<std::string> JsonObject::string(std::string_view key) const {
  const auto text = raw(key);
  if (!text || text->front() != '"') return std::nullopt;
  return json_unescape(*text);
}

std::optional<std::int64_t> JsonObject::integer(std::string_view key) const {
  const auto text = raw(key);
  return text ? json_integer(*text) : std::nullopt;
}

std::optional<double> JsonObject::number(std::string_view key) const {
  const auto text = raw(key);
  return text ? json_number(*text) : std::nullopt;
}

bool JsonObject::truthy(std::string_view key) const {
  const auto text = raw(key);
  return text && *text != "null" && *text != "false";
}

JsonObject JsonObject::with(const std::vector<Edit>& edits) const {
  const auto& parts = outline_.parts;
  std::vector<const Edit*> changes(parts.size(), nullptr);  // what happens to each part
  std::vector<const Edit*> additions;
  for (const Edit& edit : edits) {
    if (edit.raw && !is_json(*edit.raw)) throw BadJson("the new value of " + edit.key + " is not JSON");
    bool present = false;
    // The last occurrence gets the new value.  A removal removes every occurrence, else an earlier one would count.
    for (std::size_t i = parts.size(); i-- > 0;) {
      if (parts[i].key != edit.key || (present && edit.raw)) continue;
      changes[i] = &edit;
      present = true;
    }
    if (present) continue;
    std::erase_if(additions, [&](const Edit* earlier) { return earlier->key == edit.key; });
    if (edit.raw) additions.push_back(&edit);
  }

  const std::string_view text = text_;
  const std::size_t head = parts.empty() ? text.find('{') + 1 : parts.front().begin;
  const std::size_t tail = parts.empty() ? head : parts.back().value_end;
  std::string out(text.substr(0, head));
  bool first = true;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (changes[i] != nullptr && !changes[i]->raw) continue;
    if (!first) out += text.substr(parts[i - 1].value_end, parts[i].begin - parts[i - 1].value_end);
    first = false;
    if (changes[i] == nullptr) {
      out += text.substr(parts[i].begin, parts[i].value_end - parts[i].begin);
    } else {
      out += text.substr(parts[i].begin, parts[i].value_begin - parts[i].begin);
      out += *changes[i]->raw;
    }
  }
  for (const Edit* addition : additions) {
    if (!std::exchange(first, false)) out += ',';
    out += json_string(addition->key) + ":" + *addition->raw;
  }
  out += text.substr(tail);
  return parse(out);
}

}  // namespace brood
