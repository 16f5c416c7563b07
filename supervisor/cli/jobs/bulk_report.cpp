#include "supervisor/cli/jobs/bulk_report.hpp"

#include <fmt/format.h>

#include "shared/json/json_writer.hpp"
#include "supervisor/cli/arguments/command_line.hpp"
#include "supervisor/cli/terminal/count_text.hpp"
#include "supervisor/cli/terminal/terminal.hpp"

namespace brood {

int report(const BulkResult& result, const Nouns& nouns, const ChangeWords& words, bool json) {
  const bool left = result.stopped || result.stuck > 0 || (result.gone > 0 && result.done == 0);
  const int status = left ? exit_status::try_again : exit_status::ok;
  if (json) {
    print(JsonWriter()
              .truth("dry_run", false)
              .number("looked_at", result.looked_at)
              .number("wanted", result.wanted)
              .number("done", result.done)
              .number("gone", result.gone)
              .number("stuck", result.stuck)
              .truth("stopped", result.stopped)
              .object() +
          "\n");
    return status;
  }
  if (result.stopped) fmt::print(stderr, "brood {}: interrupted; the others are unchanged\n", nouns.command);
  std::string text = fmt::format("{} {}", counted(result.done, nouns.one, nouns.many), words.done);
  if (result.gone > 0) text += fmt::format("; {} had gone meanwhile", grouped(result.gone));
  if (result.stuck > 0)
    text += fmt::format("; {} stay: they are not jobs, their queue is not a list, or other jobs hold their locks",
                        grouped(result.stuck));
  print(text + "\n");
  return status;
}

}  // namespace brood
