//===- AttnSchedules.td - Schedules of neutral decompositions ----------*- tablegen -*-===//
#ifndef RAPT_ATTN_SCHEDULES_TD
#define RAPT_ATTN_SCHEDULES_TD

include "dialect/Attn/AttnAttrInterfaces.td"
include "dialect/Attn/AttnDialect.td"
include "mlir/IR/AttrTypeBase.td"

// Numbers are from 1 to kMostNumber.
def Attn_Number : AttrOrTypeParameter<"int64_t", ""> {
  let parser = "::rapt::attn::parseNumber($_parser)";
}
def Attn_OptionalNumber : OptionalParameter<"::std::optional<int64_t>"> {
  let parser = "::rapt::attn::parseNumber($_parser)";
  let printer = "$_printer << *$_self";
}
def Attn_Numbers : ArrayRefParameter<"int64_t"> {
  let parser = "::rapt::attn::parseNumbers($_parser)";
  let printer = "::rapt::attn::printNumbers($_printer, $_self)";
}
def Attn_OptionalNumbers : OptionalArrayRefParameter<"int64_t"> {
  let parser = "::rapt::attn::parseNumbers($_parser)";
  let printer = "::rapt::attn::printNumbers($_printer, $_self)";
}

// A schedule within another is written out, though an op's own has an alias.
class Attn_Part<string type> : AttrOrTypeParameter<type, ""> {
  let printer = "$_self.print($_printer)";
}
class Attn_OptionalPart<string type> : OptionalParameter<type> {
  let printer = "$_self.print($_printer)";
}

class Attn_ScheduleOf<Dialect dialect, string name, string attrMnemonic, list<Trait> traits = [Attn_ScheduleInterface]> : AttrDef<dialect, name, traits> {
  let mnemonic = attrMnemonic;
  let assemblyFormat = "`<` struct(params) `>`";
}

def Attn_AttentionTilesAttr : Attn_ScheduleOf<Attn_Dialect, "AttentionTiles", "attention_tiles"> {
  let summary = "tiles of the decomposition of attention";
  let description = [{
    A tile has `queries` queries, and a KV block `keys` keys.

    Example: `#attn.attention_tiles<keys = 64, queries = 16>`
  }];
  let parameters = (ins Attn_Number:$keys, Attn_Number:$queries);
}

def Attn_AppendTilesAttr : Attn_ScheduleOf<Attn_Dialect, "AppendTiles", "append_tiles"> {
  let summary = "what a task writes that appends to a cache";
  let description = [{
    A task writes `channels` channels of `positions` positions of a block; without one of them, all. Without the attribute it writes a whole block.

    Example: `#attn.append_tiles<channels = 16, positions = 4>`
  }];
  let parameters = (ins Attn_OptionalNumber:$channels, Attn_OptionalNumber:$positions);
}

def Attn_LinalgTilesAttr : Attn_ScheduleOf<Attn_Dialect, "LinalgTiles", "linalg_tiles", [DeclareAttrInterfaceMethods<Attn_ScheduleInterface, ["getLinalgTiles"]>]> {
  let summary = "tiles of linalg ops";
  let description = [{
    Points of a tile along the last two parallel loops. It is the schedule of a module, or a part of it.

    Example: `#attn.linalg_tiles<columns = 256, rows = 16>`
  }];
  let parameters = (ins Attn_Number:$columns, Attn_Number:$rows);
}

#endif
