// SPDX-License-Identifier: Apache-2.0
#include "reports/output.hpp"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/error.hpp"

namespace fs = std::filesystem;
using paceline::reports::OutputFile;

namespace {

/// A folder of its own, gone afterwards.
struct Folder {
  fs::path path;
  Folder() {
    std::string pattern = (fs::temp_directory_path() / "paceline-output-XXXXXX").string();
    path = mkdtemp(pattern.data());
  }
  ~Folder() { fs::remove_all(path); }
  std::string file(const char* name) const { return (path / name).string(); }
  long entries() const {
    return std::distance(fs::directory_iterator(path), fs::directory_iterator());
  }
};

std::string content(const std::string& path) {
  std::ifstream stream(path);
  return {std::istreambuf_iterator<char>(stream), {}};
}

}  // namespace

TEST_CASE("an output file appears whole on commit and leaves no neighbour", "[reports]") {
  Folder folder;
  std::ofstream(folder.file("a")) << "old";
  OutputFile file(folder.file("a"));
  file.write("new");
  file.flush();
  CHECK(content(folder.file("a")) == "old");
  file.commit();
  CHECK(content(folder.file("a")) == "new");
  CHECK(folder.entries() == 1);
}

TEST_CASE("an output file that is not committed never existed", "[reports]") {
  Folder folder;
  { OutputFile(folder.file("a")).write("text"); }
  CHECK(folder.entries() == 0);
}

TEST_CASE("links are followed and permissions kept", "[reports]") {
  Folder folder;
  std::ofstream(folder.file("real")) << "old";
  fs::permissions(folder.file("real"), fs::perms::owner_read | fs::perms::owner_write);
  fs::create_symlink("real", folder.file("link"));
  OutputFile file(folder.file("link"));
  file.write("new");
  file.commit();
  CHECK(fs::is_symlink(folder.file("link")));
  CHECK(content(folder.file("real")) == "new");
  CHECK(fs::status(folder.file("real")).permissions() ==
        (fs::perms::owner_read | fs::perms::owner_write));
}

TEST_CASE("folders, missing folders and empty names are refused on opening", "[reports]") {
  Folder folder;
  const auto refused = [](const std::string& path, const std::string& message) {
    CHECK_THROWS_WITH(OutputFile(path), Catch::Contains(message));
  };
  refused(folder.path.string(), "names a folder");
  refused(folder.file("new/"), "names a folder");
  refused("", "names a folder");
  refused(folder.file("missing/x.json"), "No such file or directory");
}

TEST_CASE("a device is written, not replaced", "[reports]") {
  OutputFile file("/dev/null");
  file.write("gone");
  file.commit();
  CHECK(fs::is_character_file("/dev/null"));
}
