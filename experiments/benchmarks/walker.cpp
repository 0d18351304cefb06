// The smooth round-foot walker, fixed-step RK4, hand-written: the floor that the JAX program is measured against.
//
//   walker {scalar|simd} members steps dt file
//
// Same right-hand side as jaxgait.models.walker.Walker with its default parameters, but slip_velocity 0.05 m/s; the slope runs linearly from 0.008 to
// 0.012 over the members. Prints the seconds of the integration and writes the final states (members x 8 doubles).
// "simd" integrates 8 members per instruction with GCC vector extensions; "scalar" one by one with the C library.
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

typedef double v8 __attribute__((vector_size(64)));
typedef long long m8 __attribute__((vector_size(64)));

// ---- elementary functions --------------------------------------------------------------------------------------------
static inline double choose(bool m, double a, double b) { return m ? a : b; }
static inline v8 choose(m8 m, v8 a, v8 b) { return m ? a : b; }
static inline v8 nearest(v8 x) { const double big = 6755399441055744.0; return (x + big) - big; }

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

static inline double exp_of(double x) { return std::exp(x); }
static inline v8 exp_of(v8 x) {
  x = choose(x < -700.0, v8{} - 700.0, choose(x > 700.0, v8{} + 700.0, x));
  v8 n = nearest(x * 1.44269504088896340736);
  v8 r = (x - n * 6.93145751953125e-1) - n * 1.42860682030941723212e-6;
  v8 z = r * r;
  v8 p = r * (9.99999999999999999910e-1 + z * (3.02994407707441961300e-2 + z * 1.26177193074810590878e-4));
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

// ---- the model -------------------------------------------------------------------------------------------------------
const double mass = 1.0, inertia = 0.008, com = 0.1, leg = 0.4, radius = 0.1, gravity = 9.8, friction = 0.5;
const double stiffness = 1e6, dissipation = 50.0, depth = 1e-6, slip_velocity = 0.05, clearance = 0.15, width = 0.01,
             swing = 0.1, tension = 0.01;

template <class V> struct State { V q[8]; };  // x, y, theta_1, theta_2 and their rates

template <class V>
static inline void foot(V y, V vx, V vy, V s, V c, V omega, V lead, V &normal, V &tangent, V &na, V &ta) {
  na = (leg - radius) * s;
  ta = (leg - radius) * c + radius;
  V gap = y - ta, rate = vy + na * omega, slip = vx + ta * omega;
  V gate = 1.0 - sigmoid((clearance - lead) / width) * sigmoid(omega / swing);
  normal = gate * stiffness * softplus(-gap / depth) * depth * tension * softplus((1.0 - dissipation * rate) / tension);
  tangent = -friction * normal * tanh_of(slip / slip_velocity);
}

template <class V> static inline State<V> field(const State<V> &u, V sg, V cg) {
  const V *q = u.q;
  const double a = mass * com, I = inertia + mass * com * com, r = 1.0 / I, M = 2.0 * mass;
  V s1, c1, s2, c2, n1, t1, na1, ta1, n2, t2, na2, ta2;
  sincos_of(q[2], s1, c1);
  sincos_of(q[3], s2, c2);
  foot(q[1], q[4], q[5], s1, c1, q[6], V(q[2] - q[3]), n1, t1, na1, ta1);
  foot(q[1], q[4], q[5], s2, c2, q[7], V(q[3] - q[2]), n2, t2, na2, ta2);
  V C1 = a * c1, S1 = a * s1, C2 = a * c2, S2 = a * s2, w1 = q[6] * q[6], w2 = q[7] * q[7];
  V f0 = M * gravity * sg + S1 * w1 + S2 * w2 + t1 + t2;
  V f1 = -M * gravity * cg - C1 * w1 - C2 * w2 + n1 + n2;
  V f2 = -gravity * (S1 * cg - C1 * sg) + na1 * n1 + ta1 * t1;
  V f3 = -gravity * (S2 * cg - C2 * sg) + na2 * n2 + ta2 * t2;
  V xx = M - (C1 * C1 + C2 * C2) * r, xy = -(C1 * S1 + C2 * S2) * r, yy = M - (S1 * S1 + S2 * S2) * r;
  V fx = f0 - (C1 * f2 + C2 * f3) * r, fy = f1 - (S1 * f2 + S2 * f3) * r, d = 1.0 / (xx * yy - xy * xy);
  V ax = (yy * fx - xy * fy) * d, ay = (xx * fy - xy * fx) * d;
  return {{q[4], q[5], q[6], q[7], ax, ay, V((f2 - C1 * ax - S1 * ay) * r), V((f3 - C2 * ax - S2 * ay) * r)}};
}

template <class V> static inline State<V> moved(const State<V> &y, const State<V> &k, double h) {
  State<V> z;
  for (int i = 0; i < 8; ++i) z.q[i] = y.q[i] + h * k.q[i];
  return z;
}

template <class V> static void integrate(State<V> &y, V sg, V cg, long steps, double h) {
  for (long n = 0; n < steps; ++n) {
    State<V> k1 = field(y, sg, cg), k2 = field(moved(y, k1, h / 2), sg, cg), k3 = field(moved(y, k2, h / 2), sg, cg),
             k4 = field(moved(y, k3, h), sg, cg);
    for (int i = 0; i < 8; ++i) y.q[i] += h / 6 * (k1.q[i] + 2.0 * (k2.q[i] + k3.q[i]) + k4.q[i]);
  }
}

int main(int argc, char **argv) {
  if (argc != 6) return std::fprintf(stderr, "usage: walker {scalar|simd} members steps dt file\n"), 2;
  const long members = std::atol(argv[2]), steps = std::atol(argv[3]);
  const double h = std::atof(argv[4]), start[8] = {0.0, 0.394, 0.2, -0.2, 0.591, 0.089, -1.5, -1.0};
  std::vector<double> out(members * 8);
  auto slope = [&](long i) { return members > 1 ? 0.008 + 0.004 * i / (members - 1) : 0.01; };
  auto begin = std::chrono::steady_clock::now();
  if (!std::strcmp(argv[1], "scalar")) {
    for (long i = 0; i < members; ++i) {
      State<double> y;
      for (int j = 0; j < 8; ++j) y.q[j] = start[j];
      integrate(y, std::sin(slope(i)), std::cos(slope(i)), steps, h);
      for (int j = 0; j < 8; ++j) out[i * 8 + j] = y.q[j];
    }
  } else {
    for (long i = 0; i < members; i += 8) {
      State<v8> y;
      v8 sg, cg;
      for (int j = 0; j < 8; ++j) y.q[j] = v8{} + start[j];
      for (int l = 0; l < 8; ++l) sg[l] = std::sin(slope(i + l)), cg[l] = std::cos(slope(i + l));
      integrate(y, sg, cg, steps, h);
      for (int l = 0; l < 8 && i + l < members; ++l)
        for (int j = 0; j < 8; ++j) out[(i + l) * 8 + j] = y.q[j][l];
    }
  }
  std::printf("%.9f\n", std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  FILE *file = std::fopen(argv[5], "wb");
  if (!file) return std::perror(argv[5]), 1;
  std::fwrite(out.data(), sizeof(double), out.size(), file);
  std::fclose(file);
}
