"""Distributions in compiled functions: what they check is checked at each call."""

import pytest

import autolab as torch

D = torch.distributions
FAMILIES = {
    "Normal": (lambda a, b: D.Normal(a, b.exp()), torch.tensor([0.5, -1.0])),
    "Bernoulli": (lambda a, b: D.Bernoulli(logits=a * b), torch.tensor([0.0, 1.0])),
    "Categorical": (lambda a, b: D.Categorical(logits=torch.stack([a, b])), torch.tensor([1, 0])),
    "Laplace": (lambda a, b: D.Laplace(a, b.exp()), torch.tensor([0.5, 2.0])),
    "Poisson": (lambda a, b: D.Poisson(a.exp() + b.exp()), torch.tensor([0.0, 3.0])),
}


@pytest.mark.parametrize("name", FAMILIES)
def test_log_probabilities_and_their_gradients_are_those_of_eager_mode(name):
    make, value = FAMILIES[name]

    def f(a, b, value):
        return make(a, b).log_prob(value).sum()

    compiled = torch.compile(f, fullgraph=True)
    for seed in range(3):
        torch.manual_seed(seed)
        mine = [torch.randn(2, requires_grad=True) for _ in range(2)]
        theirs = [t.detach().clone().requires_grad_() for t in mine]
        a, b = compiled(*mine, value), f(*theirs, value)
        a.backward(), b.backward()
        torch.testing.assert_close([a, *(t.grad for t in mine)], [b, *(t.grad for t in theirs)])


def test_a_value_out_of_bounds_is_refused_when_the_program_is_used_again():
    f = torch.compile(lambda scale: D.Normal(torch.zeros(2), scale).log_prob(torch.ones(2)).sum(), fullgraph=True)
    f(torch.ones(2)), f(torch.ones(2))
    with pytest.raises(ValueError, match="Expected parameter scale"):
        f(torch.tensor([1.0, -1.0]))


def test_a_sample_outside_the_support_is_refused_when_the_program_is_used_again():
    f = torch.compile(lambda k: D.Categorical(logits=torch.zeros(3)).log_prob(k), fullgraph=True)
    f(torch.tensor([1, 2])), f(torch.tensor([0, 0]))
    with pytest.raises(ValueError, match="within the support"):
        f(torch.tensor([1, 3]))
