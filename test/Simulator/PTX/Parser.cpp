//===- Parser.cpp - PTX text to a module -------------------------------------===//
#include "test/Simulator/PTX/Parser.h"
#include "test/Simulator/PTX/Decode.h"
#include "test/Simulator/PTX/Lexer.h"
#include "test/Simulator/PTX/Operands.h"
#include <algorithm>
#include <map>
#include <memory>
using namespace rapt;
using namespace rapt::ptx;

namespace {

/// Limits on what a text may declare.
constexpr uint64_t mostBytes = uint64_t(1) << 30, mostRegisters = 1 << 20;

uint64_t alignTo(uint64_t value, uint64_t alignment) { return (value + alignment - 1) / alignment * alignment; }

class Parser {
public:
  explicit Parser(std::vector<Token> tokens) : tokens(std::move(tokens)) {}

  Expected<Module> run() {
    while (problem.empty() && peek().kind != Token::Kind::End)
      parseTopLevel();
    if (!problem.empty())
      return Error{problem};
    return std::move(module);
  }

private:
  //===- Tokens ---------------------------------------------------------------===//

  const Token &peek() const { return tokens[position]; }
  Token take() { return tokens[position].kind == Token::Kind::End ? tokens[position] : tokens[position++]; }
  bool takeIf(std::string_view text) {
    if (!peek().is(text))
      return false;
    take();
    return true;
  }
  void expect(std::string_view text) {
    if (!takeIf(text))
      fail("expected '" + std::string(text) + "', found '" + std::string(peek().text) + "'");
  }
  void fail(const std::string &what) { failAt(peek().line, what); }
  void failAt(uint32_t line, const std::string &what) {
    if (problem.empty())
      problem = "line " + std::to_string(line) + ": " + what;
  }
  uint64_t takeNumber() {
    Token token = take();
    std::optional<uint64_t> value = parseInteger(token.text);
    if (!value)
      failAt(token.line, "expected a number, found '" + std::string(token.text) + "'");
    return value.value_or(0);
  }
  void skipLine() {
    uint32_t line = peek().line;
    while (peek().kind != Token::Kind::End && peek().line == line)
      take();
  }
  void skipTo(std::string_view mark) {
    while (peek().kind != Token::Kind::End && !takeIf(mark))
      take();
  }

  //===- Module -----------------------------------------------------------------===//

  void parseTopLevel() {
    if (takeIf(".version")) {
      module.version = take().text;
    } else if (takeIf(".target")) {
      module.target = take().text;
      while (takeIf(","))
        take();
    } else if (takeIf(".address_size")) {
      if (takeNumber() != 64)
        fail("only .address_size 64 is supported");
    } else if (peek().is(".file") || peek().is(".loc")) {
      skipLine();
    } else if (takeIf(".section")) {
      skipTo("}");
    } else if (peek().is(".extern") || peek().is(".visible") || peek().is(".weak") || peek().is(".common")) {
      isExternal = take().is(".extern");
      if (isExternal && peek().is(".func"))
        skipTo(";");
    } else if (takeIf(".entry")) {
      parseKernel();
    } else if (peek().is(".func")) {
      fail("functions are not supported; inline them into the kernel");
    } else if (std::optional<Space> space = takeSpace()) {
      parseVariable(*space, module.variables);
    } else {
      fail("'" + std::string(peek().text) + "' is not supported here");
    }
  }

  std::optional<Space> takeSpace() {
    for (Space space : {Space::Global, Space::Shared, Space::Local, Space::Const, Space::Param})
      if (takeIf("." + std::string(nameOf(space))))
        return space;
    return std::nullopt;
  }

  /// The rest of `.space [.align N] .type name[size] [= {...}];`
  void parseVariable(Space space, std::vector<Variable> &variables) {
    Variable variable;
    variable.space = space;
    uint64_t elementSize = parseElement(variable.alignment);
    variable.name = take().text;
    variable.size = elementSize * parseExtent(variable.isDynamic);
    if (takeIf("="))
      parseContents(variable, elementSize);
    expect(";");
    if (variable.isDynamic && !(isExternal && space == Space::Shared))
      fail("variable '" + variable.name + "' has no size");
    if (variable.size > mostBytes)
      fail("variable '" + variable.name + "' is too large");
    isExternal = false;
    variables.push_back(std::move(variable));
  }

