#include "shared/job/page_text.hpp"

#include <algorithm>

#include "shared/job/payload.hpp"

namespace brood {
namespace {

constexpr std::string_view opening = "\u2039", closing = "\u203a";

// Kept fast: called for every character of every job's names.
bool is_markup(char c) { return c == '<' || c == '>' || c == '&' || c == '"' || c == '\''; }

bool is_word(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
         std::string_view("_.:@/*!~-").find(c) != std::string_view::npos;
}

}  // namespace

std::string page_text(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    if (c == '<') {
      out += opening;
    } else if (c == '>') {
      out += closing;
    } else {
      out += c;
    }
  }
  return out;
}

std::string from_page_text(std::string_view shown) {
  std::string out;
  while (!shown.empty()) {
    const bool opens = shown.starts_with(opening);
    if (opens || shown.starts_with(closing)) {
      out += opens ? '<' : '>';
      shown.remove_prefix(opening.size());
    } else {
      out += shown.front();
      shown.remove_prefix(1);
    }
  }
  return out;
}

std::string page_name(std::string text) {
  std::replace_if(text.begin(), text.end(), is_markup, '_');
  return text;
}

std::string page_word(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return !is_word(c); }, '-');
  return text;
}

bool has_markup(std::string_view text) { return std::any_of(text.begin(), text.end(), is_markup); }

namespace {
constexpr std::string_view mask = "\"[encrypted data]\"";
}

std::string shown_args(std::string_view payload) {
  try {
    const Payload job = Payload::parse(payload);
    std::string args(job.args());
    if (!job.truthy("encrypt")) return args;
    const JsonOutline outline = JsonOutline::of(args);
    if (outline.parts.empty()) return args;
    const JsonOutline::Part& last = outline.parts.back();
    return args.replace(last.value_begin, last.value_end - last.value_begin, mask);
  } catch (const BadPayload&) {
    return "[]";
  }
}

std::string masked_args(std::string_view args) {
  std::string masked = "[";
  const std::size_t count = JsonOutline::of(args).parts.size();
  for (std::size_t i = 0; i < count; ++i) masked.append(i == 0 ? "" : ",").append(mask);
  return masked + "]";
}

}  // namespace brood
