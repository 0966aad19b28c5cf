"""copy_tensor.py SOURCE FILE FROM TO: gives the tensor TO of a safetensors file the values of FROM."""
import sys

sys.path.insert(0, sys.argv[1] + "/test/Reference/numpy")
import tensorfiles

file, source, target = sys.argv[2:]
tensors = tensorfiles.read(file)
tensorfiles.write(file, {**tensors, target: tensors[source]}, "F32")
