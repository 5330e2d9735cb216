"""Small programs in the manner in which people write them for PyTorch. Each takes the library as `torch` and returns its first losses.

Weights and data are the same numbers on both sides; there is no dropout, for random numbers differ.
"""

import copy
import math
from collections import OrderedDict

import numpy as np


def numbers(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype("f4")


def floats(torch, *shape, seed=0):
    return torch.from_numpy(numbers(*shape, seed=seed))


def integers(torch, high, *shape, seed=0):
    return torch.from_numpy(np.random.default_rng(seed).integers(0, high, shape))


def with_same_weights(torch, model, seed=0):
    """The model, its matrices drawn anew and its biases zero: the same in each library."""
    rng = np.random.default_rng(seed)
    with torch.no_grad():
        for name, p in model.named_parameters():
            if p.dim() > 1:
                p.copy_(torch.from_numpy(rng.standard_normal(tuple(p.shape)) / math.sqrt(p[0].numel())))
            elif "bias" in name:
                p.zero_()
    return model


# -- karpathy: micrograd, makemore, minGPT, nanoGPT ---------------------------------------------------


def micrograd_mlp(torch):
    """Two moons, a hinge loss with a little weight decay, a learning rate that falls."""
    nn = torch.nn
    X, y = floats(torch, 40, 2), torch.from_numpy(np.sign(numbers(40, seed=1)))
    model = with_same_weights(torch, nn.Sequential(nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 1)))
    losses = []
    for k in range(8):
        scores = model(X).squeeze()
        data_loss = (1 + -y * scores).relu().mean()
        loss = data_loss + 1e-4 * sum((p * p).sum() for p in model.parameters())
        model.zero_grad()
        loss.backward()
        for p in model.parameters():
            p.data -= (1.0 - 0.9 * k / 100) * p.grad
        losses.append(loss.item())
    return losses


def makemore_bigram(torch):
    """Counts learned by gradient descent: one-hot rows times W, counts by exp, a smoothness penalty."""
    F = torch.nn.functional
    xs, ys = integers(torch, 27, 60), integers(torch, 27, 60, seed=1)
    W = torch.from_numpy(numbers(27, 27)).requires_grad_()
    losses = []
    for _ in range(6):
        xenc = F.one_hot(xs, num_classes=27).float()
        logits = xenc @ W
        counts = logits.exp()
        probs = counts / counts.sum(1, keepdims=True)
        loss = -probs[torch.arange(60), ys].log().mean() + 0.01 * (W**2).mean()
        W.grad = None
        loss.backward()
        W.data += -50 * W.grad
        losses.append(loss.item())
    return losses


def makemore_batchnorm(torch):
    """Layers written by hand, with a batch norm and running statistics kept in no_grad."""
    F = torch.nn.functional

    class Linear:
        def __init__(self, fan_in, fan_out, seed):
            self.weight = torch.from_numpy(numbers(fan_in, fan_out, seed=seed) / fan_in**0.5)

        def __call__(self, x):
            self.out = x @ self.weight
            return self.out

        def parameters(self):
            return [self.weight]

    class BatchNorm1d:
        def __init__(self, dim, eps=1e-5, momentum=0.1):
            self.eps, self.momentum, self.training = eps, momentum, True
            self.gamma, self.beta = torch.ones(dim), torch.zeros(dim)
            self.running_mean, self.running_var = torch.zeros(dim), torch.ones(dim)

        def __call__(self, x):
            if self.training:
                xmean, xvar = x.mean(0, keepdim=True), x.var(0, keepdim=True)
            else:
                xmean, xvar = self.running_mean, self.running_var
            self.out = self.gamma * (x - xmean) / torch.sqrt(xvar + self.eps) + self.beta
            if self.training:
                with torch.no_grad():
                    self.running_mean = (1 - self.momentum) * self.running_mean + self.momentum * xmean
                    self.running_var = (1 - self.momentum) * self.running_var + self.momentum * xvar
            return self.out

        def parameters(self):
            return [self.gamma, self.beta]

    class Tanh:
        def __call__(self, x):
            self.out = torch.tanh(x)
            return self.out

        def parameters(self):
            return []

    C = torch.from_numpy(numbers(27, 10, seed=9))
    layers = [Linear(30, 50, 1), BatchNorm1d(50), Tanh(), Linear(50, 50, 2), BatchNorm1d(50), Tanh(), Linear(50, 27, 3), BatchNorm1d(27)]
    with torch.no_grad():
        layers[-1].gamma *= 0.1
    parameters = [C] + [p for layer in layers for p in layer.parameters()]
    for p in parameters:
        p.requires_grad = True
    losses = []
    for i in range(6):
        Xb, Yb = integers(torch, 27, 32, 3, seed=i), integers(torch, 27, 32, seed=100 + i)
        x = C[Xb].view(32, -1)
        for layer in layers:
            x = layer(x)
        loss = F.cross_entropy(x, Yb)
        for layer in layers:
            layer.out.retain_grad()
        for p in parameters:
            p.grad = None
        loss.backward()
        for p in parameters:
            p.data += -0.1 * p.grad
        losses += [loss.item(), layers[2].out.grad.std().item()]
    return losses


