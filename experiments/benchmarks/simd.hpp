// Elementary functions of one number (the C library's) and of eight at once (GCC vector extensions), and a clock.
//
// Sine and cosine: fdlibm's polynomials after a reduction in three parts; arctangent: Cephes; exponential: Cephes.
#pragma once
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <ctime>

typedef double v8 __attribute__((vector_size(64)));
typedef decltype(v8{} < v8{}) m8;  // all bits set where true

// ---- comparisons give bool or m8 -------------------------------------------------------------------------------------
static inline double choose(bool m, double a, double b) { return m ? a : b; }
static inline v8 choose(m8 m, v8 a, v8 b) { return m ? a : b; }
static inline double nearest(double x) { return std::nearbyint(x); }
static inline v8 nearest(v8 x) { const double big = 6755399441055744.0; return (x + big) - big; }
template <class V> static inline V larger(V a, V b) { return choose(a > b, a, b); }
template <class V> static inline V smaller(V a, V b) { return choose(a < b, a, b); }
template <class V> static inline V magnitude(V x) { return choose(x < 0.0, V(-x), x); }

static inline double sqrt_of(double x) { return std::sqrt(x); }
static inline v8 sqrt_of(v8 x) {
  double lanes[8];
  std::memcpy(lanes, &x, sizeof x);
  for (double &lane : lanes) lane = __builtin_sqrt(lane);
  std::memcpy(&x, lanes, sizeof x);
  return x;
}

// ---- circular functions ----------------------------------------------------------------------------------------------
static inline void sincos_of(double x, double &s, double &c) { s = std::sin(x); c = std::cos(x); }
static inline void sincos_of(v8 x, v8 &s, v8 &c) {
  v8 n = nearest(x * 0.63661977236758134308);
  v8 r = ((x - n * 1.57079632673412561417) - n * 6.07710050630396597660e-11) - n * 2.02226624871116645580e-21;
  m8 q = __builtin_convertvector(n, m8) & 3;
  v8 z = r * r;
  v8 sr = r + r * z * (-1.66666666666666324348e-01 + z * (8.33333333332248946124e-03 + z * (-1.98412698298579493134e-04 +
          z * (2.75573137070700676789e-06 + z * (-2.50507602534068634195e-08 + z * 1.58969099521155010221e-10)))));
  v8 cr = 1.0 - (0.5 * z - z * z * (4.16666666666666019037e-02 + z * (-1.38888888888741095749e-03 + z *
          (2.48015872894767294178e-05 + z * (-2.75573143513906633035e-07 + z * (2.08757232129817482790e-09 +
          z * -1.13596475577881948265e-11))))));
  m8 odd = (q & 1) == 1;
  s = choose(odd, cr, sr);
  c = choose(odd, sr, cr);
  s = choose(q >= 2, -s, s);
  c = choose((q == 1) | (q == 2), -c, c);
}

static inline double arctan_of(double x) { return std::atan(x); }
static inline v8 arctan_of(v8 x) {
  v8 a = magnitude(x), zero = {};
  m8 large = a > 2.41421356237309504880, middle = (a > 0.66) & ~large;
  v8 r = choose(large, zero - 1.0, choose(middle, a - 1.0, a)) / choose(large, a, choose(middle, a + 1.0, zero + 1.0));
  v8 z = r * r;
  v8 p = -6.485021904942025371773e1 + z * (-1.228866684490136173410e2 + z * (-7.500855792314704667340e1 + z *
         (-1.615753718733365076637e1 + z * -8.750608600031904122785e-1)));
  v8 q = 1.945506571482613964425e2 + z * (4.853903996359136964868e2 + z * (4.328810604912902668951e2 + z *
         (1.650270098316988542046e2 + z * (2.485846490142306297962e1 + z))));
  v8 base = choose(large, zero + 1.57079632679489661923, choose(middle, zero + 0.78539816339744830962, zero));
  v8 value = base + (r * (z * p / q) + r);
  return choose(x < 0.0, -value, value);
}

static inline double arctan2_of(double y, double x) { return std::atan2(y, x); }
static inline v8 arctan2_of(v8 y, v8 x) {
  const double pi = 3.14159265358979323846;
  v8 zero = {}, upper = choose(y < 0.0, zero - 1.0, zero + 1.0);
  m8 steep = magnitude(y) > magnitude(x);
  v8 angle = arctan_of(choose(steep, x, y) / choose(steep, y, x));
  return choose(steep, upper * (pi / 2) - angle, choose(x < 0.0, angle + upper * pi, angle));
}

// ---- exponential functions -------------------------------------------------------------------------------------------
static inline double exp_of(double x) { return std::exp(x); }
static inline v8 exp_of(v8 x) {
  x = choose(x < -700.0, v8{} - 700.0, choose(x > 700.0, v8{} + 700.0, x));
  v8 n = nearest(x * 1.44269504088896340736);
  v8 r = (x - n * 6.93145751953125e-1) - n * 1.42860682030941723212e-6;
  v8 z = r * r;
  v8 p = r * (9.99999999999999999910e-1 + z * (3.02994407707446961300e-2 + z * 1.26177193074810590878e-4));
  v8 q = 2.0 + z * (2.27265548208155028766e-1 + z * (2.52448340349684104192e-3 + z * 3.00198505138664455042e-6));
  m8 bits = (__builtin_convertvector(n, m8) + 1023) << 52;
  v8 scale;
  std::memcpy(&scale, &bits, sizeof scale);
  return (1.0 + 2.0 * p / (q - p)) * scale;
}

static inline double softplus(double x) { return std::fmax(x, 0.0) + std::log1p(std::exp(-std::fabs(x))); }
static inline v8 softplus(v8 x) {
  v8 a = choose(x < 0.0, x, -x), u = exp_of(a), s = u / (2.0 + u), z = s * s, p = v8{} + 2.0 / 33;
  for (int k = 31; k > 0; k -= 2) p = p * z + 2.0 / k;
  return choose(x > 0.0, x, v8{}) + s * p;
}
template <class V> static inline V sigmoid(V x) { return 1.0 / (1.0 + exp_of(-x)); }
static inline double tanh_of(double x) { return std::tanh(x); }
static inline v8 tanh_of(v8 x) { return 1.0 - 2.0 / (exp_of(2.0 * x) + 1.0); }

// ---- the clock -------------------------------------------------------------------------------------------------------
// Prints the wall and the processor time in s since it was made.
struct Clock {
  std::chrono::steady_clock::time_point wall = std::chrono::steady_clock::now();
  std::clock_t cpu = std::clock();
  void print() const {
    const double passed = std::chrono::duration<double>(std::chrono::steady_clock::now() - wall).count();
    std::printf("%.9f %.9f\n", passed, double(std::clock() - cpu) / CLOCKS_PER_SEC);
  }
};
