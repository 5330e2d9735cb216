"""What a compiled program holds while it runs, and between two calls. Bytes are counted, not pages."""

import dis
import functools
import re
import tracemalloc

import numpy as np

import autolab as torch
from autolab.compiler import explain, source_of


def peak(call):
    """The most bytes that are asked for during a call, beyond what there was before."""
    tracemalloc.start()
    call()
    highest = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return highest


def compiled(f):
    f = torch.compile(f)
    f()
    (program,) = explain(f).programs
    return f, program


def test_a_program_lets_go_of_what_it_does_not_need_any_more():
    x = torch.rand(200, 1000)

    def sorted_often():
        y = x
        for dim in (0, 1) * 5:
            y = y.sort(dim=dim).values.flip(dim)
        return y.sum()

    f, _ = compiled(sorted_often)
    assert peak(f) < 6 * x.nbytes  # a sort makes its places, too, of 8 bytes each


def test_a_program_does_not_keep_the_numbers_of_the_traced_call():
    x = torch.rand(100_000)
    _, program = compiled(lambda: ((x * 2).exp() + 1).sum())
    (chain,) = program.fused
    made = [o.sample for step in chain for o in step.outs if o.sample.ndim]
    assert {(a.shape, a.strides) for a in made} == {((100_000,), (0,))}  # one number, shown as many


def test_chains_one_after_the_other_use_the_same_blocks():
    x, y = torch.rand(100_000), torch.rand(100_001)
    _, program = compiled(lambda: ((x * 2).exp() + 1).sum() + ((y * 2).exp() + 1).sum())
    assert (len(program.fused), program.bytes) == (2, 4 << 15)


def test_memory_of_a_buffer_serves_another_shape():
    x = torch.rand(100, 50)
    _, program = compiled(lambda: ((x * 2).sum(1) + (x.t() * 3).flatten().reshape(2500, 2).sum(0).sum()).sum())
    assert program.bytes < 1.2 * x.nbytes


def test_memory_that_serves_many_times_has_one_name_for_each_shape():
    x, w = torch.randn(8, 4), torch.randn(4, 4)

    def f(count):
        y = x
        for _ in range(count):
            y = (y @ w).tanh() + (y @ w).sin().t().reshape(8, 4)
        return y.sum()

    few, many = (source_of(compiled(functools.partial(f, count))[0]) for count in (5, 50))
    names = set(re.findall(r"\b(?:b|view)(?:_\d+)?\b", few))
    assert len(names) == 3
    assert set(re.findall(r"\b(?:b|view)(?:_\d+)?\b", many)) == names


def test_a_small_result_leaves_the_memory_of_a_large_one_to_others():
    x, w = torch.randn(32, 32), torch.randn(32, 8)

    def f():
        y, small = x, []
        for _ in range(5):
            y = y.sin()
            small.append(y.exp() @ w)
        return sum(small[1:], small[0]).sum()

    _, program = compiled(f)
    assert program.bytes == 2 * 32 * 32 * 4 + 5 * 32 * 8 * 4


def test_a_program_speaks_of_local_variables_and_keeps_its_text_compressed():
    start = torch.randn(4, 4)
    f, program = compiled(lambda x=start: [x := x.sin() * 2 + 1 for _ in range(50)][-1].sum())
    assert "LOAD_GLOBAL" not in {i.opname for i in dis.get_instructions(program.forward)}
    assert 4 * sum(map(len, program.texts)) < len(source_of(f))


def test_gradients_that_meet_are_added_in_the_memory_of_one():
    x, places = torch.rand(2000, requires_grad=True), torch.arange(2000)

    def step():
        x.grad = None
        (x[places] * x[places + 0] * x[places * 1]).sum().backward()

    f, _ = compiled(step)
    right = x.grad.clone()
    added = [line for line in source_of(f).splitlines() if " = add(" in line]
    assert added
    assert all(line.split(" = add(")[1].count(", ") == 2 for line in added)
    f()
    assert (x.grad == right).all()


def test_an_array_that_two_chains_read_is_let_go_of_once():
    def f(x, y):
        return (x / (x.abs() + 1)).select(-1, 0).atan2(y).narrow(0, 0, 1)

    compiled, numbers = torch.compile(f), np.random.default_rng(0).standard_normal((2, 70_000))
    for _ in range(3):
        pairs = []
        for g in (f, compiled):
            x, y = (torch.tensor(a, requires_grad=True) for a in numbers)
            g(x, y).sum().backward()
            pairs.append((x.grad, y.grad))
        for ours, theirs in zip(*pairs, strict=True):
            np.testing.assert_allclose(ours.numpy(), theirs.numpy())
    assert "compiled" in str(explain(compiled))


def test_a_result_is_written_over_a_buffer_that_ends_there_in_another_shape():
    x, w, b = torch.randn(64, 32), torch.randn(32, 32), torch.randn(32)
    f = torch.compile(lambda: ((x @ w).view(8, 8, 32) + b).exp().sum(), fullgraph=True)
    right = f()
    np.testing.assert_allclose(f().item(), right.item(), rtol=1e-6)
    assert explain(f).programs[0].bytes == 64 * 32 * 4


