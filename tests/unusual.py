"""Code of users in which a number is in an unusual position: a digest that overlooks it gives results of old code."""

HEAD = """
import collections, functools
import equinox as eqx, jax, jax.numpy as jnp, numpy as np
"""

UNUSUAL = {
    "jitted call": """
class Law:
    @functools.partial(jax.jit, static_argnums=0)
    def __call__(self, x):
        return {k} * x
f = lambda x, law=Law(): law(x)
""",
    "partial method": """
class Law:
    __mul__ = functools.partialmethod(lambda self, x, k: k * x, k={k})
f = lambda x, law=Law(): law * x
""",
    "deleter": """
class Law:
    @property
    def held(self):
        return self.__dict__
    @held.deleter
    def held(self):
        self.force = {k}
def f(x):
    law = Law()
    del law.held
    return law.force * x
""",
    "metaclass": """
class Kind(type):
    stiffness = property(lambda self: {k})
class Law(metaclass=Kind):
    pass
f = lambda x: Law.stiffness * x
""",
    "factory of a dictionary": """
laws = collections.defaultdict(lambda: {k})
f = lambda x: laws["spring"] * x
""",
    "attribute of a dictionary": """
class Laws(dict):
    pass
laws = Laws()
laws.stiffness = {k}
f = lambda x: laws.stiffness * x
""",
    "attribute of an array": """
class Curve(np.ndarray):
    pass
curve = np.zeros(2).view(Curve)
curve.stiffness = {k}
f = lambda x: curve.stiffness * x
""",
    "rule of forward mode": """
@jax.custom_jvp
def law(x):
    return x
@law.defjvp
def _(at, along):
    return at[0], {k} * along[0]
f = jax.grad(lambda x: law(x))
""",
    "rule of reverse mode": """
@jax.custom_vjp
def law(x):
    return x
law.defvjp(lambda x: (x, None), lambda _, slope: ({k} * slope,))
f = jax.grad(lambda x: law(x))
""",
    "registered method": """
@functools.singledispatch
def law(x):
    return x
@law.register
def _(x: float):
    return {k} * x
f = lambda x: law(2.0) * x
""",
}


def unusual(name, k, module="their_code"):
    """The function `f` of one of the texts, with the number in its position."""
    known = {"__name__": module}
    exec(compile(HEAD + UNUSUAL[name].format(k=k), f"{module}.py", "exec"), known)
    return known["f"]
