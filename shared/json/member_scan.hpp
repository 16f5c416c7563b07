#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace brood {

// Looks for one outermost member of an object that is too large to be read at once.  It reads some bytes at a time and
// keeps nothing of other members.  It does not check that the text is JSON.
class MemberScan {
 public:
  explicit MemberScan(std::string_view key) : key_(key) {}

  // Reads about `bytes` more bytes of `text`, which must be the same each time.  Returns true when it has read all.
  bool go_on(std::string_view text, std::size_t bytes);
  // How many bytes it has read.
  std::size_t position() const { return at_; }

  // Valid when all is read: whether the text is an object, as far as this shows; whether it has the member; and the
  // value of the last such member, if that is a string.
  bool is_object() const { return depth_ == 0 && has_begun_ && !in_string_; }
  bool has_member() const { return has_member_; }
  std::optional<std::string> string() const;

 private:
  void end_string(std::string_view raw);

  const std::string key_;
  std::size_t at_ = 0, string_begin_ = 0;
  int depth_ = 0;
  bool has_begun_ = false, in_string_ = false, in_value_ = false;
  bool is_wanted_ = false;  // the value that comes is the member's
  std::string last_key_;    // raw, of the outermost object
  bool has_member_ = false;
  std::optional<std::string> raw_;
};

}  // namespace brood
