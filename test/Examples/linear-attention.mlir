// Six published layers as linear attention: what each calls its tensors is what the op takes as query, key, value, decay and beta.
// Sequences are packed, and each has a state from which it goes on.
attn.dim @tokens min 0 max 65536
attn.dim @rows min 0 max 1024

// RetNet (Sun et al. 2023): S' = gamma S + k^T v, y = q S' with one gamma for each head; decay is log(gamma).
func.func @retnet(%q: tensor<?x4x64xf32> {attn.name = "q", attn.dims = ["tokens"]}, %k: tensor<?x4x64xf32> {attn.name = "k", attn.dims = ["tokens"]}, %v: tensor<?x4x128xf32> {attn.name = "v", attn.dims = ["tokens"]}, %gamma: tensor<?x4xf32> {attn.name = "gamma", attn.dims = ["tokens"]}, %begin: tensor<?xi32> {attn.name = "begin", attn.dims = ["rows+1"]}, %state: tensor<?x4x64x128xf32> {attn.name = "state", attn.dims = ["rows"]}) -> (tensor<?x4x128xf32> {attn.name = "y", attn.dims = ["tokens"]}, tensor<?x4x64x128xf32> {attn.name = "state", attn.dims = ["rows"]}) attributes {attn.entry} {
  %y, %new = attn.linear_attention gated %q, %k, %v decay(%gamma : tensor<?x4xf32>) rows(%begin) state(%state : tensor<?x4x64x128xf32>) scale 0.125 : tensor<?x4x64xf32>, tensor<?x4x64xf32>, tensor<?x4x128xf32>, tensor<?xi32>
  return %y, %new : tensor<?x4x128xf32>, tensor<?x4x64x128xf32>
}

// Gated linear attention (Yang et al. 2024): S' = diag(alpha) S + k^T v with a gate for each key channel; decay is log(alpha).
func.func @gla(%q: tensor<?x4x64xf32> {attn.name = "q", attn.dims = ["tokens"]}, %k: tensor<?x4x64xf32> {attn.name = "k", attn.dims = ["tokens"]}, %v: tensor<?x4x128xf32> {attn.name = "v", attn.dims = ["tokens"]}, %alpha: tensor<?x4x64xf32> {attn.name = "alpha", attn.dims = ["tokens"]}, %begin: tensor<?xi32> {attn.name = "begin", attn.dims = ["rows+1"]}, %state: tensor<?x4x64x128xf32> {attn.name = "state", attn.dims = ["rows"]}) -> (tensor<?x4x128xf32> {attn.name = "y", attn.dims = ["tokens"]}, tensor<?x4x64x128xf32> {attn.name = "state", attn.dims = ["rows"]}) attributes {attn.entry} {
  %y, %new = attn.linear_attention gated %q, %k, %v decay(%alpha : tensor<?x4x64xf32>) rows(%begin) state(%state : tensor<?x4x64x128xf32>) scale 0.125 : tensor<?x4x64xf32>, tensor<?x4x64xf32>, tensor<?x4x128xf32>, tensor<?xi32>
  return %y, %new : tensor<?x4x128xf32>, tensor<?x4x64x128xf32>
}

// State-space duality of Mamba-2 (Dao, Gu 2024): h' = e^(A dt) h + dt B x, y = C h' + D x. B and C are shared by all 8 heads of a group; the caller
// gives A dt and dt x, and adds D x.
func.func @mamba2(%c: tensor<?x1x128xf32> {attn.name = "c", attn.dims = ["tokens"]}, %b: tensor<?x1x128xf32> {attn.name = "b", attn.dims = ["tokens"]}, %dtx: tensor<?x8x64xf32> {attn.name = "dtx", attn.dims = ["tokens"]}, %adt: tensor<?x8xf32> {attn.name = "adt", attn.dims = ["tokens"]}, %begin: tensor<?xi32> {attn.name = "begin", attn.dims = ["rows+1"]}, %state: tensor<?x8x128x64xf32> {attn.name = "state", attn.dims = ["rows"]}) -> (tensor<?x8x64xf32> {attn.name = "y", attn.dims = ["tokens"]}, tensor<?x8x128x64xf32> {attn.name = "state", attn.dims = ["rows"]}) attributes {attn.entry} {
  %y, %new = attn.linear_attention gated %c, %b, %dtx decay(%adt : tensor<?x8xf32>) rows(%begin) state(%state : tensor<?x8x128x64xf32>) : tensor<?x1x128xf32>, tensor<?x1x128xf32>, tensor<?x8x64xf32>, tensor<?xi32>
  return %y, %new : tensor<?x8x64xf32>, tensor<?x8x128x64xf32>
}

