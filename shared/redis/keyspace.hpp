#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace brood {

// The prefix of every key of one shard; empty if the keys are Sidekiq's own.  Only a connection knows it and writes it.
class Keyspace {
 public:
  Keyspace() = default;
  // Throws std::invalid_argument for a prefix with a character that has a meaning in a pattern of SCAN.
  explicit Keyspace(std::string prefix);

  const std::string& prefix() const { return prefix_; }

  // A key, as Redis has it, without the prefix; nullopt: it is another shard's.
  std::optional<std::string_view> without_prefix(std::string_view key) const;

 private:
  std::string prefix_;
};

// A key, or a pattern of keys, without the prefix of its shard.  It does not convert implicitly from or to text, so a
// command knows which of its arguments are keys, and no function can forget to mark one.
class RedisKey {
 public:
  explicit RedisKey(std::string name) : name_(std::move(name)) {}
  explicit RedisKey(std::string_view name) : name_(name) {}
  explicit RedisKey(const char* name) : name_(name) {}
  const std::string& name() const& { return name_; }
  std::string name() && { return std::move(name_); }

 private:
  std::string name_;
};

// A key whose name is a constant.
class FixedKey {
 public:
  explicit constexpr FixedKey(std::string_view name) : name_(name) {}
  constexpr std::string_view name() const { return name_; }
  operator RedisKey() const { return RedisKey(name_); }

 private:
  std::string_view name_;
};

// If the keys have a prefix, each script has this as its last key.  The key is never written.  While Redis Cluster
// moves the slot of a shard to another node, it refuses a command (TRYAGAIN) if one of the command's keys is missing,
// before the command has changed anything.  Without this key, a script could run on a node that has already given some
// of its keys away, and be stopped half-way.
inline constexpr FixedKey guard_key{"brood:guard"};
// Put before the text of such a script: it removes the guard, which the script does not expect.
inline constexpr std::string_view guard_prologue = "table.remove(KEYS)\n";

}  // namespace brood
