// The driven four-bar knee, stiff and adaptive, hand-written: the floor that the JAX program is measured against.
//
//   knee field {scalar|simd} model points file        right-hand side and Jacobian at rows of t, y[4]
//   knee run {scalar|simd} model members span rtol file   integrates rows of k, c, y0[4] from 0 to `span`
//
// Same right-hand side as jaxgait.models.prosthesis.Prosthesis without a socket (smoothing by tanh, ankle damping
// the deviation), and the same method as jaxgait.solve.rosenbrock.Ros4 with diffrax.PIDController's default step control.
// `model` is a text file of lines `name number ...`. "simd" works on 8 members at a time, each with its own step size,
// until the last of them has arrived; "scalar" on one by one with the C library. Jacobian and df/dt are exact: forward
// mode with the sparsity in the types. A folded linkage is not watched for. `run` prints wall and processor seconds;
// the files hold rows of doubles: f[4] and its derivatives with respect to t, y[4] (one after the other); or y[4], steps.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "dual.hpp"

const double PI = 3.14159265358979323846;

// ---- vectors of the plane --------------------------------------------------------------------------------------------
template <class X, class Y> struct Vec { X x; Y y; };
template <class X, class Y> Vec(X, Y) -> Vec<X, Y>;
template <class A, class B, class C, class D> INLINE auto operator+(const Vec<A, B> &a, const Vec<C, D> &b) {
  return Vec{a.x + b.x, a.y + b.y};
}
template <class A, class B, class C, class D> INLINE auto operator-(const Vec<A, B> &a, const Vec<C, D> &b) {
  return Vec{a.x - b.x, a.y - b.y};
}
template <class A, class B, class S> INLINE auto operator*(const Vec<A, B> &a, const S &s) {
  return Vec{a.x * s, a.y * s};
}
template <class A, class B> INLINE auto turned(const Vec<A, B> &a) { return Vec{-a.y, a.x}; }
template <class A, class B, class C, class D> INLINE auto dot(const Vec<A, B> &a, const Vec<C, D> &b) {
  return a.x * b.x + a.y * b.y;
}
template <class A, class B, class C, class D> INLINE auto cross(const Vec<A, B> &a, const Vec<C, D> &b) {
  return a.x * b.y - a.y * b.x;
}
// down(a) = (sin a, -cos a); down(a + b) from both.
template <class N> INLINE auto down(const N &angle) {
  auto [s, c] = sincos(angle);
  return Vec{s, -c};
}
static Vec<double, double> down(double angle) { return {std::sin(angle), -std::cos(angle)}; }
template <class A, class B, class C, class D> INLINE auto added(const Vec<A, B> &a, const Vec<C, D> &b) {
  return Vec{-(a.x * b.y + a.y * b.x), a.x * b.x - a.y * b.y};
}

// ---- the parameters --------------------------------------------------------------------------------------------------
struct Series { std::vector<double> c; };  // a0, a1, b1, a2, b2, ...

struct File {
  std::map<std::string, std::vector<double>> entries;
  explicit File(const char *path) {
    std::ifstream in(path);
    if (!in) throw std::runtime_error(std::string("cannot read ") + path);
    for (std::string line; std::getline(in, line);) {
      std::istringstream words(line);
      std::string name;
      words >> name;
      for (double x; words >> x;) entries[name].push_back(x);
    }
  }
  const std::vector<double> &all(const std::string &name) const {
    auto found = entries.find(name);
    if (found == entries.end()) throw std::runtime_error("the model lacks " + name);
    return found->second;
  }
  double operator()(const std::string &name) const { return all(name).at(0); }
};

struct Knee {
  double AB, BC, CD, AD, AE, DF, thigh, shank, foot, ankle, height_offset, hip_lift, gravity;
  Vec<double, double> gamma1, minus_gamma2, cylinder_tilt;
  double mass_AD, mass_BC, mass_CD, mass_shank, mass_foot;
  double ground_k, ground_c, friction, ground_steepness, slip_rate;
  double lock_k, lock_c, lock_arm, lock_steepness, straight;
  double rest_length, thigh_arm, link_arm, ankle_k, ankle_c, period, speed;
  Series hip_x, hip_y, alpha, foot_angle;

