#include "shared/store/identity_record.hpp"

#include <cstdint>
#include <string_view>
#include <utility>

#include "shared/json/json_object.hpp"
#include "shared/json/json_writer.hpp"

namespace brood {
namespace {

constexpr std::int64_t schema = 1;

// Reads members that may be absent, and notes members of a wrong type.
class Members {
 public:
  explicit Members(const JsonObject& object) : object_(object) {}

  void text(std::string_view key, std::string& into) {
    if (!object_.raw(key)) return;
    auto value = object_.string(key);
    understood_ = understood_ && value;
    if (value) into = std::move(*value);
  }
  template <typename Number>
  std::optional<Number> number(std::string_view key) {
    if (!object_.raw(key)) return std::nullopt;
    const auto value = object_.integer(key);
    understood_ = understood_ && value && std::in_range<Number>(*value);
    return understood_ ? std::optional(static_cast<Number>(*value)) : std::nullopt;
  }
  bool understood() const { return understood_; }

 private:
  const JsonObject& object_;
  bool understood_ = true;
};

}  // namespace

std::string identity_record(const Identity& identity) {
  JsonWriter record;
  record.text("host", identity.hostname)
      .text("boot_id", identity.boot_id)
      .text("pid_namespace", identity.pid_namespace)
      .number("pid", identity.pid)
      .number("start_time", identity.start_time);
  if (identity.user) record.number("user", *identity.user);
  return record.text("runtime_directory", identity.runtime_directory).number("schema", schema).object();
}

std::optional<Identity> parse_identity_record(const std::string& name, const std::string& record) {
  JsonObject object;
  try {
    object = JsonObject::parse(record);
  } catch (const BadJson&) {
    return std::nullopt;
  }
  Members members(object);
  Identity identity;
  identity.name = name;
  members.text("host", identity.hostname);
  members.text("boot_id", identity.boot_id);
  members.text("pid_namespace", identity.pid_namespace);
  members.text("runtime_directory", identity.runtime_directory);
  identity.pid = members.number<pid_t>("pid").value_or(0);
  identity.start_time = members.number<std::uint64_t>("start_time").value_or(0);
  identity.user = members.number<uid_t>("user");
  const auto its_schema = members.number<std::int64_t>("schema").value_or(0);
  if (!members.understood() || identity.pid <= 0 || its_schema < schema) return std::nullopt;
  return identity;
}

}  // namespace brood
