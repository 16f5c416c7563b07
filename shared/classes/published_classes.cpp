#include "shared/classes/published_classes.hpp"

#include <algorithm>
#include <utility>

#include "shared/base/nearest.hpp"
#include "shared/json/json.hpp"

namespace brood {
namespace {

constexpr std::size_t most_classes = 20'000, longest_class_name = 255;

std::string_view part_of(std::string_view text, const JsonOutline::Part& part) {
  return text.substr(part.value_begin, part.value_end - part.value_begin);
}

void make_encrypting(PublishedClass& known) {
  if (known.encrypts) return;
  known.encrypts = true;
  std::erase_if(known.members, [](const auto& member) { return member.first == "encrypt"; });
  known.members.emplace_back("encrypt", "true");
}

// If one build encrypts the class, pushes for all builds are encrypted: workers decrypt an encrypted payload even if
// their own build does not encrypt the class.
void encrypt_as_any_does(std::vector<PublishedClasses::Said>& said) {
  if (std::ranges::none_of(said, [](const auto& one) { return one.known.encrypts; })) return;
  for (PublishedClasses::Said& one : said) make_encrypting(one.known);
}

}  // namespace

void PublishedClasses::add(Build build, std::string document) {
  auto known = std::make_unique<Known>();
  known->build = std::move(build);
  known->document = std::move(document);
  const std::string_view text = known->document;
  try {
    for (const JsonOutline::Part& member : JsonOutline::of(text).parts) {
      if (member.key != "classes") continue;
      const std::string_view classes = part_of(text, member);
      if (!classes.starts_with('{')) throw BadJson("its classes are no object");
      for (const JsonOutline::Part& one : JsonOutline::of(classes).parts) {
        if (one.key.empty() || one.key.size() > longest_class_name) continue;
        if (known->classes.size() == most_classes) throw BadJson("it has too many classes");
        known->classes[one.key] = part_of(classes, one);
      }
    }
  } catch (const BadJson& error) {
    problems_.insert("what build " + known->build.name +
                     " publishes of its job classes cannot be read, and is ignored: " + error.what());
    return;
  }
  builds_.push_back(std::move(known));
}

std::vector<PublishedClasses::Said> PublishedClasses::find(std::string_view job_class) const {
  std::vector<Said> found;
  for (const auto& known : builds_) {
    const auto one = known->classes.find(job_class);
    if (one == known->classes.end()) continue;
    if (!known->build.runs && !found.empty()) break;
    try {
      found.push_back({known->build, PublishedClass::parse(one->first, one->second)});
    } catch (const BadJson& error) {
      problems_.insert("what build " + known->build.name + " publishes of " + one->first +
                       " cannot be read, and is ignored: " + error.what());
    }
  }
  return found;
}

std::vector<std::string> PublishedClasses::names() const {
  std::set<std::string> names;
  for (const auto& known : builds_) {
    for (const auto& [name, json] : known->classes) names.insert(name);
  }
  return {names.begin(), names.end()};
}

PushVerdict judge_push(const PublishedClasses& published, const std::string& job_class, std::string_view args) {
  using Kind = PushVerdict::Kind;
  std::vector<PublishedClasses::Said> said = published.find(job_class);
  if (said.empty()) {
    const std::vector<std::string> names = published.names();
    if (std::ranges::binary_search(names, job_class)) return {};  // what is published of it cannot be read
    const auto meant = nearest(job_class, names);
    if (!meant) return {};
    return {.kind = Kind::misspelt,
            .problem = "no worker has a job class \"" + job_class + "\"; did you mean \"" + *meant + "\"?"};
  }
  encrypt_as_any_does(said);
  PushVerdict verdict{.kind = Kind::wrong, .is_gone = !said.front().build.runs};
  for (const PublishedClasses::Said& one : said) {
    const auto problem = problem_of_arguments(one.known, args);
    if (!problem) {
      verdict.kind = Kind::fits;
      verdict.problem.clear();
      break;
    }
    if (verdict.problem.empty()) verdict.problem = *problem;
  }
  verdict.goes_by = std::move(said.front().known);
  return verdict;
}

}  // namespace brood