  explicit Knee(const File &p)
      : AB(p("linkage.l_AB")), BC(p("linkage.l_BC")), CD(p("linkage.l_CD")), AD(p("linkage.l_AD")),
        AE(p("linkage.l_AE")), DF(p("linkage.l_DF")), thigh(p("segments.thigh")), shank(p("segments.shank")),
        foot(p("segments.foot")), ankle(p("segments.ankle")), height_offset(p("height_offset")),
        hip_lift(p("hip_lift")), gravity(p("gravity")), gamma1(down(p("linkage.gamma1"))),
        minus_gamma2(down(-p("linkage.gamma2"))), cylinder_tilt(down(p("damper.thigh_tilt") - p("linkage.gamma1"))),
        mass_AD(p("masses.AD")), mass_BC(p("masses.BC")), mass_CD(p("masses.CD")), mass_shank(p("masses.shank")),
        mass_foot(p("masses.foot")), ground_k(p("ground.stiffness")), ground_c(p("ground.damping")),
        friction(p("ground.friction")), ground_steepness(p("ground.steepness")), slip_rate(p("ground.slip_rate")),
        lock_k(p("lock.stiffness")), lock_c(p("lock.damping")), lock_arm(p("lock.arm")),
        lock_steepness(p("lock.steepness")), straight(0.0), rest_length(p("damper.rest_length")),
        thigh_arm(p("damper.thigh_arm")), link_arm(p("damper.link_arm")), ankle_k(p("ankle.stiffness")),
        ankle_c(p("ankle.damping")), period(p("drive.period") / p("cadence")), speed(p("drive.speed") * p("cadence")),
        hip_x{p.all("drive.hip_x")}, hip_y{p.all("drive.hip_y")}, alpha{p.all("drive.thigh")},
        foot_angle{p.all("drive.ankle")} {
    // psi of the straight knee: AD, BC and the vector from A to B plus the bar close a triangle.
    auto base = down(p("linkage.gamma2")) * CD - gamma1 * AB;
    double distance = std::sqrt(dot(base, base));
    double cosine = (AD * AD - BC * BC - distance * distance) / (2.0 * BC * distance);
    straight = std::atan2(base.x, -base.y) - std::acos(cosine);
    if (straight > 1.5) straight -= 2.0 * PI;
  }
};

// ---- the drive -------------------------------------------------------------------------------------------------------
template <class V, unsigned T> struct Jet { Num<V, T> value, rate, acceleration; };

// A number of time, with its derivative if the type of t asks for it.
template <class V, unsigned T> INLINE Num<V, T> timed(V value, V rate) {
  if constexpr (T != 0) return {value, {rate}};
  else return {value, {}};
}

template <class V, unsigned T> struct Drive { Jet<V, T> hip_x, hip_y, alpha, foot_angle; };

