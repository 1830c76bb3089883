r"""Wrong and right answers, written from the chapters' pages alone, before the entries were read.

    03.1 how_many: what is wrong with it
        the answer: an expression, or a function's source
      d the reply's first words

The letter judges the reply: d, its own diagnosis; h, a true hint; v, vague; m, misleading. A right answer has no reply.
"""

WRONG = r"""
01.a: each patch read column by column
    [[0, 4, 1, 5], [2, 6, 3, 7], [8, 12, 9, 13], [10, 14, 11, 15]]
  d each patch is read column by column;
01.b: channels outermost in a token
    def my_patchify(images, P):
        B, C, H, W = images.shape
        x = images.reshape(B, C, H // P, P, W // P, P)
        return x.permute(0, 2, 4, 1, 3, 5).reshape(B, -1, P * P * C)
  d within a token the channels come first;
01.b: a square picture taken for granted
    def my_patchify(images, P):
        B, C, H, W = images.shape
        n = H // P
        x = images.reshape(B, C, n, P, n, P).permute(0, 2, 4, 3, 5, 1)
        return x.reshape(B, n * n, P * P * C)
  h RuntimeError at `x = images.reshape(B,
01.1 b: the shorter side twice
    15 * 15
  v not this number
01.1 d: only the picture grows
    4 * 196
  d two things change, and each of them
01.2 where_15: counted from 1
    [3, 4]
  d rows and columns are counted from 0, too
01.3: channels outermost
    lambda row, col, c, P, W, C: (row // P * (W // P) + col // P, c * P * P + row % P * P + col % P)
  d channels are outermost here; in the
01.4 there: the third of the first three
    2
  h places are counted from 0; and the two
01.5: pictures that follow the letters
    "ABC"
  d A and B are exchanged: who mirrors the
01.6: a whole patch more where nothing is missing
    def patchify_padded(images, P):
        H, W = images.shape[-2:]
        return vl.patchify(F.pad(images, (0, P - W % P, 0, P - H % P)), P)
  d a size that divides gets a row of
01.6: the rest cut off
    def patchify_padded(images, P):
        H, W = images.shape[-2:]
        return vl.patchify(images[..., :H // P * P, :W // P * P], P)
  d it cuts off what does not fit; fill up
01.7 sides: patches along a side
    [math.sqrt(6 * D) for D in (192, 768, 1280)]
  d these are patches along a side; each is
02.a: the matrix transposed, as in nn.Linear
    lambda patches, E, b: patches @ E.T + b
  d E is (PPC, D): its columns are the
02.b: as it lies in memory
    [0, 1, 2, 3, 4, 5, 6, 7]
  d this is the kernel's own order,
02.c unpadded: steps along both sides, the last too far
    28 * 28
  d the kernel starts in steps of 8, but
02.d: not permuted at all
    lambda kernel: kernel.reshape(kernel.shape[-1], -1)
  d D must be brought to the front by
02.1 a: no bias
    768 * 768
  d the bias is missing: a number for each
02.1 e: a quarter, since there are a quarter of the patches
    196 * 768**2 // 4
  v off by a factor of 4: bytes, or numbers
02.2 E: the sum, not the mean
    [[1, 1], [1, -1], [1, 1], [1, -1]]
  d this filter takes the sum; a mean is a
02.3: the inverse permutation
    lambda E, perm: E[perm.argsort()]
  d this is the inverse: place k of the
02.3: nothing to do
    lambda E, perm: E
  d each number meets another weight now: E
02.4: rows and columns exchanged
    lambda weight, P: weight.reshape(len(weight), P, P, -1).permute(0, 3, 2, 1)
  d rows and columns of each filter are
02.5: channels not flipped
    lambda weight, bias: (weight / 127.5, bias - weight.sum((1, 2, 3)))
  d the weights' channels are still RGB
02.5: the -1 through the scaled weights
    def fold(weight, bias):
        w = weight.flip(1) / 127.5
        return w, bias - w.sum(dim=(1, 2, 3))
  d the shift is that of the normalised
03.a: offsets, not places in the list
    [(0, 0), (0, -1), (-1, 0), (-1, -1)]
  h expected shape (4,), got (4, 2)
03.a: nothing added before counting
    [0, -1, -3, -4]
  d the row offset must be made to start at
03.b: scalar products, not cosines
    lambda table: table @ table.T
  d these are scalar products: the lengths
03.b: each place with itself only
    lambda table: F.cosine_similarity(table, table)
  h expected shape (5, 5), got (5,)
03.b: the mean taken off first
    def my_similarity(table):
        unit = F.normalize(table - table.mean(0), dim=1)
        return unit @ unit.T
  d the mean is subtracted; here it is not
03.1 how_many: rows and columns added
    3 + 5
  d negative offsets count as well: the key may lie below, or to the right; or each offset down goes with each
03.1 row_of_4: key minus query
    [1, 2, 3, 6, 7, 8]
  d these are key − query; query − key is
03.1 commonest: the pairs counted once, not both ways
    5
  h how many patches are a pair with
03.2: sine and cosine take turns
    def sincos_1d(length, D):
        if D % 2:
            raise ValueError("odd")
        table = torch.zeros(length, D)
        angles = torch.arange(length)[:, None] * 10000 ** (-torch.arange(0, D, 2) / D)
        table[:, 0::2], table[:, 1::2] = angles.sin(), angles.cos()
        return table
  d sines and cosines take turns; all sines
03.2: speeds fall half as fast
    def sincos_1d(length, D):
        assert D % 2 == 0
        angles = torch.arange(length)[:, None] * 10000 ** (-torch.arange(D // 2) / D)
        return torch.cat([torch.sin(angles), torch.cos(angles)], dim=1)
  d k is divided by D, not by D/2: the
03.2: stacked as rows, (D, length)
    def sincos_1d(length, D):
        if D % 2 != 0:
            raise ValueError("D must be even")
        w = 10000.0 ** (-torch.arange(D // 2) / (D // 2))
        angles = w[:, None] * torch.arange(length)
        return torch.cat([angles.sin(), angles.cos()])
  d places are rows, channels columns:
03.3: blocks of two, as if sine and cosine took turns
    def turn(m, D):
        a = m * 10000 ** (-torch.arange(D // 2) / (D // 2))
        return torch.block_diag(*[torch.tensor([[t.cos(), t.sin()], [-t.sin(), t.cos()]]) for t in a])
  d all sines come first, then all cosines
03.3: one step only, m is not used
    def turn(m, D):
        a = 10000 ** (-torch.arange(D // 2) / (D // 2))
        c, s = torch.diag(a.cos()), torch.diag(a.sin())
        return torch.cat([torch.cat([c, s], 1), torch.cat([-s, c], 1)])
  d m is not used: this is one step,
03.4: the tables that can learn it
    {"learned", "learned2d"}
  d these are the kinds that do not survive
03.5: says whether it is right, not whether it is faulty
    def finds_the_bug(pos):
        got = pos(torch.zeros(4, 17, 48)).detach()
        same = torch.allclose(got, got[:1].expand_as(got))
        return bool(same and (torch.pdist(got[0]) > 1e-6).all())
  d True and False are exchanged: True
03.5: compares CLS with patch 0 only
    def finds_the_bug(pos):
        got = pos(torch.zeros(4, 17, 48))
        if not torch.equal(got[0], got[1]):
            return True
        return torch.equal(got[0, 0], got[0, 1])
  h all images alike; and are two patches
03.6: as short as a fresh learned table
    lambda: torch.randn(16, 48) * 0.02
  d what varies is shorter than in the
03.6: with a row for CLS
    lambda: torch.randn(17, 48) * 0.2
  d ValueError, for (): expected 16 finite
04.a: the ends aligned
    lambda old, new: torch.arange(new) * (old - 1) / (new - 1)
  d these are aligned ends, the other
04.a: old and new exchanged
    lambda old, new: (torch.arange(new) + 0.5) * new / old - 0.5
  d upside down: with more new places each
04.b: the grid
    "grid"
  d at 48 the column of the grid shows no
04.1 a: beyond the edge the line goes on
    [-3, 3, 9, 15]
  d beyond an old centre there is one
04.2 b: CLS forgotten
    1200
  d CLS has a row, too
04.2 d: columns first
    (10, 6)
  d rows first: 24 is the height
04.3: only the patches are looked at
    def keeps_cls(function):
        t = torch.zeros(1, 65, 8)
        t[:, 0] = 1
        return not function(t, (6, 10), (8, 8))[:, 1:].any()
  d it looks at the patches alone: is CLS
04.4: the numbers of the places, not the places
    lambda rows, cols, D: vl.sincos_2d((len(rows), len(cols)), D)
  d these are the places' numbers, 0, 1, 2
04.4: places down the columns
    def sincos_at(rows, cols, D):
        w = 10000 ** -(torch.arange(D // 4) / (D // 4))
        r, c = torch.meshgrid(rows, cols, indexing="xy")
        a, b = r.reshape(-1, 1) * w, c.reshape(-1, 1) * w
        return torch.cat([a.sin(), a.cos(), b.sin(), b.cos()], 1)
  d reading order: the column changes
04.5: the grid first
    [((6, 6), 3), ((6, 6), 4), ((8, 8), 4)]
  v number 1, number 1, numbers 1, 2 of 2
05.a norm1: a norm thought to mix tokens
    65
  d LayerNorm takes the mean over a token's
05.b: not divided
    lambda q, k, v: (q @ k.T).softmax(dim=-1) @ v
  d 1/sqrt(d) is missing: the scores'
05.b: divided by d
    lambda q, k, v: torch.softmax(q @ k.T / q.shape[1], dim=1) @ v
  d the scores are divided by d, not by its
05.b: powers that are not divided by their sum
    lambda q, k, v: torch.exp(q @ k.T / q.shape[1] ** 0.5) @ v
  d the weights are not divided by their sum
05.b: keys not transposed
    lambda q, k, v: (q @ k / q.shape[1] ** 0.5).softmax(-1) @ v
  h RuntimeError at `lambda q, k, v: (q @ k
05.1: scores not halved
    [[0.87, 0.12, 0.02], [0.11, 0.79, 0.11], [0.02, 0.12, 0.87]]
  d the scores are not divided by 2
05.1: scaled scores, not weights
    [[2, 1, 0], [1, 2, 1], [0, 1, 2]]
  d these are the scores; e to their power
05.2 a: CLS forgotten
    576
  d CLS is a token, too
05.2 b: megabytes, not MiB
    4 * 12 * 577**2 / 1e6
  d MB of 10⁶ bytes; MiB of 2²⁰ are asked
05.2 d: no biases
    [4 * 768**2, 4 * 768**2]
  d biases count as well: D for each of the
05.2 e: the same, since the width is split
    4 * 12 * 577**2 / 2**20
  d one head has one table
05.3: mended, and divided by the root of the whole width
    def my_forward(layer, x):
        B, T, D = x.shape
        q, k, v = layer.project(x)
        w = (q @ k.transpose(-2, -1) / D ** 0.5).softmax(-1)
        return layer.proj((w @ v).transpose(1, 2).reshape(B, T, D))
  d the root is of a head's width d, not of
05.4: the values' bias
    "v"
  d a bias of the values is added to every
05.5: the end of the row above, for the first column
    def left_bias(rows, cols, strength):
        b = torch.zeros(rows * cols, rows * cols)
        for i in range(rows * cols):
            b[i, max(i - 1, 0)] = strength
        return b[None, None]
  d a patch in the first column reads the
05.5: the neighbour above
    def left_bias(rows, cols, strength):
        i = torch.arange(rows * cols)
        return strength * F.one_hot(torch.where(i >= cols, i - cols, i), rows * cols).float()[None, None]
  d these read the neighbour above
06.a sd: divided by seven
    2.138
  d the squares are divided by D, here 8,
06.b: divided by D - 1
    def my_layer_norm(x, gamma, beta, eps=1e-6):
        return gamma * (x - x.mean(-1, keepdim=True)) / (x.var(-1, keepdim=True) + eps).sqrt() + beta
  d `var` divides by D − 1 unless it is
06.b: the last axis gets lost
    def my_layer_norm(x, gamma, beta, eps=1e-6):
        return gamma * (x - x.mean(-1)) / (x.var(-1, unbiased=False) + eps).sqrt() + beta
  d the mean has lost its axis:
06.c: the second norm still overwrites
    def mended(block, x):
        x = x + block.attn(block.norm1(x))
        x = block.norm2(x)
        return x + block.mlp(x)
  d the second half still has it: to what
06.c: both branches from the block's input
    lambda block, x: x + block.attn(block.norm1(x)) + block.mlp(block.norm2(x))
  d the MLP must read what attention has
06.1 a: divided by the variance
    [-0.75, -0.25, 0, 0.25, 0.75]
  d divided by the variance, not by its root
06.1 c: BatchNorm
    "BatchNorm"
  d only this image's pixels change, and
06.2: the given layer is changed
    @torch.no_grad()
    def fold(norm, linear):
        linear.bias += linear.weight @ norm.bias
        linear.weight *= norm.weight
        return linear
  d it changes its argument number 2: work
06.3: all from there on
    def without(model, i):
        new = copy.deepcopy(model)
        new.blocks = new.blocks[:i]
        return new
  d all blocks from i on are gone; leave
06.4: ordinary blocks, as they are
    def shifted(blocks, x):
        x = x + blocks[0].mlp(blocks[0].norm2(x))
        for b in blocks[1:]:
            x = x + b.attn(b.norm1(x))
            x = x + b.mlp(b.norm2(x))
        return x + blocks[-1].attn(blocks[-1].norm1(x))
  d each ordinary block has attention and
06.4: the last attention forgotten
    def shifted(blocks, x):
        x = x + blocks[0].mlp(blocks[0].norm2(x))
        for a, b in zip(blocks, blocks[1:]):
            x = x + a.attn(a.norm1(x))
            x = x + b.mlp(b.norm2(x))
        return x
  d the attention at the end is missing
06.5: the branches made larger
    @torch.no_grad()
    def rescue(model):
        for block in model.blocks:
            block.attn.proj.weight *= 10
            block.mlp.fc2.weight *= 10
        return model
  h the branches are still nearly as long
07.a: the minus forgotten
    lambda weights: (weights * weights.clamp_min(1e-12).log2()).sum(-1)
  d the minus is missing: logarithms of
07.a: all rows added
    lambda weights: -(weights * weights.clamp_min(1e-12).log2()).sum()
  d one number for all rows; each row has
07.b gap_in: only CLS
    1
  v too small by a good deal
07.1 votes: first plus second
    [4, 4, 4]
  d the second number is subtracted, not
07.2 query: ones
    [1, 1, 1, 1, 1, 1, 1, 1]
  d with ones each score is a sum of a
07.3: left out after the first block
    def logits_without_cls(model, images):
        z = model.embed(images)
        for i, block in enumerate(model.blocks):
            z = block(z)
            if i == 0:
                z = z[:, 1:]
        return model.head(model.norm(z).mean(dim=1))
  d CLS goes after the first block: what
07.4 end: CLS
    "CLS"
  d compare the ends of the two curves:
07.5: the share that is left
    def frugal(model, images):
        T, D, r = 1 + model.cfg.num_patches, model.cfg.embed_dim, model.cfg.mlp_ratio
        whole = T * 4 * D**2 + 2 * T**2 * D + T * 2 * r * D**2
        now = T * 2 * D**2 + 2 * D**2 + 2 * T * D + 2 * r * D**2
        return model(images), now / whole
  h all tokens go through the last
07.5: no attention's products in the count
    def frugal(model, images):
        T, D, r = 1 + model.cfg.num_patches, model.cfg.embed_dim, model.cfg.mlp_ratio
        whole = T * 4 * D**2 + T * 2 * r * D**2
        return model(images), 1 - (T * 2 * D**2 + 2 * D**2 + 2 * r * D**2) / whole
  h all tokens go through the last
08.a: CLS in front, and the last patch read
    def my_forward(vit, images):
        x = vit.patch_embed(images)
        cls = vit.cls_token.expand(len(x), -1, -1)
        x = torch.cat([cls, x], dim=1) + vit.pos_embed
        return vit.head(vit.norm(vit.blocks(x))[:, -1])
  d the last patch is read; Equation 4
08.a: positions before CLS
    def my_forward(vit, images):
        x = vit.patch_embed(images) + vit.pos_embed[:, :-1]
        cls = vit.cls_token.expand(len(x), -1, -1)
        return vit.head(vit.norm(vit.blocks(torch.cat([cls, x], dim=1)))[:, 0])
  d row 0 of the table is CLS's, so that
08.b: CLS
    ["cls_token"]
  h “cls_token” does not belong here
08.1 a: no biases
    8 * 128**2 + 4 * 128
  d the MLP's biases are missing; and
08.1 c: twice the heads, twice the attention
    4 * (4 * 128**2 + 4 * 128)
  d twice as many heads are each half as
08.2 q, k, v in one: one of the three
    (5, 49, 384)
  d queries, keys and values together
08.3: queries and keys exchanged
    @torch.no_grad()
    def fuse(q, k, v):
        new = nn.Linear(q.in_features, 3 * q.out_features)
        new.weight.copy_(torch.cat([k.weight, q.weight, v.weight]))
        new.bias.copy_(torch.cat([k.bias, q.bias, v.bias]))
        return new
  d the weights of queries and keys are
08.3: stacked along the inputs
    def fuse(q, k, v):
        new = nn.Linear(q.in_features, 3 * q.out_features)
        new.weight.data = torch.cat([q.weight, k.weight, v.weight], dim=1)
        new.bias.data = torch.cat([q.bias, k.bias, v.bias])
        return new
  h RuntimeError, for (Linear, Linear,
08.4 depth: the last number
    7
  d blocks are counted from 0
08.4 mlp_ratio: the width itself
    960
  d this is the width inside; how many
08.5: copies, not the same block
    def tie(model):
        model.blocks = nn.ModuleList([copy.deepcopy(model.blocks[0]) for _ in model.blocks])
        return model
  d these are copies: alike at first, but
08.5: only attention is tied
    def tie(model):
        for block in model.blocks:
            block.attn = model.blocks[0].attn
        return model
  h more parameters are left than one
09.a: powers first, so that 300 overflows
    def my_cross_entropy(logits, labels):
        p = logits.exp() / logits.exp().sum(1, keepdim=True)
        return -p[torch.arange(len(labels)), labels].log().mean()
  d e to the power of a large logit is
09.a: the sum over the batch
    lambda logits, labels: -logits.log_softmax(1)[torch.arange(len(labels)), labels].sum()
  d the sum over the batch; its mean is
09.a: all columns of the labels
    lambda logits, labels: -logits.log_softmax(1)[:, labels].mean()
  v close, not by rounding: is
09.b: nothing is forgotten
    def my_step(model, optimizer, x, y):
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
  d the gradients of all steps add up
09.c large: the rate times the gradient
    0.01
  v off by a factor of 10: is a decimal
09.2: upside down, too
    "both"
  d one of the two costs this model many
09.3 n: the difference as large as the error, not twice
    (0.9 * 0.1 + 0.905 * 0.095) / 0.005**2
  d the difference should be twice its error
09.5: a new optimiser, at the same rate
    def resume(model, optimizer):
        other = copy.deepcopy(model)
        return other, torch.optim.Adam(other.parameters(), lr=optimizer.param_groups[0]["lr"])
  d the new optimiser knows nothing of the
10.a: the cosine counts from the first step
    def my_rate(step, total, peak, warmup, end):
        if step < warmup:
            return peak * (step + 1) / warmup
        return end + 0.5 * (peak - end) * (1 + math.cos(math.pi * step / total))
  d t is 0 at the end of the warm-up, not
10.c: the box cut off below and on the right only
    def my_share(lam, cy, cx, H, W):
        h, w = round(H * (1 - lam) ** 0.5), round(W * (1 - lam) ** 0.5)
        top, left = cy - h // 2, cx - w // 2
        return 1 - (min(top + h, H) - top) * (min(left + w, W) - left) / (H * W)
  d the box is not cut off at the top and
10.1 root: the root of the new batch
    0.001 * 4096**0.5
  v too large by a good deal
10.1 nearer: the linear rule
    "linear"
  h by what factor is each of them off?
10.2 decay: the half-life of the whole run
    2 ** (-1 / 936)
  d this is a half-life of the whole run
10.2 factor: one minus the decay
    1 - 2 ** (-20 / 936)
  d divide by 1 + d: squares of the weights
10.3: an even coin
    math.log(2)
  d this is the entropy of an even mix; λ
10.4: the fresh gradient beside the kept one
    def lengths(model, x, y, clear):
        out, optimizer = [], torch.optim.SGD(model.parameters(), lr=0.01)
        for _ in range(5):
            loss, head = F.cross_entropy(model(x), y), model.head.weight
            fresh = torch.autograd.grad(loss, head, retain_graph=True)[0]
            if clear:
                optimizer.zero_grad()
            loss.backward()
            out.append((fresh.norm() / head.grad.norm()).item())
            optimizer.step()
        return out
  d upside down: p.grad over the fresh one
10.5: divided by the root of the whole width
    class Other(vl.Attention):
        def forward(self, x, bias=None):
            q, k, v = self.project(x)
            mixed = (q @ k.mT / x.shape[-1] ** 0.5).softmax(-1) @ v
            return self.proj(mixed.transpose(1, 2).flatten(2))
    def planted(model):
        for block in model.blocks:
            block.attn.__class__ = Other
        return model
  v the shape is right, the numbers are
11.a: a layer's own stride counted
    def my_field(layers):
        side, jump = 1, 1
        for k, s in layers:
            jump *= s
            side += (k - 1) * jump
        return side
  d a stride counts for the layers after
11.b at_8: the stride's own shift forgotten
    ["around"]
  d eight pixels are one whole patch
11.c: each channel in its own order
    def my_shuffled_pixels(images, seed=0):
        g = torch.Generator().manual_seed(seed)
        order = torch.randperm(images[0].numel(), generator=g)
        return images.flatten(1)[:, order].view_as(images)
  d numbers change their channel: shuffle
11.c: pictures shuffled, not pixels
    lambda images, seed=0: images[torch.randperm(len(images), generator=torch.Generator().manual_seed(seed))]
  d the pixels are where they were: the
11.1 b: the stride forgotten
    1 + 6 + 4 * 2
  d the strides are left out
11.1 d: one patch
    16
  d this is one patch; does attention stay
11.2 stem: the stem's stride only
    16 * 16
  d behind the stem come patches of 2 on
11.3 own: sharing kept
    9 * 16**2
  d the kernel is not shared any more: one
11.4: the mean difference
    def changes(net, images, by):
        with torch.no_grad():
            return (net(images).mean((2, 3)) - net(images.roll(by, -1)).mean((2, 3))).abs().mean()
  d the mean difference; the largest is
11.4: with its sign
    def changes(net, images, by):
        with torch.no_grad():
            return (net(images).mean((2, 3)) - net(images.roll(by, -1)).mean((2, 3))).max().item()
  d a difference may be negative: the
11.5 kept: rows kept, their order mixed
    [4, 5, 6, 7, 0, 1, 2, 3, 8, 9, 10, 11, 12, 13, 14, 15]
  d some distances change: do neighbours
11.5 count: turns only
    4
  d there are mirrorings and turns: a
12.a patch: twice the sides' sides
    4
  d so it is once attention's T² outweighs
12.b: compared with the one before
    def my_frontier(points):
        return [p for i, p in enumerate(points) if i == 0 or p[1] > points[i - 1][1]]
  d compared with the one before; no
12.b: beaten by a dearer one
    lambda points: [p for i, p in enumerate(points) if all(q[1] < p[1] for q in points[i + 1:])]
  d walked from dear to cheap; it goes from
12.1 share: all of attention
    (4 * 197 * 768**2 + 2 * 197**2 * 768) / (197 * (4 * 768**2 + 2 * 768 * 3072) + 2 * 197**2 * 768)
  v too large by a good deal
12.2 ring: sums only, not handed on
    [3, 3]
  d by then each sum is complete in one
12.2 eight: the busiest as with four
    [14, 14, 56]
  d the rows of eight students have eight
12.3 checkpoints: no block computed again
    int((80e9 - 16 * 304e6) // (24 * 4 * 577 * 1024))
  d while a block is computed again, all
12.4: sums, never divided
    def uneven(model, x, y, size):
        model.zero_grad()
        for a, b in zip(x.split(size), y.split(size)):
            F.cross_entropy(model(a), b, reduction="sum").backward()
        return torch.cat([p.grad.flatten() for p in model.parameters()])
  d this is the gradient of the sum; the
12.5 calculus: the root of L
    math.sqrt(24)
  d so it is where a block keeps as little
12.6 hours: half the time
    2
  d the ring takes as long as before; only
12.6 batch: the same
    4096
  d at the same batch each GPU has half as
13.a: bits
    lambda table: (torch.special.entr(table).sum(-1) / math.log(2)).mean()
  d these are the bits; how many tokens is
13.a: weights that are zero, and their logarithm
    lambda table: 2 ** (-(table * table.log2()).sum(-1).mean())
  d 0 · log 0 comes out as nan: a weight of
13.b: mean and test on the first half
    def my_share(a):
        a = a[: len(a) // 2]
        m, even = a.mean(0), 1 / a.shape[1]
        return 1 - (a - m).square().sum() / (a - even).square().sum()
  d the maps that are explained are those
13.c shifted: all but the last
    63
  d every patch moved, the ones within a
13.1 tokens: those that are not zero
    [3, 1, 3]
  d these are the weights above zero;
13.1 middle: a row alone gives an output
    False
  d half of the least value and half of the
13.2: the bias forgotten
    def reorder(model, block, order):
        model = copy.deepcopy(model)
        attn = model.blocks[block].attn
        attn.qkv.weight.data = attn.qkv.weight.data.unflatten(0, (3, attn.num_heads, -1))[:, order].flatten(0, 2)
        attn.proj.weight.data = attn.proj.weight.data.unflatten(1, (attn.num_heads, -1))[:, order].flatten(1)
        return model
  d the biases of `qkv` stayed where they
13.3: means, not sums
    lambda w: F.avg_pool2d(w.reshape(-1, 1, 8, 8), 2).reshape(*w.shape[:-1], 16)
  d these are means; each place should have
13.4: without the lowest
    def survive(model, images, scores, n):
        kept = scores.argsort(-1)[:, n:]
        return (vl.answer_with(model, images, kept).argmax(1) == model(images).argmax(1)).double().mean()
  d the lowest scores were left out; the
13.4: the share that changes
    def survive(model, images, scores, n):
        kept = scores.argsort(-1)[:, :-n]
        return (vl.answer_with(model, images, kept).argmax(1) != model(images).argmax(1)).double().mean()
  d this is the share that was lost
14.a: the first layer on the left
    def my_rollout(maps):
        R = torch.eye(maps.shape[-1])
        for A in maps.mean(1):
            R = R @ (0.5 * A + 0.5 * torch.eye(len(A)))
        return R
  d the first layer stands on the left; the
14.a: the identity added whole
    def my_rollout(maps):
        R = torch.eye(maps.shape[-1])
        for A in maps.mean(1):
            R = (A + torch.eye(len(A))) @ R
        return R
  d rows should sum to 1: half of what it
14.a: number by number
    def my_rollout(maps):
        A = maps.mean(1) / 2 + torch.eye(maps.shape[-1]) / 2
        return A.prod(0)
  h the numbers should sum to 1 along axis 1
14.b gap_leaves: as under CLS
    0
  d the head reads the mean of exactly
14.c: the pieces' right ends
    def my_shares(model, image, target, steps):
        total = torch.zeros_like(image)
        for i in range(steps):
            point = (image * (i + 1) / steps).requires_grad_()
            (grad,) = torch.autograd.grad(model(point)[0, target], point)
            total += grad
        return image * total / steps
  d the points are the ends of the pieces;
14.1 holds: A A, without the halves
    [3 / 8, 5 / 16, 5 / 16]
  d this multiplies A itself; half of each
14.1 third: layer 2 thought to decide alone
    False
  d who took from it in layer 1, and who
14.2 worst: it stays until the end
    0.9
  d on the step where the patch goes the
14.3: the own picture included
    lambda scores: scores.mean(0, keepdim=True).expand_as(scores)
  d the mean of all pictures: leave each
14.3: the mean over patches
    lambda scores: (scores.sum(1, keepdim=True) - scores) / (scores.shape[1] - 1)
  v the shape is right, the numbers are
14.4: CLS is in
    lambda model, images, target: model.forward_features(images) @ model.head.weight[target] / 64
  h expected shape (2, 6), got (2, 7): one
14.4: with a ReLU
    def cam(model, images, target):
        t = model.forward_features(images)[:, 1:]
        return (t @ model.head.weight[target] / t.shape[1]).relu()
  d there is no ReLU here: shares may be
14.5: the absolute value of the mean
    def smooth_grad(model, images, classes, n=8, sigma=0.2):
        total = torch.zeros_like(images)
        for _ in range(n):
            x = (images + sigma * torch.randn_like(images)).requires_grad_()
            y = model(x)[torch.arange(len(x)), classes].sum()
            total += torch.autograd.grad(y, x)[0] / n
        return vl.patchify(total.abs(), model.cfg.patch_size).sum(-1)
  d the mean comes first and the absolute
14.6: occlusion, looked at once
    def greedy(model, image, target, k=8):
        N, losses = model.cfg.num_patches, []
        with torch.no_grad():
            for n in range(N):
                kept = torch.tensor([[m for m in range(N) if m != n]])
                losses.append(vl.answer_with(model, image, kept)[0, target])
        return torch.stack(losses).argsort()[:k].tolist()
  d all are ranked once, as in occlusion;
15.a: CLS left in
    def my_distance(A, rows, cols, P):
        at = torch.cartesian_prod(torch.arange(rows), torch.arange(cols)).double()
        far = F.pad(P * torch.cdist(at, at), (1, 0, 1, 0))
        return (A * far).sum(-1).mean()
  v not this number
15.a: steps down and across added
    def my_distance(A, rows, cols, P):
        at = torch.cartesian_prod(torch.arange(rows), torch.arange(cols)).double()
        A = A[1:, 1:] / A[1:, 1:].sum(-1, keepdim=True)
        return P * (A * torch.cdist(at, at, p=1)).sum(-1).mean()
  d this goes along rows and columns;
15.c: its term taken off, the bias with it
    def my_without_head(attn, x, m):
        heads = attn.attention_weights(x) @ attn.project(x)[2]
        heads[:, [i for i in range(attn.num_heads) if i != m]] = 0
        return attn(x) - attn.proj(heads.transpose(1, 2).flatten(2))
  d the bias of the projection belongs to
15.1 first: readers 2 to 4 only
    20
  d reader 1 counts, too: it reads itself
15.1 invented: each its right neighbour
    [2, 3, 4, 4]
  d this is (c)'s head: the four distances
15.3: the mean over pictures only
    def likeness(z):
        u = F.normalize(z - z.mean(0), dim=-1)
        at = torch.cartesian_prod(torch.arange(8.0), torch.arange(8.0))
        steps = torch.cdist(at, at)
        return [(u @ u.mT)[:, k].mean() for k in (steps == 1, steps >= 5)]
  d each place's own mean is subtracted;
15.3: diagonals touch, too
    def likeness(z):
        u = F.normalize(z - z.mean((0, 1)), dim=-1)
        at = torch.cartesian_prod(torch.arange(8.0), torch.arange(8.0))
        steps = torch.cdist(at, at)
        return [(u @ u.mT)[:, k].mean() for k in ((steps > 0) & (steps < 2), steps >= 5)]
  d patches that meet in a corner are √2
15.4: turned the other way
    lambda model, z, Q: model.head(model.norm(z @ Q.T))
  d turned backwards, by the transpose
15.5: ranked once
    def greedy(model, images, labels, count):
        cost = vl.head_importance(model, images, labels)
        return [divmod(i, model.cfg.num_heads) for i in cost.flatten().argsort()[:count].tolist()]
  d ranked once, each head with all others
16.a zero_head: zero weights thought to stay
    False
  d zero weights need not stay zero: the
16.b: lambda left out
    lambda Z, Y, lam: torch.linalg.lstsq(Z, Y).solution
  d λ is not used: this is least squares
16.b: added after inverting
    def my_ridge(Z, Y, lam):
        return (torch.linalg.inv(Z.T @ Z) + lam * torch.eye(Z.shape[1], dtype=Z.dtype)) @ Z.T @ Y
  v the shape is right, the numbers are
16.1 old: no biases
    768 * 21843
  d a bias for each class is missing
16.1 loss: logarithm to the base of ten
    math.log10(37)
  d the loss takes the natural logarithm
16.2 a: the last step before
    43
  d at this step it is just short of 99 %
16.2 rate: multiplied where it should be divided
    0.3
  d a longer memory makes longer steps, so
16.3 beta: one per cent forgotten
    0.99 ** (1 / 32)
  d this leaves 99 per cent; one per cent
16.4 leverages: the mean's share forgotten
    [0.5, 0, 0.5]
  d the first part of H, the mean's, is
16.5: not transposed
    lambda query, key, value: torch.cat([x.flatten(1) for x in (query, key, value)])
  d inputs come first still: transpose each
16.5: side by side
    lambda query, key, value: torch.cat([x.flatten(1).T for x in (query, key, value)], dim=1)
  d side by side; the outputs of query, key
16.5: head by head, q, k and v together
    lambda *x: torch.stack([y.permute(1, 2, 0) for y in x], 1).flatten(0, 2)
  d each head's query, key and value stand
16.6: the products, not the class
    def by_means(Z, labels, test):
        means = torch.stack([Z[labels == k].mean(0) for k in range(10)])
        return test @ means.T
  d these are the scalar products; which
16.6: the class of the most alike picture
    lambda Z, labels, test: labels[(test @ Z.T).argmax(1)]
  d this is the nearest single picture;
17.a: masked places have no position
    lambda x, mask, source, token, pos: torch.where(mask[:, None], token, x[source] + pos)
  d the mask token still has no position:
17.a: positions twice
    lambda x, mask, source, token, pos: torch.where(mask[:, None], token, (x + pos)[source]) + pos
  d shown patches have two positions now:
17.b: blue first
    def my_colours(images, P):
        m = vl.patchify(images.float(), P).unflatten(2, (P * P, 3)).mean(2)
        d = (m // 32).long()
        return d[..., 0] + 8 * d[..., 1] + 64 * d[..., 2]
  d the digits stand the other way round:
17.b: rounded, not cut off
    def my_colours(images, P):
        d = (F.avg_pool2d(images.float(), P) / 32).round().long().clamp(max=7)
        return (64 * d[:, 0] + 8 * d[:, 1] + d[:, 2]).flatten(1)
  d rounded; the highest bits are what is
17.b: a map, not a row of patches
    def my_colours(images, P):
        d = (F.avg_pool2d(images.float(), P) // 32).long()
        return 64 * d[:, 0] + 8 * d[:, 1] + d[:, 2]
  h expected shape (2, 6), got (2, 2, 3):
17.c squared: the middle
    0.5
  d so if both were equally likely
17.1 a: all that are asked
    98
  v not this number
17.1 c: those that are not asked
    98
  d a tenth of those asked about are shown
17.3 colour: red last
    6 + 8 * 0 + 64 * 3
  d the digits stand the other way round:
17.3 classes: two channels
    [16, 256]
  v numbers 1, 2 of 2 are wrong
17.4 sure: only where it is right
    -math.log(0.997)
  d this is when the commonest comes; half
17.5: the encoder alone
    4.07
  d the decoder is left out
17.6: the shown ones, not the masked ones
    def both(P, mask, images):
        plain = torch.arange(mask.shape[1]).expand(len(images), -1)
        a = vl.patchify(vl.normalize(vl.guess_patches(images, mask, plain, P)), P)
        b = vl.patchify(vl.normalize(images), P)
        return explained(a.flatten(0, 1), b.flatten(0, 1)), explained(a[~mask], b[~mask])
  d the second is of the patches that are
18.a: rows and columns change places
    def on_a_line(rows, cols, axis):
        i = torch.arange(rows * cols)
        line = i % cols if axis == "row" else i // cols
        return (line[:, None] == line).float()
  d rows and columns are exchanged: patches
18.a: scores, minus infinity elsewhere
    def on_a_line(rows, cols, axis):
        i = torch.arange(rows * cols)
        line = i // cols if axis == "row" else i % cols
        return torch.zeros(rows * cols, rows * cols).masked_fill(line[:, None] != line, -torch.inf)
  h 432 of 576 numbers are nan or inf:
18.b paths: both ways round the corner
    2
  d columns come after rows: the other
18.c: classes never met are left out
    def my_miou(answers, target, K):
        scores = []
        for k in range(K):
            a, b = answers == k, target == k
            if (a & b).any():
                scores.append((a & b).sum() / (a | b).sum())
        return sum(scores) / len(scores)
  h a class that is named and never there
18.1 squares: without its own
    14
  d its own square counts as well
18.1 moves: two layers of windows
    [2, 2]
  d the shifted window ends before the far
18.2: one MLP
    41
  h the MLPs are left out
18.3 ious: found among the named
    [8 / 14, 84 / 86, (8 / 14 + 84 / 86) / 2]
  d this is the share of calls that are
18.3 lazy: the boat left out
    [0, 0.9, 0.9]
  d the boat's IoU belongs to the mean: it
18.4 full: tokens, not pairs
    4096
  d each query meets each key
18.5 least: perfect but for that
    0
  d with equal rows, can both give all
18.5 tied: the rows are not equal
    torch.eye(4)
  d the first two pictures are the same, so
18.6: the mean of the weights
    def off(x, weight):
        P = x.shape[-1] // 2
        want = F.conv2d(x, weight, stride=2 * P)
        return (F.conv2d(F.avg_pool2d(x, 2), F.avg_pool2d(weight, 2), stride=P) - want).norm() / want.norm()
  d the weights are shrunk like a picture;
18.6: relative to the new tokens
    def off(x, weight):
        P = x.shape[-1] // 2
        got = F.conv2d(F.avg_pool2d(x, 2), 4 * F.avg_pool2d(weight, 2), stride=P)
        return (got - F.conv2d(x, weight, stride=2 * P)).norm() / got.norm()
  d divided by the length of what came out;
"""

