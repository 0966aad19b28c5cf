#map = affine_map<(d0, d1, d2) -> (d0, d2)>
#map1 = affine_map<(d0, d1, d2) -> (d1, d2)>
#map2 = affine_map<(d0, d1, d2) -> (d0, d1)>
module {
  func.func @not_packed(%arg0: tensor<?x64xf32>, %arg1: tensor<64x64xf32>) -> tensor<?x64xf32> {
    %c0 = arith.constant 0 : index
    %dim = tensor.dim %arg0, %c0 : tensor<?x64xf32>
    %0 = tensor.empty(%dim) : tensor<?x64xf32>
    %cst = arith.constant 0.000000e+00 : f32
    %1 = linalg.fill {attn_cpu.loops} ins(%cst : f32) outs(%0 : tensor<?x64xf32>) -> tensor<?x64xf32>
    %2 = linalg.generic {indexing_maps = [#map, #map1, #map2], iterator_types = ["parallel", "parallel", "reduction"]} ins(%arg0, %arg1 : tensor<?x64xf32>, tensor<64x64xf32>) outs(%1 : tensor<?x64xf32>) attrs =  {attn_cpu.loops} {
    ^bb0(%in: f32, %in_0: f32, %out: f32):
      %3 = arith.mulf %in, %in_0 : f32
      %4 = arith.addf %out, %3 : f32
      linalg.yield %4 : f32
    } -> tensor<?x64xf32>
    return %2 : tensor<?x64xf32>
  }
}

// -----
#map = affine_map<(d0, d1) -> (d0, d1)>
#map1 = affine_map<(d0, d1) -> (d0)>
#map2 = affine_map<(d0, d1) -> (d1)>
module {
  func.func @not_padded(%arg0: tensor<?x50xf32>, %arg1: tensor<50xf32>) -> tensor<?x50xf32> {
    %c0 = arith.constant 0 : index
    %dim = tensor.dim %arg0, %c0 : tensor<?x50xf32>
    %cst = arith.constant 5.000000e+01 : f32
    %c0_0 = arith.constant 0 : index
    %dim_1 = tensor.dim %arg0, %c0_0 : tensor<?x50xf32>
    %0 = tensor.empty(%dim_1) : tensor<?xf32>
    %cst_2 = arith.constant 0.000000e+00 : f32
    %1 = linalg.fill {attn_cpu.loops} ins(%cst_2 : f32) outs(%0 : tensor<?xf32>) -> tensor<?xf32>
    %2 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "reduction"]} ins(%arg0 : tensor<?x50xf32>) outs(%1 : tensor<?xf32>) attrs =  {attn_cpu.loops} {
    ^bb0(%in: f32, %out: f32):
      %5 = arith.mulf %in, %in : f32
      %6 = arith.addf %out, %5 : f32
      linalg.yield %6 : f32
    } -> tensor<?xf32>
    %3 = tensor.empty(%dim) : tensor<?x50xf32>
    %cst_3 = arith.constant 9.99999997E-7 : f32
    %4 = linalg.generic {indexing_maps = [#map, #map1, #map2, #map], iterator_types = ["parallel", "parallel"]} ins(%arg0, %2, %arg1 : tensor<?x50xf32>, tensor<?xf32>, tensor<50xf32>) outs(%3 : tensor<?x50xf32>) attrs =  {attn_cpu.loops} {
    ^bb0(%in: f32, %in_4: f32, %in_5: f32, %out: f32):
      %5 = arith.divf %in_4, %cst : f32
      %6 = arith.addf %5, %cst_3 : f32
      %7 = math.sqrt %6 : f32
      %8 = arith.divf %in, %7 : f32
      %9 = arith.mulf %8, %in_5 : f32
      linalg.yield %9 : f32
    } -> tensor<?x50xf32>
    return %4 : tensor<?x50xf32>
  }
}

// -----
#map = affine_map<(d0, d1) -> (d0, d1)>
#map1 = affine_map<(d0, d1) -> (0, d0)>
#map2 = affine_map<(d0, d1) -> (d1)>
module {
  func.func @recurrence(%arg0: tensor<?x50xf32>, %arg1: tensor<50x50xf32>, %arg2: tensor<?xi32>, %arg3: tensor<?x50xf32>) -> tensor<?x50xf32> {
    %c0 = arith.constant 0 : index
    %dim = tensor.dim %arg2, %c0 : tensor<?xi32>
    %c1 = arith.constant 1 : index
    %0 = arith.subi %dim, %c1 : index
    %c0_0 = arith.constant 0 : index
    %dim_1 = tensor.dim %arg0, %c0_0 : tensor<?x50xf32>
    %1 = tensor.empty(%dim_1) : tensor<?x50xf32>
    %cst = arith.constant 0.000000e+00 : f32
    %2 = linalg.fill {attn_cpu.loops} ins(%cst : f32) outs(%1 : tensor<?x50xf32>) -> tensor<?x50xf32>
    %3 = scf.forall (%arg4) in (%0) shared_outs(%arg5 = %2) -> (tensor<?x50xf32>) {
      %extracted = tensor.extract %arg2[%arg4] : tensor<?xi32>
      %4 = arith.index_cast %extracted : i32 to index
      %c1_2 = arith.constant 1 : index
      %5 = arith.addi %arg4, %c1_2 : index
      %extracted_3 = tensor.extract %arg2[%5] : tensor<?xi32>
      %6 = arith.index_cast %extracted_3 : i32 to index
      %7 = arith.subi %6, %4 : index
      %8 = tensor.empty() : tensor<1x50xf32>
      %extracted_slice = tensor.extract_slice %arg3[%arg4, 0] [1, 50] [1, 1] : tensor<?x50xf32> to tensor<1x50xf32>
      %9 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%extracted_slice : tensor<1x50xf32>) outs(%8 : tensor<1x50xf32>) attrs =  {attn_cpu.loops} {
      ^bb0(%in: f32, %out: f32):
        linalg.yield %in : f32
      } -> tensor<1x50xf32>
      %extracted_slice_4 = tensor.extract_slice %arg5[%4, 0] [%7, 50] [1, 1] : tensor<?x50xf32> to tensor<?x50xf32>
      %c0_5 = arith.constant 0 : index
      %c1_6 = arith.constant 1 : index
      %10:2 = scf.for %arg6 = %c0_5 to %7 step %c1_6 iter_args(%arg7 = %9, %arg8 = %extracted_slice_4) -> (tensor<1x50xf32>, tensor<?x50xf32>) {
        %11 = arith.addi %4, %arg6 : index
        %12 = tensor.empty() : tensor<50xf32>
        %cst_7 = arith.constant 0.000000e+00 : f32
        %13 = linalg.fill {attn_cpu.loops} ins(%cst_7 : f32) outs(%12 : tensor<50xf32>) -> tensor<50xf32>
        %14 = linalg.generic {indexing_maps = [#map1, #map, #map2], iterator_types = ["reduction", "parallel"]} ins(%arg7, %arg1 : tensor<1x50xf32>, tensor<50x50xf32>) outs(%13 : tensor<50xf32>) attrs =  {attn_cpu.loops} {
        ^bb0(%in: f32, %in_8: f32, %out: f32):
          %16 = arith.mulf %in, %in_8 : f32
          %17 = arith.addf %out, %16 : f32
          linalg.yield %17 : f32
        } -> tensor<50xf32>
        %15 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel"]} outs(%arg7 : tensor<1x50xf32>) attrs =  {attn_cpu.loops} {
        ^bb0(%out: f32):
          %16 = linalg.index 1 : index
          %c0_8 = arith.constant 0 : index
          %17 = arith.addi %16, %c0_8 : index
          %extracted_9 = tensor.extract %arg0[%11, %17] : tensor<?x50xf32>
          %18 = linalg.index 1 : index
          %c0_10 = arith.constant 0 : index
          %19 = arith.addi %18, %c0_10 : index
          %extracted_11 = tensor.extract %14[%19] : tensor<50xf32>
          %20 = arith.addf %extracted_9, %extracted_11 : f32
          %21 = math.tanh %20 : f32
          linalg.yield %21 : f32
        } -> tensor<1x50xf32>
        %inserted_slice = tensor.insert_slice %15 into %arg8[%arg6, 0] [1, 50] [1, 1] : tensor<1x50xf32> into tensor<?x50xf32>
        scf.yield %15, %inserted_slice : tensor<1x50xf32>, tensor<?x50xf32>
      }
      scf.forall.in_parallel {
        tensor.parallel_insert_slice %10#1 into %arg5[%4, 0] [%7, 50] [1, 1] : tensor<?x50xf32> into tensor<?x50xf32>
      }
    }
    return %3 : tensor<?x50xf32>
  }
}

// -----
module {
  func.func @concat(%arg0: tensor<?x50xf32>) -> tensor<?x100xf32> {
    %c0 = arith.constant 0 : index
    %dim = tensor.dim %arg0, %c0 : tensor<?x50xf32>
    %0 = tensor.empty(%dim) : tensor<?x100xf32>
    %cst = arith.constant 0.000000e+00 : f32
    %1 = linalg.fill {attn_cpu.loops} ins(%cst : f32) outs(%0 : tensor<?x100xf32>) -> tensor<?x100xf32>
    %extracted_slice = tensor.extract_slice %arg0[0, 0] [%dim, 50] [1, 1] : tensor<?x50xf32> to tensor<?x50xf32>
    %inserted_slice = tensor.insert_slice %extracted_slice into %1[0, 0] [%dim, 50] [1, 1] : tensor<?x50xf32> into tensor<?x100xf32>
    %extracted_slice_0 = tensor.extract_slice %arg0[0, 0] [%dim, 50] [1, 1] : tensor<?x50xf32> to tensor<?x50xf32>
    %inserted_slice_1 = tensor.insert_slice %extracted_slice_0 into %inserted_slice[0, 50] [%dim, 50] [1, 1] : tensor<?x50xf32> into tensor<?x100xf32>
    return %inserted_slice_1 : tensor<?x100xf32>
  }
}

