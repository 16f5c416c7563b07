#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <brood/detail/json_reader.hpp>
#include <brood/detail/write_arguments.hpp>

#pragma GCC visibility push(hidden)
namespace brood::detail {

// Checks that `json` is one value and nothing else.  Throws std::invalid_argument.
inline void check_json(std::string_view json, int depth) {
  JsonReader reader(json, depth);
  reader.skip_value();
  reader.expect_end();
}

inline std::string unquoted(std::string_view json) {
  std::string text;
  JsonReader(json).read_string(text);
  return text;
}

inline std::string quoted(std::string_view text) {
  std::string json;
  write_string(json, text);
  return json;
}

// The members of a JSON object, each value as it was written.  If two members have the same name, the last one counts,
// as in Ruby.
class Members {
 public:
  // Throws std::invalid_argument if the text is not an object.
  explicit Members(std::string_view object) {
    JsonReader reader(object);
    reader.each_member([&](const std::string& name) { members_.emplace_back(name, reader.skip_value()); });
    reader.expect_end();
  }

  const std::string* find(std::string_view name) const {
    for (std::size_t i = members_.size(); i-- > 0;) {
      if (members_[i].first == name) return &members_[i].second;
    }
    return nullptr;
  }

  void set(std::string_view name, std::string json) {
    for (std::size_t i = members_.size(); i-- > 0;) {
      if (members_[i].first != name) continue;
      members_[i].second = std::move(json);
      return;
    }
    members_.emplace_back(name, std::move(json));
  }

  void remove(std::string_view name) {
    std::erase_if(members_, [&](const auto& member) { return member.first == name; });
  }

  std::string text() const {
    std::string text;
    for (const auto& [name, json] : members_) {
      write_string(text.append(text.empty() ? "{" : ","), name);
      text.append(":").append(json);
    }
    return text.empty() ? "{}" : text + "}";
  }

  auto begin() const { return members_.begin(); }
  auto end() const { return members_.end(); }

 private:
  std::vector<std::pair<std::string, std::string>> members_;
};

}  // namespace brood::detail
#pragma GCC visibility pop
