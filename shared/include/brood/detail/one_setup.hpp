#pragma once

#include <type_traits>

#include <brood/setup.hpp>

// Another brood_setup, with other parameters, would never be called; of two the type is ambiguous.
#define BROOD_ONE_SETUP                                                                \
  static_assert(::std::is_same_v<decltype(&::brood_setup), void (*)(::brood::Setup&)>, \
                "brood: brood_setup is `void brood_setup(brood::Setup& setup)`");
