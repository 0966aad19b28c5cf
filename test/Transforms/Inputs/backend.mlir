module attributes {attn.stage = "backend"} {
  func.func @f() {
    return
  }
}
