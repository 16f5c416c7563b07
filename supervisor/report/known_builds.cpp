#include "supervisor/report/known_builds.hpp"

#include <unistd.h>

#include <algorithm>

#include "shared/config/described_classes.hpp"

namespace brood {

bool KnownBuilds::all_have_told(const std::set<std::uint32_t>& generations) const {
  return std::ranges::all_of(generations, [this](std::uint32_t number) { return told_.contains(number); });
}

const BuildOfClasses* KnownBuilds::of(std::uint32_t generation) const {
  const auto told = told_.find(generation);
  return told == told_.end() ? nullptr : &told->second;
}

bool KnownBuilds::look(const std::set<std::uint32_t>& generations) {
  const std::size_t forgotten =
      std::erase_if(told_, [&](const auto& told) { return !generations.contains(told.first); });
  bool changed = forgotten > 0;
  if (!all_have_told(generations)) {
    if (auto told = read_described_classes(path_)) {
      if (!generations.contains(told->generation)) {
        remove_file();  // the file of a generation that was taken back: others write theirs once it is gone
      } else if (!told_.contains(told->generation)) {
        std::string build = build_of_classes(told->document);
        told_.emplace(told->generation, BuildOfClasses{std::move(build), std::move(told->document)});
        changed = true;
      }
    }
  }
  if (!changed) return false;
  std::vector<BuildOfClasses> builds;
  for (const auto& [generation, build] : told_) {
    if (std::ranges::find(builds, build) == builds.end()) builds.push_back(build);
  }
  return std::exchange(builds_, builds) != builds;
}

void KnownBuilds::remove_file() const { unlink(path_.c_str()); }

}  // namespace brood