def makemore_rnn(torch, kind="gru"):
    """A recurrent cell written out, unrolled over a context, targets of -1 ignored."""
    nn, F = torch.nn, torch.nn.functional

    class RNNCell(nn.Module):
        def __init__(self, n_embd):
            super().__init__()
            self.xh_to_h = nn.Linear(2 * n_embd, n_embd)

        def forward(self, xt, hprev):
            return torch.tanh(self.xh_to_h(torch.cat([xt, hprev], dim=1)))

    class GRUCell(nn.Module):
        def __init__(self, n_embd):
            super().__init__()
            self.xh_to_z = nn.Linear(2 * n_embd, n_embd)
            self.xh_to_r = nn.Linear(2 * n_embd, n_embd)
            self.xh_to_hbar = nn.Linear(2 * n_embd, n_embd)

        def forward(self, xt, hprev):
            r = torch.sigmoid(self.xh_to_r(torch.cat([xt, hprev], dim=1)))
            hbar = torch.tanh(self.xh_to_hbar(torch.cat([xt, r * hprev], dim=1)))
            z = torch.sigmoid(self.xh_to_z(torch.cat([xt, hprev], dim=1)))
            return (1 - z) * hprev + z * hbar

    class RNN(nn.Module):
        def __init__(self, vocab, n_embd):
            super().__init__()
            self.start = nn.Parameter(torch.zeros(1, n_embd))
            self.wte = nn.Embedding(vocab, n_embd)
            self.cell = {"rnn": RNNCell, "gru": GRUCell}[kind](n_embd)
            self.lm_head = nn.Linear(n_embd, vocab)

        def forward(self, idx, targets=None):
            _, t = idx.size()
            emb = self.wte(idx)
            hprev = self.start.expand((idx.size(0), -1))
            hiddens = []
            for i in range(t):
                hprev = self.cell(emb[:, i, :], hprev)
                hiddens.append(hprev)
            logits = self.lm_head(torch.stack(hiddens, 1))
            return logits, F.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1), ignore_index=-1)

    model = with_same_weights(torch, RNN(12, 16))
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3, weight_decay=0.01, betas=(0.9, 0.99), eps=1e-8)
    losses = []
    for i in range(5):
        targets = integers(torch, 12, 8, 7, seed=10 + i)
        targets[:, -2:] = -1
        _, loss = model(integers(torch, 12, 8, 7, seed=i), targets)
        model.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def mingpt(torch):
    """The block with a registered mask, NewGELU, layers in a ModuleDict, weight decay for matrices only, a Trainer with callbacks."""
    nn, F = torch.nn, torch.nn.functional

    class NewGELU(nn.Module):
        def forward(self, x):
            return 0.5 * x * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * torch.pow(x, 3.0))))

    class CausalSelfAttention(nn.Module):
        def __init__(self, n_embd, n_head, block_size):
            super().__init__()
            self.c_attn = nn.Linear(n_embd, 3 * n_embd)
            self.c_proj = nn.Linear(n_embd, n_embd)
            self.attn_dropout = nn.Dropout(0.0)
            self.register_buffer("bias", torch.tril(torch.ones(block_size, block_size)).view(1, 1, block_size, block_size))
            self.n_head, self.n_embd = n_head, n_embd

        def forward(self, x):
            B, T, C = x.size()
            q, k, v = self.c_attn(x).split(self.n_embd, dim=2)
            k, q, v = (t.view(B, T, self.n_head, C // self.n_head).transpose(1, 2) for t in (k, q, v))
            att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
            att = att.masked_fill(self.bias[:, :, :T, :T] == 0, float("-inf"))
            att = self.attn_dropout(F.softmax(att, dim=-1))
            y = (att @ v).transpose(1, 2).contiguous().view(B, T, C)
            return self.c_proj(y)

    class Block(nn.Module):
        def __init__(self, n_embd, n_head, block_size):
            super().__init__()
            self.ln_1 = nn.LayerNorm(n_embd)
            self.attn = CausalSelfAttention(n_embd, n_head, block_size)
            self.ln_2 = nn.LayerNorm(n_embd)
            self.mlp = nn.ModuleDict(
                dict(c_fc=nn.Linear(n_embd, 4 * n_embd), c_proj=nn.Linear(4 * n_embd, n_embd), act=NewGELU(), dropout=nn.Dropout(0.0))
            )
            m = self.mlp
            self.mlpf = lambda x: m.dropout(m.c_proj(m.act(m.c_fc(x))))

        def forward(self, x):
            x = x + self.attn(self.ln_1(x))
            return x + self.mlpf(self.ln_2(x))

    class GPT(nn.Module):
        def __init__(self, vocab, block_size, n_layer, n_head, n_embd):
            super().__init__()
            self.transformer = nn.ModuleDict(dict(
                wte=nn.Embedding(vocab, n_embd), wpe=nn.Embedding(block_size, n_embd), drop=nn.Dropout(0.0),
                h=nn.ModuleList([Block(n_embd, n_head, block_size) for _ in range(n_layer)]), ln_f=nn.LayerNorm(n_embd),
            ))  # fmt: skip
            self.lm_head = nn.Linear(n_embd, vocab, bias=False)
            self.apply(self._init_weights)

        def _init_weights(self, module):
            if isinstance(module, nn.Linear):
                torch.nn.init.normal_(module.weight, mean=0.0, std=0.02)
                if module.bias is not None:
                    torch.nn.init.zeros_(module.bias)
            elif isinstance(module, nn.Embedding):
                torch.nn.init.normal_(module.weight, mean=0.0, std=0.02)
            elif isinstance(module, nn.LayerNorm):
                torch.nn.init.zeros_(module.bias)
                torch.nn.init.ones_(module.weight)

        def configure_optimizers(self):
            decay, no_decay = set(), set()
            for mn, m in self.named_modules():
                for pn, _ in m.named_parameters():
                    fpn = "%s.%s" % (mn, pn) if mn else pn  # noqa: UP031
                    if pn.endswith("bias"):
                        no_decay.add(fpn)
                    elif pn.endswith("weight") and isinstance(m, nn.Linear):
                        decay.add(fpn)
                    elif pn.endswith("weight") and isinstance(m, (nn.LayerNorm, nn.Embedding)):
                        no_decay.add(fpn)
            param_dict = dict(self.named_parameters())
            assert not decay & no_decay and not param_dict.keys() - (decay | no_decay)
            groups = [
                {"params": [param_dict[pn] for pn in sorted(decay)], "weight_decay": 0.1},
                {"params": [param_dict[pn] for pn in sorted(no_decay)], "weight_decay": 0.0},
            ]
            return torch.optim.AdamW(groups, lr=3e-3, betas=(0.9, 0.95))

        def forward(self, idx, targets=None):
            _, t = idx.size()
            pos = torch.arange(0, t, dtype=torch.long, device=idx.device).unsqueeze(0)
            x = self.transformer.drop(self.transformer.wte(idx) + self.transformer.wpe(pos))
            for block in self.transformer.h:
                x = block(x)
            logits = self.lm_head(self.transformer.ln_f(x))
            return logits, F.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1), ignore_index=-1)

        @torch.no_grad()
        def generate(self, idx, n):
            for _ in range(n):
                logits, _ = self(idx[:, -8:], idx[:, -8:])
                idx = torch.cat((idx, torch.topk(F.softmax(logits[:, -1, :], dim=-1), k=1, dim=-1)[1]), dim=1)
            return idx

    class Sorting(torch.utils.data.Dataset):
        def __len__(self):
            return 64

        def __getitem__(self, i):
            inp = integers(torch, 5, 4, seed=i)
            cat = torch.cat((inp, torch.sort(inp)[0]), dim=0)
            x, y = cat[:-1].clone(), cat[1:].clone()
            y[:3] = -1
            return x, y

    model = with_same_weights(torch, GPT(5, 8, 2, 2, 16))
    optimizer = model.configure_optimizers()
    losses = []
    for x, y in torch.utils.data.DataLoader(Sorting(), batch_size=16, shuffle=False):
        _, loss = model(x, y)
        model.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
    return losses + [float(v) for v in model.eval().generate(integers(torch, 5, 1, 4), 3).view(-1)]