template <class V, unsigned T> INLINE Drive<V, T> drive(const Knee &p, const Num<V, T> &t) {
  const Series *series[4] = {&p.hip_x, &p.hip_y, &p.alpha, &p.foot_angle};
  const std::size_t harmonics = p.alpha.c.size() / 2;
  const double omega = 2.0 * PI / p.period;
  V s1, c1, zero = {}, sums[4][4];
  V cycles = t.v * (1.0 / p.period);
  sincos_of(2.0 * PI * (cycles - nearest(cycles)), s1, c1);
  V s = s1, c = c1;
  for (int i = 0; i < 4; ++i) sums[i][0] = zero + series[i]->c[0], sums[i][1] = sums[i][2] = sums[i][3] = zero;
  for (std::size_t h = 0; h < harmonics; ++h) {
    const double order = double(h) + 1.0;
    for (int i = 0; i < 4; ++i) {
      const double a = series[i]->c[2 * h + 1], b = series[i]->c[2 * h + 2];
      V even = a * c + b * s, odd = order * (b * c - a * s);
      sums[i][0] += even;
      sums[i][1] += odd;
      sums[i][2] -= order * order * even;
      if constexpr (T != 0) sums[i][3] -= order * order * odd;
    }
    V next = c * c1 - s * s1;
    s = s * c1 + c * s1;
    c = next;
  }
  auto jet = [&](int i, double scale) {
    V v = scale * sums[i][0], r = scale * omega * sums[i][1], a = scale * omega * omega * sums[i][2];
    return Jet<V, T>{timed<V, T>(v, r), timed<V, T>(r, a),
                     timed<V, T>(a, V(scale * omega * omega * omega * sums[i][3]))};
  };
  Drive<V, T> d = {jet(0, 1.0), jet(1, p.hip_lift), jet(2, 1.0), jet(3, 1.0)};
  d.hip_x.rate = d.hip_x.rate + p.speed;
  d.hip_y.value = d.hip_y.value + p.hip_lift * p.height_offset;
  return d;
}

// ---- mechanics -------------------------------------------------------------------------------------------------------
struct None {};  // the partial velocity of what does not depend on a generalised speed

// A point: height, velocity, acceleration at constant speeds, and partial velocity of the speed thetaB'.
template <class Y, class V, class A, class P> struct Point { Y y; V velocity; A acceleration; P by_theta; };
template <class Y, class V, class A, class P> Point(Y, V, A, P) -> Point<Y, V, A, P>;

// A turning direction: rate, acceleration, and its partial rate (None if thetaB' does not turn it).
template <class D, class R, class A, class W> struct Rotation { D direction; R rate; A acceleration; W by_theta; };
template <class D, class R, class A, class W> Rotation(D, R, A, W) -> Rotation<D, R, A, W>;

template <class N> INLINE None partial_velocity(const None &, const N &, const None &) { return {}; }
template <class N, class W> INLINE auto partial_velocity(const None &, const N &n, const W &w) { return n * w; }
template <class P, class N> INLINE auto partial_velocity(const P &p, const N &, const None &) { return p; }
template <class P, class N, class W> INLINE auto partial_velocity(const P &p, const N &n, const W &w) {
  return p + n * w;
}

// The point at a distance from another one, in a body that turns.
template <class P, class R> INLINE auto beyond(const P &start, double length, const R &turn) {
  auto d = turn.direction * length;
  auto n = turned(d);
  return Point{start.y + d.y, start.velocity + n * turn.rate,
               start.acceleration + n * turn.acceleration - d * (turn.rate * turn.rate),
               partial_velocity(start.by_theta, n, turn.by_theta)};
}

// Normal force of a spring and a damper, switched on at touch-down, never pulling.
template <class D, class R> INLINE auto kelvin_voigt(const D &depth, const R &rate, double k, double c, double steep) {
  return positive(k * depth + c * rate) * (0.5 + 0.5 * hyperbolic_tangent(steep * depth));
}

template <class P> INLINE auto ground_force(const Knee &p, const P &point) {
  auto normal = kelvin_voigt(-point.y, -point.velocity.y, p.ground_k, p.ground_c, p.ground_steepness);
  return Vec{-(p.friction * 2.0 / PI) * (normal * arctan(p.slip_rate * point.velocity.x)), normal};
}

// Contribution of one body to the mass and the load of thetaB'.
template <class P, class R> INLINE auto inertia(double m, double I, const P &centre, const R &turn) {
  return m * dot(centre.by_theta, centre.by_theta) + I * (turn.by_theta * turn.by_theta);
}
template <class P, class R> INLINE auto load(const Knee &p, double m, double I, const P &centre, const R &turn) {
  const auto &a = centre.acceleration;
  return m * (centre.by_theta.x * a.x + centre.by_theta.y * (a.y + p.gravity)) + I * (turn.by_theta * turn.acceleration);
}
static double rod(double mass, double length) { return mass * length * length / 12.0; }

