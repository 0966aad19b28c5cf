// RUN: rapt-opt %s --attn-materialize-layouts | FileCheck %s

// Each sum is looked at once, however often it is used: the walk is not over paths, of which there are 2^40.
// CHECK: @w : tensor<2x32x32xf32> {{.*}}column_group = 33
attn.parameter @w : tensor<32x33xf32> from [#attn.source<"w">]
func.func @doubled(%x: tensor<?x32xf32>) -> tensor<?x1x33xf32> {
  %w = attn.parameter_slice @w : tensor<32x33xf32>
  %0 = attn.linear %x, %w : tensor<?x32xf32>, tensor<32x33xf32> -> tensor<?x33xf32>
  %1 = arith.addf %0, %0 : tensor<?x33xf32>
  %2 = arith.addf %1, %1 : tensor<?x33xf32>
  %3 = arith.addf %2, %2 : tensor<?x33xf32>
  %4 = arith.addf %3, %3 : tensor<?x33xf32>
  %5 = arith.addf %4, %4 : tensor<?x33xf32>
  %6 = arith.addf %5, %5 : tensor<?x33xf32>
  %7 = arith.addf %6, %6 : tensor<?x33xf32>
  %8 = arith.addf %7, %7 : tensor<?x33xf32>
  %9 = arith.addf %8, %8 : tensor<?x33xf32>
  %10 = arith.addf %9, %9 : tensor<?x33xf32>
  %11 = arith.addf %10, %10 : tensor<?x33xf32>
  %12 = arith.addf %11, %11 : tensor<?x33xf32>
  %13 = arith.addf %12, %12 : tensor<?x33xf32>
  %14 = arith.addf %13, %13 : tensor<?x33xf32>
  %15 = arith.addf %14, %14 : tensor<?x33xf32>
  %16 = arith.addf %15, %15 : tensor<?x33xf32>
  %17 = arith.addf %16, %16 : tensor<?x33xf32>
  %18 = arith.addf %17, %17 : tensor<?x33xf32>
  %19 = arith.addf %18, %18 : tensor<?x33xf32>
  %20 = arith.addf %19, %19 : tensor<?x33xf32>
  %21 = arith.addf %20, %20 : tensor<?x33xf32>
  %22 = arith.addf %21, %21 : tensor<?x33xf32>
  %23 = arith.addf %22, %22 : tensor<?x33xf32>
  %24 = arith.addf %23, %23 : tensor<?x33xf32>
  %25 = arith.addf %24, %24 : tensor<?x33xf32>
  %26 = arith.addf %25, %25 : tensor<?x33xf32>
  %27 = arith.addf %26, %26 : tensor<?x33xf32>
  %28 = arith.addf %27, %27 : tensor<?x33xf32>
  %29 = arith.addf %28, %28 : tensor<?x33xf32>
  %30 = arith.addf %29, %29 : tensor<?x33xf32>
  %31 = arith.addf %30, %30 : tensor<?x33xf32>
  %32 = arith.addf %31, %31 : tensor<?x33xf32>
  %33 = arith.addf %32, %32 : tensor<?x33xf32>
  %34 = arith.addf %33, %33 : tensor<?x33xf32>
  %35 = arith.addf %34, %34 : tensor<?x33xf32>
  %36 = arith.addf %35, %35 : tensor<?x33xf32>
  %37 = arith.addf %36, %36 : tensor<?x33xf32>
  %38 = arith.addf %37, %37 : tensor<?x33xf32>
  %39 = arith.addf %38, %38 : tensor<?x33xf32>
  %40 = arith.addf %39, %39 : tensor<?x33xf32>
  // CHECK: attn.split_heads %{{.*}} : tensor<?x64xf32> -> tensor<?x1x64xf32>
  %heads = attn.split_heads %40 : tensor<?x33xf32> -> tensor<?x1x33xf32>
  return %heads : tensor<?x1x33xf32>
}
