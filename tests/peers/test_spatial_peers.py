"""Random trees against Pinocchio and MuJoCo: mass matrix, inverse dynamics, forward dynamics."""

import dataclasses

import numpy as np
import pytest

from jaxgait.mechanics import spatial
from tests.compiling import quickly_compiled

pin = pytest.importorskip("pinocchio")
mujoco = pytest.importorskip("mujoco")

ROUND = 1e-10  # relative to the largest entry: independent double-precision recursions over a dozen bodies


def unit(rng):
    axis = rng.normal(size=3)
    return axis / np.linalg.norm(axis)


def random_inertia(rng):
    points = rng.normal(size=(6, 3)) * 0.2
    return sum(0.3 * (p @ p * np.eye(3) - np.outer(p, p)) for p in points)


def random_tree(rng, n, kinds):
    """Bodies in depth-first order, which Pinocchio's sparse mass matrix takes for granted."""
    links, branch = [], []
    for i in range(n):
        kind = kinds[i % len(kinds)]
        joint = {
            "free": spatial.free,
            "ball": spatial.ball,
            "hinge": lambda: spatial.hinge(tuple(unit(rng))),
            "prismatic": lambda: spatial.prismatic(tuple(unit(rng))),
            "universal": lambda: spatial.universal(tuple(unit(rng)), tuple(unit(rng))),
        }[kind]()
        branch = branch[: rng.integers(1, len(branch) + 1)] if branch else []
        parent = branch[-1] if branch else None
        branch = [*branch, f"b{i}"]
        rotation = np.linalg.qr(rng.normal(size=(3, 3)))[0]
        rotation *= np.sign(np.linalg.det(rotation))
        offset = rng.normal(size=3)
        mass, com = rng.uniform(0.5, 3.0), rng.normal(size=3) * 0.2
        links.append(
            spatial.Link(f"b{i}", parent, joint, mass, com, random_inertia(rng), offset=offset, rotation=rotation)
        )
    return spatial.Tree.build(*links)


def to_pinocchio(tree):
    """The same tree in Pinocchio; a universal joint becomes two hinges with a massless body between them."""
    model = pin.Model()
    ids = []
    for i, joint in enumerate(tree.joints):
        parent = 0 if tree.parents[i] < 0 else ids[tree.parents[i]]
        placement = pin.SE3(np.array(tree.rotation[i]), np.array(tree.offset[i]))
        if isinstance(joint, type(spatial.free())):
            parent = model.addJoint(parent, pin.JointModelFreeFlyer(), placement, f"j{i}")
        elif isinstance(joint, type(spatial.ball())):
            parent = model.addJoint(parent, pin.JointModelSpherical(), placement, f"j{i}")
        else:
            for k, screw in enumerate(joint.screws):
                axis = np.array(screw[:3] if any(screw[:3]) else screw[3:])
                kind = pin.JointModelRevoluteUnaligned if any(screw[:3]) else pin.JointModelPrismaticUnaligned
                parent = model.addJoint(parent, kind(axis), placement, f"j{i}_{k}")
                placement = pin.SE3.Identity()
        model.appendBodyToJoint(
            parent,
            pin.Inertia(float(tree.mass[i]), np.array(tree.com[i]), np.array(tree.inertia[i])),
            pin.SE3.Identity(),
        )
        ids.append(parent)
    model.gravity.linear = np.array([0.0, 0.0, -9.81])
    return model, ids


def orders(tree):
    """Index arrays that take our coordinates and velocities to Pinocchio's (quaternion xyzw, twist linear first)."""
    q_order, v_order = [], []
    for joint, a, b in zip(tree.joints, tree.q_slices, tree.v_slices, strict=True):
        q, v = list(range(a.start, a.stop)), list(range(b.start, b.stop))
        if joint.nq != joint.nv:
            q = q[:-4] + q[-3:] + q[-4:-3]
        if joint.nv == 6:
            v = v[3:] + v[:3]
        q_order += q
        v_order += v
    return np.array(q_order), np.array(v_order)


def random_state(rng, tree):
    q = rng.normal(size=tree.nq)
    for joint, a in zip(tree.joints, tree.q_slices, strict=True):
        if joint.nq != joint.nv:
            q[a.stop - 4 : a.stop] /= np.linalg.norm(q[a.stop - 4 : a.stop])
    return q, rng.normal(size=tree.nv), rng.normal(size=tree.nv), rng.normal(size=(len(tree.names), 6))


