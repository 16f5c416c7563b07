#include "tests/store/interleavings/payloads.hpp"

#include <fmt/format.h>

#include <stdexcept>

namespace brood::interleavings {

std::string name_of(const std::string& payload) {
  if (!payload.starts_with('{')) return payload;
  const std::size_t begin = payload.find('"', payload.find("\"name\":") + 7) + 1;
  return payload.substr(begin, payload.find('"', begin) - begin);
}

std::string job_of(const std::string& payload) {
  const std::string name = name_of(payload);
  return name.substr(0, name.find('#'));
}

int charges_of(const std::string& payload) {
  const std::string name = name_of(payload);
  return std::stoi(name.substr(name.find('#') + 1));
}

std::string charged_once_more(const std::string& payload) {
  const std::string charged = fmt::format("{}#{}", job_of(payload), charges_of(payload) + 1);
  return replaced(payload, name_of(payload), charged);
}

Outcome retried(const std::string& payload) { return {Outcome::Kind::retry, charged_once_more(payload), 1}; }

std::string member_of(const std::string& payload, std::string_view key) {
  const std::string before = fmt::format("\"{}\":\"", key);
  const std::size_t at = payload.find(before);
  if (at == payload.npos) return "";
  return payload.substr(at + before.size(), payload.find('"', at + before.size()) - at - before.size());
}

std::string unique_job(const std::string& job, const std::string& lock) {
  return fmt::format(R"({{"jid":"{0}","unique_lock":"{1}","name":"{0}#0"}})", job, lock);
}

std::string one_at_a_time(const std::string& job, const std::string& lock) {
  return fmt::format(R"({{"jid":"{0}","runs":"{1}","name":"{0}#0"}})", job, lock);
}

std::string job_in_sequence(const std::string& job, const std::string& sequence, const std::string& queue) {
  return fmt::format(R"({{"jid":"{0}","sequence":"{1}","queue":"{2}","name":"{0}#0"}})", job, sequence, queue);
}

std::string capped_job(const std::string& job) {
  return fmt::format(R"({{"jid":"{0}","class":"Capped","name":"{0}#0"}})", job);
}

bool is_capped(const std::string& payload) { return member_of(payload, "class") == "Capped"; }

std::string replaced(std::string_view text, std::string_view from, std::string_view to) {
  const std::size_t at = text.find(from);
  if (at == text.npos || text.find(from, at + 1) != text.npos)
    throw std::logic_error("the script no longer has the one line that is to be broken: " + std::string(from));
  return std::string(text.substr(0, at)).append(to).append(text.substr(at + from.size()));
}

}  // namespace brood::interleavings
