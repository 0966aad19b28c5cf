// RUN: rapt-opt %s --attn-materialize-layouts | FileCheck %s

// Each sum is looked at once, however often it is used: the walk is not over paths, of which there are 2^40.
// CHECK: @w : tensor<2x32x32xf32> {{.*}}column_group = 33
attn.parameter @w : tensor<32x33xf32> from [#attn.source<"w">]
func.func @doubled(%x: tensor<?x32xf32>) -> tensor<?x1x33xf32> {
  %w = attn.parameter_slice @w : tensor<32x33xf32>
  %0 = attn.linear %x, %w : tensor<?x32xf32>, tensor<32x33xf32> -> tensor<?x33xf32>
  %1 = attn.add %0, %0 : tensor<?x33xf32>
  %2 = attn.add %1, %1 : tensor<?x33xf32>
  %3 = attn.add %2, %2 : tensor<?x33xf32>
  %4 = attn.add %3, %3 : tensor<?x33xf32>
  %5 = attn.add %4, %4 : tensor<?x33xf32>
  %6 = attn.add %5, %5 : tensor<?x33xf32>
  %7 = attn.add %6, %6 : tensor<?x33xf32>
  %8 = attn.add %7, %7 : tensor<?x33xf32>
  %9 = attn.add %8, %8 : tensor<?x33xf32>
  %10 = attn.add %9, %9 : tensor<?x33xf32>
  %11 = attn.add %10, %10 : tensor<?x33xf32>
  %12 = attn.add %11, %11 : tensor<?x33xf32>
  %13 = attn.add %12, %12 : tensor<?x33xf32>
  %14 = attn.add %13, %13 : tensor<?x33xf32>
  %15 = attn.add %14, %14 : tensor<?x33xf32>
  %16 = attn.add %15, %15 : tensor<?x33xf32>
  %17 = attn.add %16, %16 : tensor<?x33xf32>
  %18 = attn.add %17, %17 : tensor<?x33xf32>
  %19 = attn.add %18, %18 : tensor<?x33xf32>
  %20 = attn.add %19, %19 : tensor<?x33xf32>
  %21 = attn.add %20, %20 : tensor<?x33xf32>
  %22 = attn.add %21, %21 : tensor<?x33xf32>
  %23 = attn.add %22, %22 : tensor<?x33xf32>
  %24 = attn.add %23, %23 : tensor<?x33xf32>
  %25 = attn.add %24, %24 : tensor<?x33xf32>
  %26 = attn.add %25, %25 : tensor<?x33xf32>
  %27 = attn.add %26, %26 : tensor<?x33xf32>
  %28 = attn.add %27, %27 : tensor<?x33xf32>
  %29 = attn.add %28, %28 : tensor<?x33xf32>
  %30 = attn.add %29, %29 : tensor<?x33xf32>
  %31 = attn.add %30, %30 : tensor<?x33xf32>
  %32 = attn.add %31, %31 : tensor<?x33xf32>
  %33 = attn.add %32, %32 : tensor<?x33xf32>
  %34 = attn.add %33, %33 : tensor<?x33xf32>
  %35 = attn.add %34, %34 : tensor<?x33xf32>
  %36 = attn.add %35, %35 : tensor<?x33xf32>
  %37 = attn.add %36, %36 : tensor<?x33xf32>
  %38 = attn.add %37, %37 : tensor<?x33xf32>
  %39 = attn.add %38, %38 : tensor<?x33xf32>
  %40 = attn.add %39, %39 : tensor<?x33xf32>
  // CHECK: attn.split_heads %{{.*}} : tensor<?x64xf32> -> tensor<?x1x64xf32>
  %heads = attn.split_heads %40 : tensor<?x33xf32> -> tensor<?x1x33xf32>
  return %heads : tensor<?x1x33xf32>
}
