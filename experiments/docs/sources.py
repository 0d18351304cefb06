"""The five sources: their misprints and gaps, for the pages of theory and papers."""

from __future__ import annotations

from typing import NamedTuple


class Shown(NamedTuple):
    """A figure of a paper, as its text describes it, and our own; no figure of a paper is stored."""

    number: str
    says: str
    experiment: str
    file: str
    """Name of our own in the folder of its reproduction."""


class Source(NamedTuple):
    """One source."""

    mechanism: str
    page: str
    """The page of its theory, from the folder of the documentation."""
    short: str
    citation: str
    experiments: tuple[str, ...]
    misprints: tuple[str, ...]
    """The main one first."""
    lacking: tuple[str, ...]
    """What cannot be reproduced, why, and what replaces it; the main gap first."""
    figures: tuple[Shown, ...] = ()


SOURCES: dict[str, Source] = {
    "knee": Source(
        "knee",
        "theory/knee.md",
        "Lü et al. 2020",
        "Lü Yang, Fang Hongbin, Xu Jian, Ma Jianmin, Wang Qining, Zhang Xiaoxu, *Dynamic modeling and analysis of the "
        "lower limb prosthesis with four-bar linkage prosthetic knee*, Chin. J. Theor. Appl. Mech. 52(4) (2020) "
        "1157-1173, doi 10.6052/0459-1879-20-048.",
        ("knee", "knee-gaits"),
        (
            "The appendix drops the shank's mass almost everywhere: it remains in only two terms, of $M_{44}$ and "
            "$N_{41}$, so that the acceleration of its upper end does not act on the shank.",
            "$M_{44}$: in the second term of the foot a parenthesis is missing, $\\sin\\alpha_{11}+\\gamma_2$ instead "
            "of $\\sin(\\alpha_{11}+\\gamma_2)$.",
            "$C_{34}$, fourth line: $\\cos\\alpha_1$ instead of $\\cos\\alpha_{11}$.",
            "$M_{57}$ is not listed and is not zero: it is "
            "$m_f l_{AD} l_f (\\tfrac12 - r_f) \\sin(\\theta_A - \\beta_1)$. $C_{33}$ is not listed and is zero.",
            "The first two rows of $J$ have the wrong sign for a normal force that pushes up.",
            "The right side $f$ of the state equation uses $F_e$ and $F_q$ without the index 2: vectors of length "
            "seven among vectors of length four.",
            "The stiffness and damping of the ankle are printed with translational units.",
            "The text states that the correlation $\\rho$ lies between 0 and 1; it lies between -1 and 1.",
            "$\\alpha_{11}$ is once called the angle of the femur; it is that of the shank.",
        ),
        (
            "The available copy lacks Tables 1 to 4 and most displayed equations, and with them the dimensions of "
            "the knee and the subject's motion. Equations are rebuilt from the appendix (96 of its 98 formulas hold as "
            "printed). Dimensions are reconstructed (sets R1, R2, R3) by a search for the paper's behaviour at "
            "c/k = 0.05 s, so that agreement there proves little.",
            "The motion of the hip is one measured stride of another subject at 1.26 m/s; the paper's subject walks at "
            "1 m/s.",
            "Tables 3 (critical k) and 4 (largest correlation) cannot be compared number by number.",
        ),
        (
            Shown(
                "3",
                "The instantaneous centre over 0 to 110 degrees of flexion: a J-curve that falls fast from extension.",
                "knee",
                "figure_03_centrode.png",
            ),
            Shown(
                "11",
                "Spectra against k, c/k = 0.05 s: subharmonics of 1/2, mixed windows, then 1/3; none from 16 kN/m on.",
                "knee",
                "figure_11_windows.png",
            ),
            Shown(
                "12 and 13",
                "Peak flexion decreases with k, past the measured one; above critical k rho rises, then falls.",
                "knee",
                "figure_12_13_lines.png",
            ),
        ),
    ),
    "walker": Source(
        "walker",
        "theory/walker.md",
        "Duan et al. 2011",
        "Duan, Wang and Wang, Chin. J. Theor. Appl. Mech. 43(4) (2011) 765-774.",
        ("walker",),
        (
            "The step frequencies of Table 2 contradict its step lengths and velocities, whose quotient is 2.4304 1/s, "
            "not 1.9179 1/s; the entire column is 0.789 times the true one.",
            "Equation (2): both factors need $\\ge$ instead of $>$.",
            "Before (4), the names of $e_N$ and $e_T$ are interchanged.",
            "Equation (10) writes the normal law with $\\chi_T$; it must be $\\chi_N$.",
            "Equation (16): the third unknown must be $\\chi_T^-$, and the constant vector $(b_N, b_T, 0)$.",
            "(9) and (10) advance with $u_E\\,\\Delta t$, which contradicts the midpoint rule of section 2.3, without "
            "consequences.",
            "The 0.00174 N s of the previous stance foot are not an impact, but the normal force over one time step.",
            "The last digits of the results are those of the step $\\Delta t = 10^{-4}$ s: the limit "
            "$\\Delta t \\to 0$ differs by 0.3 %.",
        ),
        (
            "The paper does not state how the swing foot passes the ground in mid-swing, where legs of equal length "
            "scuff, although this decides whether the walker walks. Here a foot that swings forward is ignored until "
            "it is ahead.",
            "The fall at $e_N = 0.9$ depends on that rule; here the walker walks.",
            "Mass matrix, forces and contact Jacobians are not printed; they are derived.",
        ),
        (
            Shown(
                "7",
                "Average velocity against friction: the walker falls below 0.13 and slips up to 0.17.",
                "walker",
                "figure_7.png",
            ),
            Shown(
                "6",
                "Restitution 0.3: several impacts per heel strike, with both feet in the air in between; periodic.",
                "walker",
                "figure_6.png",
            ),
        ),
    ),
    "exoskeleton": Source(
        "exoskeleton",
        "theory/exoskeleton.md",
        "Borisov & Chigarev",
        "Borisov and Chigarev, matrix method and recurrence for chains of telescopic rods in plane and space.",
        ("exoskeleton",),
        (
            "Equation (14): the Coriolis term contains $\\dot\\varphi$ instead of $\\dot\\psi$.",
            "Beyond a branch, elements with both indices beyond it must not change sign: the factor is $s_i s_j$.",
            "The sums over all later links in (6), (19), (22) and (25) hold only for an unbranched chain; with two "
            "links at one joint they must run over descendants, and torso and swing leg are not coupled.",
            "(18), the transition from plane to space: $e^\\varphi$ uses $h^\\varphi$ instead of $d^\\varphi$; the "
            "signs of $g^\\varphi$, $k^\\varphi$ and $a^\\psi$ are wrong; $\\lambda^\\psi$ has a spurious cosine; the "
            "block of $l$ is unreadable and was recovered.",
            "(20): the minus signs before $a_{13}$ and $a_{14}$ contradict (19), unless links 3 and 4 hang from a "
            "branch point.",
            "(25): entry $(n+1, n)$ must be $\\eta_{n+1} l_{n+1} l_n$, entry $(i, 1)$ $l_i l_1$.",
            "(17) writes $C_\\kappa$ for $G_\\kappa$; $\\kappa$ = 1 belongs to the angles, not to the lengths; the "
            "second rod's first mass is at B, not at A.",
            "Two formulas are numbered (26), and two sections 7.",
        ),
        (
            "No period, amplitude, phase or length is printed, and the curves have no readable values: the parameters "
            "of the gait are chosen, and only the method behind the curves is reproduced.",
            "The computing times are those of Mathematica on the authors' machine: only the ranking of the methods is "
            "compared.",
            "Figure 6 is unreadable; the tree of five links is the interpretation that its kinematics allow.",
        ),
        (
            Shown(
                "8",
                "Axial forces over a period, grouped by magnitude; no readable values.",
                "exoskeleton",
                "forces.png",
            ),
        ),
    ),
    "creeper": Source(
        "creeper",
        "theory/creeper.md",
        "Zhao et al. 2010",
        "Zhao, Chen, Wu, Sang, Qian, J. Anhui Univ. Sci. Tech. 30(4) (2010) 25.",
        ("creeper",),
        (
            "Equation (1): with the printed frequency of the back-flow, 13.09 1/s, the velocity jumps at 0.27 s; with "
            "$\\pi/0.03$ = 104.72 1/s it is continuous.",
            "(4), (5): the wave speed is added to the flow speed in $(D/2h)(u + a)$; continuity gives $u - v$.",
            "(2), (5): a fraction bar is missing; the pressure is $4 (f_1 + f_2)/(\\pi D^2)$.",
            "(3): fraction bars are missing; $q = \\pi D h^3 \\Delta p/(12 \\eta L) + \\pi D h v/2$.",
            "The dynamic pressure $C\\rho(u^2 - v^2)/2$ depends on the frame; it must use the relative velocity.",
            "(7): the lower right block of $\\phi^*$ is the identity matrix; (8) needs $V_{k+1}$; (10) needs a minus "
            "sign before $m\\tilde p$.",
            "(11), (13): with (13) $f_k$ acts on body $k$, not on body $k+1$, and external forces enter with a minus "
            "sign.",
            "(12): a factor $\\omega\\times$ of the gyroscopic force is missing, and two terms belong to derivatives "
            "in the body frame.",
            "(15) to (19): all $\\phi$ are missing, the recursion runs to $N$, the power in (18) is $N-1$.",
            "A stroke at constant speed without ramps needs infinite force where it reverses.",
        ),
        (
            "No mass, size or friction coefficient is printed, and figures 4 and 5 show curves without values: sizes "
            "are chosen for a 16 mm artery, and only the behaviour is compared.",
            "The thin-gap flow is used as stated, although its Reynolds number is about 1000 in systole.",
        ),
        (
            Shown(
                "4",
                "Displacement of the front point, measured and theoretical, in close agreement; no values.",
                "creeper",
                "figure_4.png",
            ),
            Shown(
                "5",
                "Drive force while the robot creeps and turns at 30 degrees per second; no values.",
                "creeper",
                "figure_5.png",
            ),
        ),
    ),
    "jumper": Source(
        "jumper, bungee",
        "theory/jumper.md",
        "Chen, Yan, Jin 2003",
        "Chen, Yan and Jin 2003, force constraints in the simulation of jumps; the [bungee jumper](theory/bungee.md) "
        "is a Simulink exercise on the same page.",
        ("jumper", "bungee"),
        (
            "(2): the square root is missing in Hertz's constant, $K_N = 4 E \\sqrt R / (3 (1 - \\nu^2))$.",
            "(1): indices are missing in $F_N = K_N d^n + D\\,d^n\\,\\dot d$.",
            "(3) divides by the approach speed, which is zero for a contact that begins at rest.",
            "(4), (6), (8): signed limits are mixed with magnitudes, and a minus sign is missing.",
            "(4), (5): the shear deflection must be reset at slip and at lift-off, or it grows without bound.",
            "(10) mixes known and unknown coordinates: with prescribed joints only the six base equations are solved.",
        ),
        (
            "Segment masses (Table 2), studs, rubber, friction coefficients, posture and timing are missing, and the "
            "text contains no results: segments are those of de Leva (1996), the rest is chosen, and the specification "
            "is the only reference.",
            "The bungee exercise asks whether the jump is safe but gives no answer.",
        ),
    ),
}
"""By the name of their theory page."""
