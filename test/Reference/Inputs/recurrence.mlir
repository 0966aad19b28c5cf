// Every cell on rows of all lengths, forwards and backwards, its weight in rows and in panels; states and concat.
func.func @rnn_tanh(%x: tensor<?x5xf32> {attn.name = "x"}, %w: tensor<5x5xf32> {attn.name = "w"}, %begin: tensor<?xi32> {attn.name = "begin"}, %h: tensor<?x5xf32> {attn.name = "h"}) -> (tensor<?x5xf32>, tensor<?x5xf32>) {
  %y, %last:1 = attn.recurrence rnn_tanh %x, %w rows(%begin) init(%h)
    : tensor<?x5xf32>, tensor<5x5xf32>, tensor<?xi32>, tensor<?x5xf32>
  return %y, %last#0 : tensor<?x5xf32>, tensor<?x5xf32>
}
func.func @rnn_tanh_reverse(%x: tensor<?x5xf32> {attn.name = "x"}, %w: tensor<5x5xf32> {attn.name = "w"}, %b: tensor<5xf32> {attn.name = "b"}, %begin: tensor<?xi32> {attn.name = "begin"}, %h: tensor<?x5xf32> {attn.name = "h"}) -> (tensor<?x5xf32>, tensor<?x5xf32>) {
  %y, %last:1 = attn.recurrence rnn_tanh %x, %w bias(%b : tensor<5xf32>) rows(%begin) init(%h) reverse
    : tensor<?x5xf32>, tensor<5x5xf32>, tensor<?xi32>, tensor<?x5xf32>
  return %y, %last#0 : tensor<?x5xf32>, tensor<?x5xf32>
}
func.func @rnn_relu(%x: tensor<?x5xf32> {attn.name = "x"}, %w: tensor<5x5xf32> {attn.name = "w"}, %begin: tensor<?xi32> {attn.name = "begin"}, %h: tensor<?x5xf32> {attn.name = "h"}) -> (tensor<?x5xf32>, tensor<?x5xf32>) {
  %y, %last:1 = attn.recurrence rnn_relu %x, %w rows(%begin) init(%h)
    : tensor<?x5xf32>, tensor<5x5xf32>, tensor<?xi32>, tensor<?x5xf32>
  return %y, %last#0 : tensor<?x5xf32>, tensor<?x5xf32>
}
func.func @rnn_relu_reverse(%x: tensor<?x5xf32> {attn.name = "x"}, %w: tensor<5x5xf32> {attn.name = "w"}, %b: tensor<5xf32> {attn.name = "b"}, %begin: tensor<?xi32> {attn.name = "begin"}, %h: tensor<?x5xf32> {attn.name = "h"}) -> (tensor<?x5xf32>, tensor<?x5xf32>) {
  %y, %last:1 = attn.recurrence rnn_relu %x, %w bias(%b : tensor<5xf32>) rows(%begin) init(%h) reverse
    : tensor<?x5xf32>, tensor<5x5xf32>, tensor<?xi32>, tensor<?x5xf32>
  return %y, %last#0 : tensor<?x5xf32>, tensor<?x5xf32>
}
func.func @gru(%x: tensor<?x15xf32> {attn.name = "x"}, %w: tensor<5x15xf32> {attn.name = "w"}, %b: tensor<15xf32> {attn.name = "b"}, %begin: tensor<?xi32> {attn.name = "begin"}, %h: tensor<?x5xf32> {attn.name = "h"}) -> (tensor<?x5xf32>, tensor<?x5xf32>) {
  %y, %last:1 = attn.recurrence gru %x, %w bias(%b : tensor<15xf32>) rows(%begin) init(%h)
    : tensor<?x15xf32>, tensor<5x15xf32>, tensor<?xi32>, tensor<?x5xf32>
  return %y, %last#0 : tensor<?x5xf32>, tensor<?x5xf32>
}
func.func @gru_reverse(%x: tensor<?x15xf32> {attn.name = "x"}, %w: tensor<5x15xf32> {attn.name = "w"}, %b: tensor<15xf32> {attn.name = "b"}, %begin: tensor<?xi32> {attn.name = "begin"}, %h: tensor<?x5xf32> {attn.name = "h"}) -> (tensor<?x5xf32>, tensor<?x5xf32>) {
  %y, %last:1 = attn.recurrence gru %x, %w bias(%b : tensor<15xf32>) rows(%begin) init(%h) reverse
    : tensor<?x15xf32>, tensor<5x15xf32>, tensor<?xi32>, tensor<?x5xf32>
  return %y, %last#0 : tensor<?x5xf32>, tensor<?x5xf32>
}
func.func @lstm(%x: tensor<?x20xf32> {attn.name = "x"}, %w: tensor<5x20xf32> {attn.name = "w"}, %begin: tensor<?xi32> {attn.name = "begin"}, %h: tensor<?x5xf32> {attn.name = "h"}, %c: tensor<?x5xf32> {attn.name = "c"}) -> (tensor<?x5xf32>, tensor<?x5xf32>, tensor<?x5xf32>) {
  %y, %last:2 = attn.recurrence lstm %x, %w rows(%begin) init(%h, %c)
    : tensor<?x20xf32>, tensor<5x20xf32>, tensor<?xi32>, tensor<?x5xf32>, tensor<?x5xf32>
  return %y, %last#0, %last#1 : tensor<?x5xf32>, tensor<?x5xf32>, tensor<?x5xf32>
}
func.func @lstm_reverse(%x: tensor<?x20xf32> {attn.name = "x"}, %w: tensor<5x20xf32> {attn.name = "w"}, %b: tensor<20xf32> {attn.name = "b"}, %begin: tensor<?xi32> {attn.name = "begin"}, %h: tensor<?x5xf32> {attn.name = "h"}, %c: tensor<?x5xf32> {attn.name = "c"}) -> (tensor<?x5xf32>, tensor<?x5xf32>, tensor<?x5xf32>) {
  %y, %last:2 = attn.recurrence lstm %x, %w bias(%b : tensor<20xf32>) rows(%begin) init(%h, %c) reverse
    : tensor<?x20xf32>, tensor<5x20xf32>, tensor<?xi32>, tensor<?x5xf32>, tensor<?x5xf32>
  return %y, %last#0, %last#1 : tensor<?x5xf32>, tensor<?x5xf32>, tensor<?x5xf32>
}
func.func @zeros(%x: tensor<?x20xf32> {attn.name = "x"}, %w: tensor<5x20xf32> {attn.name = "w"}, %begin: tensor<?xi32> {attn.name = "begin"}) -> (tensor<?x5xf32>, tensor<?x5xf32>, tensor<?x5xf32>) {
  %y, %last:2 = attn.recurrence lstm %x, %w rows(%begin) : tensor<?x20xf32>, tensor<5x20xf32>, tensor<?xi32>
  return %y, %last#0, %last#1 : tensor<?x5xf32>, tensor<?x5xf32>, tensor<?x5xf32>
}
func.func @panels(%x: tensor<?x96xf32> {attn.name = "x"}, %w: tensor<3x5x32xf32> {attn.name = "w"}, %begin: tensor<?xi32> {attn.name = "begin"}, %h: tensor<?x32xf32> {attn.name = "h"}) -> (tensor<?x32xf32>, tensor<?x32xf32>) {
  %y, %last = attn.recurrence gru %x, %w rows(%begin) init(%h) {layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x96xf32>, tensor<3x5x32xf32>, tensor<?xi32>, tensor<?x32xf32>
  return %y, %last : tensor<?x32xf32>, tensor<?x32xf32>
}
func.func @update(%s: tensor<?x4xf32> {attn.name = "s"}, %v: tensor<?x4xf32> {attn.name = "v"}, %rows: tensor<?xi32> {attn.name = "rows"}) -> (tensor<?x4xf32>, tensor<?x4xf32>) {
  %0 = attn.update_rows %s, %v, %rows : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?xi32>
  return %0, %s : tensor<?x4xf32>, tensor<?x4xf32>
}
func.func @update_layer(%s: tensor<?x3x4xf32> {attn.name = "s"}, %layer: index {attn.name = "layer"}, %v: tensor<?x4xf32> {attn.name = "v"}, %rows: tensor<?xi32> {attn.name = "rows"}) -> (tensor<?x3x4xf32>, tensor<?x4xf32>) {
  %0 = attn.update_rows %s[%layer], %v, %rows : tensor<?x3x4xf32>, tensor<?x4xf32>, tensor<?xi32>
  %1 = attn.select_rows %0[%layer], %rows : tensor<?x3x4xf32>, tensor<?xi32> -> tensor<?x4xf32>
  return %0, %1 : tensor<?x3x4xf32>, tensor<?x4xf32>
}
func.func @select_layer(%s: tensor<?x3x4xf32> {attn.name = "s"}, %layer: index {attn.name = "layer"}, %rows: tensor<?xi32> {attn.name = "rows"}) -> tensor<?x4xf32> {
  %0 = attn.select_rows %s[%layer], %rows : tensor<?x3x4xf32>, tensor<?xi32> -> tensor<?x4xf32>
  return %0 : tensor<?x4xf32>
}
func.func @concat(%a: tensor<?x3xf32> {attn.name = "a"}, %b: tensor<?x1xf32> {attn.name = "b"}) -> tensor<?x7xf32> {
  %0 = attn.concat %a, %b, %a : tensor<?x3xf32>, tensor<?x1xf32>, tensor<?x3xf32>
  return %0 : tensor<?x7xf32>
}
func.func @concat_columns(%a: tensor<?x32xf32> {attn.name = "a"}, %b: tensor<?x64xf32> {attn.name = "b"}) -> tensor<?x64xf32> {
  %0 = attn.concat %a, %b columns [7, 33] width 64 : tensor<?x32xf32>, tensor<?x64xf32>
  return %0 : tensor<?x64xf32>
}
