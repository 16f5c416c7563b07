#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "shared/json/json_object.hpp"
#include "shared/json/json_writer.hpp"
#include "supervisor/upgrade/handover_record.hpp"

// Converts records to JSON and back.  Each record has one function members(io, record), which names each of its members
// once, for a Writer and for a Reader; it is in this namespace, where these two find it.
namespace brood::handover_json {

// For the writer the record is const; the reader fills it.
class Writer;
template <typename Io, typename Record>
using Of = std::conditional_t<std::is_same_v<Io, Writer>, const Record, Record>;

class Writer {
 public:
  void text(const char* key, const std::string& value) { json_.text(key, value); }
  template <typename Number>
  void number(const char* key, Number value) {
    json_.number(key, value);
  }
  template <typename Duration>
  void duration(const char* key, Duration value) {
    number(key, value.count());
  }
  template <typename Time>
  void time(const char* key, Time value) {
    number(key, value.time_since_epoch().count());
  }
  void truth(const char* key, bool value) { json_.truth(key, value); }
  template <typename Record>
  void record(const char* key, const Record& value) {
    json_.json(key, object_of(value));
  }
  template <typename Record>
  void record(const char* key, const std::optional<Record>& value) {
    if (value) record(key, *value);
  }
  template <typename Record>
  void records(const char* key, const std::vector<Record>& values) {
    json_.each(key, values, object_of<Record>);
  }
  void queues(const char* key, const QueueOrder& order) {
    const std::map<std::string, int> weights = order.weights();
    std::vector<std::string> entries;
    for (const std::string& name : order.names()) entries.push_back(fmt::format("{},{}", name, weights.at(name)));
    json_.texts(key, entries);
  }
  void names(const char* key, const std::vector<std::string>& names) { json_.texts(key, names); }

  template <std::size_t size>
  void numbers(const char* key, const std::array<std::uint64_t, size>& values) {
    json_.json(key, fmt::format("[{}]", fmt::join(values, ",")));
  }

  void numbers(const char* key, const std::vector<std::uint64_t>& values) {
    json_.json(key, fmt::format("[{}]", fmt::join(values, ",")));
  }

  // All 64 bits.
  void bits(const char* key, std::uint64_t value) { json_.text(key, fmt::format("{:x}", value)); }

  // For a string of arbitrary bytes.
  void bytes(const char* key, const std::string& value) {
    std::string digits;
    for (const unsigned char byte : value) digits += fmt::format("{:02x}", byte);
    json_.text(key, digits);
  }

  template <typename Record>
  static std::string object_of(const Record& value) {
    Writer writer;
    members(writer, value);
    return writer.json_.object();
  }

 private:
  JsonWriter json_;
};

// A missing key leaves its member as it is.
class Reader {
 public:
  explicit Reader(std::string_view json) : object_(JsonObject::parse(json)) {}

  void text(const char* key, std::string& into) const {
    if (auto value = object_.string(key)) into = std::move(*value);
  }
  template <typename Number>
  void number(const char* key, Number& into) const {
    const auto value = object_.integer(key);
    if (!value) return;
    if (!std::in_range<Number>(*value)) throw BadHandover(std::string("the handover's ") + key + " is out of range");
    into = static_cast<Number>(*value);
  }
  template <typename Duration>
  void duration(const char* key, Duration& into) const {
    std::int64_t count = into.count();
    number(key, count);
    into = Duration(count);
  }
  template <typename Time>
  void time(const char* key, Time& into) const {
    std::int64_t count = into.time_since_epoch().count();
    number(key, count);
    into = Time(std::chrono::nanoseconds(count));
  }
  void truth(const char* key, bool& into) const {
    if (object_.raw(key)) into = object_.truthy(key);
  }
  template <typename Record>
  void record(const char* key, Record& into) const {
    if (const auto raw = object_.raw(key)) read(*raw, into);
  }
  template <typename Record>
  void record(const char* key, std::optional<Record>& into) const {
    if (const auto raw = object_.raw(key)) read(*raw, *(into = Record{}));
  }
  template <typename Record>
  void records(const char* key, std::vector<Record>& into) const {
    for (const std::string& one : elements(key)) read(one, into.emplace_back());
  }
  void queues(const char* key, QueueOrder& into) const {
    std::vector<QueueOrder::Entry> entries;
    for (const std::string& entry : elements(key)) {
      if (!entry.starts_with('"')) throw BadHandover("a queue of the handover is no string");
      entries.push_back(QueueOrder::parse(json_unescape(entry)));
    }
    into = QueueOrder(std::move(entries));
  }
  void names(const char* key, std::vector<std::string>& into) const {
    for (const std::string& entry : elements(key)) {
      if (!entry.starts_with('"')) throw BadHandover("a name of the handover is no string");
      into.push_back(json_unescape(entry));
    }
  }

  template <std::size_t size>
  void numbers(const char* key, std::array<std::uint64_t, size>& into) const {
    const std::vector<std::string> values = elements(key);
    for (std::size_t i = 0; i < std::min(size, values.size()); ++i) into[i] = unsigned_number(key, values[i]);
  }
  void numbers(const char* key, std::vector<std::uint64_t>& into) const {
    for (const std::string& value : elements(key)) into.push_back(unsigned_number(key, value));
  }
  void bits(const char* key, std::uint64_t& into) const {
    if (const auto digits = object_.string(key)) into = unsigned_number(key, *digits, 16);
  }

  void bytes(const char* key, std::string& into) const {
    const auto digits = object_.string(key);
    if (!digits) return;
    into.clear();
    for (std::size_t at = 0; at + 1 < digits->size(); at += 2) {
      unsigned byte = 0;
      const char* const pair = digits->data() + at;
      if (std::from_chars(pair, pair + 2, byte, 16).ptr != pair + 2)
        throw BadHandover(std::string("the handover's ") + key + " are no bytes");
      into += static_cast<char>(byte);
    }
  }

  template <typename Record>
  static void read(std::string_view json, Record& into) {
    const Reader reader(json);
    members(reader, into);
  }

 private:
  static std::uint64_t unsigned_number(const char* key, const std::string& text, int base = 10) {
    std::uint64_t number = 0;
    const char* const end = text.data() + text.size();
    if (text.empty() || std::from_chars(text.data(), end, number, base).ptr != end)
      throw BadHandover(std::string("the handover's ") + key + " is no number");
    return number;
  }
  std::vector<std::string> elements(const char* key) const {
    const auto raw = object_.raw(key);
    return raw ? json_elements(*raw) : std::vector<std::string>();
  }

  JsonObject object_;
};

// An enumerator as its number, which must be below `count`.
template <typename Io, typename Enumeration>
void enumerator(Io& io, const char* key, Enumeration& value, int count) {
  int number = static_cast<int>(value);
  io.number(key, number);
  if constexpr (!std::is_same_v<Io, Writer>) {
    if (number < 0 || number >= count) throw BadHandover(std::string("the handover's ") + key + " is out of range");
    value = static_cast<Enumeration>(number);
  }
}

}  // namespace brood::handover_json