RIGHT = r"""
01.a: a tensor of floats
    torch.tensor([[0, 1, 4, 5], [2, 3, 6, 7], [8, 9, 12, 13], [10, 11, 14, 15]]).float()
01.b: einops
    lambda images, P: rearrange(images, "b c (i p) (j q) -> b (i j) (p q c)", p=P, q=P)
01.3: divmod, a list
    def address(row, col, c, P, W, C):
        i, p = divmod(row, P)
        j, q = divmod(col, P)
        return [i * (W // P) + j, C * (P * p + q) + c]
01.4 there: the place in floats
    256.0
01.5: small letters with commas
    "b, a, c"
01.6: pasted into zeros
    def patchify_padded(images, P):
        B, C, H, W = images.shape
        big = torch.zeros(B, C, math.ceil(H / P) * P, math.ceil(W / P) * P)
        big[:, :, :H, :W] = images
        return vl.patchify(big, P)
01.7 sides: whole pixels
    [543, 1086, 1402]
02.a: NumPy
    lambda patches, E, b: np.dot(patches.numpy(), E.numpy()) + b.numpy()
02.d: flattened, then transposed
    lambda kernel: kernel.reshape(-1, kernel.shape[3]).T
02.4: einops
    lambda weight, P: rearrange(weight, "d (p q c) -> d c p q", p=P, q=P)
02.5: channel by channel, a list
    def fold(weight, bias):
        new = torch.stack([weight[:, 2], weight[:, 1], weight[:, 0]], dim=1)
        return [new / 255 * 2, bias - new.flatten(1).sum(1)]
03.a: a tuple of floats
    (4.0, 3.0, 1.0, 0.0)
03.b: loops, a list of lists
    def my_similarity(table):
        rows = table.tolist()
        size = [sum(x * x for x in row) ** 0.5 for row in rows]
        return [[sum(x * y for x, y in zip(a, b)) / (m * n) for b, n in zip(rows, size)] for a, m in zip(rows, size)]
03.b: NumPy
    def my_similarity(table):
        t = table.numpy()
        t = t / np.linalg.norm(t, axis=1, keepdims=True)
        return t @ t.T
03.1 row_of_4: an array
    np.array([13, 12, 11, 8, 7, 6])
03.2: NumPy
    def sincos_1d(length, D):
        if D & 1:
            raise ValueError(f"odd: {D}")
        angles = np.outer(np.arange(length), 10000.0 ** (-2 * np.arange(D // 2) / D))
        return np.concatenate([np.sin(angles), np.cos(angles)], axis=1)
03.3: NumPy's blocks
    def turn(m, D):
        a = m * 10000.0 ** (-np.arange(D // 2) / (D // 2))
        return np.block([[np.diag(np.cos(a)), np.diag(np.sin(a))], [-np.diag(np.sin(a)), np.diag(np.cos(a))]])
03.4: one string, capitals
    "None, SinCos2d, Relative"
03.5: by unique rows
    def finds_the_bug(pos):
        with torch.no_grad():
            rows = [pos(torch.zeros(4, 17, 48))[i] for i in range(4)]
        return any(not torch.allclose(r, rows[0]) for r in rows) or len(rows[0].unique(dim=0)) < 17
03.6: the waves themselves
    lambda: vl.sincos_2d((4, 4), 48)
03.6: ramps, an array
    def my_table():
        t = np.zeros((16, 48))
        t[:, 0], t[:, 1] = np.arange(16) // 4, np.arange(16) % 4
        rest = t - t.mean(0)
        w = vl.sincos_2d((4, 4), 48).numpy()
        return t * np.sqrt(((w - w.mean(0)) ** 2).sum(1).mean() / (rest**2).sum(1).mean())
04.1 a: an array
    np.array([0.0, 3, 9, 12])
04.2 c: to two places
    (2.14, 2.86)
04.4: loops in NumPy
    def sincos_at(rows, cols, D):
        K, out = D // 4, []
        for r in rows.tolist():
            for c in cols.tolist():
                w = 10000.0 ** (-np.arange(K) / K)
                out.append(np.concatenate([np.sin(r * w), np.cos(r * w), np.sin(c * w), np.cos(c * w)]))
        return np.array(out)
05.b: PyTorch's own
    lambda q, k, v: F.scaled_dot_product_attention(q[None], k[None], v[None])[0]
05.b: loops over lists
    def my_attention(q, k, v):
        out = []
        for row in q:
            p = [math.exp(float(row @ key) / len(row) ** 0.5) for key in k]
            out.append(sum(x * value for x, value in zip(p, v)) / sum(p))
        return torch.stack(out)
05.2 b: to one place
    15.2
05.2 d: an array
    np.array([2362368.0, 2362368.0])
05.4: a capital
    "K"
05.5: loops, whole numbers in NumPy
    def left_bias(rows, cols, strength):
        b = np.zeros((1, 1, rows * cols, rows * cols))
        for r in range(rows):
            for c in range(cols):
                b[0, 0, r * cols + c, r * cols + max(c - 1, 0)] = strength
        return b
06.b: PyTorch's own
    lambda x, gamma, beta, eps=1e-6: F.layer_norm(x, x.shape[-1:], gamma, beta, eps)
06.c: names for every step
    def mended(block, x):
        a = block.attn(block.norm1(x))
        y = torch.add(x, a)
        return y + block.mlp(block.norm2(y))
06.1 c: small letters
    "layernorm"
06.3: the others in a new list
    def without(model, i):
        model = copy.deepcopy(model)
        model.blocks = nn.ModuleList([b for n, b in enumerate(model.blocks) if n != i])
        return model
06.5: branches that begin at zero
    def rescue(model):
        for block in model.blocks:
            nn.init.zeros_(block.attn.proj.weight)
            nn.init.zeros_(block.mlp.fc2.weight)
        return model
07.a: PyTorch's entr
    lambda weights: torch.special.entr(weights).sum(-1) / np.log(2)
07.a: NumPy, zeros left out
    def my_entropy(weights):
        p = weights.double().numpy()
        return -np.where(p > 0, p * np.log2(np.where(p > 0, p, 1)), 0).sum(axis=-1)
07.3: the library's norm and a weighted sum
    def logits_without_cls(model, images):
        z = model.embed(images)[:, 1:]
        for block in model.blocks:
            z = block(z)
        z = model.norm(z)
        return sum(model.head(z[:, n]) for n in range(z.shape[1])) / z.shape[1]
07.4 end: a capital
    "Patches"
08.b: a word
    "pos_embed"
08.2 logits: a list
    [5, 1000]
08.4 untold: capitals
    "Num_Heads"
08.5: one by one
    def tie(model):
        for i in range(1, len(model.blocks)):
            model.blocks[i] = model.blocks[0]
        return model
09.a: one-hot labels
    def my_cross_entropy(logits, labels):
        z = logits - logits.max(1, keepdim=True).values
        hot = F.one_hot(labels, logits.shape[1])
        return (torch.log(torch.exp(z).sum(1)) - (z * hot).sum(1)).mean()
09.b: gradients set to None
    def my_step(model, optimizer, x, y):
        for p in model.parameters():
            p.grad = None
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
09.5: both copied at once
    lambda model, optimizer: copy.deepcopy((model, optimizer))
10.a: two lines, NumPy
    def my_rate(step, total, peak, warmup, end):
        half = np.cos(np.pi * (step - warmup) / (total - warmup)) / 2 + 0.5
        return np.where(step < warmup, peak * (step + 1) / max(warmup, 1), end * (1 - half) + peak * half)
10.2 decay: to three places
    0.985
10.5: the queries scaled up
    def planted(model):
        for block in model.blocks:
            D, d = model.cfg.embed_dim, model.cfg.embed_dim // model.cfg.num_heads
            with torch.no_grad():
                block.attn.qkv.weight[:D] *= d**0.5
                block.attn.qkv.bias[:D] *= d**0.5
        return model
11.b at_8: a tuple
    ("Patches", "Around")
11.c: NumPy's order
    def my_shuffled_pixels(images, seed=0):
        B, C, H, W = images.shape
        order = np.random.default_rng(seed).permutation(H * W)
        return images.reshape(B, C, -1)[:, :, order].reshape(B, C, H, W)
11.5 kept: transposed
    np.arange(16).reshape(4, 4).T.flatten()
12.b: all that are beaten by none
    lambda points: [p for i, p in enumerate(points) if all(q[1] < p[1] for q in points[:i])]
12.1 share: to three places
    0.041
12.4: weighted means
    def uneven(model, x, y, size):
        model.zero_grad()
        for i in range(0, len(x), size):
            a, b = x[i:i + size], y[i:i + size]
            (F.cross_entropy(model(a), b) * (len(a) / len(x))).backward()
        return torch.hstack([p.grad.view(-1) for p in model.parameters()])
13.a: loops
    def in_effect(table):
        bits = [sum(-p * math.log2(p) for p in row if p) for row in table.tolist()]
        return 2 ** (sum(bits) / len(bits))
13.b: NumPy
    def my_share(a):
        a = a.numpy()
        m, rest = a[: len(a) // 2].mean(0), a[len(a) // 2:]
        return 1 - ((rest - m) ** 2).sum() / ((rest - 1 / a.shape[1]) ** 2).sum()
13.1 rows: others
    [[0.4, 0.45, 0.15], [0.625, 0, 0.375]]
13.2: head by head
    def reorder(model, block, order):
        new = copy.deepcopy(model)
        a, b = model.blocks[block].attn, new.blocks[block].attn
        D, d = a.proj.weight.shape[0], a.proj.weight.shape[0] // a.num_heads
        with torch.no_grad():
            for i, o in enumerate(order):
                for part in range(3):
                    to, of = (slice(part * D + n * d, part * D + (n + 1) * d) for n in (i, int(o)))
                    b.qkv.weight[to], b.qkv.bias[to] = a.qkv.weight[of], a.qkv.bias[of]
                b.proj.weight[:, i * d:(i + 1) * d] = a.proj.weight[:, int(o) * d:(int(o) + 1) * d]
        return new
13.4: a loop over pictures
    def survive(model, images, scores, n):
        same = 0
        for image, s in zip(images, scores):
            kept = s.sort(descending=True).indices[n:].sort().values
            same += int(vl.answer_with(model, image[None], kept[None]).argmax() == model(image[None]).argmax())
        return same / len(images)
14.c: times the picture inside
    def my_shares(model, image, target, steps):
        total = torch.zeros_like(image)
        for i in range(steps):
            point = (image * (i + 0.5) / steps).requires_grad_()
            (grad,) = torch.autograd.grad(model(point)[0, target], point)
            total += grad * image / steps
        return total
14.1 holds: fractions
    [Fraction(19, 32), Fraction(13, 64), Fraction(13, 64)]
14.3: a loop
    lambda scores: torch.stack([torch.cat([scores[:i], scores[i + 1:]]).mean(0) for i in range(len(scores))])
14.4: by autograd
    def cam(model, images, target):
        with torch.enable_grad():
            t = model.forward_features(images).detach().requires_grad_()
            (g,) = torch.autograd.grad(model.head(model.pool(t))[:, target].sum(), t)
        return (t[:, 1:] * g[:, 1:].mean(1, keepdim=True)).sum(-1)
14.6: one at a time, a tensor
    @torch.no_grad()
    def greedy(model, image, target, k=8):
        gone = []
        for _ in range(k):
            best, which = float("inf"), None
            for n in range(model.cfg.num_patches):
                if n in gone:
                    continue
                kept = [m for m in range(model.cfg.num_patches) if m != n and m not in gone]
                y = float(vl.answer_with(model, image, torch.tensor([kept]))[0, target])
                if y < best:
                    best, which = y, n
            gone.append(which)
        return torch.tensor(gone)
15.a: hypotenuses
    def my_distance(A, rows, cols, P):
        N, total = rows * cols, 0
        for i in range(N):
            w = A[1 + i, 1:] / A[1 + i, 1:].sum()
            total += sum(float(w[j]) * P * math.hypot(i // cols - j // cols, i % cols - j % cols) for j in range(N))
        return total / N
15.1 invented: another one
    [4, 1, 3, 3]
15.3: loops over pairs
    def likeness(z):
        z = z - z.mean((0, 1))
        z, sums = z / z.norm(dim=-1, keepdim=True), {True: [], False: []}
        for i in range(64):
            for j in range(64):
                far = math.hypot(i // 8 - j // 8, i % 8 - j % 8)
                if far == 1 or far >= 5:
                    sums[far == 1].append(float((z[:, i] * z[:, j]).sum(-1).mean()))
        return np.mean(sums[True]), np.mean(sums[False])
16.b: the inverse, NumPy
    def my_ridge(Z, Y, lam):
        Z, Y = np.asarray(Z), np.asarray(Y)
        return np.linalg.inv(Z.T @ Z + lam * np.eye(Z.shape[1])) @ Z.T @ Y
16.c: the rate inside the sum
    def my_momentum(gradients, lr, mu):
        theta, v, path = 0.0, 0.0, []
        for g in gradients:
            v = mu * v - lr * g
            theta = theta + v
            path.append(theta)
        return np.array(path)
16.1 loss: to two places
    3.61
16.4 leverages: fractions
    (Fraction(5, 6), Fraction(1, 3), Fraction(5, 6))
16.5: einops
    lambda query, key, value: torch.cat([rearrange(x, "i h d -> (h d) i") for x in (query, key, value)])
16.5: NumPy
    def fuse(query, key, value):
        stacked = np.stack([np.asarray(x) for x in (query, key, value)])
        return stacked.transpose(0, 2, 3, 1).reshape(-1, stacked.shape[1])
17.a: loops
    def my_input(x, mask, source, token, pos):
        return torch.stack([(token if mask[i] else x[source[i]]) + pos[i] for i in range(len(x))])
17.b: pooling
    def my_colours(images, P):
        means = F.avg_pool2d(images.double(), P)
        digits = torch.floor(means / 32)
        return (digits * torch.tensor([64, 8, 1]).view(1, 3, 1, 1)).sum(1).flatten(1)
17.4 shares: to two places
    1.21
17.6: by sums
    def both(P, mask, images):
        order = torch.arange(mask.shape[1]).repeat(len(images), 1)
        a = vl.patchify(vl.normalize(vl.guess_patches(images, mask, order, P)), P)
        b = vl.patchify(vl.normalize(images), P)
        out = []
        for some in (torch.ones_like(mask), mask):
            p, q = a[some], b[some]
            out.append(1 - ((p - q) ** 2).sum() / ((q - q.mean(0)) ** 2).sum())
        return out
18.a: Kronecker products
    def on_a_line(rows, cols, axis):
        if axis == "row":
            return np.kron(np.eye(rows), np.ones((cols, cols)))
        return np.kron(np.ones((rows, rows)), np.eye(cols))
18.c: counts
    def my_miou(answers, target, K):
        table = torch.bincount(K * target.flatten() + answers.flatten(), minlength=K * K).view(K, K)
        union = table.sum(0) + table.sum(1) - table.diag()
        return (table.diag()[union > 0] / union[union > 0]).mean()
18.3 ious: to two places
    [0.5, 0.913, 0.707]
18.5 tied: halves, an array
    np.array([[0.5, 0.5, 0, 0], [0.5, 0.5, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]])
"""
