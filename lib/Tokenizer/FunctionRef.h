//===- FunctionRef.h - A borrowed callable ---------------------------------===//
//
// The text stages pass pieces on by callback, once a word. A borrowed callable
// costs one indirect call and no allocation, unlike std::function.
//
//===----------------------------------------------------------------------===//
#pragma once
#include <type_traits>
#include <utility>

namespace rapt {

template <typename Signature> class FunctionRef;

/// Refers to a callable that outlives the call it is passed to.
template <typename Result, typename... Arguments> class FunctionRef<Result(Arguments...)> {
public:
  template <typename Callable>
    requires(!std::is_same_v<std::remove_cvref_t<Callable>, FunctionRef>)
  FunctionRef(Callable &&callable)
      : object(const_cast<void *>(static_cast<const void *>(&callable))),
        call([](void *target, Arguments... arguments) -> Result {
          return (*static_cast<std::remove_reference_t<Callable> *>(target))(std::forward<Arguments>(arguments)...);
        }) {}
  Result operator()(Arguments... arguments) const { return call(object, std::forward<Arguments>(arguments)...); }

private:
  void *object;
  Result (*call)(void *, Arguments...);
};

} // namespace rapt
