#include "typed.hpp"

void Typed::perform(brood::Context& job) {
  job.log("text=" + text + " width=" + std::to_string(size.width) + " sizes=" + std::to_string(sizes.size()) +
          " anything=" + anything.text + (maybe ? " maybe=" + *maybe : ""));
}
