// SPDX-License-Identifier: Apache-2.0
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "base/config.hpp"
#include "base/json.hpp"
#include "base/temporary.hpp"
#include "tests/unit/base/message_of.hpp"

using namespace paceline::base;
using tests::message_of;
namespace fs = std::filesystem;

namespace {

/// A fresh folder that goes away with the test.
struct Folder {
  fs::path path = fs::temp_directory_path() / ("paceline-test-" + std::to_string(::getpid()));
  Folder() {
    fs::remove_all(path);
    fs::create_directory(path);
  }
  ~Folder() { fs::remove_all(path); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string file(const char* name) const { return path / name; }
  std::size_t entries() const {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(path), fs::directory_iterator{}));
  }
};

}  // namespace

TEST_CASE("a file is read back as it was written", "[base]") {
  const Folder folder;
  const std::string content("a\0b\r\n\xFF", 6);
  write_file(folder.file("x"), content);
  CHECK(read_file(folder.file("x")) == content);
  write_file(folder.file("x"), "");
  CHECK(read_file(folder.file("x")).empty());
  CHECK(folder.entries() == 1);
  CHECK(message_of([&] { read_file("/proc/self/status"); }).empty());
}

TEST_CASE("what is no regular file is refused at once", "[base]") {
  const Folder folder;
  const std::string fifo = folder.file("fifo");
  REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
  write_file(folder.file("large"), std::string(11, 'x'));
  const auto reading = [](const std::string& path) {
    return message_of([&] { read_file(path, 10); });
  };
  CHECK(reading(fifo) == fifo + ": is a device or pipe, not a regular file");
  CHECK(reading("/dev/zero") == "/dev/zero: is a device or pipe, not a regular file");
  CHECK(reading(folder.path) == folder.path.string() + ": is a folder, not a file");
  CHECK(reading(folder.file("none")) == folder.file("none") + ": no such file");
  CHECK(reading(folder.file("large")) == folder.file("large") + ": larger than 10 bytes");
  CHECK(reading(folder.file("large") + "/x") ==
        folder.file("large") + "/x: cannot be opened: Not a directory");
  CHECK(reading("") == "'': no such file");
  CHECK(reading("a\nb") == "a\\nb: no such file");
  CHECK_THAT(reading(std::string("/dev/null\0x", 11)), Catch::Contains("no such file"));
  CHECK_THAT(reading(std::string(5000, 'x')), Catch::Contains("File name too long"));
  CHECK(message_of([&] { read_document(folder.file("none.json")); }) ==
        folder.file("none.json") + ": no such file");
}

TEST_CASE("the extension decides between JSON and YAML", "[base]") {
  const Folder folder;
  write_file(folder.file("x.json"), "{\"a\":\"\\ud83d\\ude00\"}");
  write_file(folder.file("x.yaml"), "a: 1");
  CHECK(read_document(folder.file("x.json")).root.fields.at(0).value.text == "\xF0\x9F\x98\x80");
  CHECK(read_document(folder.file("x.yaml")).root.fields.at(0).value.text == "1");
  write_file(folder.file("bad.json"), "a: 1");
  CHECK_THAT(message_of([&] { read_document(folder.file("bad.json")); }),
             Catch::StartsWith(folder.file("bad.json") + ":1:1: "));
}

TEST_CASE("writing where it cannot be is refused and leaves nothing behind", "[base]") {
  const Folder folder;
  const auto writing = [](const std::string& path) {
    return message_of([&] { write_file(path, "x"); });
  };
  CHECK(writing(folder.file("none/x")) ==
        folder.file("none/x") + ": the folder '" + folder.file("none") + "' does not exist");
  CHECK(writing(folder.path) == folder.path.string() + ": is a folder, not a file");
  CHECK(writing("") == "'': is no file name");
  CHECK(writing("/proc/none") != "");
  const std::string fifo = folder.file("fifo");
  REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
  CHECK_THAT(writing(fifo), Catch::StartsWith(fifo + ": cannot be written: "));
  CHECK(folder.entries() == 1);
}

TEST_CASE("writing keeps links, modes and devices", "[base]") {
  const Folder folder;
  write_file(folder.file("target"), "old");
  fs::permissions(folder.file("target"), fs::perms::owner_read | fs::perms::owner_write);
  fs::create_symlink("target", folder.file("link"));
  write_file(folder.file("link"), "new");
  CHECK(fs::is_symlink(folder.file("link")));
  CHECK(read_file(folder.file("target")) == "new");
  CHECK(fs::status(folder.file("target")).permissions() ==
        (fs::perms::owner_read | fs::perms::owner_write));
  write_file("/dev/null", "gone");
  CHECK(fs::is_character_file("/dev/null"));
}

TEST_CASE("a temporary is renamed once complete or removed, also from a signal handler", "[base]") {
  const Folder folder;
  const auto create = [&](Temporary& temporary) {
    const int fd = temporary.create(folder.path, 0600);
    REQUIRE(fd >= 0);
    ::close(fd);
  };
  {
    Temporary kept, dropped;
    create(kept);
    create(dropped);
    CHECK(folder.entries() == 2);
    const Temporary moved = std::move(dropped);
    REQUIRE(kept.keep_as(folder.file("a")));
    remove_temporaries();
    CHECK(folder.entries() == 1);  // the kept one
    CHECK(moved.exists());
  }
  Temporary many[20];  // more than a handler knows of
  for (Temporary& temporary : many) create(temporary);
  remove_temporaries();
  CHECK(folder.entries() < 21);
  CHECK_FALSE(many[0].keep_as(folder.file("b")));
  CHECK(Temporary().create(folder.file("none"), 0600) == -1);
}
