#include "shared/json/member_scan.hpp"

#include <algorithm>

#include "shared/json/json.hpp"

namespace brood {
namespace {

constexpr std::size_t longest_kept = 1'024;  // of a string that may be the wanted key or its value

}  // namespace

bool MemberScan::go_on(std::string_view text, std::size_t bytes) {
  const std::size_t end = text.size() - at_ > bytes ? at_ + bytes : text.size();
  for (; at_ < end; ++at_) {
    const char c = text[at_];
    if (in_string_) {
      if (c == '\\') ++at_;
      if (c == '"') end_string(text.substr(string_begin_, at_ + 1 - string_begin_));
      continue;
    }
    switch (c) {
      case '"':
        in_string_ = true;
        string_begin_ = at_;
        break;
      case '{':
      case '[':
        has_begun_ |= c == '{' && depth_ == 0;
        ++depth_;
        break;
      case '}':
      case ']':
        --depth_;
        break;
      case ':':
        if (depth_ != 1) break;
        in_value_ = true;
        is_wanted_ = last_key_ == key_;
        if (is_wanted_) raw_.reset();
        has_member_ |= is_wanted_;
        break;
      case ',':
        if (depth_ == 1) in_value_ = is_wanted_ = false;
        break;
      default:
        break;
    }
  }
  at_ = std::min(at_, text.size());  // a text may end with a backslash
  return at_ == text.size();
}

// `raw` has its quotes.
void MemberScan::end_string(std::string_view raw) {
  in_string_ = false;
  if (depth_ != 1) return;
  const bool is_kept = raw.size() <= longest_kept;
  if (!in_value_) last_key_ = is_kept ? raw.substr(1, raw.size() - 2) : "";
  if (in_value_ && is_wanted_ && is_kept) raw_ = raw;
}

std::optional<std::string> MemberScan::string() const {
  if (!raw_) return std::nullopt;
  try {
    return json_unescape(*raw_);
  } catch (const BadJson&) {
    return std::nullopt;
  }
}

}  // namespace brood