  /// [.align N] [.ptr ...] .type; the type's size.
  uint64_t parseElement(uint32_t &alignment) {
    uint64_t size = 0;
    alignment = 0;
    while (problem.empty() && peek().text.starts_with(".")) {
      Token token = take();
      if (token.is(".align"))
        alignment = uint32_t(std::clamp<uint64_t>(takeNumber(), 1, 1 << 20));
      else if (token.is(".ptr"))
        takeIf(".global") || takeIf(".shared") || takeIf(".const") || takeIf(".local");
      else if (std::optional<Type> type = parseType(token.text.substr(1)))
        size = sizeOf(*type);
      else if (!token.is(".attribute"))
        failAt(token.line, "'" + std::string(token.text) + "' is not supported in a declaration");
    }
    if (size == 0)
      fail("declaration without a type");
    if (alignment == 0)
      alignment = uint32_t(std::max<uint64_t>(size, 1));
    return size;
  }

  /// [N][M]...: the number of elements.
  uint64_t parseExtent(bool &isDynamic) {
    uint64_t count = 1;
    while (problem.empty() && takeIf("[")) {
      isDynamic = peek().is("]");
      uint64_t extent = isDynamic ? 0 : takeNumber();
      if (extent > mostBytes || (extent && count > mostBytes / extent))
        fail("array is too large");
      else
        count *= extent;
      expect("]");
    }
    return count;
  }

  void parseContents(Variable &variable, uint64_t elementSize) {
    bool isList = takeIf("{");
    do {
      Operand value = parseOperand();
      if (value.kind != Operand::Kind::Integer && value.kind != Operand::Kind::Float32 &&
          value.kind != Operand::Kind::Float64)
        return fail("variable '" + variable.name + "' is initialized by something else than a number");
      for (uint64_t byte = 0; byte < elementSize; ++byte)
        variable.contents.push_back(std::byte(value.value >> 8 * byte));
    } while (problem.empty() && isList && takeIf(","));
    if (isList)
      expect("}");
    if (variable.contents.size() > variable.size)
      fail("variable '" + variable.name + "' has more values than elements");
    else
      variable.contents.resize(variable.size);
  }

  //===- Kernel -----------------------------------------------------------------===//

  void parseKernel() {
    kernel = Kernel();
    kernel.name = take().text;
    kernel.variables = module.variables;
    isExternal = false;
    if (takeIf("(")) {
      while (problem.empty() && !takeIf(")")) {
        parseParameter();
        takeIf(",");
      }
    }
    parseDirectives();
    expect("{");
    scopes = {Scope()};
    openScopes = {0};
    registerNames.clear();
    branchTables.clear();
    fixups.clear();
    while (problem.empty() && !openScopes.empty())
      parseStatement();
    if (!problem.empty())
      return;
    addReturn();
    resolveLabels();
    layOut();
    if (problem.empty())
      module.kernels.push_back(std::move(kernel));
  }

  void parseParameter() {
    expect(".param");
    Parameter parameter;
    uint64_t elementSize = parseElement(parameter.alignment);
    parameter.name = take().text;
    bool isDynamic = false;
    uint64_t size = elementSize * parseExtent(isDynamic);
    if (size > 4096)
      return fail("parameter '" + parameter.name + "' is too large");
    parameter.size = uint32_t(size);
    parameter.offset = uint32_t(alignTo(kernel.parameterBytes, parameter.alignment));
    kernel.parameterBytes = parameter.offset + parameter.size;
    kernel.parameters.push_back(std::move(parameter));
  }

