"""Moments of a planar leg by OpenSim's inverse dynamics tool: `task.json` in, `moments.json` out, in this folder.

Runs in a Python that has OpenSim (see `test_dynamics.py`), so it imports nothing of jaxgait.
"""

import json
import pathlib

import opensim

TASK = json.loads(pathlib.Path("task.json").read_text())
NAMES = ("thigh", "hip_x", "hip_y", "knee", "ankle")


def model() -> None:
    """Thigh, shank and foot, joined by pins; the hip follows a given path."""
    leg = opensim.Model()
    leg.setGravity(opensim.Vec3(0, -9.81, 0))
    zero = opensim.Vec3(0)
    centres = {name: opensim.Vec3(0, -TASK["body"][name][1], 0) for name in ("thigh", "shank")}
    centres["foot"] = opensim.Vec3(*TASK["foot"], 0)
    bodies = {}
    for name, (mass, _, inertia) in TASK["body"].items():
        bodies[name] = opensim.Body(name, mass, centres[name], opensim.Inertia(inertia, inertia, inertia))
        leg.addBody(bodies[name])
    hip = opensim.PlanarJoint("hip", leg.getGround(), zero, zero, bodies["thigh"], zero, zero)
    joints = [hip]
    pins = (("knee", "thigh", "shank"), ("ankle", "shank", "foot"))
    for (name, above, below), length in zip(pins, TASK["lengths"], strict=True):
        at = opensim.Vec3(0, -length, 0)
        joints.append(opensim.PinJoint(name, bodies[above], at, zero, bodies[below], zero, zero))
    for joint in joints:
        leg.addJoint(joint)
    for i, name in enumerate(NAMES[:3]):
        hip.upd_coordinates(i).setName(name)
    for joint, name in zip(joints[1:], NAMES[3:], strict=True):
        joint.upd_coordinates(0).setName(name)
    leg.finalizeConnections()
    leg.printToXML("leg.osim")


def table(path: str, names: list, time: list, rows: list) -> None:
    """A file of OpenSim."""
    head = f"{path}\nversion=1\nnRows={len(time)}\nnColumns={len(names) + 1}\ninDegrees=no\nendheader\n"
    lines = ["\t".join(map(repr, [t, *row])) for t, row in zip(time, rows, strict=True)]
    pathlib.Path(path).write_text(head + "\t".join(["time", *names]) + "\n" + "\n".join(lines) + "\n")


def loads() -> None:
    """The ground reaction on the foot."""
    columns = [f"{kind}{axis}" for kind in ("ground_force_v", "ground_force_p") for axis in "xyz"]
    table("force.mot", columns, TASK["force_time"], TASK["force"])
    force = opensim.ExternalForce()
    force.setName("ground")
    force.set_applied_to_body("foot")
    force.set_force_expressed_in_body("ground")
    force.set_point_expressed_in_body("ground")
    force.set_force_identifier("ground_force_v")
    force.set_point_identifier("ground_force_p")
    every = opensim.ExternalLoads()
    every.cloneAndAppend(force)
    every.setDataFileName("force.mot")
    every.printToXML("loads.xml")


def main() -> None:
    """Runs the tool."""
    model()
    loads()
    table("motion.mot", list(NAMES), TASK["time"], TASK["coordinates"])
    tool = opensim.InverseDynamicsTool()
    tool.setModelFileName("leg.osim")
    tool.setCoordinatesFileName("motion.mot")
    tool.setExternalLoadsFileName("loads.xml")
    tool.setStartTime(TASK["time"][0])
    tool.setEndTime(TASK["time"][-1])
    tool.setOutputGenForceFileName("moments.sto")
    if not tool.run():
        raise SystemExit("inverse dynamics failed")
    found = opensim.TimeSeriesTable("moments.sto")
    column = lambda name: list(found.getDependentColumn(f"{name}_moment").to_numpy())
    result = {"hip": column("thigh"), "knee": column("knee"), "ankle": column("ankle")}
    pathlib.Path("moments.json").write_text(json.dumps({"time": list(found.getIndependentColumn()), **result}))


main()