// Accelerations of thetaB and beta1 at a time and a state, k and c being spring and damping of the cylinder.
template <class V, unsigned T, unsigned A, unsigned B, unsigned C, unsigned D>
INLINE auto field(const Knee &p, const V &k, const V &c, const Num<V, T> &t, const Num<V, A> &theta,
                  const Num<V, B> &beta, const Num<V, C> &theta_rate, const Num<V, D> &beta_rate) {
  using Plain = Num<V, 0>;
  const Plain zero = {V{}, {}}, one = {V{} + 1.0, {}}, spring = {k, {}}, damping = {c, {}};
  Drive<V, T> hip = drive(p, t);
  auto alpha = hip.alpha;
  auto psi = theta - alpha.value;
  auto psi_rate = theta_rate - alpha.rate;

  // The linkage in the frame of the thigh.
  auto BC = down(psi);
  Vec joint_C{p.BC * BC.x - p.AB * p.gamma1.x, p.BC * BC.y - p.AB * p.gamma1.y};
  auto r2 = dot(joint_C, joint_C);
  auto per_r = reciprocal(root(r2));
  auto cosine = ((p.AD * p.AD - p.CD * p.CD) + r2) * per_r * (0.5 / p.AD);
  auto sine = root(1.0 - cosine * cosine);
  auto AD = (joint_C * cosine + turned(joint_C) * sine) * per_r;
  auto CD = (AD * p.AD - joint_C) * (1.0 / p.CD);
  auto per_fold = reciprocal(cross(AD, CD));
  auto rate_A = (p.BC / p.AD) * (cross(BC, CD) * per_fold);
  auto rate_S = (p.BC / p.CD) * (cross(BC, AD) * per_fold);
  auto a = rate_A * psi_rate;
  auto s = rate_S * psi_rate;
  auto centripetal = AD * (p.AD * (a * a)) - CD * (p.CD * (s * s)) - BC * (p.BC * (psi_rate * psi_rate));
  auto bias_A = (1.0 / p.AD) * (dot(centripetal, CD) * per_fold);
  auto bias_S = (1.0 / p.CD) * (dot(centripetal, AD) * per_fold);

  // The leg in the world: its turning segments and its points.
  auto axis = down(alpha.value);
  auto world_CD = added(axis, CD);
  auto turn_S = alpha.rate + s, turn_A = alpha.rate + a;
  auto spin_S = (1.0 - rate_S) * alpha.acceleration + bias_S;
  auto spin_A = (1.0 - rate_A) * alpha.acceleration + bias_A;
  Rotation thigh{axis, alpha.rate, alpha.acceleration, None{}};
  Rotation plate{added(axis, p.gamma1), alpha.rate, alpha.acceleration, None{}};
  Rotation link_AD{added(axis, AD), turn_A, spin_A, rate_A};
  Rotation link_BC{added(axis, BC), theta_rate, zero, one};
  Rotation bar_CD{world_CD, turn_S, spin_S, rate_S};
  Rotation shank{added(world_CD, p.minus_gamma2), turn_S, spin_S, rate_S};
  auto [sin_beta, cos_beta] = sincos(beta);
  Rotation foot{Vec{cos_beta, sin_beta}, beta_rate, zero, None{}};

  Point H{hip.hip_y.value, Vec{hip.hip_x.rate, hip.hip_y.rate}, Vec{hip.hip_x.acceleration, hip.hip_y.acceleration},
          None{}};
  auto E = beyond(H, p.thigh, thigh);
  auto at_A = beyond(E, -p.AE, plate);
  auto at_B = beyond(at_A, -p.AB, plate);
  auto at_D = beyond(at_A, p.AD, link_AD);
  auto F = beyond(at_D, -p.DF, bar_CD);
  auto K = beyond(F, p.shank, shank);
  auto heel = beyond(K, -p.ankle * p.foot, foot);
  auto toe = beyond(K, (1.0 - p.ankle) * p.foot, foot);
  auto centre_AD = beyond(at_A, p.AD / 2, link_AD);
  auto centre_BC = beyond(at_B, p.BC / 2, link_BC);
  auto centre_CD = beyond(at_D, -p.CD / 2, bar_CD);
  auto centre_shank = beyond(F, p.shank / 2, shank);
  const double arm = (0.5 - p.ankle) * p.foot;
  auto centre_foot = beyond(K, arm, foot);
  Vec by_beta{-sin_beta, cos_beta};  // partial velocity of beta1', per metre along the foot

  // Forces.
  auto on_heel = ground_force(p, heel), on_toe = ground_force(p, toe);
  auto depth = p.lock_arm * (psi - p.straight);
  auto lock = p.lock_arm * kelvin_voigt(depth, p.lock_arm * psi_rate, p.lock_k, p.lock_c, p.lock_steepness);
  auto cylinder_arm = added(AD, p.cylinder_tilt);
  const double product = p.thigh_arm * p.link_arm;
  auto length = root((p.thigh_arm * p.thigh_arm + p.link_arm * p.link_arm) - (2.0 * product) * cylinder_arm.y);
  auto gain = -product * (cylinder_arm.x * reciprocal(length));
  auto cylinder = -(gain * (spring * (length - p.rest_length) + damping * (gain * a)));
  auto direction = added(CD, p.minus_gamma2);
  auto bend = arctan2(direction.x, -direction.y);
  bend.v = choose(bend.v > 1.5, V(bend.v - 2.0 * PI), bend.v);
  auto ankle_torque = -p.ankle_k * (beta - alpha.value - bend - hip.foot_angle.value) -
                      p.ankle_c * (beta_rate - turn_S - hip.foot_angle.rate);

  // Kane's equations.
  const double I_AD = rod(p.mass_AD, p.AD), I_BC = rod(p.mass_BC, p.BC), I_CD = rod(p.mass_CD, p.CD),
               I_shank = rod(p.mass_shank, p.shank), I_foot = rod(p.mass_foot, p.foot);
  auto M11 = inertia(p.mass_AD, I_AD, centre_AD, link_AD) + inertia(p.mass_BC, I_BC, centre_BC, link_BC) +
             inertia(p.mass_CD, I_CD, centre_CD, bar_CD) + inertia(p.mass_shank, I_shank, centre_shank, shank) +
             p.mass_foot * dot(K.by_theta, K.by_theta);
  auto M12 = (p.mass_foot * arm) * dot(K.by_theta, by_beta);
  const double M22 = p.mass_foot * arm * arm + I_foot;
  auto weight_foot = Vec{centre_foot.acceleration.x, centre_foot.acceleration.y + p.gravity} * p.mass_foot;
  auto f1 = rate_A * cylinder - rate_S * ankle_torque - lock - load(p, p.mass_AD, I_AD, centre_AD, link_AD) -
            load(p, p.mass_BC, I_BC, centre_BC, link_BC) - load(p, p.mass_CD, I_CD, centre_CD, bar_CD) -
            load(p, p.mass_shank, I_shank, centre_shank, shank) +
            dot(K.by_theta, on_heel + on_toe - weight_foot);
  auto f2 = ankle_torque +
            dot(by_beta, on_heel * (-p.ankle * p.foot) + on_toe * ((1.0 - p.ankle) * p.foot) - weight_foot * arm);
  auto per_determinant = reciprocal(M22 * M11 - M12 * M12);
  return std::pair{(M22 * f1 - M12 * f2) * per_determinant, (M11 * f2 - M12 * f1) * per_determinant};
}

