"""Coefficients of Rosenbrock methods, in the form without products with the Jacobian.

A step of size h from (t, y), with J = df/dy and f_t = df/dt there, solves for stages u_1 .. u_s

    (I / (gamma h) - J) u_i = f(t + alpha_i h, y + sum_j a_ij u_j) + sum_j c_ij u_j / h + d_i h f_t

and gives y + sum_i m_i u_i, with the error estimate sum_i e_i u_i (Hairer and Wanner, Solving Ordinary Differential
Equations II, 2nd ed., section IV.7, eq. 7.25). In the textbook's own notation (stages k, matrices alpha and Gamma,
weights b): u = Gamma k, a = alpha Gamma^-1, c = diag(1 / gamma) - Gamma^-1, m = b Gamma^-1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

Matrix = Float[np.ndarray, "stages stages"]


@dataclass(frozen=True, eq=False)
class RosenbrockTableau:
    """One method, see the module's docstring. Compared and hashed by identity."""

    name: str
    order: int
    gamma: float
    a: tuple[tuple[float, ...], ...]
    """Row i has i entries."""
    c: tuple[tuple[float, ...], ...]
    alpha: tuple[float, ...]
    d: tuple[float, ...]
    m: tuple[float, ...]
    e: tuple[float, ...]
    dense: tuple[tuple[float, ...], ...]
    """Row k: weights of the stages in the coefficient of theta^(k+1) of the dense output, theta from 0 to 1."""

    @property
    def stages(self) -> int:
        """Number of stages, which is the number of linear solves."""
        return len(self.m)

    def reuses_evaluation(self, i: int) -> bool:
        """Whether stage i evaluates f where stage i - 1 did."""
        return i > 0 and self.alpha[i] == self.alpha[i - 1] and (*self.a[i - 1], 0.0) == self.a[i]


def textbook(gamma: float, a: Matrix, c: Matrix) -> tuple[Matrix, Matrix]:
    """The matrices alpha and Gamma of a method given in the form of the module's docstring."""
    big_gamma = np.linalg.inv(np.eye(len(a)) / gamma - c)
    return a @ big_gamma, big_gamma


def _lower(rows: tuple[tuple[float, ...], ...]) -> Matrix:
    return np.array([[*row, *[0.0] * (len(rows) - len(row))] for row in rows])


def _cubic_extension(
    gamma: float, a: tuple[tuple[float, ...], ...], c: tuple[tuple[float, ...], ...], m: tuple[float, ...]
) -> tuple[tuple[float, ...], ...]:
    """Dense output of order 2 with a small error, by cubics in theta that end at the step's result.

    The conditions (Hairer and Wanner II, table IV.7.1) are those of order 1 to 3 with the right-hand sides theta,
    theta^2 / 2, theta^3 / 3 and theta^3 / 6. They are singular (every embedded method of order 3 solves them at theta =
    1) and cannot all be met inside the step: those of order 2 are, the others in the sense of least squares. A
    correction within the null space, in proportion to theta^3, makes the cubics end at the result.
    """
    alpha, big_gamma = textbook(gamma, _lower(a), _lower(c))
    beta = alpha + big_gamma
    ones = np.ones(len(m))
    conditions = np.array([ones, beta @ ones, (alpha @ ones) ** 2, beta @ beta @ ones])
    powers = np.array([[1, 0, 0], [0, 1 / 2, 0], [0, 0, 1 / 3], [0, 0, 1 / 6]])
    important = np.array([[1e4], [1e4], [1.0], [1.0]])
    weights = np.linalg.lstsq(important * conditions, important * powers, rcond=1e-9)[0].T @ np.linalg.inv(big_gamma)
    weights[2] += np.array(m) - weights.sum(axis=0)
    return tuple(tuple(float(w) for w in row) for row in weights)


def _nested_extension(m: tuple[float, ...], h: tuple[tuple[float, ...], ...]) -> tuple[tuple[float, ...], ...]:
    """Powers of theta of ``theta (y1 + (1 - theta) (K2 + theta (K3 + ...)))`` with stage weights `h` of K2, K3, ..."""
    rows = np.zeros((len(h) + 1, len(m)))
    rows[0] = m
    for k, weights in enumerate(h):
        rows[k] += weights
        rows[k + 1] -= weights
    return tuple(tuple(float(w) for w in row) for row in rows)


def _rodas3() -> RosenbrockTableau:
    a = ((), (0.0,), (2.0, 0.0), (2.0, 0.0, 1.0))
    c = ((), (4.0,), (1.0, -1.0), (1.0, -1.0, -8 / 3))
    m = (2.0, 0.0, 1.0, 1.0)
    return RosenbrockTableau(
        name="Rodas3",
        order=3,
        gamma=0.5,
        a=a,
        c=c,
        alpha=(0.0, 0.0, 1.0, 1.0),
        d=(0.5, 1.5, 0.0, 0.0),
        m=m,
        e=(0.0, 0.0, 0.0, 1.0),
        dense=_cubic_extension(0.5, a, c, m),
    )


