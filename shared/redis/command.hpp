#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "shared/redis/keyspace.hpp"

namespace brood {

struct Script;

// Which arguments of a command are keys: `count` arguments, every `step`th from `first` on.
struct KeyPlaces {
  std::uint32_t first = 0, count = 0, step = 1;

  void add(std::size_t place) {
    if (count == 0) first = static_cast<std::uint32_t>(place);
    if (count == 1) step = static_cast<std::uint32_t>(place) - first;
    if (place != first + std::size_t{count} * step) throw std::logic_error("the keys of a command lie irregularly");
    ++count;
  }
  bool contains(std::size_t place) const {
    return place >= first && place < first + std::size_t{count} * step && (place - first) % step == 0;
  }
};

// One Redis command, argument by argument; arguments are bytes, not text.  Keys stand in it without the prefix of their
// shard, which the connection adds.
struct Command {
  std::vector<std::string> args;
  KeyPlaces keys;
  const Script* script = nullptr;  // the script that it runs (script_call.hpp); null: none

  struct Word {
    std::string_view bytes;
    bool is_key = false;
    template <std::convertible_to<std::string_view> Text>
    Word(const Text& text) : bytes(text) {}
    Word(const RedisKey& key) : bytes(key.name()), is_key(true) {}
    Word(const FixedKey& key) : bytes(key.name()), is_key(true) {}
  };

  Command() = default;
  Command(std::initializer_list<Word> words) {
    args.reserve(words.size());
    for (const Word& word : words) add(word);
  }
  Command& add(const Word& word) {
    if (word.is_key) keys.add(args.size());
    args.emplace_back(word.bytes);
    return *this;
  }
};

}  // namespace brood
