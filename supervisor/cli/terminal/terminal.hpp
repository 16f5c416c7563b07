#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace brood {

// Styles text for people: plain if standard output is no terminal, or with NO_COLOR or TERM=dumb.
class Style {
 public:
  explicit Style(bool colour) : colour_(colour) {}
  static Style of_standard_output();

  std::string bold(std::string_view text) const { return paint("1", text); }
  std::string dim(std::string_view text) const { return paint("2", text); }
  std::string green(std::string_view text) const { return paint("32", text); }
  std::string yellow(std::string_view text) const { return paint("33", text); }
  std::string red(std::string_view text) const { return paint("31", text); }

 private:
  std::string paint(std::string_view code, std::string_view text) const;
  bool colour_;
};

// Rows under aligned columns.  Cells may hold anything: they are made printable, and on a terminal cut to a readable
// width.
class Table {
 public:
  enum class Align { left, right };
  struct Column {
    std::string title;
    Align align = Align::left;
  };
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  void add(std::vector<std::string> cells);
  bool empty() const { return rows_.empty(); }
  std::string text(const Style& style) const;  // indented by two, titles in the first line

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

// The reader of standard output is gone.
class OutputClosed : public std::runtime_error {
 public:
  OutputClosed() : std::runtime_error("standard output was closed") {}
};

// Writes all of `text` to standard output.  Throws OutputClosed, or std::system_error, for a full disk for example.
void print(std::string_view text);

// The same for JSON with texts from anywhere: escapes characters that could control a terminal.
void print_json(std::string_view json);

}  // namespace brood
