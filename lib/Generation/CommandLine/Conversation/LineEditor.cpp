#include "lib/Generation/CommandLine/Conversation/LineEditor.h"
#include "lib/Tokenizer/Unicode.h"
#include <algorithm>
#include <cerrno>
#include <clocale>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cwchar>
#include <fcntl.h>
#include <histedit.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <utility>

namespace rapt::run {
namespace {

constexpr int mostHistory = 1000;
constexpr size_t mostPaste = size_t(1) << 22; // characters, the most that a chat template may write
constexpr wchar_t pasteEnd[] = L"\x1b[201~";
constexpr int editingSignals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGCONT, SIGWINCH};

int signalPipe[2] = {-1, -1}; // a signal may come to any thread: the one that reads finds it here

void onSignal(int number) {
  const int saved = errno;
  const auto byte = static_cast<unsigned char>(number);
  [[maybe_unused]] ssize_t written = write(signalPipe[1], &byte, 1);
  errno = saved;
}

std::wstring widened(std::string_view text) {
  std::wstring wide;
  for (size_t at = 0, length = 0; at < text.size(); at += length) {
    const bool isValid = unicode::classifyFront(text.substr(at), length) == unicode::Front::Valid;
    wide += isValid ? wchar_t(unicode::decode(text, at)) : L'\xFFFD';
  }
  return wide;
}

std::string narrowed(std::wstring_view wide) {
  std::string text;
  for (wchar_t c : wide)
    unicode::append(text, char32_t(c));
  return text;
}

} // namespace

struct LineEditor::Terminal {
  EditLine *editor = nullptr;
  HistoryW *history = nullptr;
  FILE *screen;
  bool isCapable; ///< the terminal marks pastes and obeys escape sequences
  int columns = 0;
  std::wstring prompt;
  std::string input; ///< bytes that were read
  size_t taken = 0;  ///< of `input`
  bool isInterrupted = false, isEmpty = true;
  struct sigaction before[std::size(editingSignals)];

  explicit Terminal(FILE *screen);
  ~Terminal();
  void enter();
  void leave();
  void catchSignals();
  void releaseSignals();

private:
  static Terminal &of(EditLine *editor);
  static wchar_t *givePrompt(EditLine *editor) { return of(editor).prompt.data(); }
  static int giveCharacter(EditLine *editor, wchar_t *character) { return of(editor).readCharacter(*character); }
  static unsigned char takePaste(EditLine *editor, wint_t) { return of(editor).insertPaste(); }
  int readCharacter(wchar_t &character);
  int fill();
  bool obey(int number);
  int width() const;
  int rowsAboveCursor(int columns) const;
  void goToStart(int rows);
  unsigned char insertPaste();
  void markPastes(bool isOn);
};

LineEditor::Terminal &LineEditor::Terminal::of(EditLine *editor) {
  void *self = nullptr;
  el_get(editor, EL_CLIENTDATA, &self);
  return *static_cast<Terminal *>(self);
}

LineEditor::Terminal::Terminal(FILE *screen) : screen(screen) {
  // Characters are drawn by the locale; what is read and given is UTF-8 whatever it is.
  setlocale(LC_CTYPE, "");
  if (MB_CUR_MAX == 1)
    setlocale(LC_CTYPE, "C.UTF-8");
  const char *kind = getenv("TERM");
  isCapable = kind && *kind && strcmp(kind, "dumb") != 0;
  if (pipe2(signalPipe, O_CLOEXEC | O_NONBLOCK))
    return;
  editor = el_init("rapt-run", stdin, screen, stderr);
  history = history_winit();
  if (!editor || !history)
    return;
  HistEventW event;
  history_w(history, &event, H_SETSIZE, mostHistory);
  history_w(history, &event, H_SETUNIQUE, 1);
  el_set(editor, EL_CLIENTDATA, this);
  el_wset(editor, EL_GETCFN, giveCharacter);
  el_wset(editor, EL_PROMPT, givePrompt);
  el_wset(editor, EL_HIST, history_w, history);
  el_wset(editor, EL_EDITOR, L"emacs");
  el_wset(editor, EL_ADDFN, L"rapt-paste", L"insert a paste", takePaste);
  static constexpr const wchar_t *keys[][2] = {{L"\\e[200~", L"rapt-paste"},   {L"\\e[3~", L"ed-delete-next-char"},
                                               {L"\\e[1~", L"ed-move-to-beg"}, {L"\\e[4~", L"ed-move-to-end"},
                                               {L"^R", L"em-inc-search-prev"}, {L"^W", L"ed-delete-prev-word"}};
  for (const auto &[key, action] : keys)
    el_wset(editor, EL_BIND, key, action, nullptr);
}

