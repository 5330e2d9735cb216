"""uint16, uint32 and uint64: which rows PyTorch does not compute in them, by the kernels that its messages name.

They are for data that comes in them, such as images of 16 bits: stored, moved, compared for equality, multiplied, added up and
converted. All else is computed after a conversion, `t.long()` or `t.float()`.
"""

from autolab.engine.tensor import TABLE

KERNELS = {
    "add_stub": "add sub rsub index_add add_at", "abs_cpu": "abs", "neg_cpu": "neg", "pow": "pow pow_scalar", "sign_cpu": "sign sgn",
    "div_floor_cpu": "floor_divide", "remainder_cpu": "remainder", "fmod_cpu": "fmod", "gcd_cpu": "gcd", "lcm_cpu": "lcm",
    "bitwise_not_cpu": "bitwise_not", "lshift_cpu": "bitwise_left_shift", "rshift_cpu": "bitwise_right_shift",
    "lt_cpu": "lt", "le_cpu": "le", "gt_cpu": "gt", "ge_cpu": "ge", "heaviside_cpu": "heaviside",
    "logical_and_cpu": "logical_and", "logical_or_cpu": "logical_or", "logical_xor_cpu": "logical_xor", "logical_not_cpu": "logical_not",
    "maximum_cpu": "maximum fmax", "minimum_cpu": "minimum fmin",
    "clamp_scalar_cpu": "clamp", "clamp_min_scalar_cpu": "clamp_min relu", "clamp_max_scalar_cpu": "clamp_max",
    "max_values_cpu": "amax", "min_values_cpu": "amin", "max_cpu": "max_along", "min_cpu": "min_along", "max_all": "max", "min_all": "min",
    "argmax_cpu": "argmax", "argmin_cpu": "argmin", "cummax_cpu": "cummax", "cummin_cpu": "cummin",
    "median_cpu": "median nanmedian", "median_out": "median_along nanmedian_along", "mode_cpu": "mode", "topk_cpu": "topk",
    "kthvalue_cpu": "kthvalue", "addcmul_cpu_out": "addcmul",
    "addmm_impl_cpu_": "mm addmm matmul linear", "addmv_impl_cpu": "mv vm", "bmm": "bmm einsum", "dot": "dot",
    "tril": "tril", "triu": "triu", "masked_fill": "masked_fill",
    "index_put": "index_put", "take_put_cpu": "put",
    "scatter_gather_tensor_cpu": "gather scatter scatter_add scatter_max scatter_min scatter_prod",
}  # fmt: skip

for kernel, rows in KERNELS.items():
    for name in rows.split():
        TABLE[name].unsigned_refusal = f'"{kernel}" not implemented for'
