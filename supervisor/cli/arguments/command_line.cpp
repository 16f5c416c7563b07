#include "supervisor/cli/arguments/command_line.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <optional>

#include "shared/base/log_line.hpp"
#include "shared/base/nearest.hpp"
#include "supervisor/version.hpp"

namespace brood {
namespace {

constexpr std::size_t longest_quote = 80;

std::string quoted(const std::string& word) {
  const bool whole = word.size() <= longest_quote;
  return '"' + log::printable(word.substr(0, longest_quote)) + (whole ? "\"" : "...\"");
}

bool is_negative_number(const std::string& word) {
  return word.size() > 1 && word[0] == '-' && word[1] >= '0' && word[1] <= '9';
}

[[noreturn]] void refuse_unknown_option(const CLI::App& app, const std::string& word) {
  const std::string name = word.substr(0, word.find('='));
  std::vector<std::string> known;
  for (const CLI::Option* const option : app.get_options()) {
    for (const std::string& long_name : option->get_lnames()) known.push_back("--" + long_name);
  }
  const std::optional<std::string> meant = name.starts_with("--") ? nearest(name, known) : std::nullopt;
  throw UsageError(
      fmt::format("unknown option {}{}", quoted(name), meant ? fmt::format("; did you mean {}?", quoted(*meant)) : ""));
}

// CLI11 would take the argument after "--config=" for its value.
void refuse_empty_values(const std::vector<std::string>& args) {
  for (const std::string& arg : args) {
    if (arg.starts_with("--") && arg.size() > 3 && arg.find('=') == arg.size() - 1)
      throw UsageError(arg.substr(0, arg.size() - 1) + " needs a value");
  }
}

// In "-q --in 10m" the value is missing: the next option must not become a queue of that name.
void refuse_options_as_values(const CLI::App& app, const std::vector<std::string>& args) {
  const auto option_named = [&](const std::string& word) -> const CLI::Option* {
    if (word.size() < 2 || word[0] != '-') return nullptr;
    const std::string name = word.substr(0, word.find('='));
    return app.get_option_no_throw(name);
  };
  for (std::size_t i = 0; i + 1 < args.size() && args[i] != "--"; ++i) {
    const CLI::Option* const option = option_named(args[i]);
    if (option == nullptr || option->get_expected_max() == 0 || args[i].find('=') != std::string::npos) continue;
    if (option_named(args[i + 1]) != nullptr)
      throw UsageError(args[i] + " needs a value, not the option " + args[i + 1]);
    ++i;
  }
}

}  // namespace

struct CommandLine::Parser {
  CLI::App app;

  template <typename Value>
  CLI::Option& add(const std::string& names, Value& into, const std::string& type, const std::string& text) {
    return *app.add_option(names, into, text)->type_name(type);
  }

  template <typename Number>
  void add_number(const std::string& names, Number& into, const std::string& text, Number least, Number most) {
    add(names, into, "N", fmt::format("{} (default: {})", text, into)).check(CLI::Range(least, most).description(""));
  }
};

CommandLine::CommandLine(const std::string& about, const std::string& command)
    : parser_(new Parser{CLI::App(about, command)}) {}
CommandLine::~CommandLine() = default;

void CommandLine::flag(const std::string& names, bool& into, const std::string& text) {
  parser_->app.add_flag(names, into, text);
}

void CommandLine::option(const std::string& names, std::string& into, const std::string& type,
                         const std::string& text) {
  parser_->add(names, into, type, text);
}

void CommandLine::option(const std::string& names, std::optional<std::string>& into, const std::string& type,
                         const std::string& text) {
  parser_->add(names, into, type, text);
}

void CommandLine::option(const std::string& names, std::optional<std::size_t>& into, const std::string& type,
                         const std::string& text) {
  parser_->add(names, into, type, text);
}

void CommandLine::option(const std::string& names, int& into, const std::string& type, const std::string& text) {
  parser_->add(names, into, type, text);
}

void CommandLine::option(const std::string& names, std::vector<std::string>& into, const std::string& type,
                         const std::string& text) {
  parser_->add(names, into, type, text).allow_extra_args(false);
}

void CommandLine::number(const std::string& names, int& into, const std::string& text, int least, int most) {
  parser_->add_number(names, into, text, least, most);
}

void CommandLine::number(const std::string& names, std::size_t& into, const std::string& text, std::size_t least,
                         std::size_t most) {
  parser_->add_number(names, into, text, least, most);
}

void CommandLine::number(const std::string& names, double& into, const std::string& text, double least, double most) {
  parser_->add_number(names, into, text, least, most);
}

void CommandLine::hidden(const std::string& names, std::string& into) {
  parser_->app.add_option(names, into)->group("");
}

void CommandLine::hidden(const std::string& names, std::optional<int>& into) {
  parser_->app.add_option(names, into)->group("");
}

void CommandLine::footer(const std::string& text) { parser_->app.footer(text); }

std::vector<std::string> CommandLine::given() const {
  std::vector<std::string> names;
  for (const CLI::Option* const option : parser_->app.get_options()) {
    if (option->count() > 0 && !option->get_lnames().empty()) names.push_back("--" + option->get_lnames().front());
  }
  return names;
}

std::vector<std::string> CommandLine::parse(const std::vector<std::string>& args) {
  CLI::App& app = parser_->app;
  app.set_help_flag("-h,--help", "Print this help and exit");
  app.set_version_flag("-V,--version", fmt::format("brood {}", version), "Print the version and exit");
  app.allow_extras();
  app.allow_windows_style_options(false);
  for (CLI::Option* const option : app.get_options()) {
    if (option->get_expected_max() == 1) option->take_last();
  }

  refuse_options_as_values(app, args);
  const auto end_of_options = std::find(args.begin(), args.end(), "--");
  std::vector<std::string> reversed(std::make_reverse_iterator(end_of_options), args.rend());
  refuse_empty_values(reversed);
  try {
    app.parse(std::move(reversed));
  } catch (const CLI::CallForHelp&) {
    throw Answer{app.help()};
  } catch (const CLI::CallForVersion& version_asked) {
    throw Answer{std::string(version_asked.what()) + "\n"};
  } catch (const CLI::ArgumentMismatch& error) {
    const std::string what = error.what();  // "--concurrency: 1 required N missing"
    throw UsageError(what.substr(0, what.find(':')) + " needs a value");
  } catch (const CLI::ParseError& error) {
    throw UsageError(log::printable(error.what()));
  }

  std::vector<std::string> positional = app.remaining();
  for (const std::string& word : positional) {
    if (word.size() > 1 && word[0] == '-' && !is_negative_number(word)) refuse_unknown_option(app, word);
  }
  if (end_of_options != args.end()) positional.insert(positional.end(), end_of_options + 1, args.end());
  return positional;
}

void refuse_arguments(const std::vector<std::string>& arguments) {
  if (!arguments.empty()) throw UsageError("unexpected argument " + quoted(arguments.front()));
}

std::string config_path_or_default(const std::string& given) {
  constexpr const char* installed = "/etc/brood/brood.toml";
  if (!given.empty()) return given;
  return access(installed, R_OK) == 0 ? installed : "";
}

}  // namespace brood
