#include "worker/crash/demangle.hpp"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string_view>

#include "shared/json/json.hpp"

namespace brood {
namespace {

// Templates make names of any length.  A long mangled name is not demangled: a few of its bytes may stand for
// megabytes.
constexpr std::size_t longest_mangled = 2'048, longest_readable = 240;

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != text.npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

std::string cut(const std::string& text) {
  if (text.size() <= longest_readable) return utf8_prefix(text, longest_readable);
  return utf8_prefix(text, longest_readable - 3) + "...";
}

}  // namespace

std::string demangled(const std::string& name) {
  if (name.size() > longest_mangled) return cut(name);
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> readable(abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status),
                                                        std::free);
  if (!readable) return cut(name);
  std::string text = readable.get();
  text.erase(std::min(text.find(" [clone "), text.size()));  // a copy that the optimiser made
  if (text.size() <= 100 * longest_readable) {
    replace_all(text, "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >", "std::string");
    replace_all(text, "std::basic_string_view<char, std::char_traits<char> >", "std::string_view");
  }
  return cut(text);
}

}  // namespace brood