// DeltaNet (Schlag et al. 2021): S' = S - beta k^T (k S - v). Keys have length 1.
func.func @deltanet(%q: tensor<?x4x64xf32> {attn.name = "q", attn.dims = ["tokens"]}, %k: tensor<?x4x64xf32> {attn.name = "k", attn.dims = ["tokens"]}, %v: tensor<?x4x64xf32> {attn.name = "v", attn.dims = ["tokens"]}, %beta: tensor<?x4xf32> {attn.name = "beta", attn.dims = ["tokens"]}, %begin: tensor<?xi32> {attn.name = "begin", attn.dims = ["rows+1"]}, %state: tensor<?x4x64x64xf32> {attn.name = "state", attn.dims = ["rows"]}) -> (tensor<?x4x64xf32> {attn.name = "y", attn.dims = ["tokens"]}, tensor<?x4x64x64xf32> {attn.name = "state", attn.dims = ["rows"]}) attributes {attn.entry} {
  %y, %new = attn.linear_attention delta %q, %k, %v beta(%beta : tensor<?x4xf32>) rows(%begin) state(%state : tensor<?x4x64x64xf32>) scale 0.125 : tensor<?x4x64xf32>, tensor<?x4x64xf32>, tensor<?x4x64xf32>, tensor<?xi32>
  return %y, %new : tensor<?x4x64xf32>, tensor<?x4x64x64xf32>
}

// Gated DeltaNet (Yang et al. 2025): S' = alpha S (1 - beta k k^T) + beta v k^T, here with S transposed. Two heads of values share a head of keys.
func.func @gated_deltanet(%q: tensor<?x2x128xf32> {attn.name = "q", attn.dims = ["tokens"]}, %k: tensor<?x2x128xf32> {attn.name = "k", attn.dims = ["tokens"]}, %v: tensor<?x4x128xf32> {attn.name = "v", attn.dims = ["tokens"]}, %alpha: tensor<?x4xf32> {attn.name = "alpha", attn.dims = ["tokens"]}, %beta: tensor<?x4xf32> {attn.name = "beta", attn.dims = ["tokens"]}, %begin: tensor<?xi32> {attn.name = "begin", attn.dims = ["rows+1"]}, %state: tensor<?x4x128x128xf32> {attn.name = "state", attn.dims = ["rows"]}) -> (tensor<?x4x128xf32> {attn.name = "y", attn.dims = ["tokens"]}, tensor<?x4x128x128xf32> {attn.name = "state", attn.dims = ["rows"]}) attributes {attn.entry} {
  %y, %new = attn.linear_attention gated_delta %q, %k, %v decay(%alpha : tensor<?x4xf32>) beta(%beta : tensor<?x4xf32>) rows(%begin) state(%state : tensor<?x4x128x128xf32>) scale 0.08838834764831845 : tensor<?x2x128xf32>, tensor<?x2x128xf32>, tensor<?x4x128xf32>, tensor<?xi32>
  return %y, %new : tensor<?x4x128xf32>, tensor<?x4x128x128xf32>
}

// Kimi delta attention (Kimi Team 2025): the same with a decay for each key channel: S' = (1 - beta k k^T) diag(alpha) S + beta k v^T.
func.func @kda(%q: tensor<?x2x64xf32> {attn.name = "q", attn.dims = ["tokens"]}, %k: tensor<?x2x64xf32> {attn.name = "k", attn.dims = ["tokens"]}, %v: tensor<?x2x64xf32> {attn.name = "v", attn.dims = ["tokens"]}, %alpha: tensor<?x2x64xf32> {attn.name = "alpha", attn.dims = ["tokens"]}, %beta: tensor<?x2xf32> {attn.name = "beta", attn.dims = ["tokens"]}, %begin: tensor<?xi32> {attn.name = "begin", attn.dims = ["rows+1"]}, %state: tensor<?x2x64x64xf32> {attn.name = "state", attn.dims = ["rows"]}) -> (tensor<?x2x64xf32> {attn.name = "y", attn.dims = ["tokens"]}, tensor<?x2x64x64xf32> {attn.name = "state", attn.dims = ["rows"]}) attributes {attn.entry} {
  %y, %new = attn.linear_attention gated_delta %q, %k, %v decay(%alpha : tensor<?x2x64xf32>) beta(%beta : tensor<?x2xf32>) rows(%begin) state(%state : tensor<?x2x64x64xf32>) scale 0.125 : tensor<?x2x64xf32>, tensor<?x2x64xf32>, tensor<?x2x64xf32>, tensor<?xi32>
  return %y, %new : tensor<?x2x64xf32>, tensor<?x2x64x64xf32>
}
