// Dual numbers whose sparsity is part of the type: forward-mode derivatives without products by zero.
//
// Num<V, M> is a value and its partial derivatives along the directions whose bits are set in M; V is double or v8.
// Num<V, 0> is a plain number: the same right-hand side serves for values and for Jacobians.
#pragma once
#include <array>
#include <bit>
#include <utility>

#include "simd.hpp"

#define INLINE inline __attribute__((always_inline))

constexpr int DIRECTIONS = 5;

template <class V, unsigned M> struct Num {
  V v;
  std::array<V, std::popcount(M)> d;
};

// The partial derivative along direction K; zero if the type knows none.
template <int K, class V, unsigned M> INLINE V along(const Num<V, M> &x) {
  if constexpr ((M >> K & 1u) != 0) return x.d[std::popcount(M & ((1u << K) - 1u))];
  else return V{};
}

template <unsigned M, int I> constexpr int direction() {  // the I-th set bit of M
  int k = 0;
  for (int left = I; !(M >> k & 1u) || left-- > 0;) ++k;
  return k;
}

// ---- the chain rule: a value with partial derivatives fa of a and fb of b --------------------------------------------
template <int K, class V, unsigned A, unsigned B>
INLINE V partial(V fa, const Num<V, A> &a, V fb, const Num<V, B> &b) {
  if constexpr ((A & B) >> K & 1u) return fa * along<K>(a) + fb * along<K>(b);
  else if constexpr (A >> K & 1u) return fa * along<K>(a);
  else return fb * along<K>(b);
}
template <class V, unsigned A, unsigned B, std::size_t... I>
INLINE Num<V, A | B> chained(V v, [[maybe_unused]] V fa, const Num<V, A> &a, [[maybe_unused]] V fb,
                             const Num<V, B> &b, std::index_sequence<I...>) {
  return {v, {partial<direction<A | B, int(I)>()>(fa, a, fb, b)...}};
}
template <class V, unsigned A, unsigned B>
INLINE Num<V, A | B> chain(V v, V fa, const Num<V, A> &a, V fb, const Num<V, B> &b) {
  return chained(v, fa, a, fb, b, std::make_index_sequence<std::popcount(A | B)>());
}
template <class V, unsigned A> INLINE Num<V, A> chain(V v, V fa, const Num<V, A> &a) {
  return chain(v, fa, a, V{}, Num<V, 0>{V{}, {}});
}

// ---- arithmetic ------------------------------------------------------------------------------------------------------
template <class V, unsigned A, unsigned B> INLINE auto operator+(const Num<V, A> &a, const Num<V, B> &b) {
  return chain(V(a.v + b.v), V(V{} + 1.0), a, V(V{} + 1.0), b);
}
template <class V, unsigned A, unsigned B> INLINE auto operator-(const Num<V, A> &a, const Num<V, B> &b) {
  return chain(V(a.v - b.v), V(V{} + 1.0), a, V(V{} - 1.0), b);
}
template <class V, unsigned A, unsigned B> INLINE auto operator*(const Num<V, A> &a, const Num<V, B> &b) {
  return chain(V(a.v * b.v), b.v, a, a.v, b);
}
template <class V, unsigned A> INLINE auto reciprocal(const Num<V, A> &a) {
  V r = 1.0 / a.v;
  return chain(r, V(-r * r), a);
}
template <class V, unsigned A> INLINE auto operator-(const Num<V, A> &a) { return chain(V(-a.v), V(V{} - 1.0), a); }
template <class V, unsigned A> INLINE auto operator+(const Num<V, A> &a, double b) { return Num<V, A>{a.v + b, a.d}; }
template <class V, unsigned A> INLINE auto operator+(double a, const Num<V, A> &b) { return b + a; }
template <class V, unsigned A> INLINE auto operator-(const Num<V, A> &a, double b) { return a + (-b); }
template <class V, unsigned A> INLINE auto operator-(double a, const Num<V, A> &b) { return -b + a; }
template <class V, unsigned A> INLINE auto operator*(const Num<V, A> &a, double b) {
  return chain(V(a.v * b), V(V{} + b), a);
}
template <class V, unsigned A> INLINE auto operator*(double a, const Num<V, A> &b) { return b * a; }

// ---- functions -------------------------------------------------------------------------------------------------------
template <class V, unsigned A> INLINE auto root(const Num<V, A> &a) {
  V r = sqrt_of(a.v);
  return chain(r, V(0.5 / r), a);
}
template <class V, unsigned A> INLINE auto positive(const Num<V, A> &a) {
  V zero = {};
  return chain(larger(a.v, zero), choose(a.v > 0.0, V(zero + 1.0), zero), a);
}
template <class V, unsigned A> INLINE std::pair<Num<V, A>, Num<V, A>> sincos(const Num<V, A> &a) {
  V s, c;
  sincos_of(a.v, s, c);
  return {chain(s, c, a), chain(c, V(-s), a)};
}
template <class V, unsigned A> INLINE auto hyperbolic_tangent(const Num<V, A> &a) {
  V t = tanh_of(a.v);
  return chain(t, V(1.0 - t * t), a);
}
template <class V, unsigned A> INLINE auto arctan(const Num<V, A> &a) {
  return chain(arctan_of(a.v), V(1.0 / (1.0 + a.v * a.v)), a);
}
template <class V, unsigned A, unsigned B> INLINE auto arctan2(const Num<V, A> &y, const Num<V, B> &x) {
  V r = 1.0 / (x.v * x.v + y.v * y.v);
  return chain(arctan2_of(y.v, x.v), V(x.v * r), y, V(-y.v * r), x);
}
