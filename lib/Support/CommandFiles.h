//===- CommandFiles.h - No output of a command destroys what it reads -------===//
//
// A command names every file that it reads and every file that it will write, and
// checks them before it opens one for writing.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "lib/Support/Expected.h"
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace rapt {

/// The files of one command. Two paths are one file when they have one device and inode (hard links, symbolic links)
/// or when their resolved folders and their names are the same (outputs that do not exist yet).
class CommandFiles {
public:
  /// `role` says in messages what the file is: "the input", "--weights", "a file of the model".
  void addInput(const std::string &path, const std::string &role);
  /// The file that the standard input is, where it is one.
  void addStandardInput();
  /// Outputs of the same role are written by one part of the command, which gives them names of their own.
  void addOutput(const std::string &path, const std::string &role);
  /// Whatever file in `folder` has `mark` in its name; without a mark, whatever file is anywhere below.
  void addOutputs(const std::string &folder, const std::string &mark, const std::string &role);

  bool isInput(const std::string &path) const;

  /// An error where an output is an input or another output; it names both.
  Status check() const;

private:
  struct File {
    std::string path, role;
    std::optional<std::pair<uint64_t, uint64_t>> inode; ///< device and inode of a file that exists
    std::vector<std::string> resolved;                  ///< the entry that `path` names, and what it links to
    bool isStream = false;                              ///< a device or FIFO, which writing does not overwrite
    bool is(const File &other) const;
  };
  struct Family {
    std::string folder, mark, role;
  };
  static File describe(const std::string &path, const std::string &role);
  Status checkFamily(const Family &family) const;

  std::vector<File> inputs, outputs;
  std::vector<Family> families;
};

} // namespace rapt
