#include "shared/base/loaded_object.hpp"

#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string>
#include <vector>

#include "tests/support/build_id.hpp"
#include "tests/support/layouts.hpp"

using namespace brood;

namespace {

const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));

ElfW(Phdr) header_of(std::uint32_t type, std::uint32_t flags, std::uint64_t address, std::uint64_t size,
                     std::uint64_t alignment = 4) {
  ElfW(Phdr) header{};
  header.p_type = type;
  header.p_flags = flags;
  header.p_vaddr = address;
  header.p_filesz = header.p_memsz = size;
  header.p_align = alignment;
  return header;
}

// A note as it stands in a file, padded to `alignment`.
std::string note_of(std::uint32_t type, const std::string& name, const std::string& value, std::size_t alignment) {
  ElfW(Nhdr) note{};
  note.n_namesz = static_cast<std::uint32_t>(name.size() + 1);
  note.n_descsz = static_cast<std::uint32_t>(value.size());
  note.n_type = type;
  std::string text(reinterpret_cast<const char*>(&note), sizeof note);
  const auto pad = [&] { text.resize((text.size() + alignment - 1) / alignment * alignment); };
  text += name + '\0';
  pad();
  text += value;
  pad();
  return text;
}

std::string text_of(std::span<const std::uint8_t> bytes) { return {bytes.begin(), bytes.end()}; }

std::string hex_of(std::span<const std::uint8_t> bytes) {
  std::string text;
  for (const std::uint8_t byte : bytes) {
    text += "0123456789abcdef"[byte >> 4];
    text += "0123456789abcdef"[byte & 15];
  }
  return text;
}

// Four pages of this process: the third cannot be read.
class Pages {
 public:
  Pages() {
    void* const memory = mmap(nullptr, 4 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    BOOST_REQUIRE(memory != MAP_FAILED);
    begin_ = static_cast<char*>(memory);
    BOOST_REQUIRE(mprotect(begin_ + 2 * page, page, PROT_NONE) == 0);
  }
  ~Pages() { munmap(begin_, 4 * page); }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;

  std::uint64_t address(std::uint64_t offset = 0) const { return reinterpret_cast<std::uint64_t>(begin_) + offset; }
  void write(std::uint64_t offset, const std::string& bytes) const {
    std::memcpy(begin_ + offset, bytes.data(), bytes.size());
  }

 private:
  char* begin_ = nullptr;
};

}  // namespace

BOOST_AUTO_TEST_CASE(an_address_in_a_gap_lies_in_no_segment) {
  const std::vector<ElfW(Phdr)> headers{header_of(PT_LOAD, PF_R, 0, 100),
                                        header_of(PT_LOAD, PF_R | PF_X, 16 * page, 2 * page),
                                        header_of(PT_LOAD, PF_R | PF_W, 32 * page + 8, 100)};
  const LoadedObject object{1000 * page, headers};

  BOOST_TEST(segment_at(object, 1000 * page).has_value());
  BOOST_TEST(!segment_at(object, 1001 * page).has_value());
  BOOST_TEST(!segment_at(object, 1015 * page).has_value());
  BOOST_TEST(segment_at(object, 1016 * page)->is_code);
  BOOST_TEST(!segment_at(object, 1020 * page).has_value());
  BOOST_TEST(!segment_at(object, 1032 * page)->is_code);
}

BOOST_AUTO_TEST_CASE(a_segment_is_mapped_in_whole_pages) {
  const std::vector<ElfW(Phdr)> headers{header_of(PT_LOAD, PF_R | PF_W, page + 8, page),
                                        header_of(PT_LOAD, PF_R, 8 * page, 0)};
  const LoadedObject object{0, headers};

  const auto segment = segment_at(object, page);
  BOOST_REQUIRE(segment.has_value());
  BOOST_TEST((segment->begin == page && segment->end == 3 * page));
  BOOST_TEST(!segment_at(object, 8 * page).has_value());
}

BOOST_AUTO_TEST_CASE(between_two_executable_segments_there_is_no_code) {
  const std::vector<ElfW(Phdr)> headers{header_of(PT_LOAD, PF_R | PF_X, 0, page),
                                        header_of(PT_LOAD, PF_R | PF_W, page, page),
                                        header_of(PT_LOAD, PF_R | PF_X, 2 * page, page)};
  const LoadedObject object{page, headers};

  BOOST_TEST(segment_at(object, page)->is_code);
  BOOST_TEST(!segment_at(object, 2 * page)->is_code);
  BOOST_TEST(segment_at(object, 3 * page)->is_code);
}