  void parseDirectives() {
    while (problem.empty() && peek().text.starts_with(".")) {
      Token token = take();
      std::array<uint32_t, 3> values = {1, 1, 1};
      for (uint32_t &value : values) {
        if (peek().kind == Token::Kind::Number)
          value = uint32_t(takeNumber());
        if (!takeIf(","))
          break;
      }
      if (token.is(".reqntid"))
        kernel.requiredThreads = values;
      else if (token.is(".maxntid"))
        kernel.mostThreads = values;
      else if (!token.is(".minnctapersm") && !token.is(".maxnreg") && !token.is(".explicitcluster") &&
               !(token.is(".reqnctapercluster") && values == std::array<uint32_t, 3>{1, 1, 1}))
        failAt(token.line, "'" + std::string(token.text) + "' is not supported");
    }
  }

  /// A block in braces, with registers and labels of its own.
  struct Scope {
    size_t parent = 0;
    std::vector<std::pair<std::string_view, uint32_t>> labels;
  };

  void parseStatement() {
    if (takeIf("{")) {
      scopes.push_back({openScopes.back(), {}});
      openScopes.push_back(scopes.size() - 1);
    } else if (takeIf("}")) {
      openScopes.pop_back();
    } else if (takeIf(".reg")) {
      parseRegisters();
    } else if (peek().is(".loc") || peek().is(".file")) {
      skipLine();
    } else if (takeIf(".pragma")) {
      skipTo(";");
    } else if (std::optional<Space> space = takeSpace()) {
      parseVariable(*space, kernel.variables);
    } else if (peek().kind == Token::Kind::Word && tokens[position + 1].is(":")) {
      std::string_view label = take().text;
      expect(":");
      if (takeIf(".branchtargets"))
        parseBranchTargets(label);
      else
        scopes[openScopes.back()].labels.push_back({label, uint32_t(kernel.instructions.size())});
    } else if (!takeIf(";")) {
      parseInstruction();
    }
  }

  /// The labels that brx.idx chooses from.
  void parseBranchTargets(std::string_view table) {
    Operand &targets = branchTables[table];
    targets = Operand();
    targets.kind = Operand::Kind::Vector;
    do
      targets.elements.push_back(parseSingle());
    while (problem.empty() && takeIf(","));
    expect(";");
  }

  void parseRegisters() {
    Token token = take();
    std::optional<Type> type = parseType(token.text.starts_with(".") ? token.text.substr(1) : token.text);
    if (!type)
      return failAt(token.line, "unknown register type '" + std::string(token.text) + "'");
    do {
      std::string_view name = take().text;
      if (takeIf("<")) {
        uint64_t count = takeNumber();
        expect(">");
        if (count + kernel.registers.size() > mostRegisters)
          return fail("too many registers");
        for (uint64_t number = 0; number < count; ++number)
          addRegister(intern(std::string(name) + std::to_string(number)), *type);
      } else {
        addRegister(name, *type);
      }
    } while (problem.empty() && takeIf(","));
    expect(";");
  }

  std::string_view intern(std::string name) {
    names.push_back(std::make_unique<std::string>(std::move(name)));
    return *names.back();
  }

  void addRegister(std::string_view name, Type type) {
    Register added;
    added.name = name;
    added.type = type;
    uint32_t bytes = type == Type::Pred ? uint32_t(sizeof(LaneMask)) : std::max(sizeOf(type), 2u) * warpSize;
    added.offset = kernel.registerBytes;
    kernel.registerBytes += uint32_t(alignTo(bytes, 64));
    registerNames[{openScopes.back(), name}] = uint32_t(kernel.registers.size());
    kernel.registers.push_back(std::move(added));
  }

