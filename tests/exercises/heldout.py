r"""Wrong and right answers, written from the chapters' pages alone, before the entries were read.

    03.1 how_many: what is wrong with it -> d the reply's first words
        the answer: an expression, or a function's source

The letter judges the reply: d, its own diagnosis; h, a true hint; v, vague; m, misleading. A right answer has no reply.
"""

WRONG = r"""
01.a: each patch read column by column -> d each patch is read column by column;
    [[0, 4, 1, 5], [2, 6, 3, 7], [8, 12, 9, 13], [10, 14, 11, 15]]
01.b: channels outermost in a token -> d within a token the channels come first;
    def my_patchify(images, P):
        B, C, H, W = images.shape
        x = images.reshape(B, C, H // P, P, W // P, P)
        return x.permute(0, 2, 4, 1, 3, 5).reshape(B, -1, P * P * C)
01.b: a square picture taken for granted -> h RuntimeError at `x = images.reshape(B,
    def my_patchify(images, P):
        B, C, H, W = images.shape
        n = H // P
        x = images.reshape(B, C, n, P, n, P).permute(0, 2, 4, 3, 5, 1)
        return x.reshape(B, n * n, P * P * C)
01.1 b: the shorter side twice -> v not this number
    15 * 15
01.1 d: only the picture grows -> d two things change, and each of them
    4 * 196
01.2 where_15: counted from 1 -> d rows and columns are counted from 0, too
    [3, 4]
01.3: channels outermost -> d channels are outermost here; in the
    lambda row, col, c, P, W, C: (row // P * (W // P) + col // P, c * P * P + row % P * P + col % P)
01.4 there: the third of the first three -> h places are counted from 0; and the two
    2
01.5: pictures that follow the letters -> d A and B are exchanged: who mirrors the
    "ABC"
02.a: the matrix transposed, as in nn.Linear -> d E is (PPC, D): its columns are the
    lambda patches, E, b: patches @ E.T + b
02.b: as it lies in memory -> d this is the kernel's own order,
    [0, 1, 2, 3, 4, 5, 6, 7]
02.d: not permuted at all -> d D must be brought to the front by
    lambda kernel: kernel.reshape(kernel.shape[-1], -1)
02.1 a: no bias -> d the bias is missing: a number for each
    768 * 768
02.1 e: a quarter, since there are a quarter of the patches -> v off by a factor of 4: bytes, or numbers
    196 * 768**2 // 4
02.2 E: the sum, not the mean -> d this filter takes the sum; a mean is a
    [[1, 1], [1, -1], [1, 1], [1, -1]]
02.3: the inverse permutation -> d this is the inverse: place k of the
    lambda E, perm: E[perm.argsort()]
02.3: nothing to do -> d each number meets another weight now: E
    lambda E, perm: E
02.4: rows and columns exchanged -> d rows and columns of each filter are
    lambda weight, P: weight.reshape(len(weight), P, P, -1).permute(0, 3, 2, 1)
02.5: channels not flipped -> d the weights' channels are still RGB
    lambda weight, bias: (weight / 127.5, bias - weight.sum((1, 2, 3)))
02.5: the -1 through the scaled weights -> d the shift is that of the normalised
    def fold(weight, bias):
        w = weight.flip(1) / 127.5
        return w, bias - w.sum(dim=(1, 2, 3))
03.a: offsets, not places in the list -> h expected shape (4,), got (4, 2)
    [(0, 0), (0, -1), (-1, 0), (-1, -1)]
03.a: nothing added before counting -> d the row offset must be made to start at
    [0, -1, -3, -4]
03.b: scalar products, not cosines -> d the lengths are not divided out
    lambda table: table @ table.T
03.b: each place with itself only -> h expected shape (5, 5), got (5,)
    lambda table: F.cosine_similarity(table, table)
03.b: the mean taken off first -> d the mean is subtracted; here it is not
    def my_similarity(table):
        unit = F.normalize(table - table.mean(0), dim=1)
        return unit @ unit.T
03.1 how_many: rows and columns added -> d negative offsets count as well: the key may lie below, or to the right; or
    3 + 5
03.1 row_of_4: key minus query -> d these are key − query; query − key is
    [1, 2, 3, 6, 7, 8]
03.1 commonest: the pairs counted once, not both ways -> h how many patches are a pair with
    5
03.2: sine and cosine take turns -> d sines and cosines take turns; all sines
    def sincos_1d(length, D):
        if D % 2:
            raise ValueError("odd")
        table = torch.zeros(length, D)
        angles = torch.arange(length)[:, None] * 10000 ** (-torch.arange(0, D, 2) / D)
        table[:, 0::2], table[:, 1::2] = angles.sin(), angles.cos()
        return table
03.2: speeds fall half as fast -> d k is divided by D, not by D/2: the
    def sincos_1d(length, D):
        assert D % 2 == 0
        angles = torch.arange(length)[:, None] * 10000 ** (-torch.arange(D // 2) / D)
        return torch.cat([torch.sin(angles), torch.cos(angles)], dim=1)
03.2: stacked as rows, (D, length) -> d places are rows, channels columns:
    def sincos_1d(length, D):
        if D % 2 != 0:
            raise ValueError("D must be even")
        w = 10000.0 ** (-torch.arange(D // 2) / (D // 2))
        angles = w[:, None] * torch.arange(length)
        return torch.cat([angles.sin(), angles.cos()])
03.3: blocks of two, as if sine and cosine took turns -> d all sines come first, then all cosines
    def turn(m, D):
        a = m * 10000 ** (-torch.arange(D // 2) / (D // 2))
        return torch.block_diag(*[torch.tensor([[t.cos(), t.sin()], [-t.sin(), t.cos()]]) for t in a])
03.3: one step only, m is not used -> d m is not used: this is one step,
    def turn(m, D):
        a = 10000 ** (-torch.arange(D // 2) / (D // 2))
        c, s = torch.diag(a.cos()), torch.diag(a.sin())
        return torch.cat([torch.cat([c, s], 1), torch.cat([-s, c], 1)])
04.a: the ends aligned -> d these are aligned ends, the other
    lambda old, new: torch.arange(new) * (old - 1) / (new - 1)
04.a: old and new exchanged -> d upside down: with more new places each
    lambda old, new: (torch.arange(new) + 0.5) * new / old - 0.5
04.b: the grid -> d at 48 the column of the grid shows no
    "grid"
04.1 a: beyond the edge the line goes on -> d beyond an old centre there is one
    [-3, 3, 9, 15]
04.2 b: CLS forgotten -> d CLS has a row, too
    1200
04.2 d: columns first -> d rows first: 24 is the height
    (10, 6)
04.3: only the patches are looked at -> d it looks at the patches alone: is CLS
    def keeps_cls(function):
        t = torch.zeros(1, 65, 8)
        t[:, 0] = 1
        return not function(t, (6, 10), (8, 8))[:, 1:].any()
04.4: the numbers of the places, not the places -> d these are the places' numbers, 0, 1, 2
    lambda rows, cols, D: vl.sincos_2d((len(rows), len(cols)), D)
04.4: places down the columns -> d reading order: the column changes
    def sincos_at(rows, cols, D):
        w = 10000 ** -(torch.arange(D // 4) / (D // 4))
        r, c = torch.meshgrid(rows, cols, indexing="xy")
        a, b = r.reshape(-1, 1) * w, c.reshape(-1, 1) * w
        return torch.cat([a.sin(), a.cos(), b.sin(), b.cos()], 1)
05.a norm1: a norm thought to mix tokens -> d LayerNorm takes the mean over a token's
    65
05.b: not divided -> d 1/sqrt(d) is missing: the scores'
    lambda q, k, v: (q @ k.T).softmax(dim=-1) @ v
05.b: divided by d -> d the scores are divided by d, not by its
    lambda q, k, v: torch.softmax(q @ k.T / q.shape[1], dim=1) @ v
05.b: powers that are not divided by their sum -> d the weights are not divided by their sum
    lambda q, k, v: torch.exp(q @ k.T / q.shape[1] ** 0.5) @ v
05.b: keys not transposed -> h RuntimeError at `lambda q, k, v: (q @ k
    lambda q, k, v: (q @ k / q.shape[1] ** 0.5).softmax(-1) @ v
05.1: scores not halved -> d the scores are not divided by 2
    [[0.87, 0.12, 0.02], [0.11, 0.79, 0.11], [0.02, 0.12, 0.87]]
05.1: scaled scores, not weights -> d these are the scores; e to their power
    [[2, 1, 0], [1, 2, 1], [0, 1, 2]]
05.2 a: CLS forgotten -> d CLS is a token, too
    576
05.2 b: megabytes, not MiB -> d MB of 10⁶ bytes; MiB of 2²⁰ are asked
    4 * 12 * 577**2 / 1e6
05.2 d: no biases -> d biases count as well: D for each of the
    [4 * 768**2, 4 * 768**2]
05.2 e: the same, since the width is split -> d one head has one table
    4 * 12 * 577**2 / 2**20
05.3: mended, and divided by the root of the whole width -> d the root is of a head's width d, not of
    def my_forward(layer, x):
        B, T, D = x.shape
        q, k, v = layer.project(x)
        w = (q @ k.transpose(-2, -1) / D ** 0.5).softmax(-1)
        return layer.proj((w @ v).transpose(1, 2).reshape(B, T, D))
05.4: the values' bias -> d a bias of the values is added to every
    "v"
06.a sd: divided by seven -> d the squares are divided by D, here 8,
    2.138
06.b: divided by D - 1 -> d `var` divides by D − 1 unless it is
    def my_layer_norm(x, gamma, beta, eps=1e-6):
        return gamma * (x - x.mean(-1, keepdim=True)) / (x.var(-1, keepdim=True) + eps).sqrt() + beta
06.b: the last axis gets lost -> d the mean has lost its axis:
    def my_layer_norm(x, gamma, beta, eps=1e-6):
        return gamma * (x - x.mean(-1)) / (x.var(-1, unbiased=False) + eps).sqrt() + beta
06.c: the second norm still overwrites -> d the second half still has it: to what
    def mended(block, x):
        x = x + block.attn(block.norm1(x))
        x = block.norm2(x)
        return x + block.mlp(x)
06.c: both branches from the block's input -> d the MLP must read what attention has
    lambda block, x: x + block.attn(block.norm1(x)) + block.mlp(block.norm2(x))
06.1 a: divided by the variance -> d divided by the variance, not by its root
    [-0.75, -0.25, 0, 0.25, 0.75]
06.1 c: BatchNorm -> d only this image's pixels change, and
    "BatchNorm"
06.2: the given layer is changed -> d it changes its argument number 2: work
    @torch.no_grad()
    def fold(norm, linear):
        linear.bias += linear.weight @ norm.bias
        linear.weight *= norm.weight
        return linear
06.3: all from there on -> d all blocks from i on are gone; leave
    def without(model, i):
        new = copy.deepcopy(model)
        new.blocks = new.blocks[:i]
        return new
06.4: ordinary blocks, as they are -> d each ordinary block has attention and
    def shifted(blocks, x):
        x = x + blocks[0].mlp(blocks[0].norm2(x))
        for b in blocks[1:]:
            x = x + b.attn(b.norm1(x))
            x = x + b.mlp(b.norm2(x))
        return x + blocks[-1].attn(blocks[-1].norm1(x))
06.4: the last attention forgotten -> d the attention at the end is missing
    def shifted(blocks, x):
        x = x + blocks[0].mlp(blocks[0].norm2(x))
        for a, b in zip(blocks, blocks[1:]):
            x = x + a.attn(a.norm1(x))
            x = x + b.mlp(b.norm2(x))
        return x
07.a: the minus forgotten -> d the minus is missing: logarithms of
    lambda weights: (weights * weights.clamp_min(1e-12).log2()).sum(-1)
07.a: all rows added -> d one number for all rows; each row has
    lambda weights: -(weights * weights.clamp_min(1e-12).log2()).sum()
07.b gap_in: only CLS -> v too small by a good deal
    1
07.1 votes: first plus second -> d the second number is subtracted, not
    [4, 4, 4]
07.2 query: ones -> d with ones each score is a sum of a
    [1, 1, 1, 1, 1, 1, 1, 1]
07.3: left out after the first block -> d CLS goes after the first block: what
    def logits_without_cls(model, images):
        z = model.embed(images)
        for i, block in enumerate(model.blocks):
            z = block(z)
            if i == 0:
                z = z[:, 1:]
        return model.head(model.norm(z).mean(dim=1))
07.4 end: CLS -> d compare the ends of the two curves:
    "CLS"
08.a: CLS in front, and the last patch read -> d the last patch is read; Equation 4
    def my_forward(vit, images):
        x = vit.patch_embed(images)
        cls = vit.cls_token.expand(len(x), -1, -1)
        x = torch.cat([cls, x], dim=1) + vit.pos_embed
        return vit.head(vit.norm(vit.blocks(x))[:, -1])
08.a: positions before CLS -> d row 0 of the table is CLS's, so that
    def my_forward(vit, images):
        x = vit.patch_embed(images) + vit.pos_embed[:, :-1]
        cls = vit.cls_token.expand(len(x), -1, -1)
        return vit.head(vit.norm(vit.blocks(torch.cat([cls, x], dim=1)))[:, 0])
08.b: CLS -> h “cls_token” does not belong here
    ["cls_token"]
08.1 a: no biases -> d the MLP's biases are missing; and
    8 * 128**2 + 4 * 128
08.1 c: twice the heads, twice the attention -> d twice as many heads are each half as
    4 * (4 * 128**2 + 4 * 128)
08.2 q, k, v in one: one of the three -> d queries, keys and values together
    (5, 49, 384)
08.3: queries and keys exchanged -> d the weights of queries and keys are
    @torch.no_grad()
    def fuse(q, k, v):
        new = nn.Linear(q.in_features, 3 * q.out_features)
        new.weight.copy_(torch.cat([k.weight, q.weight, v.weight]))
        new.bias.copy_(torch.cat([k.bias, q.bias, v.bias]))
        return new
08.3: stacked along the inputs -> h RuntimeError, for (Linear, Linear,
    def fuse(q, k, v):
        new = nn.Linear(q.in_features, 3 * q.out_features)
        new.weight.data = torch.cat([q.weight, k.weight, v.weight], dim=1)
        new.bias.data = torch.cat([q.bias, k.bias, v.bias])
        return new
09.a: powers first, so that 300 overflows -> d e to the power of a large logit is
    def my_cross_entropy(logits, labels):
        p = logits.exp() / logits.exp().sum(1, keepdim=True)
        return -p[torch.arange(len(labels)), labels].log().mean()
09.a: the sum over the batch -> d the sum over the batch; its mean is
    lambda logits, labels: -logits.log_softmax(1)[torch.arange(len(labels)), labels].sum()
09.a: all columns of the labels -> d this takes the columns of all labels
    lambda logits, labels: -logits.log_softmax(1)[:, labels].mean()
09.b: nothing is forgotten -> d the gradients of all steps add up
    def my_step(model, optimizer, x, y):
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
09.c large: the rate times the gradient -> v off by a factor of 10: is a decimal
    0.01
09.2: upside down, too -> d one of the two costs this model many
    "both"
09.3 n: the difference as large as the error, not twice -> d the difference should be twice its error
    (0.9 * 0.1 + 0.905 * 0.095) / 0.005**2
10.a: the cosine counts from the first step -> d t is 0 at the end of the warm-up, not
    def my_rate(step, total, peak, warmup, end):
        if step < warmup:
            return peak * (step + 1) / warmup
        return end + 0.5 * (peak - end) * (1 + math.cos(math.pi * step / total))
10.c: the box cut off below and on the right only -> d the box is not cut off at the top and
    def my_share(lam, cy, cx, H, W):
        h, w = round(H * (1 - lam) ** 0.5), round(W * (1 - lam) ** 0.5)
        top, left = cy - h // 2, cx - w // 2
        return 1 - (min(top + h, H) - top) * (min(left + w, W) - left) / (H * W)
10.1 root: the root of the new batch -> v too large by a good deal
    0.001 * 4096**0.5
10.1 nearer: the linear rule -> h by what factor is each of them off?
    "linear"
10.2 decay: the half-life of the whole run -> d this is a half-life of the whole run
    2 ** (-1 / 936)
10.2 factor: one minus the decay -> d divide by 1 + d: squares of the weights
    1 - 2 ** (-20 / 936)
10.3: an even coin -> d this is the entropy of an even mix; λ
    math.log(2)
10.4: the fresh gradient beside the kept one -> d upside down: p.grad over the fresh one
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
11.a: a layer's own stride counted -> d a stride counts for the layers after
    def my_field(layers):
        side, jump = 1, 1
        for k, s in layers:
            jump *= s
            side += (k - 1) * jump
        return side
11.b at_8: the stride's own shift forgotten -> d eight pixels are one whole patch
    ["around"]
11.1 b: the stride forgotten -> d the strides are left out
    1 + 6 + 4 * 2
11.1 d: one patch -> d this is one patch; does attention stay
    16
11.2 stem: the stem's stride only -> d behind the stem come patches of 2 on
    16 * 16
11.3 own: sharing kept -> d the kernel is not shared any more: one
    9 * 16**2
11.4: the mean difference -> d the mean difference; the largest is
    def changes(net, images, by):
        with torch.no_grad():
            return (net(images).mean((2, 3)) - net(images.roll(by, -1)).mean((2, 3))).abs().mean()
11.4: with its sign -> d a difference may be negative: the
    def changes(net, images, by):
        with torch.no_grad():
            return (net(images).mean((2, 3)) - net(images.roll(by, -1)).mean((2, 3))).max().item()
12.a patch: twice the sides' sides -> d so it is once attention's T² outweighs
    4
12.b: compared with the one before -> d compared with the one before; no
    def my_frontier(points):
        return [p for i, p in enumerate(points) if i == 0 or p[1] > points[i - 1][1]]
12.b: beaten by a dearer one -> d walked from dear to cheap; it goes from
    lambda points: [p for i, p in enumerate(points) if all(q[1] < p[1] for q in points[i + 1:])]
12.1 share: all of attention -> v too large by a good deal
    (4 * 197 * 768**2 + 2 * 197**2 * 768) / (197 * (4 * 768**2 + 2 * 768 * 3072) + 2 * 197**2 * 768)
12.2 ring: sums only, not handed on -> d by then each sum is complete in one
    [3, 3]
12.2 eight: the busiest as with four -> d the rows of eight students have eight
    [14, 14, 56]
12.3 checkpoints: no block computed again -> d while a block is computed again, all
    int((80e9 - 16 * 304e6) // (24 * 4 * 577 * 1024))
12.4: sums, never divided -> d this is the gradient of the sum; the
    def uneven(model, x, y, size):
        model.zero_grad()
        for a, b in zip(x.split(size), y.split(size)):
            F.cross_entropy(model(a), b, reduction="sum").backward()
        return torch.cat([p.grad.flatten() for p in model.parameters()])
13.a: bits -> d these are the bits; how many tokens is
    lambda table: (torch.special.entr(table).sum(-1) / math.log(2)).mean()
13.a: weights that are zero, and their logarithm -> d 0 · log 0 comes out as nan: a weight of
    lambda table: 2 ** (-(table * table.log2()).sum(-1).mean())
13.b shifted: all but the last -> d every patch moved, the ones within a
    63
13.1 tokens: those that are not zero -> d these are the weights above zero;
    [3, 1, 3]
13.1 middle: a row alone gives an output -> d half of the least value and half of the
    False
13.2: the bias forgotten -> d the biases of `qkv` stayed where they
    def reorder(model, block, order):
        model = copy.deepcopy(model)
        attn = model.blocks[block].attn
        attn.qkv.weight.data = attn.qkv.weight.data.unflatten(0, (3, attn.num_heads, -1))[:, order].flatten(0, 2)
        attn.proj.weight.data = attn.proj.weight.data.unflatten(1, (attn.num_heads, -1))[:, order].flatten(1)
        return model
13.3: means, not sums -> d these are means; each place should have
    lambda w: F.avg_pool2d(w.reshape(-1, 1, 8, 8), 2).reshape(*w.shape[:-1], 16)
14.a: the first layer on the left -> d the first layer stands on the left; the
    def my_rollout(maps):
        R = torch.eye(maps.shape[-1])
        for A in maps.mean(1):
            R = R @ (0.5 * A + 0.5 * torch.eye(len(A)))
        return R
14.a: the identity added whole -> d rows should sum to 1: half of what it
    def my_rollout(maps):
        R = torch.eye(maps.shape[-1])
        for A in maps.mean(1):
            R = (A + torch.eye(len(A))) @ R
        return R
14.a: number by number -> h the numbers should sum to 1 along axis 1
    def my_rollout(maps):
        A = maps.mean(1) / 2 + torch.eye(maps.shape[-1]) / 2
        return A.prod(0)
14.b gap_leaves: as under CLS -> d the head reads the mean of exactly
    0
14.c: the pieces' right ends -> d the points are the ends of the pieces;
    def my_shares(model, image, target, steps):
        total = torch.zeros_like(image)
        for i in range(steps):
            point = (image * (i + 1) / steps).requires_grad_()
            (grad,) = torch.autograd.grad(model(point)[0, target], point)
            total += grad
        return image * total / steps
14.1 holds: A A, without the halves -> d this multiplies A itself; half of each
    [3 / 8, 5 / 16, 5 / 16]
14.1 third: layer 2 thought to decide alone -> d who took from it in layer 1, and who
    False
14.2 worst: it stays until the end -> d on the step where the patch goes the
    0.9
14.3: the own picture included -> d the mean of all pictures: leave each
    lambda scores: scores.mean(0, keepdim=True).expand_as(scores)
14.3: the mean over patches -> v the shape is right, the numbers are
    lambda scores: (scores.sum(1, keepdim=True) - scores) / (scores.shape[1] - 1)
15.a: CLS left in -> v not this number
    def my_distance(A, rows, cols, P):
        at = torch.cartesian_prod(torch.arange(rows), torch.arange(cols)).double()
        far = F.pad(P * torch.cdist(at, at), (1, 0, 1, 0))
        return (A * far).sum(-1).mean()
15.a: steps down and across added -> d this goes along rows and columns;
    def my_distance(A, rows, cols, P):
        at = torch.cartesian_prod(torch.arange(rows), torch.arange(cols)).double()
        A = A[1:, 1:] / A[1:, 1:].sum(-1, keepdim=True)
        return P * (A * torch.cdist(at, at, p=1)).sum(-1).mean()
15.c: its term taken off, the bias with it -> d the bias of the projection belongs to
    def my_without_head(attn, x, m):
        heads = attn.attention_weights(x) @ attn.project(x)[2]
        heads[:, [i for i in range(attn.num_heads) if i != m]] = 0
        return attn(x) - attn.proj(heads.transpose(1, 2).flatten(2))
15.1 first: readers 2 to 4 only -> d reader 1 counts, too: it reads itself
    20
15.1 invented: each its right neighbour -> d this is (c)'s head: the four distances
    [2, 3, 4, 4]
15.2: the mean over pictures only -> d each place's own mean is subtracted;
    def likeness(z):
        u = F.normalize(z - z.mean(0), dim=-1)
        at = torch.cartesian_prod(torch.arange(8.0), torch.arange(8.0))
        steps = torch.cdist(at, at)
        return [(u @ u.mT)[:, k].mean() for k in (steps == 1, steps >= 5)]
15.2: diagonals touch, too -> d patches that meet in a corner are √2
    def likeness(z):
        u = F.normalize(z - z.mean((0, 1)), dim=-1)
        at = torch.cartesian_prod(torch.arange(8.0), torch.arange(8.0))
        steps = torch.cdist(at, at)
        return [(u @ u.mT)[:, k].mean() for k in ((steps > 0) & (steps < 2), steps >= 5)]
15.3: turned the other way -> d turned backwards, by the transpose
    lambda model, z, Q: model.head(model.norm(z @ Q.T))
16.a zero_head: zero weights thought to stay -> d zero weights need not stay zero: the
    False
16.b: lambda left out -> d λ is not used: this is least squares
    lambda Z, Y, lam: torch.linalg.lstsq(Z, Y).solution
16.b: added after inverting -> v the shape is right, the numbers are
    def my_ridge(Z, Y, lam):
        return (torch.linalg.inv(Z.T @ Z) + lam * torch.eye(Z.shape[1], dtype=Z.dtype)) @ Z.T @ Y
16.1 old: no biases -> d a bias for each class is missing
    768 * 21843
16.1 loss: logarithm to the base of ten -> d the loss takes the natural logarithm
    math.log10(37)
16.2 leverages: the mean's share forgotten -> d the first part of H, the mean's, is
    [0.5, 0, 0.5]
17.a: masked places have no position -> d the mask token still has no position:
    lambda x, mask, source, token, pos: torch.where(mask[:, None], token, x[source] + pos)
17.a: positions twice -> d shown patches have two positions now:
    lambda x, mask, source, token, pos: torch.where(mask[:, None], token, (x + pos)[source]) + pos
17.b squared: the middle -> d so if both were equally likely
    0.5
17.2: the encoder alone -> d the decoder is left out
    4.07
17.3: the shown ones, not the masked ones -> d the second is of the patches that are
    def both(P, mask, images):
        plain = torch.arange(mask.shape[1]).expand(len(images), -1)
        a = vl.patchify(vl.normalize(guess_patches(images, mask, plain, P)), P)
        b = vl.patchify(vl.normalize(images), P)
        return explained(a.flatten(0, 1), b.flatten(0, 1)), explained(a[~mask], b[~mask])
18.a paths: both ways round the corner -> d columns come after rows: the other
    2
18.b: classes never met are left out -> h a class that is named and never there
    def my_miou(answers, target, K):
        scores = []
        for k in range(K):
            a, b = answers == k, target == k
            if (a & b).any():
                scores.append((a & b).sum() / (a | b).sum())
        return sum(scores) / len(scores)
18.1 squares: without its own -> d its own square counts as well
    14
18.1 moves: two layers of windows -> d the shifted window ends before the far
    [2, 2]
18.2: one MLP -> h the MLPs are left out
    41
18.3 ious: found among the named -> d this is the share of calls that are
    [8 / 14, 84 / 86, (8 / 14 + 84 / 86) / 2]
18.3 lazy: the boat left out -> d the boat's IoU belongs to the mean: it
    [0, 0.9, 0.9]
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
10.a: two lines, NumPy
    def my_rate(step, total, peak, warmup, end):
        half = np.cos(np.pi * (step - warmup) / (total - warmup)) / 2 + 0.5
        return np.where(step < warmup, peak * (step + 1) / max(warmup, 1), end * (1 - half) + peak * half)
10.2 decay: to three places
    0.985
11.b at_8: a tuple
    ("Patches", "Around")
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
15.a: hypotenuses
    def my_distance(A, rows, cols, P):
        N, total = rows * cols, 0
        for i in range(N):
            w = A[1 + i, 1:] / A[1 + i, 1:].sum()
            total += sum(float(w[j]) * P * math.hypot(i // cols - j // cols, i % cols - j % cols) for j in range(N))
        return total / N
15.1 invented: another one
    [4, 1, 3, 3]
15.2: loops over pairs
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
16.1 loss: to two places
    3.61
16.2 leverages: fractions
    (Fraction(5, 6), Fraction(1, 3), Fraction(5, 6))
17.a: loops
    def my_input(x, mask, source, token, pos):
        return torch.stack([(token if mask[i] else x[source[i]]) + pos[i] for i in range(len(x))])
17.3: by sums
    def both(P, mask, images):
        order = torch.arange(mask.shape[1]).repeat(len(images), 1)
        a = vl.patchify(vl.normalize(guess_patches(images, mask, order, P)), P)
        b = vl.patchify(vl.normalize(images), P)
        out = []
        for some in (torch.ones_like(mask), mask):
            p, q = a[some], b[some]
            out.append(1 - ((p - q) ** 2).sum() / ((q - q.mean(0)) ** 2).sum())
        return out
18.b: counts
    def my_miou(answers, target, K):
        table = torch.bincount(K * target.flatten() + answers.flatten(), minlength=K * K).view(K, K)
        union = table.sum(0) + table.sum(1) - table.diag()
        return (table.diag()[union > 0] / union[union > 0]).mean()
18.3 ious: to two places
    [0.5, 0.913, 0.707]
"""
