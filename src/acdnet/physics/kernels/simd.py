"""Two vector operations on lanes, transposes of each other: the innermost loops of the projectors.

Compilers vectorise loops over 16 lanes badly if the arrays might overlap, so the vectors are written explicitly.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from acdnet.physics.kernels.symmetry import LANES

FAST = ("contract", "reassoc")


def _gather(_context: Any, out: Any, o: Any, source: Any, s: Any, u: Any, w: Any) -> Any:
    """out[o] += u source[s] + w source[s + 1], with flat arrays counted in vectors of lanes."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        v = _Vectors(context, builder, signature)
        target = v.at(0, arguments[0], arguments[1])
        first, second = v.at(2, arguments[2], arguments[3]), v.at(2, arguments[2], arguments[3], after=1)
        total = v.add(v.load(target), v.times(arguments[4], v.load(first)))
        v.store(v.add(total, v.times(arguments[5], v.load(second))), target)
        return context.get_dummy_value()

    return types.void(out, o, source, s, u, w), generate


def _scatter(_context: Any, out: Any, o: Any, source: Any, s: Any, u: Any, w: Any) -> Any:
    """out[o] += u source[s] and out[o + 1] += w source[s], with flat arrays counted in vectors of lanes."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        v = _Vectors(context, builder, signature)
        value = v.load(v.at(2, arguments[2], arguments[3]))
        for after, weight in ((0, arguments[4]), (1, arguments[5])):
            target = v.at(0, arguments[0], arguments[1], after)
            v.store(v.add(v.load(target), v.times(weight, value)), target)
        return context.get_dummy_value()

    return types.void(out, o, source, s, u, w), generate


gather: Any = intrinsic(_gather)
scatter: Any = intrinsic(_scatter)


class _Vectors:
    """Emits instructions for vectors of `LANES` numbers."""

    def __init__(self, context: Any, builder: Any, signature: Any) -> None:
        self.context, self.builder, self.signature = context, builder, signature
        self.element = context.get_value_type(signature.args[0].dtype)
        self.bytes = context.get_abi_sizeof(self.element)
        self.vector = ir.VectorType(self.element, LANES)

    def at(self, position: int, array: Any, index: Any, after: int = 0) -> Any:
        data = self.context.make_array(self.signature.args[position])(self.context, self.builder, array).data
        lane = self.builder.mul(index, ir.Constant(index.type, LANES))
        lane = self.builder.add(lane, ir.Constant(index.type, LANES * after))
        return self.builder.bitcast(self.builder.gep(data, [lane]), self.vector.as_pointer())

    def load(self, pointer: Any) -> Any:
        return self.builder.load(pointer, align=self.bytes)

    def store(self, value: Any, pointer: Any) -> None:
        self.builder.store(value, pointer, align=self.bytes)

    def add(self, a: Any, b: Any) -> Any:
        return self.builder.fadd(a, b, flags=FAST)

    def times(self, scalar: Any, vector: Any) -> Any:
        zero = ir.Constant(ir.IntType(32), 0)
        one = self.builder.insert_element(ir.Constant(self.vector, ir.Undefined), scalar, zero)
        every = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
        return self.builder.fmul(self.builder.shuffle_vector(one, one, every), vector, flags=FAST)
