#include "supervisor/cli/lists/listing.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "supervisor/cli/terminal/count_text.hpp"

namespace brood {

std::size_t usual_limit() {
  constexpr unsigned other_lines = 4;  // titles, summary, and the prompt before and after
  winsize size{};
  const bool known = isatty(STDOUT_FILENO) == 1 && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0;
  return known && size.ws_row > 2 * other_lines ? size.ws_row - other_lines : 25;
}

std::string listing_summary(std::size_t shown, std::size_t page, bool more, const std::string& total) {
  const Style style = Style::of_standard_output();
  const std::string where = page > 1 || more ? fmt::format(", page {}", grouped(page)) : "";
  const std::string next = more ? fmt::format("; --page {} shows more", page + 1) : "";
  return style.dim(fmt::format("{} shown{}; {}{}", grouped(shown), where, total, next)) + "\n";
}

}  // namespace brood
