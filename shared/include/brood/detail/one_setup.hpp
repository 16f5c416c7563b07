#pragma once

#include <type_traits>

#include <brood/setup.hpp>

// Refuses another brood_setup with other parameters, which would never be called.  The type of two is ambiguous.
#define BROOD_ONE_SETUP                                                                \
  static_assert(::std::is_same_v<decltype(&::brood_setup), void (*)(::brood::Setup&)>, \
                "brood: brood_setup is `void brood_setup(brood::Setup& setup)`");