// ---- the method ------------------------------------------------------------------------------------------------------
template <class V> struct State { V y[4]; };  // thetaB, beta1 and their rates

template <class V> struct Rates { V a[2]; };  // accelerations

template <class V> static Rates<V> value(const Knee &p, V k, V c, V t, const State<V> &u) {
  auto n = [](V x) { return Num<V, 0>{x, {}}; };
  auto [a, b] = field(p, k, c, n(t), n(u.y[0]), n(u.y[1]), n(u.y[2]), n(u.y[3]));
  return {{a.v, b.v}};
}

template <class V> struct Linearised { Rates<V> f; V t[2], J[2][4]; };  // accelerations and their derivatives

template <class V> static Linearised<V> linearised(const Knee &p, V k, V c, V t, const State<V> &u) {
  V e = V{} + 1.0;
  auto [a, b] = field(p, k, c, Num<V, 1>{t, {e}}, Num<V, 2>{u.y[0], {e}}, Num<V, 4>{u.y[1], {e}},
                      Num<V, 8>{u.y[2], {e}}, Num<V, 16>{u.y[3], {e}});
  return {{{a.v, b.v}}, {along<0>(a), along<0>(b)}, {{along<1>(a), along<2>(a), along<3>(a), along<4>(a)},
                                                    {along<1>(b), along<2>(b), along<3>(b), along<4>(b)}}};
}