BOOST_AUTO_TEST_CASE(a_build_id_is_found_behind_other_notes_however_they_are_padded) {
  for (const std::size_t alignment : {4U, 8U}) {
    const Pages pages;
    // Its value is as long as that the two paddings differ.
    const std::string notes = note_of(NT_GNU_PROPERTY_TYPE_0, "GNU", std::string(12, 'p'), alignment) +
                              note_of(NT_GNU_BUILD_ID, "LLVM", "other", alignment) +
                              note_of(NT_GNU_BUILD_ID, "GNU", "its id", alignment);
    pages.write(16, notes);
    const std::vector<ElfW(Phdr)> headers{header_of(PT_NOTE, PF_R, 16, notes.size(), alignment),
                                          header_of(PT_LOAD, PF_R, 0, page)};
    BOOST_TEST(text_of(build_id_of({pages.address(), headers})) == "its id", alignment);
  }
}

BOOST_AUTO_TEST_CASE(notes_are_not_read_beyond_a_readable_segment) {
  const Pages pages;
  const std::string note = note_of(NT_GNU_BUILD_ID, "GNU", "its id", 4);
  const auto id = [&](std::uint64_t notes_at, std::uint64_t size, std::uint32_t flags, std::uint64_t segment_size) {
    const std::vector<ElfW(Phdr)> headers{header_of(PT_NOTE, PF_R, notes_at, size),
                                          header_of(PT_LOAD, flags, 0, segment_size)};
    return text_of(build_id_of({pages.address(), headers}));
  };
  pages.write(2 * page - note.size(), note);
  const std::uint64_t at_the_end = 2 * page - note.size();

  BOOST_TEST(id(at_the_end, note.size(), PF_R, 2 * page) == "its id");
  BOOST_TEST(id(at_the_end, note.size() + 1, PF_R, 2 * page) == "");  // the rest lies in a gap
  BOOST_TEST(id(at_the_end, ~std::uint64_t{0}, PF_R, 2 * page) == "");
  BOOST_TEST(id(2 * page, note.size(), PF_R, 2 * page) == "");  // all of it lies in a gap
  BOOST_TEST(id(2 * page, note.size(), PF_X, 4 * page) == "");  // in a segment that is executable alone
  // Sizes that are not to be believed.
  ElfW(Nhdr) endless{0xfffffffd, 0xffffffff, NT_GNU_BUILD_ID};
  pages.write(0, std::string(reinterpret_cast<const char*>(&endless), sizeof endless));
  BOOST_TEST(id(0, page, PF_R, page) == "");
}

BOOST_AUTO_TEST_CASE(each_linkers_library_has_its_segments_and_its_build_id) {
  for (const std::string& path : layouts()) {
    const LoadedLayout library(path);
    const std::vector<ElfW(Phdr)> headers = library.headers();
    const LoadedObject object{library.bias(), headers};

    BOOST_TEST(hex_of(build_id_of(object)) == build_id_of(path), path);
    BOOST_TEST(segment_at(object, library.address("place_in_decode"))->is_code, path);
    BOOST_TEST(!segment_at(object, library.dynamic_section())->is_code, path);
  }
}

BOOST_AUTO_TEST_CASE(an_elf_header_is_found_where_it_is_mapped_and_nowhere_else) {
  for (const std::string& path : layouts()) {
    const LoadedLayout library(path);
    const std::vector<ElfW(Phdr)> headers = library.headers();
    const auto first = std::find_if(headers.begin(), headers.end(),
                                    [](const ElfW(Phdr) & header) { return header.p_type == PT_LOAD; });
    const auto found = [&](std::uint64_t at) {
      return object_with_header(at, library.bias(), library.dynamic_section());
    };

    const auto object = found(library.bias() + first->p_vaddr);
    BOOST_REQUIRE_MESSAGE(object.has_value(), path);
    BOOST_TEST(hex_of(build_id_of(*object)) == build_id_of(path), path);
    for (const ElfW(Phdr) & header : headers) {  // as _dl_find_object() may name another segment
      if (header.p_type != PT_LOAD || &header == &*first) continue;
      const std::uint64_t begin = library.bias() + header.p_vaddr, first_page = begin / page * page;
      BOOST_TEST((begin == first_page || !found(begin).has_value()), path);
      BOOST_TEST(!found(first_page - page).has_value(), path);  // in a gap, which cannot be read
      // mold and lld do not pad the file: the page before such a segment's first byte may be that of the header once
      // more.
      if (const auto again = found(first_page)) BOOST_TEST(hex_of(build_id_of(*again)) == build_id_of(path), path);
    }
  }
}

