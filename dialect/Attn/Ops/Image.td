//===- Image.td - Images as rows of tokens ----------------------------*- tablegen -*-===//
#ifndef RAPT_ATTN_IMAGE_TD
#define RAPT_ATTN_IMAGE_TD

include "dialect/Attn/AttnDialect.td"
include "dialect/Attn/AttnInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Attn_PatchesOp : Attn_TensorOp<"patches", [Attn_HasElementTypes<["movesNumbers"]>, Attn_HasChannels<["isPadded"]>, Pure, Attn_MovesAll]> {
  let summary = "square patches of images as rows";
  let description = [{
    Images [images, channels, height, width] are cut into patches of `size` x `size` pixels, which become rows: image by image, from left to
    right and from top to bottom. With h = height / size and w = width / size, rounded down (pixels beyond the last whole patch are left out):

        result[(b h + y) w + x, (c size + i) size + j] = pixels[b, c, y size + i, x size + j]

    The matmul with a kernel [out, channels, size, size], read as the matrix [out, channels size size], is the convolution of that stride.

    ```mlir
    func.func @cut(%pixels: tensor<?x3x?x?xf32>) -> tensor<?x768xf32> {
      %x = attn.patches %pixels size 16 : tensor<?x3x?x?xf32> -> tensor<?x768xf32>
      return %x : tensor<?x768xf32>
    }
    ```
  }];
  let arguments = (ins Attn_RankedTensor:$pixels, I64Attr:$size);
  let results = (outs Attn_RankedTensor:$result);
  let assemblyFormat = "$pixels `size` $size attr-dict `:` type($pixels) `->` type($result)";
  let hasVerifier = 1;
}

def Attn_ResizePositionsOp : Attn_TensorOp<"resize_positions", [Attn_HasElementTypes<["getElementUse"]>, Attn_HasChannels<["getWeightUse"]>, Pure, Attn_MovesAll]> {
  let summary = "learned positions of a grid of patches, for a grid of another size";
  let description = [{
    The table's last `grid[0]` x `grid[1]` rows belong to the patches of a grid, those before to other tokens. The result has these as they
    are, and then positions for a grid of `height` x `width` patches by bicubic interpolation (a = -0.75; the outermost pixels' outer borders
    coincide, no antialiasing): patch (y, x) lies at v = (y + 1/2) grid[0] / height - 1/2 and u alike,

        result[k + y width + x, :] = sum over m, n in -1..2 of f(v - floor(v) - m) f(u - floor(u) - n) table[k + clamp(floor(v) + m) grid[1] + clamp(floor(u) + n), :]
        f(t) = (a + 2) |t|^3 - (a + 3) t^2 + 1 up to |t| = 1, a |t|^3 - 5 a t^2 + 8 a |t| - 4 a up to |t| = 2

    with k the other tokens and clamp into the grid. The grid's own size gives the table.

    ```mlir
    func.func @resize(%table: tensor<197x768xf32>, %height: index, %width: index) -> tensor<?x768xf32> {
      %p = attn.resize_positions %table, %height, %width grid [14, 14] : tensor<197x768xf32> -> tensor<?x768xf32>
      return %p : tensor<?x768xf32>
    }
    ```
  }];
  let arguments = (ins Attn_RankedTensor:$table, Index:$height, Index:$width, DenseI64ArrayAttr:$grid);
  let results = (outs Attn_RankedTensor:$result);
  let assemblyFormat = "$table `,` $height `,` $width `grid` $grid attr-dict `:` type($table) `->` type($result)";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Tokens before those of the grid.
    int64_t getOthers() { return getTable().getType().getDimSize(0) - getGrid()[0] * getGrid()[1]; }
  }];
}

def Attn_ImageTokensOp : Attn_TensorOp<"image_tokens", [Attn_HasElementTypes<["getElementUse"]>, Attn_HasChannels<["getWeightUse"]>, Pure, Attn_MovesAll]> {
  let summary = "the tokens of images: learned ones, then patches, all with their positions";
  let description = [{
    Every image has as many tokens as there are `positions`: first the k `learned` ones (a class token), then its patches, of which `patches`
    has those of all images one after another. With n = positions - k patches an image:

        result[b (k + n) + i, :] = positions[i, :] + (i < k ? learned[i, :] : patches[b n + i - k, :])

    ```mlir
    func.func @tokens(%x: tensor<?x768xf32>, %class: tensor<1x768xf32>, %p: tensor<?x768xf32>) -> tensor<?x768xf32> {
      %t = attn.image_tokens %x, %class, %p : tensor<?x768xf32>, tensor<1x768xf32>, tensor<?x768xf32> -> tensor<?x768xf32>
      return %t : tensor<?x768xf32>
    }
    ```
  }];
  let arguments = (ins Attn_RankedTensor:$patches, Attn_RankedTensor:$learned, Attn_RankedTensor:$positions);
  let results = (outs Attn_RankedTensor:$result);
  let assemblyFormat = [{
    $patches `,` $learned `,` $positions attr-dict `:` type($patches) `,` type($learned) `,` type($positions) `->` type($result)
  }];
  let hasVerifier = 1;
}

def Attn_EqualRowsOp : Attn_TensorOp<"equal_rows", [Pure, Attn_MovesAll]> {
  let summary = "offsets of packed rows that are all of one length";
  let description = [{
    `result[r] = r * length` for r from 0 to `rows`: the `row_begin` of that many rows.

    ```mlir
    func.func @offsets(%images: index, %tokens: index) -> tensor<?xi32> {
      %row_begin = attn.equal_rows %images, %tokens : tensor<?xi32>
      return %row_begin : tensor<?xi32>
    }
    ```
  }];
  let arguments = (ins Index:$rows, Index:$length);
  let results = (outs RankedTensorOf<[I32]>:$result);
  let assemblyFormat = "$rows `,` $length attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Attn_UnpackRowsOp : Attn_TensorOp<"unpack_rows", [Attn_HasElementTypes<["movesNumbers"]>, Attn_KeepsElementType, Pure, Attn_MovesAll, AllElementTypesMatch<["input", "result"]>]> {
  let summary = "packed rows that are all of one length, as a dim of their own";
  let description = [{
    `result[r, t, ...] = input[r length + t, ...]`, where the result is [rows, length, columns] or has other dims before the columns.

    ```mlir
    func.func @unpack(%x: tensor<?x768xf32>, %length: index) -> tensor<?x?x768xf32> {
      %y = attn.unpack_rows %x, %length : tensor<?x768xf32> -> tensor<?x?x768xf32>
      return %y : tensor<?x?x768xf32>
    }
    ```
  }];
  let arguments = (ins Attn_RankedTensor:$input, Index:$length);
  let results = (outs Attn_RankedTensor:$result);
  let assemblyFormat = "$input `,` $length attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
}

#endif