LineEditor::Terminal::~Terminal() {
  if (editor)
    el_end(editor);
  if (history)
    history_wend(history);
  for (int &end : signalPipe)
    if (end >= 0) {
      close(end);
      end = -1;
    }
}

void LineEditor::Terminal::markPastes(bool isOn) {
  fflush(screen);
  if (isCapable) {
    [[maybe_unused]] ssize_t written = write(fileno(screen), isOn ? "\x1b[?2004h" : "\x1b[?2004l", 8);
  }
}

void LineEditor::Terminal::enter() {
  el_set(editor, EL_PREP_TERM, 1);
  markPastes(true);
  columns = width();
}

void LineEditor::Terminal::leave() {
  markPastes(false);
  el_set(editor, EL_PREP_TERM, 0);
}

void LineEditor::Terminal::catchSignals() {
  struct sigaction action{};
  action.sa_handler = onSignal;
  action.sa_flags = SA_RESTART;
  for (size_t i = 0; i < std::size(editingSignals); ++i)
    sigaction(editingSignals[i], &action, &before[i]);
}

void LineEditor::Terminal::releaseSignals() {
  for (size_t i = 0; i < std::size(editingSignals); ++i)
    sigaction(editingSignals[i], &before[i], nullptr);
}

int LineEditor::Terminal::width() const {
  winsize size{};
  return ioctl(fileno(screen), TIOCGWINSZ, &size) || !size.ws_col ? 80 : size.ws_col;
}

/// Rows of the prompt and the line from their first one to that of the cursor, without it.
int LineEditor::Terminal::rowsAboveCursor(int columns) const {
  constexpr int tab = 8;
  const LineInfoW *line = el_wline(editor);
  int row = 0, column = 0;
  for (wchar_t c : prompt + std::wstring(line->buffer, line->cursor)) {
    const int drawn = c == L'\t' ? tab - column % tab : wcwidth(c);
    const int wide = drawn < 0 ? 2 : drawn; // ^X
    if (c == L'\n' || column + wide > columns) {
      ++row;
      column = 0;
    }
    column += c == L'\n' ? 0 : wide;
  }
  return row + column / columns;
}

/// Where the line began to be drawn, so that it is drawn again in its own place.
void LineEditor::Terminal::goToStart(int rows) {
  fputc('\r', screen);
  if (rows && isCapable)
    fprintf(screen, "\x1b[%dA", rows);
  if (isCapable)
    fputs("\x1b[J", screen);
}

/// Does what a signal asks for; false where the line ends by it.
bool LineEditor::Terminal::obey(int number) {
  if (number == SIGINT) {
    const LineInfoW *line = el_wline(editor);
    isEmpty = line->lastchar == line->buffer;
    isInterrupted = true;
    return false;
  }
  if (number != SIGWINCH && number != SIGCONT) { // the others stop or end the process, which leaves the terminal first
    leave();
    releaseSignals();
    raise(number);
    catchSignals();
  }
  if (number == SIGWINCH) { // some terminals wrap lines anew, others do not: what stands above is never erased
    const int before = std::exchange(columns, width());
    goToStart(std::min(rowsAboveCursor(before), rowsAboveCursor(columns)));
  } else {
    enter();
    goToStart(0);
  }
  el_resize(editor);
  el_set(editor, EL_REFRESH);
  return true;
}