def nanogpt(torch):
    """Scaled dot product attention, an optional bias in LayerNorm, tied weights, gradient accumulation, a cosine with warm-up."""
    nn, F = torch.nn, torch.nn.functional

    class LayerNorm(nn.Module):
        def __init__(self, ndim, bias):
            super().__init__()
            self.weight = nn.Parameter(torch.ones(ndim))
            self.bias = nn.Parameter(torch.zeros(ndim)) if bias else None

        def forward(self, input):
            return F.layer_norm(input, self.weight.shape, self.weight, self.bias, 1e-5)

    class Block(nn.Module):
        def __init__(self, n, heads, bias):
            super().__init__()
            self.heads = heads
            self.ln_1, self.ln_2 = LayerNorm(n, bias), LayerNorm(n, bias)
            self.c_attn, self.c_proj = nn.Linear(n, 3 * n, bias=bias), nn.Linear(n, n, bias=bias)
            self.c_fc, self.gelu, self.c_out = nn.Linear(n, 4 * n, bias=bias), nn.GELU(), nn.Linear(4 * n, n, bias=bias)

        def attention(self, x):
            B, T, C = x.size()
            q, k, v = self.c_attn(x).split(C, dim=2)
            q, k, v = (t.view(B, T, self.heads, C // self.heads).transpose(1, 2) for t in (q, k, v))
            y = F.scaled_dot_product_attention(q, k, v, attn_mask=None, dropout_p=0.0 if self.training else 0, is_causal=True)
            return self.c_proj(y.transpose(1, 2).contiguous().view(B, T, C))

        def forward(self, x):
            x = x + self.attention(self.ln_1(x))
            return x + self.c_out(self.gelu(self.c_fc(self.ln_2(x))))

    class GPT(nn.Module):
        def __init__(self, vocab=20, block=8, n=16, bias=False):
            super().__init__()
            self.transformer = nn.ModuleDict(dict(
                wte=nn.Embedding(vocab, n), wpe=nn.Embedding(block, n), h=nn.ModuleList([Block(n, 4, bias) for _ in range(2)]),
                ln_f=LayerNorm(n, bias=bias),
            ))  # fmt: skip
            self.lm_head = nn.Linear(n, vocab, bias=False)
            self.transformer.wte.weight = self.lm_head.weight

        def forward(self, idx, targets):
            x = self.transformer.wte(idx) + self.transformer.wpe(torch.arange(idx.size(1)))
            for block in self.transformer.h:
                x = block(x)
            logits = self.lm_head(self.transformer.ln_f(x))
            return F.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1))

    def get_lr(it, warmup=2, decay=8, lr=6e-3, low=6e-4):
        if it < warmup:
            return lr * (it + 1) / (warmup + 1)
        return low + 0.5 * (1.0 + math.cos(math.pi * (it - warmup) / (decay - warmup))) * (lr - low)

    model = with_same_weights(torch, GPT())
    param_dict = {pn: p for pn, p in model.named_parameters() if p.requires_grad}
    groups = [
        {"params": [p for p in param_dict.values() if p.dim() >= 2], "weight_decay": 0.1},
        {"params": [p for p in param_dict.values() if p.dim() < 2], "weight_decay": 0.0},
    ]
    optimizer = torch.optim.AdamW(groups, lr=6e-3, betas=(0.9, 0.95))
    scaler = torch.amp.GradScaler("cuda", enabled=False)
    losses = []
    for it in range(5):
        for group in optimizer.param_groups:
            group["lr"] = get_lr(it)
        for micro in range(2):
            loss = model(integers(torch, 20, 4, 8, seed=2 * it + micro), integers(torch, 20, 4, 8, seed=50 + it)) / 2
            scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad(set_to_none=True)
        losses.append(loss.item() * 2)
    return losses


# -- pytorch/examples -----------------------------------------------------------------------------------


def mnist(torch):
    """Two convolutions, dropout, log_softmax, Adadelta with StepLR, a test loop that counts."""
    nn, F, optim = torch.nn, torch.nn.functional, torch.optim
    from importlib import import_module

    StepLR = import_module(f"{torch.__name__}.optim.lr_scheduler").StepLR

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv1 = nn.Conv2d(1, 8, 3, 1)
            self.conv2 = nn.Conv2d(8, 16, 3, 1)
            self.dropout1 = nn.Dropout(0.0)
            self.fc1 = nn.Linear(16 * 16, 32)
            self.fc2 = nn.Linear(32, 10)

        def forward(self, x):
            x = F.relu(self.conv1(x))
            x = F.relu(self.conv2(x))
            x = F.max_pool2d(x, 2)
            x = self.dropout1(x)
            x = torch.flatten(x, 1)
            x = F.relu(self.fc1(x))
            return F.log_softmax(self.fc2(x), dim=1)

    device = torch.device("cpu")
    model = with_same_weights(torch, Net()).to(device)
    data = torch.utils.data.TensorDataset(floats(torch, 48, 1, 12, 12), integers(torch, 10, 48))
    optimizer = optim.Adadelta(model.parameters(), lr=1.0)
    scheduler = StepLR(optimizer, step_size=1, gamma=0.7)
    losses = []
    for _ in range(2):
        model.train()
        for x, target in torch.utils.data.DataLoader(data, batch_size=16):
            x, target = x.to(device), target.to(device)
            optimizer.zero_grad()
            loss = F.nll_loss(model(x), target)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        scheduler.step()
    model.eval()
    test_loss = correct = 0
    with torch.no_grad():
        for x, target in torch.utils.data.DataLoader(data, batch_size=24):
            output = model(x)
            test_loss += F.nll_loss(output, target, reduction="sum").item()
            pred = output.argmax(dim=1, keepdim=True)
            correct += pred.eq(target.view_as(pred)).sum().item()
    return [*losses, test_loss / 48, correct]


