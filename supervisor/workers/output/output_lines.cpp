#include "supervisor/workers/output/output_lines.hpp"

#include <algorithm>
#include <climits>

#include "shared/scoreboard/job_end_mark.hpp"

namespace brood {
namespace {

// Where to cut text that is too long: before a whole character, if it is UTF-8.
std::size_t end_of_part(std::string_view text) {
  std::size_t end = OutputLines::longest_line;
  while (end > OutputLines::longest_line - 3 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  const bool is_utf8 = (static_cast<unsigned char>(text[end]) & 0xc0) != 0x80;
  return is_utf8 ? end : OutputLines::longest_line;
}

}  // namespace

void OutputLines::add(std::string_view bytes) {
  bytes_.erase(0, begin_);
  scanned_ -= begin_;
  begin_ = 0;
  bytes_ += bytes;
}

std::optional<OutputLines::Item> OutputLines::next() {
  const std::string_view all = bytes_;
  const std::size_t newline = all.find('\n', scanned_);
  const std::string_view line = all.substr(begin_, std::min(newline, all.size()) - begin_);
  if (newline != all.npos) {
    if (const auto mark = find_job_end_mark(line, token_)) {
      if (mark->at > 0) {  // the mark follows a last line without a newline
        scanned_ = newline;
        return mark->at > longest_line ? take(Item::Kind::part, end_of_part(line)) : take(Item::Kind::line, mark->at);
      }
      begin_ = scanned_ = newline + 1;
      return Item{Item::Kind::end_of_job, {}, mark->end.jid, mark->end.job_class};
    }
  }
  // A line without its newline may still end in a mark, which must not be cut.
  const std::size_t longest_yet = newline != all.npos ? longest_line : longest_line + PIPE_BUF;
  if (line.size() > longest_yet) return take(Item::Kind::part, end_of_part(line));
  if (newline != all.npos) return take(Item::Kind::line, line.size(), 1);
  scanned_ = all.size();
  return std::nullopt;
}

OutputLines::Item OutputLines::take_unfinished(Item::Kind kind) { return take(kind, bytes_.size() - begin_); }

OutputLines::Item OutputLines::take(Item::Kind kind, std::size_t size, std::size_t separator) {
  const Item item{kind, std::string_view(bytes_).substr(begin_, size), {}, {}};
  begin_ += size + separator;
  scanned_ = std::max(scanned_, begin_);
  return item;
}

}  // namespace brood
