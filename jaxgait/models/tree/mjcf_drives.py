"""The drives of hinges and slides in a robot's file: springs, rotors, ends of ranges, motors with constant commands.

MuJoCo stops a joint at the end of its range by a constraint with a time constant and a damping ratio (`solreflimit`),
which gives way by a share (`solimplimit`). Here, a spring and a damper do it, for the inertia that the joint moves in
the pose of the file. To a load at rest they yield 0.9 to 2 times as much as the constraint, which stiffens as it
yields, and to a leg that swings into them a fifth to a third as much: no spring does both.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from jaxgait.models.tree.mjcf_robot import Robot
from jaxgait.models.tree.parts import JointDrive, Limits, Motor, Rotor, Spring, Stop
from jaxgait.precision import float64_default

MOST_GROUPS = 31
"""Number of groups of actuators that can be switched off, by their bits."""


@float64_default
@dataclass(frozen=True)
class Drives:
    """The drives of a robot's single joints, its hinges and slides."""

    robot: Robot
    coordinates: Mapping[int, str]
    """Names of the single joints' coordinates, by the numbers of the joints."""

    @property
    def joint_of(self) -> dict[int, int]:
        """The numbers of the single joints on which actuators act, by those of the actuators."""
        compiled, kinds = self.robot.compiled, self.robot.mujoco.mjtTrn
        at_joint = np.isin(compiled.actuator_trntype, [int(kinds.mjTRN_JOINT), int(kinds.mjTRN_JOINTINPARENT)])
        joints = {int(a): int(compiled.actuator_trnid[a, 0]) for a in np.flatnonzero(at_joint)}
        return {a: joint for a, joint in joints.items() if joint in self.coordinates}

    def by_name(self, control: np.ndarray) -> dict[str, JointDrive]:
        """The drives by name: springs have the name of their coordinate, motors their own.

        Args:
            control: the commands of all actuators, `ctrl` (nu,), in their units, N m or rad, for example.

        Raises:
            ValueError: for two of one name.
        """
        passive = _joined(*(dict([one]) for joint in self.coordinates for one in self._passive(joint)))
        motors = list[dict[str, JointDrive]]()
        for actuator in self.motors:
            name = self.robot.name("actuator", actuator)
            motors.append({f"{name}_motor" if name in passive else name: self._motor(actuator, control)})
        return _joined(passive, *motors)

    def _passive(self, joint: int) -> Iterator[tuple[str, JointDrive]]:
        compiled, coordinate, on = self.robot.compiled, self.coordinates[joint], self.robot.enabled
        at, dof = compiled.jnt_qposadr[joint], compiled.jnt_dofadr[joint]
        stiffness = float(compiled.jnt_stiffness[joint]) * on("SPRING")
        damping = (float(compiled.dof_damping[dof]) + self._of_actuators("damping", joint)) * on("DAMPER")
        if stiffness or damping:
            rest = float(compiled.qpos_spring[at] - compiled.qpos0[at])
            yield coordinate, Spring(coordinate, stiffness=stiffness, damping=damping, rest=rest)
        if armature := float(compiled.dof_armature[dof]) + self._of_actuators("armature", joint):
            yield f"{coordinate}_rotor", Rotor(coordinate, armature)
        if compiled.jnt_limited[joint] and on("LIMIT", "CONSTRAINT"):
            inward = float(compiled.jnt_margin[joint]) * np.array([1.0, -1.0])
            lowest, highest = (compiled.jnt_range[joint] - compiled.qpos0[at] + inward).tolist()
            yield f"{coordinate}_stop", Stop(coordinate, lowest, highest, *self._response(joint))

    def _of_actuators(self, what: str, joint: int) -> float:
        """What the actuators of a joint add to its "armature" or "damping", geared up; older MuJoCo has none."""
        own = getattr(self.robot.compiled, f"actuator_{what}", np.zeros(len(self.robot.compiled.actuator_trntype)))
        return sum((float(own[a]) * self._gear(a) ** 2 for a, at in self.joint_of.items() if at == joint), 0.0)

    def _gear(self, actuator: int) -> float:
        return float(self.robot.compiled.actuator_gear[actuator, 0])

    def _response(self, joint: int) -> tuple[float, float]:
        """Stiffness and damping of the ends of a joint's range."""
        compiled = self.robot.compiled
        inertia = 1.0 / float(compiled.dof_invweight0[compiled.jnt_dofadr[joint]])
        time, ratio = compiled.jnt_solref[joint].tolist()
        if time > 0.0:
            time = max(time, 2.0 * float(compiled.opt.timestep) * self.robot.enabled("REFSAFE"))
            stiffness, damping = 1.0 / (time * ratio) ** 2, 2.0 / time
        else:  # given directly
            stiffness, damping = -time, -ratio
        yielding = 1.0 - float(np.clip(compiled.jnt_solimp[joint, 0], 0.0, 0.9999))
        return inertia * stiffness / yielding, inertia * damping / yielding**0.5

    @property
    def motors(self) -> list[int]:
        """The actuators that are a `Motor`: at a hinge or slide, linear, without a state of their own."""
        mujoco, acting = self.robot.mujoco, self.acting
        known = {
            "dyntype": {mujoco.mjtDyn.mjDYN_NONE},
            "gaintype": {mujoco.mjtGain.mjGAIN_FIXED, mujoco.mjtGain.mjGAIN_AFFINE},
            "biastype": {mujoco.mjtBias.mjBIAS_NONE, mujoco.mjtBias.mjBIAS_AFFINE},
            "ctrlnum": {1},
            "delay": {0.0},
            "plugin": {-1},
        }
        fields = [(getattr(self.robot.compiled, f"actuator_{name}", None), {*map(int, v)}) for name, v in known.items()]
        return [a for a in acting if a in self.joint_of and all(of is None or of[a] in values for of, values in fields)]

    @property
    def acting(self) -> list[int]:
        """The actuators that are not switched off."""
        compiled = self.robot.compiled
        flags = int(compiled.opt.disableactuator)
        off = [0 <= group < MOST_GROUPS and flags >> int(group) & 1 for group in compiled.actuator_group]
        return [a for a, switched_off in enumerate(off) if self.robot.enabled("ACTUATION") and not switched_off]

    def _motor(self, actuator: int, control: np.ndarray) -> Motor:
        compiled, joint, gear = self.robot.compiled, self.joint_of[actuator], self._gear(actuator)
        gain, bias = (getattr(compiled, f"actuator_{of}prm")[actuator, :3].copy() for of in ("gain", "bias"))
        gain[1:] *= compiled.actuator_gaintype[actuator] == self.robot.mujoco.mjtGain.mjGAIN_AFFINE
        bias *= compiled.actuator_biastype[actuator] == self.robot.mujoco.mjtBias.mjBIAS_AFFINE
        command = float(control[getattr(compiled, "actuator_ctrladr", range(len(control)))[actuator]])
        if compiled.actuator_ctrllimited[actuator] and self.robot.enabled("CLAMPCTRL"):
            command = float(np.clip(command, *compiled.actuator_ctrlrange[actuator]))
        moment, per_angle, per_rate = (gear * (gain * command + bias) * [1.0, gear, gear]).tolist()
        zero = float(compiled.qpos0[compiled.jnt_qposadr[joint]])
        servo = {"position": -moment / per_angle - zero, "stiffness": -per_angle} if per_angle else {"moment": moment}
        return Motor(self.coordinates[joint], **servo, damping=0.0 - per_rate, limits=self._limits(actuator))

    def _limits(self, actuator: int) -> Limits | None:
        compiled, joint = self.robot.compiled, self.joint_of[actuator]
        ranges = []
        if compiled.actuator_forcelimited[actuator]:
            ranges.append(np.sort(self._gear(actuator) * compiled.actuator_forcerange[actuator]))
        if compiled.jnt_actfrclimited[joint] and joint not in self.together:
            ranges.append(compiled.jnt_actfrcrange[joint])
        if not ranges:
            return None
        (lowest, highest), *others = np.array(ranges).tolist()
        for low, high in others:
            lowest, highest = float(np.clip(lowest, low, high)), float(np.clip(highest, low, high))
        return Limits(lowest, highest)

    @property
    def together(self) -> set[int]:
        """Joints with several motors, of which only the sum is limited."""
        joints = [self.joint_of[a] for a in self.motors]
        return {j for j in joints if joints.count(j) > 1 and self.robot.compiled.jnt_actfrclimited[j]}

    def beyond(self, start: Mapping[str, float]) -> list[str]:
        """The coordinates that begin beyond the ends of their ranges, by their `start` in m and rad."""
        stops = [one for j in self.coordinates for _, one in self._passive(j) if isinstance(one, Stop)]
        return [stop.joint for stop in stops if not stop.lowest <= start[stop.joint] <= stop.highest]

    def left_out(self) -> dict[tuple[str, str], int]:
        """Numbers of the drives in the file that are not among these, by kind (singular and plural)."""
        compiled, every = self.robot.compiled, range(self.robot.compiled.njnt)
        others = [j for j in every if j not in self.coordinates]
        having = lambda field, joints: sum(bool(field[compiled.jnt_dofadr[j]]) for j in joints)
        damped = [j for j in others if compiled.jnt_stiffness[j] or compiled.dof_damping[compiled.jnt_dofadr[j]]]
        limited = [j for j in others if compiled.jnt_limited[j] and self.robot.enabled("LIMIT", "CONSTRAINT")]
        polynomials = ("jnt_stiffnesspoly", "dof_dampingpoly", "actuator_dampingpoly", "jnt_springyield")
        uneven = [getattr(compiled, of, ()) for of in polynomials]
        return {
            ("actuator", "actuators"): len(self.acting) - len(self.motors),
            ("joint with motors of limited sum", "joints with motors of limited sum"): len(self.together),
            ("tendon", "tendons"): compiled.ntendon,
            ("ball joint with limits", "ball joints with limits"): len(limited),
            ("ball or free joint with armature", "ball or free joints with armature"): having(
                compiled.dof_armature, others
            ),
            ("joint with dry friction", "joints with dry friction"): having(compiled.dof_frictionloss, every)
            * self.robot.enabled("FRICTIONLOSS", "CONSTRAINT"),
            ("spring or damper of a ball or free joint", "springs or dampers of ball or free joints"): len(damped),
            ("nonlinear spring or damper", "nonlinear springs or dampers"): sum(
                bool(np.any(row)) for rows in uneven for row in rows
            ),
        }


def _joined(*some: Mapping[str, JointDrive]) -> dict[str, JointDrive]:
    found = dict[str, JointDrive]()
    for drives in some:
        if twice := found.keys() & drives.keys():
            raise ValueError(f"two drives would be called {min(twice)!r}: rename a body, joint or actuator")
        found |= drives
    return found
