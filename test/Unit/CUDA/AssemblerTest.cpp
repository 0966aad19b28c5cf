// ptxas is found in folders, in their order, and one clear line says why none of them will do.
#include "lib/Target/GPU/NVIDIA/Assembler.h"
#include "gtest/gtest.h"
#include <cstdlib>
#include <filesystem>
#include <fstream>

using namespace rapt;

namespace {

class AssemblerTest : public testing::Test {
protected:
  void SetUp() override {
    root = testing::TempDir() + "/rapt-assembler";
    std::filesystem::remove_all(root);
  }
  void TearDown() override { std::filesystem::remove_all(root); }

  /// A folder with a script called ptxas; without a script, an empty one.
  std::string folder(const std::string &name, const std::string &script = "") {
    const std::string path = root + "/" + name;
    std::filesystem::create_directories(path);
    if (!script.empty()) {
      std::ofstream(path + "/ptxas") << "#!/bin/sh\n" << script << "\n";
      std::filesystem::permissions(path + "/ptxas", std::filesystem::perms::all);
    }
    return path;
  }
  static std::string release(const char *number) {
    return "echo 'ptxas: NVIDIA (R) Ptx optimizing assembler'; echo 'Cuda compilation tools, release " +
           std::string(number) + ", V" + number + ".88'";
  }
  static std::string problem(const std::vector<std::string> &folders) {
    Expected<std::string> found = cuda::findAssembler(folders);
    return found ? "found " + *found : found.error().message;
  }
  std::string root;
};

TEST_F(AssemblerTest, TheFirstThatIsNewEnough) {
  const std::string none = folder("none"), old = folder("old", release("11.8")), good = folder("good", release("12.0")),
                    newer = folder("newer", release("13.0"));
  EXPECT_EQ(problem({none, old, good, newer}), "found " + good + "/ptxas");
  EXPECT_EQ(problem({newer, good}), "found " + newer + "/ptxas");
}

TEST_F(AssemblerTest, WhyThereIsNone) {
  const std::string way = "; install the CUDA toolkit, or give --gpu-code=ptx";
  EXPECT_EQ(problem({root + "/absent", folder("none")}),
            "no ptxas in PATH, CUDA_HOME/bin and /usr/local/cuda/bin, which machine code needs" + way);
  const std::string old = folder("old", release("11.8")), silent = folder("silent", "true");
  EXPECT_EQ(problem({old, silent}), old + "/ptxas: is of CUDA 11.8, machine code needs 12.0 or newer" + way);
  EXPECT_EQ(problem({silent, old}), silent + "/ptxas: --version names no release of CUDA" + way);
  for (const char *text :
       {"release", ", release 99999999999.0", ", release 12", ", release twelve", ", release -1.0"}) {
    const std::string odd = folder("odd", std::string("echo '") + text + "'");
    EXPECT_EQ(problem({odd}), odd + "/ptxas: --version names no release of CUDA" + way) << text;
  }
  const std::string broken = folder("broken", "echo 'cannot start' >&2; echo more >&2; exit 7");
  EXPECT_EQ(problem({broken}), broken + "/ptxas: ptxas failed with exit status 7: cannot start");
}

TEST_F(AssemblerTest, FoldersOfTheEnvironment) {
  const std::string path = getenv("PATH") ? getenv("PATH") : "";
  setenv("PATH", "/a::/b", 1);
  setenv("CUDA_HOME", "/cuda", 1);
  EXPECT_EQ(cuda::assemblerFolders(), (std::vector<std::string>{"/a", "/b", "/cuda/bin", "/usr/local/cuda/bin"}));
  unsetenv("CUDA_HOME");
  setenv("PATH", "", 1);
  EXPECT_EQ(cuda::assemblerFolders(), std::vector<std::string>{"/usr/local/cuda/bin"});
  setenv("PATH", path.c_str(), 1);
}

} // namespace