@pytest.mark.parametrize(
    ("seed", "kinds"),
    [
        (1, ["free", "hinge", "ball", "universal", "prismatic"]),
        pytest.param(2, ["hinge", "universal", "prismatic", "ball", "free"], marks=pytest.mark.slow),
    ],
)
def test_random_trees_against_pinocchio(seed, kinds):
    rng = np.random.default_rng(seed)
    tree = random_tree(rng, 5, kinds)
    assert len(set(tree.parents)) < 5  # a branch
    model, ids = to_pinocchio(tree)
    data = model.createData()
    q_order, v_order = orders(tree)

    @quickly_compiled
    def ours(q, v, x, wrenches):
        motion = spatial.kinematics(tree, q, v)
        tau = spatial.inverse_dynamics(tree, motion, x, wrenches)
        return spatial.mass_matrix(tree, motion), tau, spatial.forward_dynamics(tree, motion, x, wrenches)

    for _ in range(3):
        q, v, x, wrenches = random_state(rng, tree)
        M, tau, vdot = ours(q, v, x, wrenches)
        outside = pin.StdVec_Force()
        for _k in range(model.njoints):
            outside.append(pin.Force.Zero())
        for i, j in enumerate(ids):
            outside[j] = pin.Force(wrenches[i, 3:], wrenches[i, :3])
        qp, vp, xp = q[q_order], v[v_order], x[v_order]
        pin.crba(model, data, qp)
        theirs = np.triu(data.M) + np.triu(data.M, 1).T
        np.testing.assert_allclose(np.array(M)[np.ix_(v_order, v_order)], theirs, atol=ROUND * np.abs(theirs).max())
        their_tau = pin.rnea(model, data, qp, vp, xp, outside)
        np.testing.assert_allclose(np.array(tau)[v_order], their_tau, atol=ROUND * np.abs(their_tau).max())
        their_vdot = pin.aba(model, data, qp, vp, xp, outside)
        np.testing.assert_allclose(np.array(vdot)[v_order], their_vdot, atol=ROUND * np.abs(their_vdot).max())


def numbers(values):
    return " ".join(repr(float(v)) for v in np.ravel(values))


def to_mujoco(tree):
    children = {i: [] for i in range(-1, len(tree.names))}
    for i, p in enumerate(tree.parents):
        children[p].append(i)

    def body(i):
        quat = np.zeros(4)
        mujoco.mju_mat2Quat(quat, np.ravel(tree.rotation[i]))
        inertia = np.array(tree.inertia[i])
        full = [*np.diag(inertia), inertia[0, 1], inertia[0, 2], inertia[1, 2]]
        joint = tree.joints[i]
        if joint == spatial.free():
            joints = "<freejoint/>"
        elif joint == spatial.ball():
            joints = '<joint type="ball"/>'
        else:
            joints = "".join(
                f'<joint type="hinge" axis="{numbers(s[:3])}"/>'
                if any(s[:3])
                else f'<joint type="slide" axis="{numbers(s[3:])}"/>'
                for s in joint.screws
            )
        inside = "".join(body(j) for j in children[i])
        return (
            f'<body pos="{numbers(tree.offset[i])}" quat="{numbers(quat)}">{joints}'
            f'<inertial pos="{numbers(tree.com[i])}" mass="{float(tree.mass[i])!r}" '
            f'fullinertia="{numbers(full)}"/>{inside}</body>'
        )

    bodies = "".join(body(i) for i in children[-1])
    xml = f'<mujoco><compiler angle="radian"/><option gravity="0 0 -9.81"/><worldbody>{bodies}</worldbody></mujoco>'
    model = mujoco.MjModel.from_xml_string(xml)
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
    return model


@pytest.mark.slow
def test_random_tree_with_free_base_against_mujoco():
    rng = np.random.default_rng(3)
    tree = random_tree(rng, 5, ["free", "hinge", "ball", "universal", "prismatic"])
    assert len(set(tree.parents)) < 5  # a branch
    tree = spatial.Tree.build(*_at_origin(tree))
    model = to_mujoco(tree)
    data = mujoco.MjData(model)

    @quickly_compiled
    def ours(q, v, x):
        motion = spatial.kinematics(tree, q, v)
        return (
            spatial.mass_matrix(tree, motion),
            spatial.inverse_dynamics(tree, motion, x),
            spatial.forward_dynamics(tree, motion, x),
            motion.world[0].R,
        )

    for _ in range(3):
        q, v, x, _ = random_state(rng, tree)
        M, tau, vdot, R = (np.array(a) for a in ours(q, v, x))
        T = np.eye(tree.nv)
        T[:6, :6] = 0.0
        T[:3, 3:6], T[3:6, :3] = R, np.eye(3)  # MuJoCo: linear velocity in world axes first, then angular in body axes
        swirl = np.zeros(tree.nv)
        swirl[:3] = R @ np.cross(v[:3], v[3:6])

        data.qpos[:], data.qvel[:] = q, T @ v
        mujoco.mj_forward(model, data)
        full = np.zeros((tree.nv, tree.nv))
        mujoco.mj_fullM(model, full, data.qM) if hasattr(data, "qM") else mujoco.mj_fullM(model, data, full)
        np.testing.assert_allclose(M, T.T @ full @ T, atol=ROUND * np.abs(M).max())

        data.qacc[:] = T @ x + swirl
        mujoco.mj_inverse(model, data)
        np.testing.assert_allclose(tau, T.T @ data.qfrc_inverse, atol=ROUND * np.abs(tau).max())

        data.qfrc_applied[:] = np.linalg.solve(T.T, x)
        mujoco.mj_forward(model, data)
        np.testing.assert_allclose(T @ vdot + swirl, data.qacc, atol=ROUND * np.abs(vdot).max())


def _at_origin(tree):
    """The links of a tree again, the root's joint frame moved to the world's (MuJoCo's free joint has none)."""
    for i, name in enumerate(tree.names):
        parent = None if tree.parents[i] < 0 else tree.names[tree.parents[i]]
        link = spatial.Link(
            name, parent, tree.joints[i], *(np.array(a[i]) for a in (tree.mass, tree.com, tree.inertia))
        )
        yield link if i == 0 else dataclasses.replace(link, offset=tree.offset[i], rotation=tree.rotation[i])
