// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <filesystem>
#include <string>

/// Where ranks on this machine leave what they say and how they end. What mpirun would pass on has
/// its own banners in between, and lines of several ranks in pieces.
namespace paceline::kernels {

/// Names the folder to the ranks.
inline constexpr const char* kRankFolderVariable = "PACELINE_RANK_FOLDER";
/// Bytes that are kept of what a rank said.
inline constexpr std::size_t kKeptText = 64 * 1024;

/// What rank 0 writes to one of its streams, to be read here: a pipe, or a terminal where that
/// stream is one here.
class RankStream {
 public:
  /// base::Error when it cannot be made.
  RankStream(const std::filesystem::path& name, int like);
  ~RankStream();
  RankStream(const RankStream&) = delete;
  RankStream& operator=(const RankStream&) = delete;
  int reader() const { return reader_; }
  /// Writes what there is to the stream it stands for; the first kKeptText bytes are kept.
  void pass_on();
  const std::string& kept() const { return kept_; }

 private:
  void make_terminal(const std::filesystem::path& name);
  int like_, reader_ = -1, other_end_ = -1;
  std::string kept_;
};

/// A new folder for temporary files, removed with what is in it.
class RankFolder {
 public:
  RankFolder();
  ~RankFolder();
  RankFolder(const RankFolder&) = delete;
  RankFolder& operator=(const RankFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// Both streams of rank 0.
struct RankZero {
  RankStream output, errors;
  explicit RankZero(const RankFolder& folder);
};

/// What the ranks but 0 said, with their number, to standard error, without the lines that rank 0
/// or a lower rank said as well; whether any rank said something.
bool show_other_ranks(const RankFolder& folder, int ranks, const std::string& rank_0);

/// The largest exit status of the ranks that ended by themselves; -1 when a rank never started.
int worst_status(const RankFolder& folder, int ranks);

}  // namespace paceline::kernels