def _ros4() -> RosenbrockTableau:
    gamma = 0.57282
    a = ((), (2.0,), (1.867943637803922, 0.2344449711399156), (1.867943637803922, 0.2344449711399156, 0.0))
    c = (
        (),
        (-7.137615036412310,),
        (2.580708087951457, 0.6515950076447975),
        (-2.137148994382534, -0.3214669691237626, -0.6949742501781779),
    )
    m = (2.255570073418735, 0.2870493262186792, 0.4353179431840180, 1.093502252409163)
    return RosenbrockTableau(
        name="Ros4",
        order=4,
        gamma=gamma,
        a=a,
        c=c,
        alpha=(0.0, 1.14564, 0.6552168638155900, 0.6552168638155900),
        d=(gamma, -1.769193891319233, 0.7592633437920482, -0.1049021087100450),
        m=m,
        e=(-0.2815431932141155, -0.07276199124934920, -0.1082196201495311, -1.093502252409163),
        dense=_cubic_extension(gamma, a, c, m),
    )


def _rodas4() -> RosenbrockTableau:
    a5 = (1.221224509226641, 6.019134481288629, 12.53708332932087, -0.6878860361058950)
    m = (*a5, 1.0, 1.0)
    return RosenbrockTableau(
        name="Rodas4",
        order=4,
        gamma=0.25,
        a=(
            (),
            (1.544,),
            (0.9466785280815826, 0.2557011698983284),
            (3.314825187068521, 2.896124015972201, 0.9986419139977817),
            a5,
            (*a5, 1.0),
        ),
        c=(
            (),
            (-5.6688,),
            (-2.430093356833875, -0.2063599157091915),
            (-0.1073529058151375, -9.594562251023355, -20.47028614809616),
            (7.496443313967647, -10.24680431464352, -33.99990352819905, 11.70890893206160),
            (8.083246795921522, -7.981132988064893, -31.52159432874371, 16.31930543123136, -6.058818238834054),
        ),
        alpha=(0.0, 0.386, 0.21, 0.63, 1.0, 1.0),
        d=(0.25, -0.1043, 0.1035, -0.03620000000000023, 0.0, 0.0),
        m=m,
        e=(0.0, 0.0, 0.0, 0.0, 0.0, 1.0),
        dense=_nested_extension(
            m,
            (
                (10.12623508344586, -7.487995877610167, -34.80091861555747, -7.992771707568823, 1.025137723295662, 0.0),
                (-0.6762803392801253, 6.087714651680015, 16.43084320892478, 24.76722511418386, -6.594389125716872, 0.0),
            ),
        ),
    )


# fmt: off
def _rodas5p() -> RosenbrockTableau:
    a6 = (-7.502846399306121, 2.561846144803919, -11.627539656261098, -0.18268767659942256, 0.030198172008377946)
    m = (*a6, 1.0, 1.0, 1.0)
    return RosenbrockTableau(
        name="Rodas5P",
        order=5,
        gamma=0.21193756319429014,
        a=(
            (),
            (3.0,),
            (2.849394379747939, 0.45842242204463923),
            (-6.954028509809101, 2.489845061869568, -10.358996098473584),
            (2.8029986275628964, 0.5072464736228206, -0.3988312541770524, -0.04721187230404641),
            a6,
            (*a6, 1.0),
            (*a6, 1.0, 1.0),
        ),
        c=(
            (),
            (-14.155112264123755,),
            (-17.97296035885952, -2.859693295451294),
            (147.12150275711716, -1.41221402718213, 71.68940251302358),
            (165.43517024871676, -0.4592823456491126, 42.90938336958603, -5.961986721573306),
            (24.854864614690072, -3.0009227002832186, 47.4931110020768, 5.5814197821558125, -0.6610691825249471),
            (30.91273214028599, -3.1208243349937974, 77.79954646070892,
             34.28646028294783, -19.097331116725623, -28.087943162872662),
            (37.80277123390563, -3.2571969029072276, 112.26918849496327,
             66.9347231244047, -40.06618937091002, -54.66780262877968, -9.48861652309627),
        ),
        alpha=(0.0, 0.6358126895828704, 0.4095798393397535, 0.9769306725060716, 0.4288403609558664, 1.0, 1.0, 1.0),
        d=(0.21193756319429014, -0.42387512638858027, -0.3384627126235924,
           1.8046452872882734, 2.325825639765069, 0.0, 0.0, 0.0),
        m=m,
        e=(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0),
        dense=_nested_extension(
            m,
            (
                (25.948786856663858, -2.5579724845846235, 10.433815404888879, -2.3679251022685204,
                 0.524948541321073, 1.1241088310450404, 0.4272876194431874, -0.17202221070155493),
                (-9.91568850695171, -0.9689944594115154, 3.0438037242978453, -24.495224566215796,
                 20.176138334709044, 15.98066361424651, -6.789040303419874, -6.710236069923372),
                (11.419903575922262, 2.8879645146136994, 72.92137995996029, 80.12511834622643,
                 -52.072871366152654, -59.78993625266729, -0.15582684282751913, 4.883087185713722),
            ),
        ),
    )
# fmt: on


RODAS3 = _rodas3()
ROS4 = _ros4()
RODAS4 = _rodas4()
RODAS5P = _rodas5p()