/// Waits for input: 1, 0 at its end, -1 where the line ends otherwise.
int LineEditor::Terminal::fill() {
  while (true) {
    pollfd files[] = {{STDIN_FILENO, POLLIN, 0}, {signalPipe[0], POLLIN, 0}};
    if (poll(files, 2, -1) < 0 && errno != EINTR)
      return -1;
    unsigned char number;
    if (::read(signalPipe[0], &number, 1) == 1) {
      if (!obey(number))
        return -1;
      continue;
    }
    if (!files[0].revents)
      continue;
    char bytes[4096];
    const ssize_t got = ::read(STDIN_FILENO, bytes, sizeof bytes);
    if (got < 0 && (errno == EINTR || errno == EAGAIN))
      continue;
    if (got <= 0)
      return 0; // EIO: the terminal is gone
    input.erase(0, std::exchange(taken, 0));
    input.append(bytes, size_t(got));
    return 1;
  }
}

int LineEditor::Terminal::readCharacter(wchar_t &character) {
  size_t length = 0;
  while (true) {
    if (isInterrupted)
      return -1;
    const std::string_view left = std::string_view(input).substr(taken);
    const auto front = left.empty() ? unicode::Front::Incomplete : unicode::classifyFront(left, length);
    if (front != unicode::Front::Incomplete) {
      character = front == unicode::Front::Valid ? wchar_t(unicode::decode(left, 0)) : L'\xFFFD';
      taken += length;
      return 1;
    }
    if (const int status = fill(); status <= 0)
      return status;
  }
}

/// Reads to the mark at the end of a paste and inserts all of it: its newlines end no line.
unsigned char LineEditor::Terminal::insertPaste() {
  std::wstring text;
  bool isWhole = false, isTooLong = false;
  for (wchar_t c; !isWhole && readCharacter(c) == 1;) {
    if (c == L'\r') // as terminals send newlines
      c = L'\n';
    if (c)
      text += c;
    isWhole = text.ends_with(pasteEnd);
    if (!isWhole && text.size() > mostPaste + std::size(pasteEnd)) {
      isTooLong = true;
      text.erase(0, mostPaste);
    }
  }
  if (!isWhole)
    return CC_REFRESH; // the next character is not there either
  text.resize(text.size() - (std::size(pasteEnd) - 1));
  isTooLong |= text.size() > mostPaste;
  if (isTooLong) {
    fprintf(screen, "\r\nthe paste has more than %zu characters: it is left out\r\n", mostPaste);
    return CC_REDISPLAY;
  }
  return text.empty() || el_winsertstr(editor, text.c_str()) == 0 ? CC_REFRESH : CC_ERROR;
}

LineEditor::LineEditor(std::unique_ptr<Terminal> terminal) : terminal(std::move(terminal)) {}
LineEditor::~LineEditor() = default;

Expected<std::unique_ptr<LineEditor>> LineEditor::open() {
  FILE *screen = isatty(STDOUT_FILENO) ? stdout : isatty(STDERR_FILENO) ? stderr : nullptr;
  if (!screen)
    return Error{"a conversation needs a terminal as its standard output or error: give a message with --prompt"};
  auto terminal = std::make_unique<Terminal>(screen);
  if (!terminal->editor || !terminal->history)
    return Error{"the terminal cannot be used for a conversation: give a message with --prompt"};
  return std::unique_ptr<LineEditor>(new LineEditor(std::move(terminal)));
}

LineEditor::End LineEditor::read(const std::string &prompt, std::string &line, bool &wasEmpty) {
  terminal->prompt = widened(prompt);
  terminal->isInterrupted = false;
  terminal->catchSignals();
  terminal->enter();
  int count = 0;
  const wchar_t *typed = el_wgets(terminal->editor, &count);
  std::wstring_view text = typed && count > 0 ? std::wstring_view(typed, size_t(count)) : std::wstring_view();
  if (text.ends_with(L'\n'))
    text.remove_suffix(1);
  line = narrowed(text);
  terminal->leave();
  terminal->releaseSignals();
  wasEmpty = terminal->isInterrupted ? terminal->isEmpty : line.empty();
  if (typed && count > 0)
    return End::Line;
  fputc('\n', terminal->screen);
  fflush(terminal->screen);
  return terminal->isInterrupted ? End::Interrupted : End::Closed;
}

void LineEditor::remember(const std::string &line) {
  HistEventW event;
  history_w(terminal->history, &event, H_ENTER, widened(line).c_str());
}

} // namespace rapt::run
