"""Bad input of every kind, with the expected messages.

In `cases.txt`, each area has a heading. Below each call (or command, without `jaxgait`), an indented line gives the
class of the exception or warning (for a command the exit code) and a fragment of the one-line message.
"""

import pathlib

Case = tuple[str, str, str]
"""A call or a command, the kind of its error, and a fragment of the message."""


def areas(text: str) -> dict[str, list[Case]]:
    """The cases of every area, from the format of `cases.txt`."""
    found: dict[str, list[Case]] = {}
    for block in text.removeprefix("# ").split("\n# "):
        area, *lines = block.strip().splitlines()
        errors = [line.strip().partition(":") for line in lines[1::2]]
        found[area] = [
            (case, kind, fragment.strip()) for case, (kind, _, fragment) in zip(lines[::2], errors, strict=True)
        ]
    return found


_ALL = areas(pathlib.Path(__file__).with_suffix(".txt").read_text())
COMMANDS = {area: cases for area, cases in _ALL.items() if area.startswith("command line")}
CALLS = {area: cases for area, cases in _ALL.items() if area not in COMMANDS}

CURVES = {
    "A_CURVE": "time (s),height (m)\n0,80\n1,75\n2,60\n",
    "A_VOID": "",
    "A_GAP": "time (s),height (m)\n0,80\n1,nan\n2,#N/A\n",
    "A_MIX": "time (s),height (m)\n0,80\n2,60\n1,75\n",
    "A_WEIGHT": "time (s),height (kg)\n0,80\n1,75\n",
    "A_BARE": "time (s),height\n0,80\n1,75\n",
    "A_PHASE": "stride (%),height (m)\n0,80\n50,75\n",
    "A_TYPO": "time (s),heigth (m)\n0,80\n1,75\n",
}
"""Files that commands are given, by the word that stands for them."""
