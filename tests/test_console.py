"""What the command line says, and what it finds out before it parses."""

import pytest

from jaxgait import console


def test_messages_are_one_line_on_stderr(capsys):
    console.say(ValueError("two\nlines"))
    assert capsys.readouterr().err == "jaxgait: two lines\n"


def test_an_option_is_given_once():
    console.once(["scan", "bungee", "--over", "mass=1:2:3", "stiffness=1,2", "--duration", "-1"])
    for again in (["--over", "stiffness=1,2"], ["--over=stiffness=1,2"]):
        with pytest.raises(ValueError, match="--over is given twice"):
            console.once(["scan", "bungee", "--over", "mass=1:2:3", *again])
