#pragma once

#include <clocale>
#include <cstdlib>
#include <locale>
#include <stdexcept>
#include <string>

#include "tests/support/temporary_directory.hpp"

namespace brood {

// A German locale, in which 30.5 is written 30,5, and a stream writes 1000 as 1.000.  A machine may lack one, so this
// makes one in LOCPATH, for this process and its children.
class GermanLocale {
 public:
  static constexpr const char* name = "de_DE.UTF-8";

  GermanLocale() {
    const std::string make = "localedef -i de_DE -f UTF-8 '" + (directory_ / name) + "' >/dev/null 2>&1";
    // localedef exits with 1 after warnings.
    if (const int status = std::system(make.c_str()); status != 0 && status != 1 << 8)
      throw std::runtime_error("localedef makes no German locale; Debian's package locales has what it reads");
    setenv("LOCPATH", directory_.path().c_str(), 1);
  }
  ~GermanLocale() {
    std::locale::global(std::locale::classic());
    std::setlocale(LC_ALL, "C");
    unsetenv("LOCPATH");
  }
  GermanLocale(const GermanLocale&) = delete;
  GermanLocale& operator=(const GermanLocale&) = delete;

  // Sets it for C and for C++.  Throws if there is none.
  static void set() {
    std::locale::global(std::locale(name));
    if (std::setlocale(LC_ALL, name) == nullptr) throw std::runtime_error("there is no German locale");
  }

 private:
  TemporaryDirectory directory_;
};

}  // namespace brood
