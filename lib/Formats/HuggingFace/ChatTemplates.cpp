//===- ChatTemplates.cpp -----------------------------------------------------------===//
//
// Facts of transformers 5: PreTrainedTokenizerBase._from_pretrained and
// get_chat_template, ProcessorMixin.get_processor_dict and apply_chat_template.
//
//===----------------------------------------------------------------------===//
#include "lib/Formats/HuggingFace/ChatTemplates.h"
#include "lib/Formats/HuggingFace/Download.h"
#include "lib/Formats/HuggingFace/Precedence.h"
#include "lib/Support/File.h"
#include <algorithm>
#include <dirent.h>

namespace rapt::huggingface {

/// By name.
using Templates = std::map<std::string, std::string, std::less<>>;

static constexpr uint64_t mostBytes = uint64_t(16) << 20;
static constexpr size_t mostTemplates = 64;
static constexpr std::string_view folderName = "additional_chat_templates", suffix = ".jinja", defaultName = "default",
                                  key = "chat_template", rootFile = "chat_template.jinja",
                                  configurationFile = "tokenizer_config.json";
static constexpr const char *jsonFile = "chat_template.json";

static std::string pathOf(const std::string &directory, std::string_view name) {
  return directory + "/" + std::string(name);
}

/// Names of the files that hold the templates of the folder, sorted.
static std::vector<std::string> listFolder(const std::string &directory) {
  std::vector<std::string> names;
  if (DIR *folder = opendir(pathOf(directory, folderName).c_str())) {
    while (const dirent *entry = readdir(folder))
      if (std::string_view(entry->d_name).ends_with(suffix))
        names.emplace_back(entry->d_name);
    closedir(folder);
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<std::string> listTemplateFiles(const std::string &directory) {
  std::vector<std::string> paths = {pathOf(directory, jsonFile)};
  for (const std::string &name : listFolder(directory))
    paths.push_back(pathOf(directory, folderName) + "/" + name);
  return paths;
}

static Expected<Templates> readFolder(const std::string &directory) {
  const std::string folder = pathOf(directory, folderName);
  const std::vector<std::string> names = listFolder(directory);
  if (names.size() > mostTemplates)
    return Error{shownPath(folder) + ": has " + std::to_string(names.size()) + " templates; the limit is " +
                 std::to_string(mostTemplates)};
  Templates templates;
  for (const std::string &name : names) {
    RAPT_ASSIGN_OR_RETURN(std::string text, readDownloaded(folder + "/" + name, mostBytes));
    if (!json::isUtf8(name) || !json::isUtf8(text))
      return Error{shownPath(folder + "/" + name) + ": is not valid UTF-8"};
    templates.emplace(name.substr(0, name.size() - suffix.size()), std::move(text));
  }
  return templates;
}

/// The chat_template of a processor's file: one text, or the "default" of an object of named ones.
static Expected<Templates> readDefault(const json::Value *given, const std::string &path) {
  const json::Value *standard = given && given->isObject() ? given->find(defaultName) : given;
  if (!standard || !standard->isString())
    return Error{shownPath(path) + ": chat_template is neither a string nor an object with a \"default\""};
  return Templates{{std::string(defaultName), *standard->asString()}};
}

namespace {

class Settling {
public:
  Settling(const std::string &directory, SideFiles &files, std::vector<std::string> &notes)
      : directory(directory), files(files), notes(notes),
        hasProcessor(files.contains("preprocessor_config.json") || entryExists(pathOf(directory, processorSettings))) {}
  Status run();

private:
  Status readTexts();
  Status readJson(const char *file);
  bool configurationHasTemplate() const;
  void store();

  const std::string &directory;
  SideFiles &files;
  std::vector<std::string> &notes;
  const bool hasProcessor;
  Templates templates;
  std::string source; ///< a file or folder that has them, for messages
};

/// The files of one template each.
Status Settling::readTexts() {
  RAPT_ASSIGN_OR_RETURN(templates, readFolder(directory));
  source = templates.empty() ? rootFile : folderName;
  auto root = files.find(rootFile);
  if (root == files.end())
    return {};
  if (hasProcessor)
    templates.insert_or_assign(std::string(defaultName), root->second);
  else
    templates.emplace(defaultName, root->second);
  return {};
}

/// A file of a processor, which comes before those read so far.
Status Settling::readJson(const char *file) {
  const std::string path = pathOf(directory, file);
  RAPT_ASSIGN_OR_RETURN(const json::Value root, readDownloadedJson(path, mostBytes));
  if (file == jsonFile)
    reportKeys(path, file, root, notes);
  const json::Value *given = root.find(key);
  if (file == processorSettings && (!given || given->isNull()))
    return {};
  RAPT_ASSIGN_OR_RETURN(Templates own, readDefault(given, path));
  if (!templates.empty() && own != templates)
    notes.push_back(shownPath(path) + " and " + source + " have different chat templates; the former counts" +
                    (file == jsonFile && source == folderName ? "; transformers 5 refuses both together"
                                                              : ", as in transformers 5"));
  templates = std::move(own);
  source = file;
  return {};
}

bool Settling::configurationHasTemplate() const {
  const std::optional<json::Object> members = objectOf(files, configurationFile);
  return members && std::ranges::any_of(
                        *members, [](const auto &member) { return member.first == key && !member.second.isNull(); });
}

Status Settling::run() {
  RAPT_RETURN_IF_ERROR(readTexts());
  const bool isLast = templates.empty() && !configurationHasTemplate();
  if ((hasProcessor || isLast) && entryExists(pathOf(directory, jsonFile)))
    RAPT_RETURN_IF_ERROR(readJson(jsonFile));
  if (entryExists(pathOf(directory, processorSettings)))
    RAPT_RETURN_IF_ERROR(readJson(processorSettings));
  if (!templates.empty())
    store();
  return {};
}

void Settling::store() {
  auto standard = templates.find(defaultName);
  if (standard != templates.end() && (hasProcessor || templates.size() == 1)) {
    files.insert_or_assign(std::string(rootFile), standard->second);
    return;
  }
  std::optional<json::Object> members =
      files.contains(configurationFile) ? objectOf(files, configurationFile) : json::Object();
  if (!members) // no object, which its reader reports
    return;
  json::Array list;
  for (const auto &[name, text] : templates)
    list.emplace_back(json::Object{{"name", json::Value(name)}, {"template", json::Value(text)}});
  json::setMember(*members, key, json::Value(std::move(list)));
  files.insert_or_assign(std::string(configurationFile), json::write(json::Value(std::move(*members))));
  files.erase(std::string(rootFile));
}

} // namespace

Status settleTemplates(const std::string &directory, SideFiles &files, std::vector<std::string> &notes) {
  return Settling(directory, files, notes).run();
}

} // namespace rapt::huggingface