// -----
#map = affine_map<()[s0] -> (s0 - 1)>
#map1 = affine_map<()[s0] -> (s0 ceildiv 16)>
#map2 = affine_map<(d0) -> (16, d0)>
#map3 = affine_map<(d0) -> (64, d0)>
#map4 = affine_map<(d0, d1) -> (d0, d1)>
#map5 = affine_map<()[s0, s1] -> (s1 + (s0 floordiv 32) * 64)>
#map6 = affine_map<()[s0] -> (s0 mod 32)>
#map7 = affine_map<()[s0, s1] -> (s0 + (s1 floordiv 32) * 64)>
#map8 = affine_map<(d0, d1) -> (d1, d0)>
#map9 = affine_map<(d0, d1, d2) -> (d0, 0, d1)>
#map10 = affine_map<(d0, d1, d2) -> (d1, d2)>
#map11 = affine_map<(d0, d1, d2) -> (d0, d2)>
#map12 = affine_map<(d0, d1) -> (d0)>
#map13 = affine_map<(d0) -> (d0)>
#map14 = affine_map<(d0, d1, d2) -> (d0, d1)>
#map15 = affine_map<(d0, d1) -> (d0, 0, d1)>
module {
  func.func @not_pairs(%arg0: tensor<?x2x4x2x128x32xf32>, %arg1: index, %arg2: tensor<?x?xi32>, %arg3: tensor<?x4x64xf32>, %arg4: tensor<?xi32>, %arg5: f32) -> tensor<?x4x64xf32> {
    %c0 = arith.constant 0 : index
    %dim = tensor.dim %arg3, %c0 : tensor<?x4x64xf32>
    %c0_0 = arith.constant 0 : index
    %dim_1 = tensor.dim %arg3, %c0_0 : tensor<?x4x64xf32>
    %0 = tensor.empty(%dim_1) : tensor<?x4x64xf32>
    %cst = arith.constant 0.000000e+00 : f32
    %1 = linalg.fill {attn_cpu.loops} ins(%cst : f32) outs(%0 : tensor<?x4x64xf32>) -> tensor<?x4x64xf32>
    %c0_2 = arith.constant 0 : index
    %dim_3 = tensor.dim %arg4, %c0_2 : tensor<?xi32>
    %2 = affine.apply #map()[%dim_3]
    %3 = affine.apply #map1()[%dim]
    %4 = scf.forall (%arg6, %arg7, %arg8, %arg9) in (%2, 4, 1, %3) shared_outs(%arg10 = %1) -> (tensor<?x4x64xf32>) {
      %c0_4 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c1_5 = arith.constant 1 : index
      %5 = arith.addi %arg6, %c1_5 : index
      %6 = arith.muli %arg7, %c1 : index
      %7 = arith.addi %6, %arg8 : index
      %c0_6 = arith.constant 0 : index
      %dim_7 = tensor.dim %arg3, %c0_6 : tensor<?x4x64xf32>
      %extracted = tensor.extract %arg4[%arg6] : tensor<?xi32>
      %8 = arith.index_cast %extracted : i32 to index
      %extracted_8 = tensor.extract %arg4[%5] : tensor<?xi32>
      %9 = arith.index_cast %extracted_8 : i32 to index
      %10 = arith.subi %9, %8 : index
      %c16 = arith.constant 16 : index
      %11 = arith.muli %arg9, %c16 : index
      %12 = arith.minsi %11, %10 : index
      %13 = arith.addi %8, %12 : index
      %14 = arith.subi %10, %12 : index
      %15 = affine.min #map2(%14)
      %16 = arith.addi %c0_4, %12 : index
      %extracted_9 = tensor.extract %arg4[%arg6] : tensor<?xi32>
      %17 = arith.index_cast %extracted_9 : i32 to index
      %18 = arith.cmpi sle, %14, %c0_4 : index
      %19 = arith.select %18, %c0_4, %17 : index
      %extracted_slice = tensor.extract_slice %arg10[%13, %arg7, 0] [%15, 1, 64] [1, 1, 1] : tensor<?x4x64xf32> to tensor<?x1x64xf32>
      %20 = tensor.empty(%15) : tensor<?x64xf32>
      %cst_10 = arith.constant 0.000000e+00 : f32
      %21 = linalg.fill {attn_cpu.loops} ins(%cst_10 : f32) outs(%20 : tensor<?x64xf32>) -> tensor<?x64xf32>
      %22 = tensor.empty(%15) : tensor<?xf32>
      %cst_11 = arith.constant -3.40282347E+38 : f32
      %23 = linalg.fill {attn_cpu.loops} ins(%cst_11 : f32) outs(%22 : tensor<?xf32>) -> tensor<?xf32>
      %24 = tensor.empty(%15) : tensor<?xf32>
      %cst_12 = arith.constant 0.000000e+00 : f32
      %25 = linalg.fill {attn_cpu.loops} ins(%cst_12 : f32) outs(%24 : tensor<?xf32>) -> tensor<?xf32>
      %c64 = arith.constant 64 : index
      %26 = arith.divui %c0_4, %c64 : index
      %c64_13 = arith.constant 64 : index
      %27 = arith.muli %26, %c64_13 : index
      %c64_14 = arith.constant 64 : index
      %28:3 = scf.for %arg11 = %27 to %19 step %c64_14 iter_args(%arg12 = %21, %arg13 = %23, %arg14 = %25) -> (tensor<?x64xf32>, tensor<?xf32>, tensor<?xf32>) {
        %30 = arith.subi %19, %arg11 : index
        %31 = affine.min #map3(%30)
        %c64_15 = arith.constant 64 : index
        %32 = arith.divui %arg11, %c64_15 : index
        %extracted_16 = tensor.extract %arg2[%arg6, %32] : tensor<?x?xi32>
        %33 = arith.index_cast %extracted_16 : i32 to index
        %extracted_slice_17 = tensor.extract_slice %arg0[%33, %arg1, %arg7, 0, 0, 0] [1, 1, 1, 1, 128, 32] [1, 1, 1, 1, 1, 1] : tensor<?x2x4x2x128x32xf32> to tensor<128x32xf32>
        %34 = tensor.empty() : tensor<64x64xf32>
        %35 = linalg.generic {indexing_maps = [#map4], iterator_types = ["parallel", "parallel"]} outs(%34 : tensor<64x64xf32>) attrs =  {attn_cpu.loops} {
        ^bb0(%out: f32):
          %59 = linalg.index 0 : index
          %60 = linalg.index 1 : index
          %61 = affine.apply #map5()[%59, %60]
          %62 = affine.apply #map6()[%59]
          %extracted_34 = tensor.extract %extracted_slice_17[%61, %62] : tensor<128x32xf32>
          linalg.yield %extracted_34 : f32
        } -> tensor<64x64xf32>
        %extracted_slice_18 = tensor.extract_slice %35[0, 0] [%31, 64] [1, 1] : tensor<64x64xf32> to tensor<?x64xf32>
        %extracted_slice_19 = tensor.extract_slice %arg0[%33, %arg1, %arg7, 1, 0, 0] [1, 1, 1, 1, 128, 32] [1, 1, 1, 1, 1, 1] : tensor<?x2x4x2x128x32xf32> to tensor<128x32xf32>
        %36 = tensor.empty() : tensor<64x64xf32>
        %37 = linalg.generic {indexing_maps = [#map4], iterator_types = ["parallel", "parallel"]} outs(%36 : tensor<64x64xf32>) attrs =  {attn_cpu.loops} {
        ^bb0(%out: f32):
          %59 = linalg.index 0 : index
          %60 = linalg.index 1 : index
          %61 = affine.apply #map7()[%59, %60]
          %62 = affine.apply #map6()[%60]
          %extracted_34 = tensor.extract %extracted_slice_19[%61, %62] : tensor<128x32xf32>
          linalg.yield %extracted_34 : f32
        } -> tensor<64x64xf32>
        %extracted_slice_20 = tensor.extract_slice %37[0, 0] [%31, 64] [1, 1] : tensor<64x64xf32> to tensor<?x64xf32>
        %extracted_slice_21 = tensor.extract_slice %arg3[%13, %arg7, 0] [%15, 1, 64] [1, 1, 1] : tensor<?x4x64xf32> to tensor<?x1x64xf32>
        %38 = tensor.empty(%15, %31) : tensor<?x?xf32>
        %39 = tensor.empty(%31) : tensor<64x?xf32>
        %40 = linalg.generic {indexing_maps = [#map8, #map4], iterator_types = ["parallel", "parallel"]} ins(%extracted_slice_18 : tensor<?x64xf32>) outs(%39 : tensor<64x?xf32>) attrs =  {attn_cpu.loops} {
        ^bb0(%in: f32, %out: f32):
          linalg.yield %in : f32
        } -> tensor<64x?xf32>
        %cst_22 = arith.constant 0.000000e+00 : f32
        %41 = linalg.fill {attn_cpu.loops} ins(%cst_22 : f32) outs(%38 : tensor<?x?xf32>) -> tensor<?x?xf32>
        %42 = linalg.generic {indexing_maps = [#map9, #map10, #map11], iterator_types = ["parallel", "reduction", "parallel"]} ins(%extracted_slice_21, %40 : tensor<?x1x64xf32>, tensor<64x?xf32>) outs(%41 : tensor<?x?xf32>) attrs =  {attn_cpu.loops} {
        ^bb0(%in: f32, %in_34: f32, %out: f32):
          %59 = arith.mulf %in, %in_34 : f32
          %60 = arith.addf %out, %59 : f32
          linalg.yield %60 : f32
        } -> tensor<?x?xf32>
        %43 = linalg.generic {indexing_maps = [#map4, #map4], iterator_types = ["parallel", "parallel"]} ins(%42 : tensor<?x?xf32>) outs(%38 : tensor<?x?xf32>) attrs =  {attn_cpu.loops} {
        ^bb0(%in: f32, %out: f32):
          %59 = linalg.index 1 : index
          %60 = arith.addi %arg11, %59 : index
          %61 = linalg.index 0 : index
          %62 = arith.addi %12, %61 : index
          %63 = arith.addi %16, %61 : index
          %64 = arith.mulf %in, %arg5 : f32
          linalg.yield %64 : f32
        } -> tensor<?x?xf32>
        %c0_23 = arith.constant 0 : index
        %dim_24 = tensor.dim %arg13, %c0_23 : tensor<?xf32>
        %44 = tensor.empty(%dim_24) : tensor<?xf32>
        %cst_25 = arith.constant -3.40282347E+38 : f32
        %45 = linalg.fill {attn_cpu.loops} ins(%cst_25 : f32) outs(%44 : tensor<?xf32>) -> tensor<?xf32>
        %46 = linalg.generic {indexing_maps = [#map4, #map12], iterator_types = ["parallel", "reduction"]} ins(%43 : tensor<?x?xf32>) outs(%45 : tensor<?xf32>) attrs =  {attn_cpu.loops} {
        ^bb0(%in: f32, %out: f32):
          %59 = arith.maxnumf %out, %in : f32
          linalg.yield %59 : f32
        } -> tensor<?xf32>
        %47 = tensor.empty(%dim_24) : tensor<?xf32>
        %48:2 = linalg.generic {indexing_maps = [#map13, #map13, #map13], iterator_types = ["parallel"]} ins(%46 : tensor<?xf32>) outs(%arg13, %47 : tensor<?xf32>, tensor<?xf32>) attrs =  {attn_cpu.loops} {
        ^bb0(%in: f32, %out: f32, %out_34: f32):
          %59 = arith.maxnumf %out, %in : f32
          %60 = arith.subf %out, %59 : f32
          %61 = math.exp %60 : f32
          linalg.yield %59, %61 : f32, f32
        } -> (tensor<?xf32>, tensor<?xf32>)
        %c0_26 = arith.constant 0 : index
        %dim_27 = tensor.dim %43, %c0_26 : tensor<?x?xf32>
        %c1_28 = arith.constant 1 : index
        %dim_29 = tensor.dim %43, %c1_28 : tensor<?x?xf32>
        %49 = tensor.empty(%dim_27, %dim_29) : tensor<?x?xf32>
        %50 = linalg.generic {indexing_maps = [#map4, #map12, #map4], iterator_types = ["parallel", "parallel"]} ins(%43, %48#0 : tensor<?x?xf32>, tensor<?xf32>) outs(%49 : tensor<?x?xf32>) attrs =  {attn_cpu.loops} {
        ^bb0(%in: f32, %in_34: f32, %out: f32):
          %59 = arith.subf %in, %in_34 : f32
          %60 = math.exp %59 : f32
          linalg.yield %60 : f32
        } -> tensor<?x?xf32>
        %51 = tensor.empty(%dim_24) : tensor<?xf32>
        %cst_30 = arith.constant 0.000000e+00 : f32
        %52 = linalg.fill {attn_cpu.loops} ins(%cst_30 : f32) outs(%51 : tensor<?xf32>) -> tensor<?xf32>
        %53 = linalg.generic {indexing_maps = [#map4, #map12], iterator_types = ["parallel", "reduction"]} ins(%50 : tensor<?x?xf32>) outs(%52 : tensor<?xf32>) attrs =  {attn_cpu.loops} {
        ^bb0(%in: f32, %out: f32):
          %cst_34 = arith.constant 0.000000e+00 : f32
          %59 = arith.cmpf olt, %in, %cst_34 : f32
          %60 = arith.addf %out, %in : f32
          %61 = arith.select %59, %out, %60 : f32
          linalg.yield %61 : f32
        } -> tensor<?xf32>
        %54 = linalg.generic {indexing_maps = [#map13, #map13, #map13], iterator_types = ["parallel"]} ins(%48#1, %53 : tensor<?xf32>, tensor<?xf32>) outs(%arg14 : tensor<?xf32>) attrs =  {attn_cpu.loops} {
        ^bb0(%in: f32, %in_34: f32, %out: f32):
          %59 = arith.mulf %out, %in : f32
          %60 = arith.addf %59, %in_34 : f32
          linalg.yield %60 : f32
        } -> tensor<?xf32>
        %c0_31 = arith.constant 0 : index
        %dim_32 = tensor.dim %arg12, %c0_31 : tensor<?x64xf32>
        %55 = tensor.empty(%dim_32) : tensor<?x64xf32>
        %cst_33 = arith.constant 0.000000e+00 : f32
        %56 = linalg.fill {attn_cpu.loops} ins(%cst_33 : f32) outs(%55 : tensor<?x64xf32>) -> tensor<?x64xf32>
        %57 = linalg.generic {indexing_maps = [#map14, #map10, #map11], iterator_types = ["parallel", "reduction", "parallel"]} ins(%50, %extracted_slice_20 : tensor<?x?xf32>, tensor<?x64xf32>) outs(%56 : tensor<?x64xf32>) attrs =  {attn_cpu.loops} {
        ^bb0(%in: f32, %in_34: f32, %out: f32):
          %cst_35 = arith.constant 0.000000e+00 : f32
          %59 = arith.cmpf olt, %in, %cst_35 : f32
          %60 = arith.mulf %in, %in_34 : f32
          %61 = arith.addf %out, %60 : f32
          %62 = arith.select %59, %out, %61 : f32
          linalg.yield %62 : f32
        } -> tensor<?x64xf32>
        %58 = linalg.generic {indexing_maps = [#map4, #map12, #map4], iterator_types = ["parallel", "parallel"]} ins(%57, %48#1 : tensor<?x64xf32>, tensor<?xf32>) outs(%arg12 : tensor<?x64xf32>) attrs =  {attn_cpu.loops} {
        ^bb0(%in: f32, %in_34: f32, %out: f32):
          %59 = arith.mulf %out, %in_34 : f32
          %60 = arith.addf %59, %in : f32
          linalg.yield %60 : f32
        } -> tensor<?x64xf32>
        scf.yield %58, %48#0, %54 : tensor<?x64xf32>, tensor<?xf32>, tensor<?xf32>
      }
      %29 = linalg.generic {indexing_maps = [#map4, #map12, #map15], iterator_types = ["parallel", "parallel"]} ins(%28#0, %28#2 : tensor<?x64xf32>, tensor<?xf32>) outs(%extracted_slice : tensor<?x1x64xf32>) attrs =  {attn_cpu.loops} {
      ^bb0(%in: f32, %in_15: f32, %out: f32):
        %cst_16 = arith.constant 0.000000e+00 : f32
        %30 = arith.cmpf oeq, %in_15, %cst_16 : f32
        %31 = arith.divf %in, %in_15 : f32
        %cst_17 = arith.constant 0.000000e+00 : f32
        %32 = arith.select %30, %cst_17, %31 : f32
        linalg.yield %32 : f32
      } -> tensor<?x1x64xf32>
      scf.forall.in_parallel {
        tensor.parallel_insert_slice %29 into %arg10[%13, %arg7, 0] [%15, 1, 64] [1, 1, 1] : tensor<?x1x64xf32> into tensor<?x4x64xf32>
      }
    }
    return %4 : tensor<?x4x64xf32>
  }
}

// -----
#map = affine_map<()[s0] -> (s0 ceildiv 16)>
#map1 = affine_map<(d0) -> (16, d0)>
#map2 = affine_map<(d0) -> (64, d0)>
#map3 = affine_map<(d0, d1) -> (d1, 0, d0)>
#map4 = affine_map<(d0, d1) -> (d0, d1)>
#map5 = affine_map<(d0, d1, d2) -> (d0, 0, d1)>
#map6 = affine_map<(d0, d1, d2) -> (d1, d2)>
#map7 = affine_map<(d0, d1, d2) -> (d0, d2)>
#map8 = affine_map<(d0, d1) -> (d0)>
#map9 = affine_map<(d0) -> (d0)>
#map10 = affine_map<(d0, d1, d2) -> (d0, d1)>
#map11 = affine_map<(d0, d1, d2) -> (d1, 0, d2)>
#map12 = affine_map<(d0, d1) -> (d0, 0, d1)>
module {
  func.func @extra(%arg0: tensor<?x4x32xf32>, %arg1: tensor<?x4x32xf32>, %arg2: f32, %arg3: tensor<?xf16>) -> tensor<?x4x32xf32> {
    %c0 = arith.constant 0 : index
    %dim = tensor.dim %arg0, %c0 : tensor<?x4x32xf32>
    %c0_0 = arith.constant 0 : index
    %dim_1 = tensor.dim %arg0, %c0_0 : tensor<?x4x32xf32>
    %0 = tensor.empty(%dim_1) : tensor<?x4x32xf32>
    %1 = affine.apply #map()[%dim]
    %2 = scf.forall (%arg4, %arg5, %arg6, %arg7) in (1, 4, 1, %1) shared_outs(%arg8 = %0) -> (tensor<?x4x32xf32>) {
      %c0_2 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c1_3 = arith.constant 1 : index
      %3 = arith.addi %arg4, %c1_3 : index
      %4 = arith.muli %arg5, %c1 : index
      %5 = arith.addi %4, %arg6 : index
      %c0_4 = arith.constant 0 : index
      %dim_5 = tensor.dim %arg0, %c0_4 : tensor<?x4x32xf32>
      %c16 = arith.constant 16 : index
      %6 = arith.muli %arg7, %c16 : index
      %7 = arith.minsi %6, %dim_5 : index
      %8 = arith.addi %c0_2, %7 : index
      %9 = arith.subi %dim_5, %7 : index
      %10 = affine.min #map1(%9)
      %11 = arith.addi %c0_2, %7 : index
      %c0_6 = arith.constant 0 : index
      %dim_7 = tensor.dim %arg1, %c0_6 : tensor<?x4x32xf32>
      %12 = arith.cmpi sle, %9, %c0_2 : index
      %13 = arith.select %12, %c0_2, %dim_7 : index
      %extracted_slice = tensor.extract_slice %arg8[%8, %arg5, 0] [%10, 1, 32] [1, 1, 1] : tensor<?x4x32xf32> to tensor<?x1x32xf32>
      %14 = tensor.empty(%10) : tensor<?x32xf32>
      %cst = arith.constant 0.000000e+00 : f32
      %15 = linalg.fill {attn_cpu.loops} ins(%cst : f32) outs(%14 : tensor<?x32xf32>) -> tensor<?x32xf32>
      %16 = tensor.empty(%10) : tensor<?xf32>
      %cst_8 = arith.constant -3.40282347E+38 : f32
      %17 = linalg.fill {attn_cpu.loops} ins(%cst_8 : f32) outs(%16 : tensor<?xf32>) -> tensor<?xf32>
      %18 = tensor.empty(%10) : tensor<?xf32>
      %cst_9 = arith.constant 0.000000e+00 : f32
      %19 = linalg.fill {attn_cpu.loops} ins(%cst_9 : f32) outs(%18 : tensor<?xf32>) -> tensor<?xf32>
      %c64 = arith.constant 64 : index
      %20:3 = scf.for %arg9 = %c0_2 to %13 step %c64 iter_args(%arg10 = %15, %arg11 = %17, %arg12 = %19) -> (tensor<?x32xf32>, tensor<?xf32>, tensor<?xf32>) {
        %22 = arith.subi %13, %arg9 : index
        %23 = affine.min #map2(%22)
        %24 = arith.addi %c0_2, %arg9 : index
        %extracted_slice_10 = tensor.extract_slice %arg1[%24, %arg5, 0] [%23, 1, 32] [1, 1, 1] : tensor<?x4x32xf32> to tensor<?x1x32xf32>
        %25 = arith.addi %c0_2, %arg9 : index
        %extracted_slice_11 = tensor.extract_slice %arg1[%25, %arg5, 0] [%23, 1, 32] [1, 1, 1] : tensor<?x4x32xf32> to tensor<?x1x32xf32>
        %extracted_slice_12 = tensor.extract_slice %arg0[%8, %arg5, 0] [%10, 1, 32] [1, 1, 1] : tensor<?x4x32xf32> to tensor<?x1x32xf32>
        %26 = tensor.empty(%10, %23) : tensor<?x?xf32>
        %27 = tensor.empty(%23) : tensor<32x?xf32>
        %28 = linalg.generic {indexing_maps = [#map3, #map4], iterator_types = ["parallel", "parallel"]} ins(%extracted_slice_10 : tensor<?x1x32xf32>) outs(%27 : tensor<32x?xf32>) attrs =  {attn_cpu.loops} {
        ^bb0(%in: f32, %out: f32):
          linalg.yield %in : f32
        } -> tensor<32x?xf32>
        %cst_13 = arith.constant 0.000000e+00 : f32
        %29 = linalg.fill {attn_cpu.loops} ins(%cst_13 : f32) outs(%26 : tensor<?x?xf32>) -> tensor<?x?xf32>
        %30 = linalg.generic {indexing_maps = [#map5, #map6, #map7], iterator_types = ["parallel", "reduction", "parallel"]} ins(%extracted_slice_12, %28 : tensor<?x1x32xf32>, tensor<32x?xf32>) outs(%29 : tensor<?x?xf32>) attrs =  {attn_cpu.loops} {
        ^bb0(%in: f32, %in_25: f32, %out: f32):
          %47 = arith.mulf %in, %in_25 : f32
          %48 = arith.addf %out, %47 : f32
          linalg.yield %48 : f32
        } -> tensor<?x?xf32>
        %31 = linalg.generic {indexing_maps = [#map4, #map4], iterator_types = ["parallel", "parallel"]} ins(%30 : tensor<?x?xf32>) outs(%26 : tensor<?x?xf32>) attrs =  {attn_cpu.loops} {
        ^bb0(%in: f32, %out: f32):
          %47 = linalg.index 1 : index
          %48 = arith.addi %arg9, %47 : index
          %49 = linalg.index 0 : index
          %50 = arith.addi %7, %49 : index
          %51 = arith.addi %11, %49 : index
          %52 = arith.addi %8, %49 : index
          %extracted = tensor.extract %arg3[%52] : tensor<?xf16>
          %53 = arith.mulf %in, %arg2 : f32
          linalg.yield %53 : f32
        } -> tensor<?x?xf32>
        %c0_14 = arith.constant 0 : index
        %dim_15 = tensor.dim %arg11, %c0_14 : tensor<?xf32>
        %32 = tensor.empty(%dim_15) : tensor<?xf32>
        %cst_16 = arith.constant -3.40282347E+38 : f32
        %33 = linalg.fill {attn_cpu.loops} ins(%cst_16 : f32) outs(%32 : tensor<?xf32>) -> tensor<?xf32>
        %34 = linalg.generic {indexing_maps = [#map4, #map8], iterator_types = ["parallel", "reduction"]} ins(%31 : tensor<?x?xf32>) outs(%33 : tensor<?xf32>) attrs =  {attn_cpu.loops} {
        ^bb0(%in: f32, %out: f32):
          %47 = arith.maxnumf %out, %in : f32
          linalg.yield %47 : f32
        } -> tensor<?xf32>
        %35 = tensor.empty(%dim_15) : tensor<?xf32>
        %36:2 = linalg.generic {indexing_maps = [#map9, #map9, #map9], iterator_types = ["parallel"]} ins(%34 : tensor<?xf32>) outs(%arg11, %35 : tensor<?xf32>, tensor<?xf32>) attrs =  {attn_cpu.loops} {
        ^bb0(%in: f32, %out: f32, %out_25: f32):
          %47 = arith.maxnumf %out, %in : f32
          %48 = arith.subf %out, %47 : f32
          %49 = math.exp %48 : f32
          linalg.yield %47, %49 : f32, f32
        } -> (tensor<?xf32>, tensor<?xf32>)
        %c0_17 = arith.constant 0 : index
        %dim_18 = tensor.dim %31, %c0_17 : tensor<?x?xf32>
        %c1_19 = arith.constant 1 : index
        %dim_20 = tensor.dim %31, %c1_19 : tensor<?x?xf32>
        %37 = tensor.empty(%dim_18, %dim_20) : tensor<?x?xf32>
        %38 = linalg.generic {indexing_maps = [#map4, #map8, #map4], iterator_types = ["parallel", "parallel"]} ins(%31, %36#0 : tensor<?x?xf32>, tensor<?xf32>) outs(%37 : tensor<?x?xf32>) attrs =  {attn_cpu.loops} {
        ^bb0(%in: f32, %in_25: f32, %out: f32):
          %47 = arith.subf %in, %in_25 : f32
          %48 = math.exp %47 : f32
          linalg.yield %48 : f32
        } -> tensor<?x?xf32>
        %39 = tensor.empty(%dim_15) : tensor<?xf32>
        %cst_21 = arith.constant 0.000000e+00 : f32
        %40 = linalg.fill {attn_cpu.loops} ins(%cst_21 : f32) outs(%39 : tensor<?xf32>) -> tensor<?xf32>
        %41 = linalg.generic {indexing_maps = [#map4, #map8], iterator_types = ["parallel", "reduction"]} ins(%38 : tensor<?x?xf32>) outs(%40 : tensor<?xf32>) attrs =  {attn_cpu.loops} {
        ^bb0(%in: f32, %out: f32):
          %cst_25 = arith.constant 0.000000e+00 : f32
          %47 = arith.cmpf olt, %in, %cst_25 : f32
          %48 = arith.addf %out, %in : f32
          %49 = arith.select %47, %out, %48 : f32
          linalg.yield %49 : f32
        } -> tensor<?xf32>
        %42 = linalg.generic {indexing_maps = [#map9, #map9, #map9], iterator_types = ["parallel"]} ins(%36#1, %41 : tensor<?xf32>, tensor<?xf32>) outs(%arg12 : tensor<?xf32>) attrs =  {attn_cpu.loops} {
        ^bb0(%in: f32, %in_25: f32, %out: f32):
          %47 = arith.mulf %out, %in : f32
          %48 = arith.addf %47, %in_25 : f32
          linalg.yield %48 : f32
        } -> tensor<?xf32>
        %c0_22 = arith.constant 0 : index
        %dim_23 = tensor.dim %arg10, %c0_22 : tensor<?x32xf32>
        %43 = tensor.empty(%dim_23) : tensor<?x32xf32>
        %cst_24 = arith.constant 0.000000e+00 : f32
        %44 = linalg.fill {attn_cpu.loops} ins(%cst_24 : f32) outs(%43 : tensor<?x32xf32>) -> tensor<?x32xf32>
        %45 = linalg.generic {indexing_maps = [#map10, #map11, #map7], iterator_types = ["parallel", "reduction", "parallel"]} ins(%38, %extracted_slice_11 : tensor<?x?xf32>, tensor<?x1x32xf32>) outs(%44 : tensor<?x32xf32>) attrs =  {attn_cpu.loops} {
        ^bb0(%in: f32, %in_25: f32, %out: f32):
          %cst_26 = arith.constant 0.000000e+00 : f32
          %47 = arith.cmpf olt, %in, %cst_26 : f32
          %48 = arith.mulf %in, %in_25 : f32
          %49 = arith.addf %out, %48 : f32
          %50 = arith.select %47, %out, %49 : f32
          linalg.yield %50 : f32
        } -> tensor<?x32xf32>
        %46 = linalg.generic {indexing_maps = [#map4, #map8, #map4], iterator_types = ["parallel", "parallel"]} ins(%45, %36#1 : tensor<?x32xf32>, tensor<?xf32>) outs(%arg10 : tensor<?x32xf32>) attrs =  {attn_cpu.loops} {
        ^bb0(%in: f32, %in_25: f32, %out: f32):
          %47 = arith.mulf %out, %in_25 : f32
          %48 = arith.addf %47, %in : f32
          linalg.yield %48 : f32
        } -> tensor<?x32xf32>
        scf.yield %46, %36#0, %42 : tensor<?x32xf32>, tensor<?xf32>, tensor<?xf32>
      }
      %21 = linalg.generic {indexing_maps = [#map4, #map8, #map12], iterator_types = ["parallel", "parallel"]} ins(%20#0, %20#2 : tensor<?x32xf32>, tensor<?xf32>) outs(%extracted_slice : tensor<?x1x32xf32>) attrs =  {attn_cpu.loops} {
      ^bb0(%in: f32, %in_10: f32, %out: f32):
        %cst_11 = arith.constant 0.000000e+00 : f32
        %22 = arith.cmpf oeq, %in_10, %cst_11 : f32
        %23 = arith.divf %in, %in_10 : f32
        %cst_12 = arith.constant 0.000000e+00 : f32
        %24 = arith.select %22, %cst_12, %23 : f32
        linalg.yield %24 : f32
      } -> tensor<?x1x32xf32>
      scf.forall.in_parallel {
        tensor.parallel_insert_slice %21 into %arg8[%8, %arg5, 0] [%10, 1, 32] [1, 1, 1] : tensor<?x1x32xf32> into tensor<?x4x32xf32>
      }
    }
    return %2 : tensor<?x4x32xf32>
  }
}

// -----
#map = affine_map<()[s0] -> (s0 ceildiv 16)>
#map1 = affine_map<(d0) -> (16, d0)>
#map2 = affine_map<(d0) -> (64, d0)>
#map3 = affine_map<(d0, d1) -> (d1, 0, d0)>
#map4 = affine_map<(d0, d1) -> (d0, d1)>
#map5 = affine_map<(d0, d1, d2) -> (0, d1, d0)>
#map6 = affine_map<(d0, d1, d2) -> (d1, d2)>
#map7 = affine_map<(d0, d1, d2) -> (d0, d2)>
#map8 = affine_map<(d0, d1) -> (d0)>
#map9 = affine_map<(d0) -> (d0)>
#map10 = affine_map<(d0, d1, d2) -> (d0, d1)>
#map11 = affine_map<(d0, d1, d2) -> (d1, 0, d2)>
#map12 = affine_map<(d0, d1) -> (d0, 0, d1)>
module {
  func.func @transposed(%arg0: tensor<4x32x?xf32>, %arg1: tensor<?x4x32xf32>, %arg2: f32) -> tensor<?x4x32xf32> {
    %c2 = arith.constant 2 : index
    %dim = tensor.dim %arg0, %c2 : tensor<4x32x?xf32>
    %c2_0 = arith.constant 2 : index
    %dim_1 = tensor.dim %arg0, %c2_0 : tensor<4x32x?xf32>
    %0 = tensor.empty(%dim_1) : tensor<?x4x32xf32>
    %1 = affine.apply #map()[%dim]
    %2 = scf.forall (%arg3, %arg4, %arg5, %arg6) in (1, 4, 1, %1) shared_outs(%arg7 = %0) -> (tensor<?x4x32xf32>) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c1_2 = arith.constant 1 : index
      %3 = arith.addi %arg3, %c1_2 : index
      %4 = arith.muli %arg4, %c1 : index
      %5 = arith.addi %4, %arg5 : index
      %c2_3 = arith.constant 2 : index
      %dim_4 = tensor.dim %arg0, %c2_3 : tensor<4x32x?xf32>
      %c16 = arith.constant 16 : index
      %6 = arith.muli %arg6, %c16 : index
      %7 = arith.minsi %6, %dim_4 : index
      %8 = arith.addi %c0, %7 : index
      %9 = arith.subi %dim_4, %7 : index
      %10 = affine.min #map1(%9)
      %11 = arith.addi %c0, %7 : index
      %c0_5 = arith.constant 0 : index
      %dim_6 = tensor.dim %arg1, %c0_5 : tensor<?x4x32xf32>
      %12 = arith.cmpi sle, %9, %c0 : index
      %13 = arith.select %12, %c0, %dim_6 : index
      %extracted_slice = tensor.extract_slice %arg7[%8, %arg4, 0] [%10, 1, 32] [1, 1, 1] : tensor<?x4x32xf32> to tensor<?x1x32xf32>
      %14 = tensor.empty(%10) : tensor<?x32xf32>
      %cst = arith.constant 0.000000e+00 : f32
      %15 = linalg.fill {attn_cpu.loops} ins(%cst : f32) outs(%14 : tensor<?x32xf32>) -> tensor<?x32xf32>
      %16 = tensor.empty(%10) : tensor<?xf32>
      %cst_7 = arith.constant -3.40282347E+38 : f32
      %17 = linalg.fill {attn_cpu.loops} ins(%cst_7 : f32) outs(%16 : tensor<?xf32>) -> tensor<?xf32>
      %18 = tensor.empty(%10) : tensor<?xf32>
      %cst_8 = arith.constant 0.000000e+00 : f32
      %19 = linalg.fill {attn_cpu.loops} ins(%cst_8 : f32) outs(%18 : tensor<?xf32>) -> tensor<?xf32>
      %c64 = arith.constant 64 : index
      %20:3 = scf.for %arg8 = %c0 to %13 step %c64 iter_args(%arg9 = %15, %arg10 = %17, %arg11 = %19) -> (tensor<?x32xf32>, tensor<?xf32>, tensor<?xf32>) {
        %22 = arith.subi %13, %arg8 : index
        %23 = affine.min #map2(%22)
        %24 = arith.addi %c0, %arg8 : index
        %extracted_slice_9 = tensor.extract_slice %arg1[%24, %arg4, 0] [%23, 1, 32] [1, 1, 1] : tensor<?x4x32xf32> to tensor<?x1x32xf32>
        %25 = arith.addi %c0, %arg8 : index
        %extracted_slice_10 = tensor.extract_slice %arg1[%25, %arg4, 0] [%23, 1, 32] [1, 1, 1] : tensor<?x4x32xf32> to tensor<?x1x32xf32>
        %extracted_slice_11 = tensor.extract_slice %arg0[%arg4, 0, %8] [1, 32, %10] [1, 1, 1] : tensor<4x32x?xf32> to tensor<1x32x?xf32>
        %26 = tensor.empty(%10, %23) : tensor<?x?xf32>
        %27 = tensor.empty(%23) : tensor<32x?xf32>
        %28 = linalg.generic {indexing_maps = [#map3, #map4], iterator_types = ["parallel", "parallel"]} ins(%extracted_slice_9 : tensor<?x1x32xf32>) outs(%27 : tensor<32x?xf32>) attrs =  {attn_cpu.loops} {
        ^bb0(%in: f32, %out: f32):
          linalg.yield %in : f32
        } -> tensor<32x?xf32>
        %cst_12 = arith.constant 0.000000e+00 : f32
        %29 = linalg.fill {attn_cpu.loops} ins(%cst_12 : f32) outs(%26 : tensor<?x?xf32>) -> tensor<?x?xf32>
        %30 = linalg.generic {indexing_maps = [#map5, #map6, #map7], iterator_types = ["parallel", "reduction", "parallel"]} ins(%extracted_slice_11, %28 : tensor<1x32x?xf32>, tensor<32x?xf32>) outs(%29 : tensor<?x?xf32>) attrs =  {attn_cpu.loops} {
        ^bb0(%in: f32, %in_24: f32, %out: f32):
          %47 = arith.mulf %in, %in_24 : f32
          %48 = arith.addf %out, %47 : f32
          linalg.yield %48 : f32
        } -> tensor<?x?xf32>
        %31 = linalg.generic {indexing_maps = [#map4, #map4], iterator_types = ["parallel", "parallel"]} ins(%30 : tensor<?x?xf32>) outs(%26 : tensor<?x?xf32>) attrs =  {attn_cpu.loops} {
        ^bb0(%in: f32, %out: f32):
          %47 = linalg.index 1 : index
          %48 = arith.addi %arg8, %47 : index
          %49 = linalg.index 0 : index
          %50 = arith.addi %7, %49 : index
          %51 = arith.addi %11, %49 : index
          %52 = arith.mulf %in, %arg2 : f32
          linalg.yield %52 : f32
        } -> tensor<?x?xf32>
        %c0_13 = arith.constant 0 : index
        %dim_14 = tensor.dim %arg10, %c0_13 : tensor<?xf32>
        %32 = tensor.empty(%dim_14) : tensor<?xf32>
        %cst_15 = arith.constant -3.40282347E+38 : f32
        %33 = linalg.fill {attn_cpu.loops} ins(%cst_15 : f32) outs(%32 : tensor<?xf32>) -> tensor<?xf32>
        %34 = linalg.generic {indexing_maps = [#map4, #map8], iterator_types = ["parallel", "reduction"]} ins(%31 : tensor<?x?xf32>) outs(%33 : tensor<?xf32>) attrs =  {attn_cpu.loops} {
        ^bb0(%in: f32, %out: f32):
          %47 = arith.maxnumf %out, %in : f32
          linalg.yield %47 : f32
        } -> tensor<?xf32>
        %35 = tensor.empty(%dim_14) : tensor<?xf32>
        %36:2 = linalg.generic {indexing_maps = [#map9, #map9, #map9], iterator_types = ["parallel"]} ins(%34 : tensor<?xf32>) outs(%arg10, %35 : tensor<?xf32>, tensor<?xf32>) attrs =  {attn_cpu.loops} {
        ^bb0(%in: f32, %out: f32, %out_24: f32):
          %47 = arith.maxnumf %out, %in : f32
          %48 = arith.subf %out, %47 : f32
          %49 = math.exp %48 : f32
          linalg.yield %47, %49 : f32, f32
        } -> (tensor<?xf32>, tensor<?xf32>)
        %c0_16 = arith.constant 0 : index
        %dim_17 = tensor.dim %31, %c0_16 : tensor<?x?xf32>
        %c1_18 = arith.constant 1 : index
        %dim_19 = tensor.dim %31, %c1_18 : tensor<?x?xf32>
        %37 = tensor.empty(%dim_17, %dim_19) : tensor<?x?xf32>
        %38 = linalg.generic {indexing_maps = [#map4, #map8, #map4], iterator_types = ["parallel", "parallel"]} ins(%31, %36#0 : tensor<?x?xf32>, tensor<?xf32>) outs(%37 : tensor<?x?xf32>) attrs =  {attn_cpu.loops} {
        ^bb0(%in: f32, %in_24: f32, %out: f32):
          %47 = arith.subf %in, %in_24 : f32
          %48 = math.exp %47 : f32
          linalg.yield %48 : f32
        } -> tensor<?x?xf32>
        %39 = tensor.empty(%dim_14) : tensor<?xf32>
        %cst_20 = arith.constant 0.000000e+00 : f32
        %40 = linalg.fill {attn_cpu.loops} ins(%cst_20 : f32) outs(%39 : tensor<?xf32>) -> tensor<?xf32>
        %41 = linalg.generic {indexing_maps = [#map4, #map8], iterator_types = ["parallel", "reduction"]} ins(%38 : tensor<?x?xf32>) outs(%40 : tensor<?xf32>) attrs =  {attn_cpu.loops} {
        ^bb0(%in: f32, %out: f32):
          %cst_24 = arith.constant 0.000000e+00 : f32
          %47 = arith.cmpf olt, %in, %cst_24 : f32
          %48 = arith.addf %out, %in : f32
          %49 = arith.select %47, %out, %48 : f32
          linalg.yield %49 : f32
        } -> tensor<?xf32>
        %42 = linalg.generic {indexing_maps = [#map9, #map9, #map9], iterator_types = ["parallel"]} ins(%36#1, %41 : tensor<?xf32>, tensor<?xf32>) outs(%arg11 : tensor<?xf32>) attrs =  {attn_cpu.loops} {
        ^bb0(%in: f32, %in_24: f32, %out: f32):
          %47 = arith.mulf %out, %in : f32
          %48 = arith.addf %47, %in_24 : f32
          linalg.yield %48 : f32
        } -> tensor<?xf32>
        %c0_21 = arith.constant 0 : index
        %dim_22 = tensor.dim %arg9, %c0_21 : tensor<?x32xf32>
        %43 = tensor.empty(%dim_22) : tensor<?x32xf32>
        %cst_23 = arith.constant 0.000000e+00 : f32
        %44 = linalg.fill {attn_cpu.loops} ins(%cst_23 : f32) outs(%43 : tensor<?x32xf32>) -> tensor<?x32xf32>
        %45 = linalg.generic {indexing_maps = [#map10, #map11, #map7], iterator_types = ["parallel", "reduction", "parallel"]} ins(%38, %extracted_slice_10 : tensor<?x?xf32>, tensor<?x1x32xf32>) outs(%44 : tensor<?x32xf32>) attrs =  {attn_cpu.loops} {
        ^bb0(%in: f32, %in_24: f32, %out: f32):
          %cst_25 = arith.constant 0.000000e+00 : f32
          %47 = arith.cmpf olt, %in, %cst_25 : f32
          %48 = arith.mulf %in, %in_24 : f32
          %49 = arith.addf %out, %48 : f32
          %50 = arith.select %47, %out, %49 : f32
          linalg.yield %50 : f32
        } -> tensor<?x32xf32>
        %46 = linalg.generic {indexing_maps = [#map4, #map8, #map4], iterator_types = ["parallel", "parallel"]} ins(%45, %36#1 : tensor<?x32xf32>, tensor<?xf32>) outs(%arg9 : tensor<?x32xf32>) attrs =  {attn_cpu.loops} {
        ^bb0(%in: f32, %in_24: f32, %out: f32):
          %47 = arith.mulf %out, %in_24 : f32
          %48 = arith.addf %47, %in : f32
          linalg.yield %48 : f32
        } -> tensor<?x32xf32>
        scf.yield %46, %36#0, %42 : tensor<?x32xf32>, tensor<?xf32>, tensor<?xf32>
      }
      %21 = linalg.generic {indexing_maps = [#map4, #map8, #map12], iterator_types = ["parallel", "parallel"]} ins(%20#0, %20#2 : tensor<?x32xf32>, tensor<?xf32>) outs(%extracted_slice : tensor<?x1x32xf32>) attrs =  {attn_cpu.loops} {
      ^bb0(%in: f32, %in_9: f32, %out: f32):
        %cst_10 = arith.constant 0.000000e+00 : f32
        %22 = arith.cmpf oeq, %in_9, %cst_10 : f32
        %23 = arith.divf %in, %in_9 : f32
        %cst_11 = arith.constant 0.000000e+00 : f32
        %24 = arith.select %22, %cst_11, %23 : f32
        linalg.yield %24 : f32
      } -> tensor<?x1x32xf32>
      scf.forall.in_parallel {
        tensor.parallel_insert_slice %21 into %arg7[%8, %arg4, 0] [%10, 1, 32] [1, 1, 1] : tensor<?x1x32xf32> into tensor<?x4x32xf32>
      }
    }
    return %2 : tensor<?x4x32xf32>
  }
}

// -----
#map = affine_map<(d0, d1) -> (d0, d1)>
module {
  func.func @columns(%arg0: tensor<?x?xf32>, %arg1: tensor<?x?xf32>, %arg2: tensor<?xi32>) -> tensor<?x?xf32> {
    %c1 = arith.constant 1 : index
    %dim = tensor.dim %arg1, %c1 : tensor<?x?xf32>
    %c0 = arith.constant 0 : index
    %dim_0 = tensor.dim %arg1, %c0 : tensor<?x?xf32>
    %0 = scf.forall (%arg3) in (%dim_0) shared_outs(%arg4 = %arg0) -> (tensor<?x?xf32>) {
      %extracted = tensor.extract %arg2[%arg3] : tensor<?xi32>
      %1 = arith.index_cast %extracted : i32 to index
      %extracted_slice = tensor.extract_slice %arg4[%1, 0] [1, %dim] [1, 1] : tensor<?x?xf32> to tensor<1x?xf32>
      %2 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel"]} outs(%extracted_slice : tensor<1x?xf32>) attrs =  {attn_cpu.loops} {
      ^bb0(%out: f32):
        %3 = linalg.index 1 : index
        %extracted_1 = tensor.extract %arg1[%arg3, %3] : tensor<?x?xf32>
        linalg.yield %extracted_1 : f32
      } -> tensor<1x?xf32>
      scf.forall.in_parallel {
        tensor.parallel_insert_slice %2 into %arg4[%1, 0] [1, %dim] [1, 1] : tensor<1x?xf32> into tensor<?x?xf32>
      }
    }
    return %0 : tensor<?x?xf32>
  }
}

// -----
#map = affine_map<()[s0] -> (s0 ceildiv 16)>
#map1 = affine_map<(d0) -> (16, d0)>
#map2 = affine_map<(d0) -> (64, d0)>
#map3 = affine_map<(d0, d1, d2) -> (d0, 0, d2)>
#map4 = affine_map<(d0, d1, d2) -> (d1, 0, d2)>
#map5 = affine_map<(d0, d1, d2) -> (d0, d1)>
#map6 = affine_map<(d0, d1) -> (d0, d1)>
#map7 = affine_map<(d0, d1) -> (d0)>
#map8 = affine_map<(d0) -> (d0)>
#map9 = affine_map<(d0, d1) -> (d0, 0, 0, d1)>
module {
  func.func @weights(%arg0: tensor<?x1x1x64xf32>, %arg1: index, %arg2: tensor<?x4x?xf32>, %arg3: f32) -> tensor<?x1x1x64xf32> {
    %c1 = arith.constant 1 : index
    %0 = arith.cmpi ult, %arg1, %c1 : index
    %c1_0 = arith.constant 1 : index
    %c0 = arith.constant 0 : index
    %1 = arith.select %0, %c1_0, %c0 : index
    %cst = arith.constant dense<3> : tensor<1xi64>
    %c1_1 = arith.constant 1 : index
    %c0_2 = arith.constant 0 : index
    %dim = tensor.dim %arg2, %c0_2 : tensor<?x4x?xf32>
    %2 = affine.apply #map()[%dim]
    %3 = scf.forall (%arg4, %arg5, %arg6) in (%1, 1, %2) shared_outs(%arg7 = %arg0) -> (tensor<?x1x1x64xf32>) {
      %extracted = tensor.extract %cst[%arg5] : tensor<1xi64>
      %4 = arith.index_cast %extracted : i64 to index
      %5 = arith.divui %4, %c1_1 : index
      %6 = arith.remui %4, %c1_1 : index
      %c0_3 = arith.constant 0 : index
      %c1_4 = arith.constant 1 : index
      %c1_5 = arith.constant 1 : index
      %7 = arith.addi %arg4, %c1_5 : index
      %8 = arith.muli %5, %c1_4 : index
      %9 = arith.addi %8, %6 : index
      %c0_6 = arith.constant 0 : index
      %dim_7 = tensor.dim %arg2, %c0_6 : tensor<?x4x?xf32>
      %c16 = arith.constant 16 : index
      %10 = arith.muli %arg6, %c16 : index
      %11 = arith.minsi %10, %dim_7 : index
      %12 = arith.addi %c0_3, %11 : index
      %13 = arith.subi %dim_7, %11 : index
      %14 = affine.min #map1(%13)
      %15 = arith.addi %c0_3, %11 : index
      %c0_8 = arith.constant 0 : index
      %dim_9 = tensor.dim %arg2, %c0_8 : tensor<?x4x?xf32>
      %16 = arith.cmpi sle, %13, %c0_3 : index
      %17 = arith.select %16, %c0_3, %dim_9 : index
      %extracted_slice = tensor.extract_slice %arg7[%12, %arg1, %arg5, 0] [%14, 1, 1, 64] [1, 1, 1, 1] : tensor<?x1x1x64xf32> to tensor<?x1x1x64xf32>
      %cst_10 = arith.constant 0.000000e+00 : f32
      %18 = linalg.fill {attn_cpu.loops} ins(%cst_10 : f32) outs(%extracted_slice : tensor<?x1x1x64xf32>) -> tensor<?x1x1x64xf32>
      %19 = tensor.empty(%14) : tensor<?xf32>
      %cst_11 = arith.constant -3.40282347E+38 : f32
      %20 = linalg.fill {attn_cpu.loops} ins(%cst_11 : f32) outs(%19 : tensor<?xf32>) -> tensor<?xf32>
      %21 = tensor.empty(%14) : tensor<?xf32>
      %cst_12 = arith.constant 0.000000e+00 : f32
      %22 = linalg.fill {attn_cpu.loops} ins(%cst_12 : f32) outs(%21 : tensor<?xf32>) -> tensor<?xf32>
      %c64 = arith.constant 64 : index
      %23:2 = scf.for %arg8 = %c0_3 to %17 step %c64 iter_args(%arg9 = %20, %arg10 = %22) -> (tensor<?xf32>, tensor<?xf32>) {
        %25 = arith.subi %17, %arg8 : index
        %26 = affine.min #map2(%25)
        %27 = arith.addi %c0_3, %arg8 : index
        %c2 = arith.constant 2 : index
        %dim_14 = tensor.dim %arg2, %c2 : tensor<?x4x?xf32>
        %extracted_slice_15 = tensor.extract_slice %arg2[%27, %5, 0] [%26, 1, %dim_14] [1, 1, 1] : tensor<?x4x?xf32> to tensor<?x1x?xf32>
        %c2_16 = arith.constant 2 : index
        %dim_17 = tensor.dim %arg2, %c2_16 : tensor<?x4x?xf32>
        %extracted_slice_18 = tensor.extract_slice %arg2[%12, %5, 0] [%14, 1, %dim_17] [1, 1, 1] : tensor<?x4x?xf32> to tensor<?x1x?xf32>
        %28 = tensor.empty(%14, %26) : tensor<?x?xf32>
        %c2_19 = arith.constant 2 : index
        %dim_20 = tensor.dim %arg2, %c2_19 : tensor<?x4x?xf32>
        %cst_21 = arith.constant 0.000000e+00 : f32
        %29 = linalg.fill {attn_cpu.loops} ins(%cst_21 : f32) outs(%28 : tensor<?x?xf32>) -> tensor<?x?xf32>
        %30 = linalg.generic {indexing_maps = [#map3, #map4, #map5], iterator_types = ["parallel", "parallel", "reduction"]} ins(%extracted_slice_18, %extracted_slice_15 : tensor<?x1x?xf32>, tensor<?x1x?xf32>) outs(%29 : tensor<?x?xf32>) attrs =  {attn_cpu.loops} {
        ^bb0(%in: f32, %in_30: f32, %out: f32):
          %43 = arith.mulf %in, %in_30 : f32
          %44 = arith.addf %out, %43 : f32
          linalg.yield %44 : f32
        } -> tensor<?x?xf32>
        %31 = linalg.generic {indexing_maps = [#map6, #map6], iterator_types = ["parallel", "parallel"]} ins(%30 : tensor<?x?xf32>) outs(%28 : tensor<?x?xf32>) attrs =  {attn_cpu.loops} {
        ^bb0(%in: f32, %out: f32):
          %43 = linalg.index 1 : index
          %44 = arith.addi %arg8, %43 : index
          %45 = linalg.index 0 : index
          %46 = arith.addi %11, %45 : index
          %47 = arith.addi %15, %45 : index
          %48 = arith.mulf %in, %arg3 : f32
          linalg.yield %48 : f32
        } -> tensor<?x?xf32>
        %c0_22 = arith.constant 0 : index
        %dim_23 = tensor.dim %arg9, %c0_22 : tensor<?xf32>
        %32 = tensor.empty(%dim_23) : tensor<?xf32>
        %cst_24 = arith.constant -3.40282347E+38 : f32
        %33 = linalg.fill {attn_cpu.loops} ins(%cst_24 : f32) outs(%32 : tensor<?xf32>) -> tensor<?xf32>
        %34 = linalg.generic {indexing_maps = [#map6, #map7], iterator_types = ["parallel", "reduction"]} ins(%31 : tensor<?x?xf32>) outs(%33 : tensor<?xf32>) attrs =  {attn_cpu.loops} {
        ^bb0(%in: f32, %out: f32):
          %43 = arith.maxnumf %out, %in : f32
          linalg.yield %43 : f32
        } -> tensor<?xf32>
        %35 = tensor.empty(%dim_23) : tensor<?xf32>
        %36:2 = linalg.generic {indexing_maps = [#map8, #map8, #map8], iterator_types = ["parallel"]} ins(%34 : tensor<?xf32>) outs(%arg9, %35 : tensor<?xf32>, tensor<?xf32>) attrs =  {attn_cpu.loops} {
        ^bb0(%in: f32, %out: f32, %out_30: f32):
          %43 = arith.maxnumf %out, %in : f32
          %44 = arith.subf %out, %43 : f32
          %45 = math.exp %44 : f32
          linalg.yield %43, %45 : f32, f32
        } -> (tensor<?xf32>, tensor<?xf32>)
        %c0_25 = arith.constant 0 : index
        %dim_26 = tensor.dim %31, %c0_25 : tensor<?x?xf32>
        %c1_27 = arith.constant 1 : index
        %dim_28 = tensor.dim %31, %c1_27 : tensor<?x?xf32>
        %37 = tensor.empty(%dim_26, %dim_28) : tensor<?x?xf32>
        %38 = linalg.generic {indexing_maps = [#map6, #map7, #map6], iterator_types = ["parallel", "parallel"]} ins(%31, %36#0 : tensor<?x?xf32>, tensor<?xf32>) outs(%37 : tensor<?x?xf32>) attrs =  {attn_cpu.loops} {
        ^bb0(%in: f32, %in_30: f32, %out: f32):
          %43 = arith.subf %in, %in_30 : f32
          %44 = math.exp %43 : f32
          linalg.yield %44 : f32
        } -> tensor<?x?xf32>
        %39 = tensor.empty(%dim_23) : tensor<?xf32>
        %cst_29 = arith.constant 0.000000e+00 : f32
        %40 = linalg.fill {attn_cpu.loops} ins(%cst_29 : f32) outs(%39 : tensor<?xf32>) -> tensor<?xf32>
        %41 = linalg.generic {indexing_maps = [#map6, #map7], iterator_types = ["parallel", "reduction"]} ins(%38 : tensor<?x?xf32>) outs(%40 : tensor<?xf32>) attrs =  {attn_cpu.loops} {
        ^bb0(%in: f32, %out: f32):
          %cst_30 = arith.constant 0.000000e+00 : f32
          %43 = arith.cmpf olt, %in, %cst_30 : f32
          %44 = arith.addf %out, %in : f32
          %45 = arith.select %43, %out, %44 : f32
          linalg.yield %45 : f32
        } -> tensor<?xf32>
        %42 = linalg.generic {indexing_maps = [#map8, #map8, #map8], iterator_types = ["parallel"]} ins(%36#1, %41 : tensor<?xf32>, tensor<?xf32>) outs(%arg10 : tensor<?xf32>) attrs =  {attn_cpu.loops} {
        ^bb0(%in: f32, %in_30: f32, %out: f32):
          %43 = arith.mulf %out, %in : f32
          %44 = arith.addf %43, %in_30 : f32
          linalg.yield %44 : f32
        } -> tensor<?xf32>
        scf.yield %36#0, %42 : tensor<?xf32>, tensor<?xf32>
      }
      %c64_13 = arith.constant 64 : index
      %24 = scf.for %arg8 = %c0_3 to %17 step %c64_13 iter_args(%arg9 = %18) -> (tensor<?x1x1x64xf32>) {
        %25 = arith.subi %17, %arg8 : index
        %26 = affine.min #map2(%25)
        %27 = arith.addi %c0_3, %arg8 : index
        %c2 = arith.constant 2 : index
        %dim_14 = tensor.dim %arg2, %c2 : tensor<?x4x?xf32>
        %extracted_slice_15 = tensor.extract_slice %arg2[%27, %5, 0] [%26, 1, %dim_14] [1, 1, 1] : tensor<?x4x?xf32> to tensor<?x1x?xf32>
        %c2_16 = arith.constant 2 : index
        %dim_17 = tensor.dim %arg2, %c2_16 : tensor<?x4x?xf32>
        %extracted_slice_18 = tensor.extract_slice %arg2[%12, %5, 0] [%14, 1, %dim_17] [1, 1, 1] : tensor<?x4x?xf32> to tensor<?x1x?xf32>
        %28 = tensor.empty(%14, %26) : tensor<?x?xf32>
        %c2_19 = arith.constant 2 : index
        %dim_20 = tensor.dim %arg2, %c2_19 : tensor<?x4x?xf32>
        %cst_21 = arith.constant 0.000000e+00 : f32
        %29 = linalg.fill {attn_cpu.loops} ins(%cst_21 : f32) outs(%28 : tensor<?x?xf32>) -> tensor<?x?xf32>
        %30 = linalg.generic {indexing_maps = [#map3, #map4, #map5], iterator_types = ["parallel", "parallel", "reduction"]} ins(%extracted_slice_18, %extracted_slice_15 : tensor<?x1x?xf32>, tensor<?x1x?xf32>) outs(%29 : tensor<?x?xf32>) attrs =  {attn_cpu.loops} {
        ^bb0(%in: f32, %in_23: f32, %out: f32):
          %33 = arith.mulf %in, %in_23 : f32
          %34 = arith.addf %out, %33 : f32
          linalg.yield %34 : f32
        } -> tensor<?x?xf32>
        %31 = linalg.generic {indexing_maps = [#map6, #map6], iterator_types = ["parallel", "parallel"]} ins(%30 : tensor<?x?xf32>) outs(%28 : tensor<?x?xf32>) attrs =  {attn_cpu.loops} {
        ^bb0(%in: f32, %out: f32):
          %33 = linalg.index 1 : index
          %34 = arith.addi %arg8, %33 : index
          %35 = linalg.index 0 : index
          %36 = arith.addi %11, %35 : index
          %37 = arith.addi %15, %35 : index
          %38 = arith.mulf %in, %arg3 : f32
          linalg.yield %38 : f32
        } -> tensor<?x?xf32>
        %extracted_slice_22 = tensor.extract_slice %arg9[0, 0, 0, %arg8] [%14, 1, 1, %26] [1, 1, 1, 1] : tensor<?x1x1x64xf32> to tensor<?x1x1x?xf32>
        %32 = linalg.generic {indexing_maps = [#map6, #map7, #map7, #map9], iterator_types = ["parallel", "parallel"]} ins(%31, %23#0, %23#1 : tensor<?x?xf32>, tensor<?xf32>, tensor<?xf32>) outs(%extracted_slice_22 : tensor<?x1x1x?xf32>) attrs =  {attn_cpu.loops} {
        ^bb0(%in: f32, %in_23: f32, %in_24: f32, %out: f32):
          %33 = arith.subf %in, %in_23 : f32
          %34 = math.exp %33 : f32
          %cst_25 = arith.constant 0.000000e+00 : f32
          %35 = arith.cmpf une, %in_24, %cst_25 : f32
          %36 = arith.divf %34, %in_24 : f32
          %37 = arith.select %35, %36, %cst_25 : f32
          linalg.yield %37 : f32
        } -> tensor<?x1x1x?xf32>
        %inserted_slice = tensor.insert_slice %32 into %arg9[0, 0, 0, %arg8] [%14, 1, 1, %26] [1, 1, 1, 1] : tensor<?x1x1x?xf32> into tensor<?x1x1x64xf32>
        scf.yield %inserted_slice : tensor<?x1x1x64xf32>
      }
      scf.forall.in_parallel {
        tensor.parallel_insert_slice %24 into %arg7[%12, %arg1, %arg5, 0] [%14, 1, 1, 64] [1, 1, 1, 1] : tensor<?x1x1x64xf32> into tensor<?x1x1x64xf32>
      }
    }
    return %3 : tensor<?x1x1x64xf32>
  }
}

// -----
#map = affine_map<()[s0] -> (s0 ceildiv 16)>
#map1 = affine_map<(d0) -> (16, d0)>
#map2 = affine_map<(d0) -> (64, d0)>
#map3 = affine_map<(d0, d1) -> (d1, 0, d0)>
#map4 = affine_map<(d0, d1) -> (d0, d1)>
#map5 = affine_map<(d0, d1, d2) -> (d0, 0, d1)>
#map6 = affine_map<(d0, d1, d2) -> (d1, d2)>
#map7 = affine_map<(d0, d1, d2) -> (d0, d2)>
#map8 = affine_map<(d0, d1) -> (d0)>
#map9 = affine_map<(d0) -> (d0)>
#map10 = affine_map<(d0, d1, d2) -> (d0, d1)>
#map11 = affine_map<(d0, d1, d2) -> (d1, 0, d2)>
#map12 = affine_map<(d0, d1) -> (d0, 0, d1)>
module {
  func.func @marked(%arg0: tensor<?x4x32xf32>, %arg1: tensor<?x4x32xf32>, %arg2: f32) -> tensor<?x4x32xf32> {
    %c0 = arith.constant 0 : index
    %dim = tensor.dim %arg0, %c0 : tensor<?x4x32xf32>
    %c0_0 = arith.constant 0 : index
    %dim_1 = tensor.dim %arg0, %c0_0 : tensor<?x4x32xf32>
    %0 = tensor.empty(%dim_1) : tensor<?x4x32xf32>
    %1 = affine.apply #map()[%dim]
    %2 = scf.forall (%arg3, %arg4, %arg5, %arg6) in (1, 4, 1, %1) shared_outs(%arg7 = %0) -> (tensor<?x4x32xf32>) {
      %c0_2 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c1_3 = arith.constant 1 : index
      %3 = arith.addi %arg3, %c1_3 : index
      %4 = arith.muli %arg4, %c1 : index
      %5 = arith.addi %4, %arg5 : index
      %c0_4 = arith.constant 0 : index
      %dim_5 = tensor.dim %arg0, %c0_4 : tensor<?x4x32xf32>
      %c16 = arith.constant 16 : index
      %6 = arith.muli %arg6, %c16 : index
      %7 = arith.minsi %6, %dim_5 : index
      %8 = arith.addi %c0_2, %7 : index
      %9 = arith.subi %dim_5, %7 : index
      %10 = affine.min #map1(%9)
      %11 = arith.addi %c0_2, %7 : index
      %c0_6 = arith.constant 0 : index
      %dim_7 = tensor.dim %arg1, %c0_6 : tensor<?x4x32xf32>
      %12 = arith.cmpi sle, %9, %c0_2 : index
      %13 = arith.select %12, %c0_2, %dim_7 : index
      %extracted_slice = tensor.extract_slice %arg7[%8, %arg4, 0] [%10, 1, 32] [1, 1, 1] : tensor<?x4x32xf32> to tensor<?x1x32xf32>
      %14 = tensor.empty(%10) : tensor<?x32xf32>
      %cst = arith.constant 0.000000e+00 : f32
      %15 = linalg.fill {attn_cpu.loops} ins(%cst : f32) outs(%14 : tensor<?x32xf32>) -> tensor<?x32xf32>
      %16 = tensor.empty(%10) : tensor<?xf32>
      %cst_8 = arith.constant -3.40282347E+38 : f32
      %17 = linalg.fill {attn_cpu.loops} ins(%cst_8 : f32) outs(%16 : tensor<?xf32>) -> tensor<?xf32>
      %18 = tensor.empty(%10) : tensor<?xf32>
      %cst_9 = arith.constant 0.000000e+00 : f32
      %19 = linalg.fill {attn_cpu.loops} ins(%cst_9 : f32) outs(%18 : tensor<?xf32>) -> tensor<?xf32>
      %c64 = arith.constant 64 : index
      %20:3 = scf.for %arg8 = %c0_2 to %13 step %c64 iter_args(%arg9 = %15, %arg10 = %17, %arg11 = %19) -> (tensor<?x32xf32>, tensor<?xf32>, tensor<?xf32>) {
        %22 = arith.subi %13, %arg8 : index
        %23 = affine.min #map2(%22)
        %24 = arith.addi %c0_2, %arg8 : index
        %extracted_slice_10 = tensor.extract_slice %arg1[%24, %arg4, 0] [%23, 1, 32] [1, 1, 1] : tensor<?x4x32xf32> to tensor<?x1x32xf32>
        %25 = arith.addi %c0_2, %arg8 : index
        %extracted_slice_11 = tensor.extract_slice %arg1[%25, %arg4, 0] [%23, 1, 32] [1, 1, 1] : tensor<?x4x32xf32> to tensor<?x1x32xf32>
        %extracted_slice_12 = tensor.extract_slice %arg0[%8, %arg4, 0] [%10, 1, 32] [1, 1, 1] : tensor<?x4x32xf32> to tensor<?x1x32xf32>
        %26 = tensor.empty(%10, %23) : tensor<?x?xf32>
        %27 = tensor.empty(%23) : tensor<32x?xf32>
        %28 = linalg.generic {indexing_maps = [#map3, #map4], iterator_types = ["parallel", "parallel"]} ins(%extracted_slice_10 : tensor<?x1x32xf32>) outs(%27 : tensor<32x?xf32>) attrs =  {attn_cpu.loops} {
        ^bb0(%in: f32, %out: f32):
          linalg.yield %in : f32
        } -> tensor<32x?xf32>
        %cst_13 = arith.constant 0.000000e+00 : f32
        %29 = linalg.fill {attn_cpu.loops} ins(%cst_13 : f32) outs(%26 : tensor<?x?xf32>) -> tensor<?x?xf32>
        %30 = linalg.generic {indexing_maps = [#map5, #map6, #map7], iterator_types = ["parallel", "reduction", "parallel"]} ins(%extracted_slice_12, %28 : tensor<?x1x32xf32>, tensor<32x?xf32>) outs(%29 : tensor<?x?xf32>) attrs =  {attn_cpu.loops} {
        ^bb0(%in: f32, %in_25: f32, %out: f32):
          %47 = arith.mulf %in, %in_25 : f32
          %48 = arith.addf %out, %47 : f32
          linalg.yield %48 : f32
        } -> tensor<?x?xf32>
        %31 = linalg.generic {indexing_maps = [#map4, #map4], iterator_types = ["parallel", "parallel"]} ins(%30 : tensor<?x?xf32>) outs(%26 : tensor<?x?xf32>) attrs =  {attn_cpu.loops} {
        ^bb0(%in: f32, %out: f32):
          %47 = linalg.index 1 : index
          %48 = arith.addi %arg8, %47 : index
          %49 = linalg.index 0 : index
          %50 = arith.addi %7, %49 : index
          %51 = arith.addi %11, %49 : index
          %52 = arith.mulf %in, %arg2 : f32
          linalg.yield %52 : f32
        } -> tensor<?x?xf32>
        %c0_14 = arith.constant 0 : index
        %dim_15 = tensor.dim %arg10, %c0_14 : tensor<?xf32>
        %32 = tensor.empty(%dim_15) : tensor<?xf32>
        %cst_16 = arith.constant -3.40282347E+38 : f32
        %33 = linalg.fill {attn_cpu.loops} ins(%cst_16 : f32) outs(%32 : tensor<?xf32>) -> tensor<?xf32>
        %34 = linalg.generic {indexing_maps = [#map4, #map8], iterator_types = ["parallel", "reduction"]} ins(%31 : tensor<?x?xf32>) outs(%33 : tensor<?xf32>) attrs =  {attn_cpu.loops} {
        ^bb0(%in: f32, %out: f32):
          %47 = arith.maxnumf %out, %in : f32
          linalg.yield %47 : f32
        } -> tensor<?xf32>
        %35 = tensor.empty(%dim_15) : tensor<?xf32>
        %36:2 = linalg.generic {indexing_maps = [#map9, #map9, #map9], iterator_types = ["parallel"]} ins(%34 : tensor<?xf32>) outs(%arg10, %35 : tensor<?xf32>, tensor<?xf32>) attrs =  {attn_cpu.loops} {
        ^bb0(%in: f32, %out: f32, %out_25: f32):
          %47 = arith.maxnumf %out, %in : f32
          %48 = arith.subf %out, %47 : f32
          %49 = math.exp %48 : f32
          linalg.yield %47, %49 : f32, f32
        } -> (tensor<?xf32>, tensor<?xf32>)
        %c0_17 = arith.constant 0 : index
        %dim_18 = tensor.dim %31, %c0_17 : tensor<?x?xf32>
        %c1_19 = arith.constant 1 : index
        %dim_20 = tensor.dim %31, %c1_19 : tensor<?x?xf32>
        %37 = tensor.empty(%dim_18, %dim_20) : tensor<?x?xf32>
        %38 = linalg.generic {indexing_maps = [#map4, #map8, #map4], iterator_types = ["parallel", "parallel"]} ins(%31, %36#0 : tensor<?x?xf32>, tensor<?xf32>) outs(%37 : tensor<?x?xf32>) attrs =  {attn_cpu.loops} {
        ^bb0(%in: f32, %in_25: f32, %out: f32):
          %47 = arith.subf %in, %in_25 : f32
          %48 = math.exp %47 : f32
          linalg.yield %48 : f32
        } -> tensor<?x?xf32>
        %39 = tensor.empty(%dim_15) : tensor<?xf32>
        %cst_21 = arith.constant 0.000000e+00 : f32
        %40 = linalg.fill {attn_cpu.loops} ins(%cst_21 : f32) outs(%39 : tensor<?xf32>) -> tensor<?xf32>
        %41 = linalg.generic {indexing_maps = [#map4, #map8], iterator_types = ["parallel", "reduction"]} ins(%38 : tensor<?x?xf32>) outs(%40 : tensor<?xf32>) attrs =  {attn_cpu.loops} {
        ^bb0(%in: f32, %out: f32):
          %cst_25 = arith.constant 0.000000e+00 : f32
          %47 = arith.cmpf olt, %in, %cst_25 : f32
          %48 = arith.addf %out, %in : f32
          %49 = arith.select %47, %out, %48 : f32
          linalg.yield %49 : f32
        } -> tensor<?xf32>
        %42 = linalg.generic {indexing_maps = [#map9, #map9, #map9], iterator_types = ["parallel"]} ins(%36#1, %41 : tensor<?xf32>, tensor<?xf32>) outs(%arg11 : tensor<?xf32>) attrs =  {attn_cpu.loops} {
        ^bb0(%in: f32, %in_25: f32, %out: f32):
          %47 = arith.mulf %out, %in : f32
          %48 = arith.addf %47, %in_25 : f32
          linalg.yield %48 : f32
        } -> tensor<?xf32>
        %c0_22 = arith.constant 0 : index
        %dim_23 = tensor.dim %arg9, %c0_22 : tensor<?x32xf32>
        %43 = tensor.empty(%dim_23) : tensor<?x32xf32>
        %cst_24 = arith.constant 0.000000e+00 : f32
        %44 = linalg.fill {attn_cpu.loops} ins(%cst_24 : f32) outs(%43 : tensor<?x32xf32>) -> tensor<?x32xf32>
        %45 = linalg.generic {indexing_maps = [#map10, #map11, #map7], iterator_types = ["parallel", "reduction", "parallel"]} ins(%38, %extracted_slice_11 : tensor<?x?xf32>, tensor<?x1x32xf32>) outs(%44 : tensor<?x32xf32>) attrs =  {attn_cpu.loops} {
        ^bb0(%in: f32, %in_25: f32, %out: f32):
          %cst_26 = arith.constant 0.000000e+00 : f32
          %47 = arith.cmpf olt, %in, %cst_26 : f32
          %48 = arith.mulf %in, %in_25 : f32
          %49 = arith.addf %out, %48 : f32
          %50 = arith.select %47, %out, %49 : f32
          linalg.yield %50 : f32
        } -> tensor<?x32xf32>
        %46 = linalg.generic {indexing_maps = [#map4, #map8, #map4], iterator_types = ["parallel", "parallel"]} ins(%45, %36#1 : tensor<?x32xf32>, tensor<?xf32>) outs(%arg9 : tensor<?x32xf32>) attrs =  {attn_cpu.loops} {
        ^bb0(%in: f32, %in_25: f32, %out: f32):
          %47 = arith.mulf %out, %in_25 : f32
          %48 = arith.addf %47, %in : f32
          linalg.yield %48 : f32
        } -> tensor<?x32xf32>
        scf.yield %46, %36#0, %42 : tensor<?x32xf32>, tensor<?xf32>, tensor<?xf32>
      }
      %21 = linalg.generic {indexing_maps = [#map4, #map8, #map12], iterator_types = ["parallel", "parallel"]} ins(%20#0, %20#2 : tensor<?x32xf32>, tensor<?xf32>) outs(%extracted_slice : tensor<?x1x32xf32>) attrs =  {attn_cpu.loops} {
      ^bb0(%in: f32, %in_10: f32, %out: f32):
        %cst_11 = arith.constant 0.000000e+00 : f32
        %22 = arith.cmpf oeq, %in_10, %cst_11 : f32
        %23 = arith.divf %in, %in_10 : f32
        %cst_12 = arith.constant 0.000000e+00 : f32
        %24 = arith.select %22, %cst_12, %23 : f32
        linalg.yield %24 : f32
      } -> tensor<?x1x32xf32>
      scf.forall.in_parallel {
        tensor.parallel_insert_slice %21 into %arg7[%8, %arg4, 0] [%10, 1, 32] [1, 1, 1] : tensor<?x1x32xf32> into tensor<?x4x32xf32>
      }
    }
    return %2 : tensor<?x4x32xf32>
  }
}

