//===- MapFiles.h - The names of a run's attention maps ---------------------------===//
//
// FOLDER/[row0-|image0-]NAME-layerL-headH.npy, .svg and .png, NAME-layerL.png and
// NAME-layerL-overlay.png: one definition for the run that writes such files and for
// the next one, which removes them.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "lib/Support/Expected.h"
#include <cstdint>
#include <string>
#include <string_view>

namespace rapt::run {

/// The end of the names of outputs with attention probabilities.
inline constexpr std::string_view mapOutput = "attentions";
inline constexpr std::string_view mapOfRow = "row", mapOfImage = "image";

/// "row0-", for one of several.
std::string mapPrefix(std::string_view kind, size_t number);
/// "attentions-layer0".
std::string mapOfLayer(std::string_view name, int64_t layer);
/// "attentions-layer0-head0".
std::string mapOfHead(std::string_view name, int64_t layer, int64_t head);
inline constexpr std::string_view mapSheet = ".png", mapOverlay = "-overlay.png";

/// Whether a run gives a file this name.
bool isMapFile(std::string_view name);

/// Makes the folder where there is none, and removes the files of such names that an older run left there.
Status prepareMapFolder(const std::string &folder);

} // namespace rapt::run
