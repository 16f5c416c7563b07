# Writes one C++ file with every file of the project template as a constant.
set(text "// Made from packaging/template by embed_template.cmake.\n#include \"supervisor/cli/project_template.hpp\"\n\nnamespace brood {\n\nconst std::vector<TemplateFile>& project_template() {\n  static const std::vector<TemplateFile> files = {\n")
foreach(path IN LISTS FILES)
  file(READ ${ROOT}/${path} content)
  string(APPEND text "      {\"${path}\", R\"template(${content})template\"},\n")
endforeach()
string(APPEND text "  };\n  return files;\n}\n\n}  // namespace brood\n")
file(WRITE ${OUTPUT} "${text}")