  void parseInstruction() {
    Instruction instruction;
    instruction.line = peek().line;
    if (takeIf("@")) {
      instruction.isGuardNegated = takeIf("!");
      instruction.guard = findRegister(take().text);
      if (instruction.guard == noIndex || kernel.registers[instruction.guard].type != Type::Pred)
        return fail("the guard of an instruction is no predicate register");
    }
    if (peek().kind != Token::Kind::Word)
      return fail("expected an instruction, found '" + std::string(peek().text) + "'");
    instruction.line = peek().line;
    instruction.opcode = take().text;
    while (problem.empty() && !takeIf(";")) {
      instruction.operands.push_back(parseOperand());
      if (!takeIf(",") && !peek().is(";"))
        fail("expected ',' or ';', found '" + std::string(peek().text) + "'");
    }
    if (!problem.empty())
      return;
    for (Operand &operand : instruction.operands)
      if (auto table = branchTables.find(operand.name); table != branchTables.end())
        operand = table->second;
    if (std::ranges::any_of(instruction.operands, hasLabel))
      fixups.push_back({kernel.instructions.size(), openScopes.back()});
    if (Status status = decode(kernel, instruction); !status)
      return failAt(instruction.line, "'" + instruction.opcode + "' " + status.error().message);
    kernel.instructions.push_back(std::move(instruction));
  }

  //===- Operands ---------------------------------------------------------------===//

  Operand parseOperand() {
    Operand operand = parseSingle();
    if (takeIf("|")) {
      Operand pair;
      pair.kind = Operand::Kind::Pair;
      pair.elements.push_back(std::move(operand));
      pair.elements.push_back(parseSingle());
      return pair;
    }
    return operand;
  }

  Operand parseSingle() {
    if (peek().is("[") || peek().is("{"))
      return parseBracketed();
    bool isNegated = takeIf("!"), isMinus = takeIf("-");
    Token token = take();
    Operand operand;
    if (token.kind == Token::Kind::Number) {
      if (!parseLiteral(token.text, isMinus, operand))
        failAt(token.line, "invalid number '" + std::string(token.text) + "'");
    } else if (token.kind == Token::Kind::Word && !isMinus) {
      operand = name(token);
      operand.isNegated = isNegated;
      if (operand.kind != Operand::Kind::Register && peek().is("+"))
        operand.value = parseOffset();
    } else {
      failAt(token.line, "expected an operand, found '" + std::string(token.text) + "'");
    }
    return operand;
  }

  /// [base + offset], [base, {coordinates}] or {elements}.
  Operand parseBracketed() {
    Operand operand;
    bool isAddress = take().is("[");
    operand.kind = isAddress ? Operand::Kind::Address : Operand::Kind::Vector;
    std::string_view end = isAddress ? "]" : "}";
    while (problem.empty() && !takeIf(end)) {
      Operand element = parseSingle();
      if (isAddress && operand.elements.empty())
        operand.value = parseOffset();
      if (element.kind == Operand::Kind::Vector)
        operand.elements.insert(operand.elements.end(), element.elements.begin(), element.elements.end());
      else
        operand.elements.push_back(std::move(element));
      if (!takeIf(",") && !peek().is(end))
        fail("expected ',' or '" + std::string(end) + "', found '" + std::string(peek().text) + "'");
    }
    if (operand.elements.empty())
      fail("operand without elements");
    return operand;
  }

  uint64_t parseOffset() {
    uint64_t offset = 0;
    while (problem.empty() && (peek().is("+") || peek().is("-"))) {
      bool isMinus = take().is("-");
      isMinus ^= takeIf("-");
      uint64_t value = takeNumber();
      offset += isMinus ? 0 - value : value;
    }
    return offset;
  }

  Operand name(const Token &token) {
    Operand operand;
    operand.name = token.text;
    if (token.is("_"))
      return operand;
    if (uint32_t index = findRegister(token.text); index != noIndex) {
      operand.kind = Operand::Kind::Register;
      operand.index = index;
    } else if (std::optional<Special> special = parseSpecial(token.text)) {
      operand.kind = Operand::Kind::Special;
      operand.special = *special;
    } else if (size_t parameter = indexOf(kernel.parameters, token.text); parameter < kernel.parameters.size()) {
      operand.kind = Operand::Kind::Parameter;
      operand.index = uint32_t(parameter);
    } else if (size_t variable = indexOf(kernel.variables, token.text); variable < kernel.variables.size()) {
      operand.kind = Operand::Kind::Variable;
      operand.index = uint32_t(variable);
    } else if (token.is("WARP_SZ")) {
      operand.kind = Operand::Kind::Integer;
      operand.value = warpSize;
    } else if (token.text.starts_with("%")) {
      failAt(token.line, "unknown register '" + std::string(token.text) + "'");
    } else {
      operand.kind = Operand::Kind::Label;
    }
    return operand;
  }

