#include <brood/testing/jobs.hpp>

#include "worker/testing/known_jobs.hpp"

namespace brood::testing {

Jobs::Jobs() : known_(std::make_shared<Known>()) {}

Jobs& Jobs::add_library(const std::string& path) {
  known_->registry.load(path);
  return *this;
}

void Jobs::add(const brood::detail::CompiledIn& compiled_in) {
  known_->registry.add(compiled_in.library(), "of this program");
  known_->compiled_in.push_back(compiled_in);
}

std::vector<std::string> Jobs::class_names() const { return known_->registry.class_names(); }

}  // namespace brood::testing