def vae(torch):
    """The reparametrisation trick, a Bernoulli reconstruction, the divergence from the prior in closed form."""
    nn, F = torch.nn, torch.nn.functional

    class VAE(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc1, self.fc21, self.fc22 = nn.Linear(36, 20), nn.Linear(20, 4), nn.Linear(20, 4)
            self.fc3, self.fc4 = nn.Linear(4, 20), nn.Linear(20, 36)

        def reparameterize(self, mu, logvar, i):
            std = torch.exp(0.5 * logvar)
            return mu + floats(torch, *std.shape, seed=i) * std

        def forward(self, x, i):
            h1 = F.relu(self.fc1(x.view(-1, 36)))
            mu, logvar = self.fc21(h1), self.fc22(h1)
            z = self.reparameterize(mu, logvar, i)
            return torch.sigmoid(self.fc4(F.relu(self.fc3(z)))), mu, logvar

    model = with_same_weights(torch, VAE())
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    losses = []
    for i in range(5):
        x = floats(torch, 10, 1, 6, 6, seed=i).sigmoid()
        optimizer.zero_grad()
        recon, mu, logvar = model(x, i)
        BCE = F.binary_cross_entropy(recon, x.view(-1, 36), reduction="sum")
        KLD = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
        loss = BCE + KLD
        loss.backward()
        optimizer.step()
        losses.append(loss.item() / len(x))
    return losses


def word_language_model(torch, kind="LSTM"):
    """An LSTM (or GRU, or RNN) whose state goes from batch to batch, tied weights, gradient clipping, an update by hand."""
    nn = torch.nn

    class RNNModel(nn.Module):
        def __init__(self, ntoken=15, ninp=8, nhid=8, nlayers=2):
            super().__init__()
            self.drop = nn.Dropout(0.0)
            self.encoder = nn.Embedding(ntoken, ninp)
            if kind in ("LSTM", "GRU"):
                self.rnn = getattr(nn, kind)(ninp, nhid, nlayers, dropout=0.0)
            else:
                self.rnn = nn.RNN(ninp, nhid, nlayers, nonlinearity="tanh", dropout=0.0)
            self.decoder = nn.Linear(nhid, ntoken)
            self.decoder.weight = self.encoder.weight
            self.nhid, self.nlayers = nhid, nlayers

        def forward(self, input, hidden):
            output, hidden = self.rnn(self.drop(self.encoder(input)), hidden)
            decoded = self.decoder(self.drop(output)).view(-1, 15)
            return nn.functional.log_softmax(decoded, dim=1), hidden

        def init_hidden(self, bsz):
            weight = next(self.parameters())
            zeros = weight.new_zeros(self.nlayers, bsz, self.nhid)
            return (zeros, weight.new_zeros(self.nlayers, bsz, self.nhid)) if kind == "LSTM" else zeros

    def repackage_hidden(h):
        return h.detach() if isinstance(h, torch.Tensor) else tuple(repackage_hidden(v) for v in h)

    model, criterion = with_same_weights(torch, RNNModel()), nn.NLLLoss()
    hidden, losses = model.init_hidden(4), []
    for i in range(5):
        model.zero_grad()
        hidden = repackage_hidden(hidden)
        output, hidden = model(integers(torch, 15, 6, 4, seed=i), hidden)
        loss = criterion(output, integers(torch, 15, 24, seed=20 + i))
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.25)
        for p in model.parameters():
            p.data.add_(p.grad, alpha=-5)
        losses.append(loss.item())
    return losses


def transformer_language_model(torch):
    """nn.Transformer's encoder with a causal mask and a positional encoding kept as a buffer."""
    nn, F = torch.nn, torch.nn.functional

    class PositionalEncoding(nn.Module):
        def __init__(self, d_model, max_len=50):
            super().__init__()
            pe = torch.zeros(max_len, d_model)
            position = torch.arange(0, max_len, dtype=torch.float).unsqueeze(1)
            div_term = torch.exp(torch.arange(0, d_model, 2).float() * (-math.log(10000.0) / d_model))
            pe[:, 0::2] = torch.sin(position * div_term)
            pe[:, 1::2] = torch.cos(position * div_term)
            self.register_buffer("pe", pe.unsqueeze(0).transpose(0, 1))

        def forward(self, x):
            return x + self.pe[: x.size(0), :]

    class TransformerModel(nn.Transformer):
        def __init__(self, ntoken, ninp, nhead, nhid, nlayers):
            super().__init__(d_model=ninp, nhead=nhead, dim_feedforward=nhid, num_encoder_layers=nlayers, dropout=0.0)
            self.src_mask = None
            self.pos_encoder = PositionalEncoding(ninp)
            self.input_emb = nn.Embedding(ntoken, ninp)
            self.ninp = ninp
            self.decoder = nn.Linear(ninp, ntoken)

        def _generate_square_subsequent_mask(self, sz):
            return torch.log(torch.tril(torch.ones(sz, sz)))

        def forward(self, src):
            if self.src_mask is None or self.src_mask.size(0) != len(src):
                self.src_mask = self._generate_square_subsequent_mask(len(src))
            src = self.pos_encoder(self.input_emb(src) * math.sqrt(self.ninp))
            output = self.decoder(self.encoder(src, mask=self.src_mask))
            return F.log_softmax(output, dim=-1)

    model = with_same_weights(torch, TransformerModel(15, 8, 2, 16, 2))
    optimizer, losses = torch.optim.SGD(model.parameters(), lr=0.5), []
    for i in range(5):
        optimizer.zero_grad()
        output = model(integers(torch, 15, 6, 4, seed=i)).view(-1, 15)
        loss = F.nll_loss(output, integers(torch, 15, 24, seed=20 + i))
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def time_sequence_prediction(torch):
    """Two LSTMCells in float64, LBFGS with a closure, and a look into the future."""
    nn = torch.nn

    class Sequence(nn.Module):
        def __init__(self):
            super().__init__()
            self.lstm1, self.lstm2, self.linear = nn.LSTMCell(1, 7), nn.LSTMCell(7, 7), nn.Linear(7, 1)

        def forward(self, input, future=0):
            outputs = []
            h_t, c_t, h_t2, c_t2 = (torch.zeros(input.size(0), 7, dtype=torch.double) for _ in range(4))
            for input_t in input.split(1, dim=1):
                h_t, c_t = self.lstm1(input_t, (h_t, c_t))
                h_t2, c_t2 = self.lstm2(h_t, (h_t2, c_t2))
                output = self.linear(h_t2)
                outputs += [output]
            for _ in range(future):
                h_t, c_t = self.lstm1(output, (h_t, c_t))
                h_t2, c_t2 = self.lstm2(h_t, (h_t2, c_t2))
                output = self.linear(h_t2)
                outputs += [output]
            return torch.cat(outputs, dim=1)

    wave = torch.from_numpy(np.sin(np.arange(12)[None, :] / 2.0 + np.arange(4)[:, None]))
    seq = Sequence()
    seq.double()
    seq, criterion = with_same_weights(torch, seq), nn.MSELoss()
    optimizer, losses = torch.optim.LBFGS(seq.parameters(), lr=0.8, max_iter=4), []

    def closure():
        optimizer.zero_grad()
        loss = criterion(seq(wave[:, :-1]), wave[:, 1:])
        losses.append(loss.item())
        loss.backward()
        return loss

    for _ in range(2):
        optimizer.step(closure)
        with torch.no_grad():
            losses.append(criterion(seq(wave[:, :-1], future=2)[:, :-2], wave[:, 1:]).item())
    return losses


