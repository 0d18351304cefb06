// The smooth round-foot walker, fixed-step RK4, hand-written: the floor that the JAX program is measured against.
//
//   walker {scalar|simd} members steps dt file
//
// Same right-hand side as jaxgait.models.walker.Walker with its default parameters, but slip_velocity 0.05 m/s; the
// slope runs linearly from 0.008 to 0.012 over the members. Prints the wall and processor seconds of the integration and
// writes the final states (members x 8 doubles).
// "simd" integrates 8 members per instruction with GCC vector extensions; "scalar" one by one with the C library.
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "simd.hpp"

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
  const Clock clock;
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
  clock.print();
  FILE *file = std::fopen(argv[5], "wb");
  if (!file) return std::perror(argv[5]), 1;
  std::fwrite(out.data(), sizeof(double), out.size(), file);
  std::fclose(file);
}