// W = s I - J, factorised without pivoting: the upper rows of J are (0 0 1 0) and (0 0 0 1).
template <class V> struct Factors {
  V r, l00, l01, l10, l11, multiplier, u00, u01, u11;  // r = 1 / s; the lower rows over s; LU of the rest, reciprocal
  Factors(V s, const V J[2][4]) : r(1.0 / s) {
    l00 = J[0][0] * r, l01 = J[0][1] * r, l10 = J[1][0] * r, l11 = J[1][1] * r;
    u00 = 1.0 / (s - J[0][2] - l00);
    u01 = -J[0][3] - l01;
    multiplier = (-J[1][2] - l10) * u00;
    u11 = 1.0 / (s - J[1][3] - l11 - multiplier * u01);
  }
  State<V> solve(const State<V> &b) const {
    V p = b.y[2] + l00 * b.y[0] + l01 * b.y[1], q = b.y[3] + l10 * b.y[0] + l11 * b.y[1];
    q = (q - multiplier * p) * u11;
    p = (p - u01 * q) * u00;
    return {{(b.y[0] + p) * r, (b.y[1] + q) * r, p, q}};
  }
};

// Ros4 of Hairer and Wanner (L-stable), in the form of jaxgait.solve.tableaus.
const double GAMMA = 0.57282, A21 = 2.0, A31 = 1.867943637803922, A32 = 0.2344449711399156, C21 = -7.137615036412310,
             C31 = 2.580708087951457, C32 = 0.6515950076447975, C41 = -2.137148994382534, C42 = -0.3214669691237626,
             C43 = -0.6949742501781779, ALPHA2 = 1.14564, ALPHA3 = 0.6552168638155900, D1 = GAMMA,
             D2 = -1.769193891319233, D3 = 0.7592633437920482, D4 = -0.1049021087100450, M1 = 2.255570073418735,
             M2 = 0.2870493262186792, M3 = 0.4353179431840180, M4 = 1.093502252409163, E1 = -0.2815431932141155,
             E2 = -0.07276199124934920, E3 = -0.1082196201495311, E4 = -1.093502252409163;