def super_resolution(torch):
    """Convolutions and a PixelShuffle, orthogonal starting values."""
    nn, init = torch.nn, torch.nn.init

    class Net(nn.Module):
        def __init__(self, upscale_factor):
            super().__init__()
            self.relu = nn.ReLU()
            self.conv1 = nn.Conv2d(1, 8, (5, 5), (1, 1), (2, 2))
            self.conv2 = nn.Conv2d(8, upscale_factor**2, (3, 3), (1, 1), (1, 1))
            self.pixel_shuffle = nn.PixelShuffle(upscale_factor)
            init.orthogonal_(self.conv1.weight, init.calculate_gain("relu"))
            init.orthogonal_(self.conv2.weight)

        def forward(self, x):
            return self.pixel_shuffle(self.conv2(self.relu(self.conv1(x))))

    model, criterion = with_same_weights(torch, Net(3)), nn.MSELoss()
    optimizer, losses = torch.optim.Adam(model.parameters(), lr=0.01), []
    for i in range(4):
        optimizer.zero_grad()
        loss = criterion(model(floats(torch, 2, 1, 6, 6, seed=i)), floats(torch, 2, 1, 18, 18, seed=30 + i))
        loss.backward()
        optimizer.step()
        losses += [loss.item(), 10 * math.log10(1 / loss.item())]
    return losses


def siamese(torch):
    """One network for both pictures, their features joined, a probability that they are the same."""
    nn = torch.nn

    class SiameseNetwork(nn.Module):
        def __init__(self):
            super().__init__()
            self.cnn = nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(inplace=True), nn.AdaptiveAvgPool2d(2), nn.Flatten())
            self.fc = nn.Sequential(nn.Linear(32, 16), nn.ReLU(inplace=True), nn.Linear(16, 1))
            self.sigmoid = nn.Sigmoid()
            self.fc.apply(self.init_weights)

        def init_weights(self, m):
            if isinstance(m, nn.Linear):
                torch.nn.init.xavier_uniform_(m.weight)
                m.bias.data.fill_(0.01)

        def forward(self, input1, input2):
            output1, output2 = self.cnn(input1), self.cnn(input2)
            return self.sigmoid(self.fc(torch.cat((output1, output2), 1)))

    model, criterion = with_same_weights(torch, SiameseNetwork()), nn.BCELoss()
    optimizer, losses = torch.optim.Adadelta(model.parameters(), lr=1.0), []
    for i in range(4):
        outputs = model(floats(torch, 6, 1, 7, 7, seed=i), floats(torch, 6, 1, 7, 7, seed=40 + i)).squeeze()
        optimizer.zero_grad()
        loss = criterion(outputs, integers(torch, 2, 6, seed=i).float())
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    model.eval()
    return [*losses, model(floats(torch, 2, 1, 7, 7), floats(torch, 2, 1, 7, 7)).sum().item()]


def dcgan(torch):
    """Transposed convolutions against strided ones, both with batch norms, labels filled in anew, errors added up."""
    nn = torch.nn

    def weights_init(m):
        if m.__class__.__name__.find("BatchNorm") != -1:
            torch.nn.init.ones_(m.weight)
            torch.nn.init.zeros_(m.bias)

    netG = nn.Sequential(
        nn.ConvTranspose2d(4, 8, 3, 1, 0, bias=False),
        nn.BatchNorm2d(8),
        nn.ReLU(True),
        nn.ConvTranspose2d(8, 1, 4, 2, 1, bias=False),
        nn.Tanh(),
    )
    netD = nn.Sequential(
        nn.Conv2d(1, 8, 4, 2, 1, bias=False),
        nn.BatchNorm2d(8),
        nn.LeakyReLU(0.2, inplace=True),
        nn.Conv2d(8, 1, 3, 1, 0, bias=False),
        nn.Sigmoid(),
    )
    for k, net in enumerate((netG, netD)):
        net.apply(weights_init)
        with_same_weights(torch, net, seed=k)
    criterion = nn.BCELoss()
    optimizerD = torch.optim.Adam(netD.parameters(), lr=2e-3, betas=(0.5, 0.999))
    optimizerG = torch.optim.Adam(netG.parameters(), lr=2e-3, betas=(0.5, 0.999))
    losses = []
    for i in range(3):
        netD.zero_grad()
        label = torch.full((5,), 1.0)
        errD_real = criterion(netD(floats(torch, 5, 1, 6, 6, seed=i)).view(-1), label)
        errD_real.backward()
        fake = netG(floats(torch, 5, 4, 1, 1, seed=60 + i))
        label.fill_(0.0)
        errD_fake = criterion(netD(fake.detach()).view(-1), label)
        errD_fake.backward()
        optimizerD.step()
        netG.zero_grad()
        label.fill_(1.0)
        errG = criterion(netD(fake).view(-1), label)
        errG.backward()
        optimizerG.step()
        losses += [(errD_real + errD_fake).item(), errG.item()]
    return losses


# -- gradients of gradients --------------------------------------------------------------------------------


def wgan_gp(torch):
    """The critic's gradient at points between real and false ones is to have length 1."""
    nn, autograd = torch.nn, torch.autograd
    netD = with_same_weights(torch, nn.Sequential(nn.Conv2d(1, 4, 3, 2, 1), nn.LeakyReLU(0.2), nn.Flatten(), nn.Linear(36, 1)))
    netG = with_same_weights(torch, nn.Sequential(nn.Linear(3, 36), nn.Tanh(), nn.Unflatten(1, (1, 6, 6))), seed=1)

    def gradient_penalty(real, fake, i):
        alpha = floats(torch, real.size(0), 1, 1, 1, seed=80 + i).sigmoid().expand(real.size())
        interpolates = autograd.Variable(alpha * real + ((1 - alpha) * fake), requires_grad=True)
        out = netD(interpolates)
        gradients = autograd.grad(
            outputs=out, inputs=interpolates, grad_outputs=torch.ones(out.size()), create_graph=True, retain_graph=True, only_inputs=True
        )[0].view(real.size(0), -1)
        return ((gradients.norm(2, dim=1) - 1) ** 2).mean() * 10

    optimizerD = torch.optim.Adam(netD.parameters(), lr=1e-2, betas=(0.5, 0.9))
    optimizerG = torch.optim.Adam(netG.parameters(), lr=1e-2, betas=(0.5, 0.9))
    one = torch.tensor(1.0)
    losses = []
    for i in range(3):
        for p in netD.parameters():
            p.requires_grad = True
        netD.zero_grad()
        real = floats(torch, 4, 1, 6, 6, seed=i)
        D_real = netD(real).mean()
        D_real.backward(one * -1)
        with torch.no_grad():
            noisev = floats(torch, 4, 3, seed=70 + i)
        fake = autograd.Variable(netG(noisev).data)
        D_fake = netD(fake).mean()
        D_fake.backward(one)
        penalty = gradient_penalty(real.data, fake.data, i)
        penalty.backward()
        optimizerD.step()
        for p in netD.parameters():
            p.requires_grad = False
        netG.zero_grad()
        G = netD(netG(floats(torch, 4, 3, seed=90 + i))).mean()
        G.backward(one * -1)
        optimizerG.step()
        losses += [(D_fake - D_real + penalty).item(), -G.item(), penalty.item()]
    return losses


