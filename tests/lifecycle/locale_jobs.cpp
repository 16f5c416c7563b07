// Jobs that set the locale of their process to a German one, and record the present one.  LOCALE_SET_AT makes the
// library itself set it: at "preload", at "startup" or in its "middleware".
#include <locale.h>

#include <brood/client.hpp>
#include <brood/job.hpp>
#include <brood/setup.hpp>
#include <clocale>
#include <cstdlib>
#include <fstream>
#include <locale>
#include <stdexcept>
#include <string>

namespace {

constexpr const char* german = "de_DE.UTF-8";

void set_german() {
  std::locale::global(std::locale(german));
  if (std::setlocale(LC_ALL, german) == nullptr) throw std::runtime_error("there is no German locale");
}

bool is_set_at(const std::string& moment) {
  const char* const variable = std::getenv("LOCALE_SET_AT");
  return variable != nullptr && variable == moment;
}

void append(const std::string& file, const std::string& line) {
  std::ofstream stream(file, std::ios::app);
  stream << line + "\n";
}

std::string found() {
  return std::string("point ") + std::localeconv()->decimal_point + ", of C++ " + std::locale().name() +
         ", of the thread " + (uselocale(nullptr) == LC_GLOBAL_LOCALE ? "none" : "one");
}

// Pushes one unique job twice.
std::string push_twice() {
  brood::Client client;
  const auto job = brood::Push::parse(R"({"class":"SayLocale","queue":"elsewhere","args":["x"],"unique_for":30.5})");
  const bool first = !client.push(job).empty(), second = !client.push(job).empty();
  return std::string("pushed ") + (first ? "1" : "0") + (second ? "1" : "0");
}

}  // namespace

struct SetGerman {
  std::string file;
  void perform() {
    set_german();
    uselocale(newlocale(LC_ALL_MASK, german, nullptr));
    append(file, push_twice());
  }
};

struct SetGermanApart {
  static constexpr brood::JobOptions options{.isolation = brood::Isolation::process};
  std::string file;
  void perform() {
    set_german();
    append(file, push_twice());
  }
};

struct SayLocale {
  std::string file;
  void perform() { append(file, found()); }
};

struct SayLocaleApart {
  static constexpr brood::JobOptions options{.isolation = brood::Isolation::process};
  std::string file;
  void perform() { append(file, found()); }
};

struct SetC {
  void perform() {
    std::locale::global(std::locale::classic());
    std::setlocale(LC_ALL, "C");
  }
};

void brood_setup(brood::Setup& setup) {
  if (is_set_at("preload")) setup.on(brood::Event::preload, set_german);
  if (is_set_at("startup")) setup.on(brood::Event::startup, set_german);
  if (is_set_at("middleware"))
    setup.server_middleware().add("german", [](brood::Run& run, const brood::Next& next) {
      if (run.job_class() == "SetC") set_german();
      next();
      if (run.job_class() == "SetC") set_german();
    });
}

BROOD_JOBS(SetGerman, SetGermanApart, SayLocale, SayLocaleApart, SetC)