BOOST_AUTO_TEST_CASE(no_header_is_believed_that_is_not_the_wanted_objects) {
  // An object made by hand: two pages, with its dynamic section in the second one.
  struct Start {
    ElfW(Ehdr) header{};
    ElfW(Phdr) segments[2];
  };
  const Pages pages;
  const auto is_found = [&](auto change, std::uint64_t at = 0, std::uint64_t dynamic_section = page) {
    Start start{{}, {header_of(PT_LOAD, PF_R, 0, 2 * page), header_of(PT_DYNAMIC, PF_R, page, 64)}};
    std::memcpy(start.header.e_ident, ELFMAG, SELFMAG);
    start.header.e_ident[EI_CLASS] = sizeof(void*) == 8 ? ELFCLASS64 : ELFCLASS32;
    start.header.e_phentsize = sizeof(ElfW(Phdr));
    start.header.e_phoff = offsetof(Start, segments);
    start.header.e_phnum = 2;
    change(start);
    pages.write(0, {reinterpret_cast<const char*>(&start), sizeof start});
    return object_with_header(pages.address(at), pages.address(), pages.address(dynamic_section)).has_value();
  };
  const auto as_it_is = [](Start&) {};

  BOOST_TEST(is_found(as_it_is));
  BOOST_TEST(!is_found(as_it_is, page));          // zeros
  BOOST_TEST(!is_found(as_it_is, 2 * page));      // cannot be read
  BOOST_TEST(!is_found(as_it_is, 8));             // no page begins there
  BOOST_TEST(!is_found(as_it_is, 0, page + 16));  // another object's
  BOOST_TEST(!is_found([](Start& start) { start.header.e_ident[0] = 0; }));
  BOOST_TEST(!is_found([](Start& start) { start.header.e_ident[EI_CLASS] = 0; }));
  BOOST_TEST(!is_found([](Start& start) { start.header.e_phentsize = 1; }));
  BOOST_TEST(!is_found([](Start& start) { start.header.e_phnum = 0; }));
  BOOST_TEST(!is_found([](Start& start) { start.header.e_phnum = 0xfffe; }));  // many more than one page holds
  BOOST_TEST(!is_found([](Start& start) { start.header.e_phoff = page; }));
  BOOST_TEST(!is_found([](Start& start) { start.header.e_phoff = ~std::uint64_t{0} - 63; }));
  BOOST_TEST(!is_found([](Start& start) { start.header.e_phoff += 4; }));
  BOOST_TEST(!is_found([](Start& start) { start.segments[0].p_vaddr = 3 * page; }));  // claims to lie elsewhere
  const auto at = [](std::uint64_t address) {
    errno = EINVAL;  // as some earlier call may have left it
    return object_with_header(address, 0, 0).has_value();
  };
  BOOST_TEST(!at(0));
  BOOST_TEST(!at(~std::uint64_t{0} - page + 1));
}

BOOST_AUTO_TEST_CASE(the_program_is_found_by_what_the_kernel_told_it) {
  link_map* map = nullptr;
  void* const program = dlopen(nullptr, RTLD_NOW);
  BOOST_REQUIRE(dlinfo(program, RTLD_DI_LINKMAP, &map) == 0);
  const auto dynamic_section = reinterpret_cast<std::uint64_t>(map->l_ld);

  const auto found = program_with(map->l_addr, dynamic_section);
  BOOST_REQUIRE(found.has_value());
  BOOST_TEST(hex_of(build_id_of(*found)) == build_id_of("/proc/self/exe"));
  BOOST_TEST(!program_with(map->l_addr, dynamic_section + 16).has_value());
  const LoadedLayout library(layouts().front());
  BOOST_TEST(!program_with(library.bias(), library.dynamic_section()).has_value());
  dlclose(program);
}
