# SPDX-License-Identifier: Apache-2.0
"""docs/method/layers.md, "Low precision"."""

from types import SimpleNamespace as Record

WIDE_BYTES = 2

# element, scale of an input, scale of a weight, scale found first, input by row, weight by row,
# gathered
RECIPES = {
    "tensorwise": (1, 0, 0, True, False, False, True),
    "delayed": (1, 0, 0, False, False, False, True),
    "blockwise": (1, 4 / 128, 4 / 128**2, False, True, False, True),
    "mxfp8": (1, 1 / 32, 1 / 32, False, True, True, False),
    "nvfp4": (1 / 2, 1 / 16, 1 / 16, True, True, True, False),
}


def is_low(precision):
    return precision in ("fp8", "fp4", "int8")


def is_full(precision):
    """Whether tensors have 32 bits."""
    return precision in ("fp32", "tf32")


def wide(s):
    """The precision of what recipes leave as it is."""
    return "bf16" if is_low(s.precision) else s.precision


# Bytes of a frozen weight with its scales.
FROZEN = {
    "nf4": 0.5 + 1 / 64 + 4 / (64 * 256),
    "nf4_plain": 0.5 + 4 / 64,
    "int4": 0.5 + 2.5 / 128,
    "int8": 1,
}


def formats_of(s, accelerator, stack):
    """Bytes per element of what linears read, keep, gather and cast."""
    name = "nvfp4" if s.precision == "fp4" else s.fp8_recipe
    element, of_input, of_weight, found_first, input_by_row, weight_by_row, gathered = RECIPES[name]
    low = is_low(s.precision)
    read = WIDE_BYTES * (2 if found_first else 1)
    input_copies = 2 if input_by_row or accelerator.fp8_one_layout else 1
    f = Record()
    f.activation = 4 if is_full(s.precision) else 2
    f.saved_input = element + of_input if low else f.activation
    frozen = FROZEN[s.frozen_type]
    f.weight = frozen if s.nf4_weights else element + of_weight
    f.weight_copies = 2 if weight_by_row or accelerator.fp8_one_layout else 1
    f.weight_copies = 1 if s.nf4_weights else f.weight_copies
    f.transposes_again = (stack.transposes_again and f.weight_copies > 1
                          and not weight_by_row)
    f.dequantised = stack.unpack_passes * (frozen + 2) if s.nf4_weights else 0
    f.cast_input = read + input_copies * (element + of_input)
    f.cast_weight = lambda copies: read + copies * f.weight
    f.gathers_low = s.nf4_weights or (s.low_weights and gathered)
    f.gather = f.weight if f.gathers_low else s.states.gather
    f.passes = (stack.fp4_cast_passes if s.precision == "fp4" else
                stack.mx_cast_passes if s.fp8_recipe == "mxfp8" else stack.cast_passes)
    return f