def maml(torch):
    """Weights as a list of tensors; the loss after some steps of learning is differentiated through these steps."""
    F = torch.nn.functional
    shapes = [(20, 1), (20,), (20, 20), (20,), (1, 20), (1,)]
    weights = [torch.from_numpy(numbers(*s, seed=k) * 0.3).requires_grad_() for k, s in enumerate(shapes)]
    meta = torch.optim.Adam(weights, lr=1e-2)

    def net(x, w):
        x = F.relu(F.linear(x, w[0], w[1]))
        x = F.relu(F.linear(x, w[2], w[3]))
        return F.linear(x, w[4], w[5])

    losses = []
    for it in range(4):
        total = 0
        for task in range(2):
            phase = 0.5 * (2 * it + task)
            x, x2 = floats(torch, 10, 1, seed=it), floats(torch, 10, 1, seed=100 + it)
            fast = weights
            for _ in range(2):
                grads = torch.autograd.grad(F.mse_loss(net(x, fast), torch.sin(x + phase)), fast, create_graph=True)
                fast = [w - 0.05 * g for w, g in zip(fast, grads)]
            total = total + F.mse_loss(net(x2, fast), torch.sin(x2 + phase))
        meta.zero_grad()
        total.backward()
        meta.step()
        losses.append(total.item())
    return losses


# -- vision --------------------------------------------------------------------------------------------------


