#pragma once

#include <string_view>
#include <vector>

namespace brood {

// A file of packaging/template, which `brood new` writes.  In both members @NAME@, @LIBRARY@ and @VERSION@ are still
// placeholders.
struct TemplateFile {
  std::string_view path;  // below the project's directory
  std::string_view text;
};

const std::vector<TemplateFile>& project_template();

}  // namespace brood
