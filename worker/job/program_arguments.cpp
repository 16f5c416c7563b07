#include "worker/job/program_arguments.hpp"

#include "shared/config/executable.hpp"
#include "shared/job/active_job.hpp"
#include "shared/json/json.hpp"

namespace brood {
namespace {

class Arguments {
 public:
  explicit Arguments(std::string_view args) : texts_(json_elements(args)) {}

  std::size_t size() const { return texts_.size(); }

  std::string word(std::size_t i) const {
    if (i >= texts_.size())
      throw BadArgument("argument " + std::to_string(i) + " is missing: the job has " + std::to_string(texts_.size()));
    const std::string& text = texts_[i];
    if (text == "null") return "";
    if (!text.starts_with('"')) return text;
    std::string string = json_unescape(text);
    if (string.find('\0') != string.npos)
      throw BadArgument("argument " + std::to_string(i) + " holds a NUL character, which no program can be given");
    return string;
  }

 private:
  std::vector<std::string> texts_;
};

}  // namespace

std::vector<std::string> program_words(const std::vector<std::string>& run, std::string_view args) {
  const Arguments arguments(args);
  std::vector<std::string> words{run.at(0)};
  for (std::size_t i = 1; i < run.size(); ++i) {
    const std::vector<WordPart> parts = parse_command_word(run[i]);
    if (parts.size() == 1 && parts[0].kind == WordPart::Kind::all_arguments) {
      for (std::size_t n = 0; n < arguments.size(); ++n) words.push_back(arguments.word(n));
      continue;
    }
    std::string word;
    for (const WordPart& part : parts)
      word += part.kind == WordPart::Kind::argument ? arguments.word(part.argument) : part.text;
    words.push_back(std::move(word));
  }
  return words;
}

std::string plain_arguments(const Payload& job) try {
  return job.is_active_job() ? active_job_arguments(job.args()) : std::string(job.args());
} catch (const BadActiveJob& error) {
  throw BadArgument(error.what());
}

}  // namespace brood