// One step; `error` gets the error estimate.
template <class V>
static State<V> step(const Knee &p, V k, V c, V t, V h, const State<V> &y, State<V> &error) {
  Linearised<V> L = linearised(p, k, c, t, y);
  V per_h = 1.0 / h;
  Factors<V> W(V(per_h / GAMMA), L.J);
  // Right-hand side of a stage: f at (., z) plus a combination of the stages over h plus d h df/dt.
  auto stage = [&](const State<V> &z, const Rates<V> &f, const State<V> &combined, double d) {
    return W.solve({{z.y[2] + combined.y[0] * per_h, z.y[3] + combined.y[1] * per_h,
                     f.a[0] + combined.y[2] * per_h + (d * h) * L.t[0],
                     f.a[1] + combined.y[3] * per_h + (d * h) * L.t[1]}});
  };
  auto combine = [](auto &&of) {
    State<V> z;
    for (int i = 0; i < 4; ++i) z.y[i] = of(i);
    return z;
  };
  State<V> u1 = stage(y, L.f, State<V>{}, D1);
  State<V> z = combine([&](int i) { return V(y.y[i] + A21 * u1.y[i]); });
  State<V> u2 = stage(z, value(p, k, c, V(t + ALPHA2 * h), z), combine([&](int i) { return V(C21 * u1.y[i]); }), D2);
  z = combine([&](int i) { return V(y.y[i] + A31 * u1.y[i] + A32 * u2.y[i]); });
  Rates<V> f = value(p, k, c, V(t + ALPHA3 * h), z);
  State<V> u3 = stage(z, f, combine([&](int i) { return V(C31 * u1.y[i] + C32 * u2.y[i]); }), D3);
  State<V> u4 =
      stage(z, f, combine([&](int i) { return V(C41 * u1.y[i] + C42 * u2.y[i] + C43 * u3.y[i]); }), D4);
  error = combine([&](int i) { return V(E1 * u1.y[i] + E2 * u2.y[i] + E3 * u3.y[i] + E4 * u4.y[i]); });
  return combine([&](int i) { return V(y.y[i] + M1 * u1.y[i] + M2 * u2.y[i] + M3 * u3.y[i] + M4 * u4.y[i]); });
}

static bool any(bool m) { return m; }
static bool any(m8 m) {
  bool found = false;
  for (int l = 0; l < 8; ++l) found |= m[l] != 0;
  return found;
}

// Integrates from 0 to `end`, every lane with its own steps, as diffrax.PIDController does by default.
template <class V> static V integrate(const Knee &p, V k, V c, State<V> &y, double end, double rtol) {
  const double atol = 1e-2 * rtol, first = 1e-5, longest = 0.01, safety = 0.9, least = 0.2, most = 10.0;
  const double nearly = end * (1.0 - 100.0 * 2.220446049250313e-16);  // no tiny last step
  V t = {}, next = V{} + smaller(first, end), steps = {};
  for (auto running = t < end; any(running); running = t < end) {
    State<V> error;
    V h = choose(running, V(next - t), V(V{} + first));
    State<V> candidate = step(p, k, c, t, h, y, error);
    V sum = {};
    for (int i = 0; i < 4; ++i) {
      V scaled = error.y[i] / (atol + rtol * larger(magnitude(y.y[i]), magnitude(candidate.y[i])));
      sum += scaled * scaled;
    }
    V size = sqrt_of(V(0.25 * sum));
    auto accepted = size < 1.0;
    auto kept = running & accepted;
    V factor = safety * sqrt_of(sqrt_of(V(1.0 / size)));
    factor = choose(accepted, smaller(larger(factor, V(V{} + 1.0)), V(V{} + most)),
                    smaller(larger(factor, V(V{} + least)), V(V{} + safety)));
    V ahead = smaller(V(h * factor), V(V{} + longest));
    t = choose(kept, next, t);
    next = choose(running, t + ahead, next);
    next = choose(next > nearly, choose(accepted, V(V{} + end), V(t + 0.5 * (end - t))), next);
    for (int i = 0; i < 4; ++i) y.y[i] = choose(kept, candidate.y[i], y.y[i]);
    steps = choose(running, V(steps + 1.0), steps);
  }
  return steps;
}

// ---- the program -----------------------------------------------------------------------------------------------------
template <int N> using Row = std::array<double, N>;

template <int N> static std::vector<Row<N>> rows_of(const char *path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw std::runtime_error(std::string("cannot read ") + path);
  std::vector<Row<N>> rows;
  for (Row<N> row; in.read(reinterpret_cast<char *>(row.data()), sizeof row);) rows.push_back(row);
  return rows;
}
template <std::size_t N> static void write(const char *path, const std::vector<std::array<double, N>> &rows) {
  std::ofstream out(path, std::ios::binary);
  out.write(reinterpret_cast<const char *>(rows.data()), std::streamsize(rows.size() * sizeof rows[0]));
  if (!out) throw std::runtime_error(std::string("cannot write ") + path);
}