def test_the_bias_of_a_sequence_gets_its_gradient_as_a_product():
    x, net = torch.randn(5, 7, 16), torch.nn.Linear(16, 8)
    more = torch.zeros(8, requires_grad=True)
    f = torch.compile(lambda: torch.autograd.grad((net(x) + more).square().sum(), [net.bias, more]), fullgraph=True)
    f()
    for mine, right in zip(f(), f._torchdynamo_orig_callable(), strict=True):
        np.testing.assert_allclose(mine.numpy(), right.numpy(), rtol=1e-5)
    assert "fit(" not in source_of(f)


def batch_norm_step():
    x, net = torch.randn(8, 4, 16, 16), torch.nn.Sequential(torch.nn.Conv2d(4, 4, 3, padding=1), torch.nn.BatchNorm2d(4), torch.nn.ReLU())
    scale = torch.randn(8, 4, 16, 16)

    def step():
        net.zero_grad()
        loss = (net(x) * scale).sum()
        loss.backward()
        return [loss.detach(), *[p.grad.clone() for p in net.parameters()], *[b.clone() for b in net.buffers()]]

    return step


def test_the_way_back_of_batch_norm_finds_what_the_way_forward_computed():
    torch.manual_seed(0)
    plain = batch_norm_step()
    torch.manual_seed(0)
    f = torch.compile(batch_norm_step(), fullgraph=True)
    for _ in range(3):
        for mine, right in zip(f(), plain(), strict=True):
            np.testing.assert_allclose(mine.numpy(), right.numpy(), rtol=1e-4, atol=1e-4)
    calls = re.findall(r"by_channel\((\w+), (\w+)\)", source_of(f))
    assert sum(first == second for first, second in calls) == 1  # the variance
    assert len(calls) == 5  # the mean, the variance, g * d, g; the gradient of the convolution's bias


def test_a_large_array_that_ends_is_written_over_before_a_buffer_is_made():
    x, scale = torch.randn(4, 2, 64, 64), torch.randn(1, 2, 1, 1)
    f = torch.compile(lambda: (torch.nn.functional.max_pool2d(x, 2) * scale).exp() * 2, fullgraph=True)
    right = torch.nn.functional.max_pool2d(x, 2).mul(scale).exp() * 2
    f()
    np.testing.assert_allclose(f().numpy(), right.numpy(), rtol=1e-6)
    assert explain(f).programs[0].bytes == 0


def test_chains_of_different_arrays_stay_apart():
    x, y = torch.randn(1 << 17), torch.randn(1 << 17)
    f = torch.compile(lambda x, y: ((x * 2).tanh() + 1, (y * 3).exp() - 1), fullgraph=True)
    f(x, y)
    for mine, right in zip(f(x, y), ((x * 2).tanh() + 1, (y * 3).exp() - 1), strict=True):
        np.testing.assert_allclose(mine.numpy(), right.numpy(), rtol=1e-6)
    assert [len(chain) for chain in explain(f).programs[0].fused] == [3, 3]


def test_large_results_are_no_longer_held_than_they_are_used():
    x, places = torch.rand(100, 2000), torch.arange(99, -1, -1)

    def step():
        y = x
        for _ in range(4):
            y = ((y * 2).exp().log() + 1)[places]  # a chain, and a step that makes an array of its own
        return y.sum()

    f, program = compiled(step)
    assert program.bytes <= 4 * (4 << 15)  # the blocks of the chains alone
    assert peak(f) < 2.2 * x.nbytes  # what is read and what is made


def test_the_rule_of_a_block_kernel_writes_over_a_gradient_that_ends_in_another_shape():
    x, net = torch.randn(4, 32, 16), torch.nn.Sequential(torch.nn.Linear(16, 64), torch.nn.GELU(), torch.nn.Linear(64, 1))

    def step():
        net.zero_grad()
        net(x).square().sum().backward()
        return [p.grad.clone() for p in net.parameters()]

    f = torch.compile(step, fullgraph=True)
    f()
    for mine, right in zip(f(), step(), strict=True):
        np.testing.assert_allclose(mine.numpy(), right.numpy(), rtol=1e-4, atol=1e-5)
    assert re.search(r"in_blocks\(\w+, (\w+), \w+, out=\1\)", source_of(f))


def test_an_array_is_written_over_by_a_step_that_reads_it_in_two_orders():
    x, w = torch.randn(64, 32), torch.randn(32, 64)
    f = torch.compile(lambda: ((x @ w).view(64, 64) - (x @ w).t()).exp(), fullgraph=True)
    right = f()
    np.testing.assert_allclose(f().numpy(), right.numpy(), rtol=1e-5)
    (line,) = [line for line in source_of(f).splitlines() if "subtract(" in line]
    assert line.count(line.split(" = ")[1].split("(")[1].split(",")[0]) == 2