def cifar_resnet(torch):
    """Residual blocks whose shortcut pads channels, momentum, weight decay, MultiStepLR."""
    nn, F = torch.nn, torch.nn.functional

    class LambdaLayer(nn.Module):
        def __init__(self, lambd):
            super().__init__()
            self.lambd = lambd

        def forward(self, x):
            return self.lambd(x)

    class BasicBlock(nn.Module):
        def __init__(self, in_planes, planes, stride=1):
            super().__init__()
            self.conv1 = nn.Conv2d(in_planes, planes, kernel_size=3, stride=stride, padding=1, bias=False)
            self.bn1 = nn.BatchNorm2d(planes)
            self.conv2 = nn.Conv2d(planes, planes, kernel_size=3, stride=1, padding=1, bias=False)
            self.bn2 = nn.BatchNorm2d(planes)
            self.shortcut = nn.Sequential()
            if stride != 1 or in_planes != planes:
                self.shortcut = LambdaLayer(lambda x: F.pad(x[:, :, ::2, ::2], (0, 0, 0, 0, planes // 4, planes // 4), "constant", 0))

        def forward(self, x):
            out = F.relu(self.bn1(self.conv1(x)))
            out = self.bn2(self.conv2(out))
            out += self.shortcut(x)
            return F.relu(out)

    class ResNet(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv1, self.bn1 = nn.Conv2d(3, 4, kernel_size=3, padding=1, bias=False), nn.BatchNorm2d(4)
            self.layer1, self.layer2 = nn.Sequential(BasicBlock(4, 4)), nn.Sequential(BasicBlock(4, 8, 2))
            self.linear = nn.Linear(8, 10)
            self.apply(lambda m: nn.init.kaiming_normal_(m.weight) if isinstance(m, (nn.Linear, nn.Conv2d)) else None)

        def forward(self, x):
            out = self.layer2(self.layer1(F.relu(self.bn1(self.conv1(x)))))
            out = F.avg_pool2d(out, out.size()[3])
            return self.linear(out.view(out.size(0), -1))

    model, criterion = with_same_weights(torch, ResNet()), nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9, weight_decay=1e-4)
    scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, milestones=[2])
    losses = []
    for i in range(4):
        output = model(floats(torch, 6, 3, 8, 8, seed=i))
        loss = criterion(output, integers(torch, 10, 6, seed=i))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        losses.append(loss.float().item())
    model.eval()
    with torch.no_grad():
        return [*losses, criterion(model(floats(torch, 6, 3, 8, 8)), integers(torch, 10, 6)).item()]


def torchvision_resnet(torch):
    """Bottleneck blocks made by _make_layer, in-place ReLUs, zero_init_residual, a pretrained head replaced and the rest frozen."""
    nn = torch.nn

    def conv1x1(i, o, stride=1):
        return nn.Conv2d(i, o, kernel_size=1, stride=stride, bias=False)

    class Bottleneck(nn.Module):
        expansion = 4

        def __init__(self, inplanes, planes, stride=1, downsample=None, groups=1, norm_layer=None):
            super().__init__()
            norm_layer = norm_layer or nn.BatchNorm2d
            self.conv1, self.bn1 = conv1x1(inplanes, planes), norm_layer(planes)
            self.conv2 = nn.Conv2d(planes, planes, 3, stride, 1, groups=groups, bias=False, dilation=1)
            self.bn2, self.conv3, self.bn3 = norm_layer(planes), conv1x1(planes, planes * 4), norm_layer(planes * 4)
            self.relu = nn.ReLU(inplace=True)
            self.downsample = downsample

        def forward(self, x):
            identity = x
            out = self.relu(self.bn1(self.conv1(x)))
            out = self.relu(self.bn2(self.conv2(out)))
            out = self.bn3(self.conv3(out))
            if self.downsample is not None:
                identity = self.downsample(x)
            out += identity
            return self.relu(out)

    class ResNet(nn.Module):
        def __init__(self, layers, num_classes=5):
            super().__init__()
            self.inplanes = 8
            self.conv1 = nn.Conv2d(3, 8, kernel_size=7, stride=2, padding=3, bias=False)
            self.bn1, self.relu = nn.BatchNorm2d(8), nn.ReLU(inplace=True)
            self.maxpool = nn.MaxPool2d(kernel_size=3, stride=2, padding=1)
            self.layer1 = self._make_layer(4, layers[0])
            self.layer2 = self._make_layer(8, layers[1], stride=2)
            self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
            self.fc = nn.Linear(32, num_classes)
            for m in self.modules():
                if isinstance(m, nn.Conv2d):
                    nn.init.kaiming_normal_(m.weight, mode="fan_out", nonlinearity="relu")
                elif isinstance(m, (nn.BatchNorm2d, nn.GroupNorm)):
                    nn.init.constant_(m.weight, 1)
                    nn.init.constant_(m.bias, 0)
            for m in self.modules():
                if isinstance(m, Bottleneck) and m.bn3.weight is not None:
                    nn.init.constant_(m.bn3.weight, 0.5)

        def _make_layer(self, planes, blocks, stride=1):
            downsample = None
            if stride != 1 or self.inplanes != planes * 4:
                downsample = nn.Sequential(conv1x1(self.inplanes, planes * 4, stride), nn.BatchNorm2d(planes * 4))
            layers = [Bottleneck(self.inplanes, planes, stride, downsample)]
            self.inplanes = planes * 4
            layers += [Bottleneck(self.inplanes, planes) for _ in range(1, blocks)]
            return nn.Sequential(*layers)

        def forward(self, x):
            x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
            x = self.avgpool(self.layer2(self.layer1(x)))
            return self.fc(torch.flatten(x, 1))

    pretrained = with_same_weights(torch, ResNet([1, 2]))
    assert "layer2.0.downsample.1.num_batches_tracked" in pretrained.state_dict()
    model = ResNet([1, 2])
    model.load_state_dict(copy.deepcopy(pretrained.state_dict()))
    for param in model.layer1.parameters():
        param.requires_grad = False
    model.fc = with_same_weights(torch, nn.Linear(model.fc.in_features, 3), seed=5)
    optimizer = torch.optim.SGD(filter(lambda p: p.requires_grad, model.parameters()), lr=0.05, momentum=0.9, nesterov=True)
    losses = []
    for i in range(3):
        optimizer.zero_grad()
        with torch.set_grad_enabled(True):
            outputs = model(floats(torch, 4, 3, 16, 16, seed=i))
            _, preds = torch.max(outputs, 1)
            loss = nn.CrossEntropyLoss(label_smoothing=0.1)(outputs, integers(torch, 3, 4, seed=i))
        loss.backward()
        optimizer.step()
        losses += [loss.item() * 4, torch.sum(preds == integers(torch, 3, 4, seed=i).data).item()]
    return losses


def vit(torch):
    """Patches by a strided convolution, a class token, positions as a parameter, blocks that normalise first."""
    nn = torch.nn

    class Attention(nn.Module):
        def __init__(self, dim, heads):
            super().__init__()
            self.heads, self.scale = heads, (dim // heads) ** -0.5
            self.qkv, self.proj = nn.Linear(dim, dim * 3, bias=True), nn.Linear(dim, dim)

        def forward(self, x):
            B, N, C = x.shape
            q, k, v = self.qkv(x).reshape(B, N, 3, self.heads, C // self.heads).permute(2, 0, 3, 1, 4).unbind(0)
            attn = ((q * self.scale) @ k.transpose(-2, -1)).softmax(dim=-1)
            return self.proj((attn @ v).transpose(1, 2).reshape(B, N, C))

    class Block(nn.Module):
        def __init__(self, dim, heads):
            super().__init__()
            self.norm1, self.attn, self.norm2 = nn.LayerNorm(dim, eps=1e-6), Attention(dim, heads), nn.LayerNorm(dim, eps=1e-6)
            self.mlp = nn.Sequential(OrderedDict(fc1=nn.Linear(dim, 4 * dim), act=nn.GELU(), fc2=nn.Linear(4 * dim, dim)))

        def forward(self, x):
            x = x + self.attn(self.norm1(x))
            return x + self.mlp(self.norm2(x))

    class ViT(nn.Module):
        def __init__(self, size=8, patch=4, dim=16):
            super().__init__()
            self.patch_embed = nn.Conv2d(3, dim, kernel_size=patch, stride=patch)
            self.cls_token = nn.Parameter(torch.zeros(1, 1, dim))
            self.pos_embed = nn.Parameter(torch.empty(1, (size // patch) ** 2 + 1, dim).normal_(std=0.02))
            nn.init.trunc_normal_(self.cls_token, std=0.02)
            self.blocks = nn.Sequential(*[Block(dim, 4) for _ in range(2)])
            self.norm, self.head = nn.LayerNorm(dim), nn.Linear(dim, 6)

        def forward(self, x):
            x = self.patch_embed(x).flatten(2).transpose(1, 2)
            x = torch.cat((self.cls_token.expand(x.shape[0], -1, -1), x), dim=1) + self.pos_embed
            return self.head(self.norm(self.blocks(x))[:, 0])

    model = with_same_weights(torch, ViT())
    optimizer, losses = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.05), []
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=4)
    for i in range(4):
        loss = nn.functional.cross_entropy(model(floats(torch, 4, 3, 8, 8, seed=i)), integers(torch, 6, 4, seed=i))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        losses.append(loss.item())
    return losses


# -- the annotated transformer, translation ------------------------------------------------------------------


def annotated_transformer(torch):
    """Layers cloned by deepcopy, sublayers passed as lambdas, label smoothing by KLDivLoss, the learning rate of the paper."""
    nn = torch.nn

    def clones(module, N):
        return nn.ModuleList([copy.deepcopy(module) for _ in range(N)])

    class LayerNorm(nn.Module):
        def __init__(self, features, eps=1e-6):
            super().__init__()
            self.a_2, self.b_2, self.eps = nn.Parameter(torch.ones(features)), nn.Parameter(torch.zeros(features)), eps

        def forward(self, x):
            mean, std = x.mean(-1, keepdim=True), x.std(-1, keepdim=True)
            return self.a_2 * (x - mean) / (std + self.eps) + self.b_2

    class SublayerConnection(nn.Module):
        def __init__(self, size):
            super().__init__()
            self.norm = LayerNorm(size)

        def forward(self, x, sublayer):
            return x + sublayer(self.norm(x))

    def attention(query, key, value, mask=None):
        scores = torch.matmul(query, key.transpose(-2, -1)) / math.sqrt(query.size(-1))
        if mask is not None:
            scores = scores.masked_fill(mask == 0, -1e9)
        p_attn = scores.softmax(dim=-1)
        return torch.matmul(p_attn, value), p_attn

    class MultiHeadedAttention(nn.Module):
        def __init__(self, h, d_model):
            super().__init__()
            self.d_k, self.h = d_model // h, h
            self.linears = clones(nn.Linear(d_model, d_model), 4)
            self.attn = None

        def forward(self, query, key, value, mask=None):
            if mask is not None:
                mask = mask.unsqueeze(1)
            n = query.size(0)
            query, key, value = [lin(x).view(n, -1, self.h, self.d_k).transpose(1, 2) for lin, x in zip(self.linears, (query, key, value))]
            x, self.attn = attention(query, key, value, mask=mask)
            return self.linears[-1](x.transpose(1, 2).contiguous().view(n, -1, self.h * self.d_k))

    class EncoderLayer(nn.Module):
        def __init__(self, size, self_attn, feed_forward):
            super().__init__()
            self.self_attn, self.feed_forward = self_attn, feed_forward
            self.sublayer = clones(SublayerConnection(size), 2)

        def forward(self, x, mask):
            x = self.sublayer[0](x, lambda x: self.self_attn(x, x, x, mask))
            return self.sublayer[1](x, self.feed_forward)

    class DecoderLayer(nn.Module):
        def __init__(self, size, self_attn, src_attn, feed_forward):
            super().__init__()
            self.self_attn, self.src_attn, self.feed_forward = self_attn, src_attn, feed_forward
            self.sublayer = clones(SublayerConnection(size), 3)

        def forward(self, x, memory, src_mask, tgt_mask):
            x = self.sublayer[0](x, lambda x: self.self_attn(x, x, x, tgt_mask))
            x = self.sublayer[1](x, lambda x: self.src_attn(x, memory, memory, src_mask))
            return self.sublayer[2](x, self.feed_forward)

    class Model(nn.Module):
        def __init__(self, vocab=11, d=8):
            super().__init__()
            c = copy.deepcopy
            attn = MultiHeadedAttention(2, d)
            ff = nn.Sequential(nn.Linear(d, 16), nn.ReLU(), nn.Linear(16, d))
            self.encoder = clones(EncoderLayer(d, c(attn), c(ff)), 2)
            self.decoder = clones(DecoderLayer(d, c(attn), c(attn), c(ff)), 2)
            self.norm, self.src_embed, self.tgt_embed = LayerNorm(d), nn.Embedding(vocab, d), nn.Embedding(vocab, d)
            self.generator = nn.Linear(d, vocab)
            for p in self.parameters():
                if p.dim() > 1:
                    nn.init.xavier_uniform_(p)

        def forward(self, src, tgt, src_mask, tgt_mask):
            x, y = self.src_embed(src), self.tgt_embed(tgt)
            for layer in self.encoder:
                x = layer(x, src_mask)
            for layer in self.decoder:
                y = layer(y, self.norm(x), src_mask, tgt_mask)
            return torch.log_softmax(self.generator(self.norm(y)), dim=-1)

    class LabelSmoothing(nn.Module):
        def __init__(self, size, padding_idx, smoothing=0.0):
            super().__init__()
            self.criterion = nn.KLDivLoss(reduction="sum")
            self.padding_idx, self.confidence, self.smoothing, self.size = padding_idx, 1.0 - smoothing, smoothing, size

        def forward(self, x, target):
            true_dist = x.data.clone()
            true_dist.fill_(self.smoothing / (self.size - 2))
            true_dist.scatter_(1, target.data.unsqueeze(1), self.confidence)
            true_dist[:, self.padding_idx] = 0
            mask = torch.nonzero(target.data == self.padding_idx)
            if mask.dim() > 0:
                true_dist.index_fill_(0, mask.squeeze(), 0.0)
            return self.criterion(x, true_dist.clone().detach())

    def rate(step, model_size=8, factor=1.0, warmup=4):
        step = max(step, 1)
        return factor * (model_size**-0.5 * min(step**-0.5, step * warmup**-1.5))

    def subsequent_mask(size):
        return torch.triu(torch.ones((1, size, size)), diagonal=1).type(torch.uint8) == 0

    model, criterion = with_same_weights(torch, Model()), LabelSmoothing(11, 0, 0.1)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.5, betas=(0.9, 0.98), eps=1e-9)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer=optimizer, lr_lambda=rate)
    losses = []
    for i in range(4):
        data = integers(torch, 11, 3, 6, seed=i)
        src, tgt, tgt_y = data, data[:, :-1], data[:, 1:]
        tgt_mask = (tgt != 0).unsqueeze(-2) & subsequent_mask(tgt.size(-1)).type_as((tgt != 0).data)
        out = model(src, tgt, (src != 0).unsqueeze(-2), tgt_mask)
        ntokens = (tgt_y != 0).data.sum()
        loss = criterion(out.contiguous().view(-1, out.size(-1)), tgt_y.contiguous().view(-1)) / ntokens
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        scheduler.step()
        losses.append(loss.item())
    return losses


def seq2seq(torch):
    """Packed sentences through a GRU in both directions, a decoder that looks at them by attention, padding ignored."""
    nn, F = torch.nn, torch.nn.functional
    from importlib import import_module

    rnn_utils = import_module(f"{torch.__name__}.nn.utils.rnn")

    class Encoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding = nn.Embedding(13, 6, padding_idx=0)
            self.gru = nn.GRU(6, 5, bidirectional=True, batch_first=True)

        def forward(self, x, lengths):
            packed = rnn_utils.pack_padded_sequence(self.embedding(x), lengths, batch_first=True, enforce_sorted=False)
            out, hidden = self.gru(packed)
            out, _ = rnn_utils.pad_packed_sequence(out, batch_first=True)
            return out, hidden[0] + hidden[1]

    class Decoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding, self.cell = nn.Embedding(13, 6), nn.GRUCell(6 + 10, 5)
            self.attn, self.out = nn.Bilinear(5, 10, 1), nn.Linear(15, 13)

        def forward(self, token, hidden, memory, mask):
            energy = self.attn(hidden.unsqueeze(1).expand(-1, memory.size(1), -1).contiguous(), memory).squeeze(2)
            weights = F.softmax(energy.masked_fill(~mask, float("-inf")), dim=1)
            context = torch.bmm(weights.unsqueeze(1), memory).squeeze(1)
            hidden = self.cell(torch.cat([self.embedding(token), context], dim=-1), hidden)
            return self.out(torch.cat([hidden, context], -1)), hidden

    encoder, decoder = with_same_weights(torch, Encoder()), with_same_weights(torch, Decoder(), seed=1)
    optimizer = torch.optim.RMSprop([*encoder.parameters(), *decoder.parameters()], lr=0.01)
    losses = []
    for i in range(4):
        lengths = [3, 5, 2]
        src = integers(torch, 12, 3, 5, seed=i) + 1
        for row, n in zip(src, lengths):
            row[n:] = 0
        tgt = integers(torch, 13, 3, 4, seed=20 + i)
        memory, hidden = encoder(src, torch.tensor(lengths))
        token, loss = torch.ones(3, dtype=torch.long), 0
        for t in range(4):
            logits, hidden = decoder(token, hidden, memory, src != 0)
            loss += F.cross_entropy(logits, tgt[:, t], ignore_index=0)
            token = tgt[:, t] if t % 2 else logits.topk(1)[1].squeeze(1).detach()
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_value_(encoder.parameters(), 0.1)
        optimizer.step()
        losses.append(loss.item())
    return losses


PROGRAMS = [
    micrograd_mlp, makemore_bigram, makemore_batchnorm, makemore_rnn, mingpt, nanogpt, mnist, vae, word_language_model,
    transformer_language_model, time_sequence_prediction, super_resolution, siamese, dcgan, wgan_gp, maml, cifar_resnet,
    torchvision_resnet, vit, annotated_transformer, seq2seq,
]  # fmt: skip
VARIANTS = {
    **{program.__name__: program for program in PROGRAMS},
    "makemore_rnn with plain cells": lambda torch: makemore_rnn(torch, "rnn"),
    "word_language_model with GRU": lambda torch: word_language_model(torch, "GRU"),
    "word_language_model with RNN": lambda torch: word_language_model(torch, "RNN_TANH"),
}
