"""Samples for the rows of recurrent layers, each beside its steps written out."""

from autolab.rules import TABLE, recurrent

from .samples import Sample

LOADED = (recurrent,)  # the file of rows that nn.LSTM and nn.GRU load


def lstm_by_steps(T, gates, w, h, c):
    hs, cs = [], []
    for x in gates:
        i, f, n, o = (x + h @ w.T).chunk(4, -1)
        c = f.sigmoid() * c + i.sigmoid() * n.tanh()
        h = o.sigmoid() * c.tanh()
        hs.append(h)
        cs.append(c)
    return T.cat([T.stack(hs), T.stack(cs)])


def gru_by_steps(T, gates, w, b, h):
    hs = []
    for x in gates:
        (r, z, n), (of_r, of_z, of_n) = x.chunk(3, -1), (h @ w.T + b).chunk(3, -1)
        z = (z + of_z).sigmoid()
        h = (1 - z) * (n + (r + of_r).sigmoid() * of_n).tanh() + z * h
        hs.append(h)
    return T.stack(hs)


STEPS = "steps are nodes of their own there"
SAMPLES = [
    Sample("lstm", lstm_by_steps, "328 82 22 22; 128 82 22 22; 214 41 11 11", ours=lambda T, *xs: T.cat(TABLE["lstm"](*xs)), named=STEPS),
    Sample("gru", gru_by_steps, "326 62 6 22; 126 62 6 22; 213 31 3 11", ours=lambda T, *xs: TABLE["gru"](*xs), named=STEPS),
]
