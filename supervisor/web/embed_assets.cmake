# Writes one C++ file with every asset of the page as a constant.
set(text "// Made from supervisor/web/assets by embed_assets.cmake.\n#include \"supervisor/web/page/assets.hpp\"\n\nnamespace brood {\n\nconst std::vector<Asset>& assets() {\n  static const std::vector<Asset> files = {\n")
foreach(path IN LISTS FILES)
  file(READ ${ROOT}/${path} content)
  string(APPEND text "      {\"${path}\", R\"asset(${content})asset\"},\n")
endforeach()
string(APPEND text "  };\n  return files;\n}\n\n}  // namespace brood\n")
file(WRITE ${OUTPUT} "${text}")
