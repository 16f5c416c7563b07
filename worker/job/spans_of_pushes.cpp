#include "worker/job/spans_of_pushes.hpp"

#include <dlfcn.h>

#include <string>

namespace brood {
namespace {

constexpr const char* library_of_pushes = "libbrood.so.1";
constexpr const char* name_of_function = "brood_set_span_of_run";  // shared/api/span_of_run.cpp

}  // namespace

void SpansOfPushes::begin(std::string_view traceparent, std::string_view state) {
  if (!looked_) {
    looked_ = true;
    // One that no job library has loaded is of use to nobody.
    if (void* const loaded = dlopen(library_of_pushes, RTLD_NOLOAD | RTLD_NOW | RTLD_LOCAL))
      set_ = reinterpret_cast<SetSpan>(dlsym(loaded, name_of_function));
  }
  if (set_ != nullptr) set_(std::string(traceparent).c_str(), std::string(state).c_str());
}

void SpansOfPushes::end() {
  if (set_ != nullptr) set_("", "");
}

}  // namespace brood