  template <typename Named> static size_t indexOf(const std::vector<Named> &list, std::string_view name) {
    return size_t(std::ranges::find(list, name, &Named::name) - list.begin());
  }

  uint32_t findRegister(std::string_view name) const {
    for (size_t depth = openScopes.size(); depth-- > 0;)
      if (auto found = registerNames.find({openScopes[depth], name}); found != registerNames.end())
        return found->second;
    return noIndex;
  }

  //===- The end of a kernel ------------------------------------------------------===//

  /// A thread that reaches the end of the text exits; a label may stand there.
  void addReturn() {
    Instruction instruction;
    instruction.opcode = "ret";
    instruction.line = peek().line;
    if (Status status = decode(kernel, instruction); !status)
      return fail(status.error().message);
    kernel.instructions.push_back(std::move(instruction));
  }

  /// An instruction with labels, and the scope that it is in.
  struct Fixup {
    size_t instruction, scope;
  };

  static bool hasLabel(const Operand &operand) {
    return operand.kind == Operand::Kind::Label || std::ranges::any_of(operand.elements, hasLabel);
  }

  void resolveLabels() {
    for (const Fixup &fixup : fixups)
      for (Operand &operand : kernel.instructions[fixup.instruction].operands)
        resolve(operand, fixup);
  }

  void resolve(Operand &operand, const Fixup &fixup) {
    for (Operand &element : operand.elements)
      resolve(element, fixup);
    if (operand.kind != Operand::Kind::Label)
      return;
    for (size_t scope = fixup.scope; operand.index == noIndex; scope = scopes[scope].parent) {
      for (const auto &[name, index] : scopes[scope].labels)
        if (name == operand.name)
          operand.index = index;
      if (scope == 0)
        break;
    }
    if (operand.index == noIndex)
      failAt(kernel.instructions[fixup.instruction].line, "unknown name '" + operand.name + "'");
  }

  /// Gives shared and local variables their offsets; what is dynamic comes last.
  void layOut() {
    uint64_t shared = sharedBase, local = 0;
    for (bool isDynamic : {false, true})
      for (Variable &variable : kernel.variables) {
        if (variable.isDynamic != isDynamic || (variable.space != Space::Shared && variable.space != Space::Local))
          continue;
        uint64_t &end = variable.space == Space::Shared ? shared : local;
        variable.offset = alignTo(end, variable.alignment);
        end = isDynamic ? end : variable.offset + variable.size;
      }
    if (shared > mostBytes || local > mostBytes)
      fail("kernel '" + kernel.name + "' has too many variables");
    kernel.sharedBytes = uint32_t(shared - sharedBase);
    kernel.localBytes = uint32_t(local);
  }

  std::vector<Token> tokens;
  size_t position = 0;
  std::string problem;
  Module module;
  Kernel kernel;
  bool isExternal = false;
  std::vector<Scope> scopes;
  std::vector<size_t> openScopes;
  std::map<std::pair<size_t, std::string_view>, uint32_t> registerNames;
  std::vector<std::unique_ptr<std::string>> names;
  std::map<std::string_view, Operand> branchTables;
  std::vector<Fixup> fixups;
};

} // namespace

const Kernel *Module::find(std::string_view name) const {
  auto found = std::ranges::find(kernels, name, &Kernel::name);
  return found == kernels.end() ? nullptr : &*found;
}

Expected<Module> rapt::ptx::parse(std::string_view text) {
  RAPT_ASSIGN_OR_RETURN(std::vector<Token> tokens, tokenize(text));
  return Parser(std::move(tokens)).run();
}