template <class V> constexpr int LANES = sizeof(V) / sizeof(double);
static double &lane(double &x, int) { return x; }
static auto lane(v8 &x, int l) -> decltype(x[l]) { return x[l]; }

// Runs `work` on the rows, as many at a time as V has lanes (the last row fills up the last group).
template <class V, int IN, int OUT, class Work>
static std::vector<Row<OUT>> over(const std::vector<Row<IN>> &rows, Work work) {
  std::vector<Row<OUT>> out(rows.size());
  for (std::size_t i = 0; i < rows.size(); i += LANES<V>) {
    V in[IN], result[OUT];
    for (int l = 0; l < LANES<V>; ++l)
      for (int j = 0; j < IN; ++j) lane(in[j], l) = rows[std::min(i + l, rows.size() - 1)][j];
    work(in, result);
    for (int l = 0; l < LANES<V> && i + l < rows.size(); ++l)
      for (int j = 0; j < OUT; ++j) out[i + l][j] = lane(result[j], l);
  }
  return out;
}

template <class V> static void evaluate(const Knee &p, V k, V c, const char *points, const char *file) {
  write(file, over<V, 5, 24>(rows_of<5>(points), [&](V *in, V *out) {
    State<V> y = {{in[1], in[2], in[3], in[4]}};
    Linearised<V> L = linearised(p, k, c, in[0], y);
    Rates<V> f = value(p, k, c, in[0], y);  // the program without derivatives, for its own sake
    V one = V{} + 1.0, zero = {};
    V all[24] = {y.y[2], y.y[3], f.a[0], f.a[1], zero, zero, L.t[0], L.t[1]};
    for (int j = 0; j < 4; ++j)
      all[8 + 4 * j] = j == 2 ? one : zero, all[9 + 4 * j] = j == 3 ? one : zero, all[10 + 4 * j] = L.J[0][j],
                  all[11 + 4 * j] = L.J[1][j];
    for (int j = 0; j < 24; ++j) out[j] = all[j];
  }));
}

template <class V> static void run(const Knee &p, const char *members, double span, double rtol, const char *file) {
  auto rows = rows_of<6>(members);
  const Clock clock;
  auto out = over<V, 6, 5>(rows, [&](V *in, V *out) {
    State<V> y = {{in[2], in[3], in[4], in[5]}};
    out[4] = integrate(p, in[0], in[1], y, span, rtol);
    for (int j = 0; j < 4; ++j) out[j] = y.y[j];
  });
  clock.print();
  write(file, out);
}

int main(int argc, char **argv) {
  const std::string what = argc > 2 ? argv[1] : "";
  const bool simd = argc > 2 && !std::strcmp(argv[2], "simd");
  if (!(what == "field" && argc == 6) && !(what == "run" && argc == 8))
    return std::fprintf(stderr, "usage: knee field {scalar|simd} model points file\n"
                                "       knee run {scalar|simd} model members span rtol file\n"), 2;
  try {
    const File parameters(argv[3]);
    const Knee p(parameters);
    if (what == "field") {
      const double k = parameters("damper.k"), c = parameters("damper.c");
      if (simd) evaluate<v8>(p, v8{} + k, v8{} + c, argv[4], argv[5]);
      else evaluate<double>(p, k, c, argv[4], argv[5]);
    } else {
      const double span = std::atof(argv[5]), rtol = std::atof(argv[6]);
      if (simd) run<v8>(p, argv[4], span, rtol, argv[7]);
      else run<double>(p, argv[4], span, rtol, argv[7]);
    }
  } catch (const std::exception &error) {
    return std::fprintf(stderr, "knee: %s\n", error.what()), 1;
  }
}
