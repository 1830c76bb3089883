r"""Wrong and right answers, written from the chapters' pages alone, before the entries were read.

    03.1 how_many: what is wrong with it
        the answer: an expression, or a function's source
      d the reply's first words

The letter judges the reply: d, its own diagnosis; h, a true hint; v, vague; m, misleading. A right answer has no reply.
"""

WRONG = r"""
03.a: offsets, not places in the list
    [(0, 0), (0, -1), (-1, 0), (-1, -1)]
  h expected shape (4,), got (4, 2)
03.a: key minus query
    [4, 5, 7, 8]
  d these are key − query; the table has
03.a: nothing added before counting
    [0, -1, -3, -4]
  d the row offset must be made to start at
03.a: three columns of offsets taken for two
    [3, 2, 1, 0]
  d a row of the list has as many places as
03.b: scalar products, not cosines
    lambda table: table @ table.T
  d these are scalar products: the lengths
03.b: columns made of length 1
    lambda table: F.normalize(table, dim=0) @ F.normalize(table, dim=0).T
  d each column has length 1 now; each row,
03.b: each place with itself only
    lambda table: F.cosine_similarity(table, table)
  h expected shape (5, 5), got (5,)
03.b: divided by one of the two lengths
    lambda table: table @ table.T / table.norm(dim=1, keepdim=True)
  d divided by the length of one of the two
03.b: the mean taken off first
    def my_similarity(table):
        unit = F.normalize(table - table.mean(0), dim=1)
        return unit @ unit.T
  d the mean is subtracted; here it is not
03.b: divided by the length of the whole table
    lambda table: (table / table.norm()) @ (table / table.norm()).T
  d all rows are divided by one number;
03.1 how_many: rows and columns added
    3 + 5
  d negative offsets count as well: the key may lie below, or to the right; or each offset down goes with each
03.1 how_many: pairs, not offsets
    36
  d these are all pairs; many share an
03.1 row_of_4: key minus query
    [1, 2, 3, 6, 7, 8]
  d these are key − query; query − key is
03.1 row_of_4: counted with the grid's columns
    [9, 8, 7, 6, 5, 4]
  d a row of the list has more than 3
03.1 commonest: the pairs counted once, not both ways
    5
  h how many patches are a pair with
03.1 rarest: the corner thought to occur twice
    2
  d (1, 2) and (−1, −2) are two offsets,
03.2: sine and cosine take turns
    def sincos_1d(length, D):
        if D % 2:
            raise ValueError("odd")
        table = torch.zeros(length, D)
        angles = torch.arange(length)[:, None] * 10000 ** (-torch.arange(0, D, 2) / D)
        table[:, 0::2], table[:, 1::2] = angles.sin(), angles.cos()
        return table
  d sines and cosines take turns; all sines
03.2: odd D is let through
    def sincos_1d(length, D):
        k = torch.arange(D // 2)
        angles = torch.arange(length)[:, None] / 10000 ** (k / (D // 2))
        return torch.cat([torch.sin(angles), torch.cos(angles)], dim=1)
  d an odd D must be refused: raise an error
03.2: speeds fall half as fast
    def sincos_1d(length, D):
        assert D % 2 == 0
        angles = torch.arange(length)[:, None] * 10000 ** (-torch.arange(D // 2) / D)
        return torch.cat([torch.sin(angles), torch.cos(angles)], dim=1)
  d k is divided by D, not by D/2: the
03.2: places from 1
    def sincos_1d(length, D):
        if D % 2 != 0:
            raise ValueError("D must be even")
        p = torch.arange(1, length + 1).unsqueeze(1)
        w = 10000.0 ** (-torch.arange(D // 2) / (D // 2))
        return torch.cat([torch.sin(p * w), torch.cos(p * w)], 1)
  d places start at 0
03.2: stacked as rows, (D, length)
    def sincos_1d(length, D):
        if D % 2 != 0:
            raise ValueError("D must be even")
        w = 10000.0 ** (-torch.arange(D // 2) / (D // 2))
        angles = w[:, None] * torch.arange(length)
        return torch.cat([angles.sin(), angles.cos()])
  d places are rows, channels columns:
03.3: turns backwards
    def turn(m, D):
        a = m * 10000 ** (-torch.arange(D // 2) / (D // 2))
        c, s = torch.diag(a.cos()), torch.diag(a.sin())
        return torch.cat([torch.cat([c, -s], 1), torch.cat([s, c], 1)])
  d it turns backwards, by −m places: the
03.3: blocks of two, as if sine and cosine took turns
    def turn(m, D):
        a = m * 10000 ** (-torch.arange(D // 2) / (D // 2))
        return torch.block_diag(*[torch.tensor([[t.cos(), t.sin()], [-t.sin(), t.cos()]]) for t in a])
  d all sines come first, then all cosines
03.3: no minus anywhere
    def turn(m, D):
        a = m * 10000 ** (-torch.arange(D // 2) / (D // 2))
        c, s = torch.diag(a.cos()), torch.diag(a.sin())
        return torch.cat([torch.cat([c, s], 1), torch.cat([s, c], 1)])
  d no rotation: cos(a + b) has a minus
03.3: one step only, m is not used
    def turn(m, D):
        a = 10000 ** (-torch.arange(D // 2) / (D // 2))
        c, s = torch.diag(a.cos()), torch.diag(a.sin())
        return torch.cat([torch.cat([c, s], 1), torch.cat([-s, c], 1)])
  d m is not used: this is one step,
03.4: waves forgotten
    {"none", "relative"}
  d what does the product of two waves
03.4: the tables that can learn it
    {"learned", "learned2d"}
  d these are the kinds that do not survive
03.4: learned 2-D, too
    ["none", "learned2d", "sincos2d", "relative"]
  d vectors of rows and of columns are free
03.5: says whether it is right, not whether it is faulty
    def finds_the_bug(pos):
        got = pos(torch.zeros(4, 17, 48)).detach()
        same = torch.allclose(got, got[:1].expand_as(got))
        return bool(same and (torch.pdist(got[0]) > 1e-6).all())
  d True and False are exchanged: True
03.5: looks at the batch only
    lambda pos: not torch.equal(pos(torch.zeros(4, 17, 48))[0], pos(torch.zeros(4, 17, 48))[1])
  d all images alike; and are two patches
03.5: compares CLS with patch 0 only
    def finds_the_bug(pos):
        got = pos(torch.zeros(4, 17, 48))
        if not torch.equal(got[0], got[1]):
            return True
        return torch.equal(got[0, 0], got[0, 1])
  h all images alike; and are two patches
03.5: noise in, so rounding makes the right one faulty
    def finds_the_bug(pos):
        x = torch.randn(4, 17, 48)
        p = pos(x) - x
        if not torch.equal(p[0], p[1]):
            return True
        return len(torch.unique(p[0], dim=0)) < 17
  d it calls the right one faulty: are the
03.6: as short as a fresh learned table
    lambda: torch.randn(16, 48) * 0.02
  d what varies is shorter than in the
03.6: one-hot and not scaled
    lambda: torch.eye(16, 48)
  d what varies is shorter than in the
03.6: with a row for CLS
    lambda: torch.randn(17, 48) * 0.2
  d ValueError, for (): expected 16 finite
03.6: scaled by the whole length, not by what varies
    def my_table():
        t = F.pad(torch.arange(16.0)[:, None], (0, 47))
        return t / t.square().sum(1).mean().sqrt() * 1.48
  h what varies is shorter than in the
05.a norm1: a norm thought to mix tokens
    65
  d LayerNorm takes the mean over a token's
05.a attn: all but the token itself
    64
  d and the token that was replaced? It
05.b: not divided
    lambda q, k, v: (q @ k.T).softmax(dim=-1) @ v
  d 1/sqrt(d) is missing: the scores'
05.b: softmax over the queries
    lambda q, k, v: torch.softmax(q @ k.T / math.sqrt(q.shape[-1]), dim=0) @ v
  d the softmax runs over queries, not
05.b: divided by d
    lambda q, k, v: torch.softmax(q @ k.T / q.shape[1], dim=1) @ v
  d the scores are divided by d, not by its
05.b: the root of the number of tokens
    lambda q, k, v: (q @ k.T / len(q) ** 0.5).softmax(1) @ v
  d the root is of d, the width of a query,
05.b: powers that are not divided by their sum
    lambda q, k, v: torch.exp(q @ k.T / q.shape[1] ** 0.5) @ v
  d the weights are not divided by their sum
05.b: queries and keys change places
    lambda q, k, v: (k @ q.T / k.shape[1] ** 0.5).softmax(-1) @ v
  d queries and keys are exchanged: row i
05.b: keys not transposed
    lambda q, k, v: (q @ k / q.shape[1] ** 0.5).softmax(-1) @ v
  h RuntimeError at `lambda q, k, v: (q @ k
05.b: the weights, without the values
    lambda q, k, v: (q @ k.T / q.shape[1] ** 0.5).softmax(-1)
  d these are the weights; take the mean of
05.1: scores not halved
    [[0.87, 0.12, 0.02], [0.11, 0.79, 0.11], [0.02, 0.12, 0.87]]
  d the scores are not divided by 2
05.1: columns sum to 1
    [[0.67, 0.21, 0.09], [0.24, 0.58, 0.24], [0.09, 0.21, 0.67]]
  d columns sum to 1 here; each row is a
05.1: scaled scores, not weights
    [[2, 1, 0], [1, 2, 1], [0, 1, 2]]
  d these are the scores; e to their power
05.1: row c copied from row a
    [[0.67, 0.24, 0.09], [0.21, 0.58, 0.21], [0.67, 0.24, 0.09]]
  h the right numbers in another order
05.2 a: CLS forgotten
    576
  d CLS is a token, too
05.2 b: one head only
    4 * 577**2 / 2**20
  d each head has a table of its own
05.2 b: megabytes, not MiB
    4 * 12 * 577**2 / 1e6
  d MB of 10⁶ bytes; MiB of 2²⁰ are asked
05.2 c: the batch forgotten
    4 * 12 * 577**2 / 2**20 * 12 / 1024
  d for one image; 64 are asked for
05.2 d: no biases
    [4 * 768**2, 4 * 768**2]
  d biases count as well: D for each of the
05.2 d: one head has a twelfth
    [2362368, 2362368 / 12]
  d one head of full width is as wide as
05.2 e: the same, since the width is split
    4 * 12 * 577**2 / 2**20
  d one head has one table
05.3: heads last, but numbers before heads
    def my_forward(layer, x):
        B, T, D = x.shape
        q, k, v = layer.project(x)
        w = (q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5).softmax(-1)
        return layer.proj((w @ v).permute(0, 2, 3, 1).reshape(B, T, D))
  d heads and numbers of a head are
05.3: as it was
    def my_forward(layer, x):
        B, T, D = x.shape
        q, k, v = layer.project(x)
        w = (q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5).softmax(-1)
        return layer.proj((w @ v).reshape(B, T, D))
  d heads are joined without the transpose:
05.3: the projection got lost
    def my_forward(layer, x):
        q, k, v = layer.project(x)
        w = (q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5).softmax(-1)
        return (w @ v).transpose(1, 2).flatten(2)
  d the output projection is missing
05.3: mended, and divided by the root of the whole width
    def my_forward(layer, x):
        B, T, D = x.shape
        q, k, v = layer.project(x)
        w = (q @ k.transpose(-2, -1) / D ** 0.5).softmax(-1)
        return layer.proj((w @ v).transpose(1, 2).reshape(B, T, D))
  d the root is of a head's width d, not of
05.4: the queries' bias
    "q"
  d a bias of the queries adds to each
05.4: the values' bias
    "v"
  d a bias of the values is added to every
05.5: the right neighbour
    def left_bias(rows, cols, strength):
        b = torch.zeros(1, 1, rows * cols, rows * cols)
        for i in range(rows * cols):
            b[0, 0, i, i + 1 if (i + 1) % cols else i] = strength
        return b
  d these read their right neighbour
05.5: the end of the row above, for the first column
    def left_bias(rows, cols, strength):
        b = torch.zeros(rows * cols, rows * cols)
        for i in range(rows * cols):
            b[i, max(i - 1, 0)] = strength
        return b[None, None]
  d a patch in the first column reads the
05.5: the first column reads everybody
    def left_bias(rows, cols, strength):
        b = torch.zeros(1, 1, rows * cols, rows * cols)
        for i in range(rows * cols):
            if i % cols != 0:
                b[:, :, i, i - 1] = strength
        return b
  d patches in the first column should read
05.5: the neighbour above
    def left_bias(rows, cols, strength):
        i = torch.arange(rows * cols)
        return strength * F.one_hot(torch.where(i >= cols, i - cols, i), rows * cols).float()[None, None]
  d these read the neighbour above
05.5: keys and queries change places
    def left_bias(rows, cols, strength):
        i = torch.arange(rows * cols)
        left = torch.where(i % cols > 0, i - 1, i)
        return strength * F.one_hot(left, rows * cols).T.float()[None, None]
  d rows and columns are exchanged: row i
14.a: the first layer on the left
    def my_rollout(maps):
        R = torch.eye(maps.shape[-1])
        for A in maps.mean(1):
            R = R @ (0.5 * A + 0.5 * torch.eye(len(A)))
        return R
  d the first layer stands on the left; the
14.a: attention alone, nothing stays
    def my_rollout(maps):
        R = torch.eye(maps.shape[-1])
        for A in maps.mean(1):
            R = A @ R
        return R
  d half of each token stays what it was;
14.a: the identity added whole
    def my_rollout(maps):
        R = torch.eye(maps.shape[-1])
        for A in maps.mean(1):
            R = (A + torch.eye(len(A))) @ R
        return R
  d rows should sum to 1: half of what it
14.a: the largest of the heads
    def my_rollout(maps):
        R = torch.eye(maps.shape[-1])
        for A in maps.amax(1):
            R = (A / 2 + torch.eye(len(A)) / 2) @ R
        return R
  d this is the largest weight of the
14.a: number by number
    def my_rollout(maps):
        A = maps.mean(1) / 2 + torch.eye(maps.shape[-1]) / 2
        return A.prod(0)
  h the numbers should sum to 1 along axis 1
14.b cls_leaves: gradients thought to be everywhere
    100
  d who reads a patch's token after the
14.b gap_leaves: as under CLS
    0
  d the head reads the mean of exactly
14.c: as it was
    def my_shares(model, image, target, steps):
        total = torch.zeros_like(image)
        for i in range(steps):
            point = (image * (i + 0.5) / steps).requires_grad_()
            (grad,) = torch.autograd.grad(model(point)[0, target], point)
            total += grad * point.detach()
        return total / steps
  d each gradient is still multiplied by
14.c: not times the picture
    def my_shares(model, image, target, steps):
        total = torch.zeros_like(image)
        for i in range(steps):
            point = (image * (i + 0.5) / steps).requires_grad_()
            (grad,) = torch.autograd.grad(model(point)[0, target], point)
            total += grad
        return total / steps
  d these are mean gradients; the picture's
14.c: not divided by the steps
    def my_shares(model, image, target, steps):
        total = torch.zeros_like(image)
        for i in range(steps):
            point = (image * (i + 0.5) / steps).requires_grad_()
            (grad,) = torch.autograd.grad(model(point)[0, target], point)
            total += grad
        return image * total
  d the sum is not divided: the integral is
14.c: the pieces' right ends
    def my_shares(model, image, target, steps):
        total = torch.zeros_like(image)
        for i in range(steps):
            point = (image * (i + 1) / steps).requires_grad_()
            (grad,) = torch.autograd.grad(model(point)[0, target], point)
            total += grad
        return image * total / steps
  d the points are the ends of the pieces;
14.1 holds: by way of itself only
    [9 / 16, 3 / 16, 3 / 16]
  v the shape is right, the numbers are
14.1 holds: A A, without the halves
    [3 / 8, 5 / 16, 5 / 16]
  d this multiplies A itself; half of each
14.1 paths: the path through patch 2 forgotten
    [3 / 32, 3 / 32]
  d one path goes through the other patch
14.1 third: layer 2 thought to decide alone
    False
  d who took from it in layer 1, and who
14.2 perfect: the half step forgotten
    0.1
  d on the step where the patch goes the
14.2 worst: it stays until the end
    0.9
  d on the step where the patch goes the
14.2 random: mean of the two least areas
    0.3
  h the patch may go at any of the 64
14.3: the own picture included
    lambda scores: scores.mean(0, keepdim=True).expand_as(scores)
  d the mean of all pictures: leave each
14.3: divided by B
    lambda scores: (scores.sum(0) - scores) / len(scores)
  d own scores are left out, so one picture
14.3: the mean over patches
    lambda scores: (scores.sum(1, keepdim=True) - scores) / (scores.shape[1] - 1)
  v the shape is right, the numbers are
14.3: the neighbour in the batch
    lambda scores: scores.roll(1, dims=0)
  v the shape is right, the numbers are
14.4: CLS is in
    lambda model, images, target: model.forward_features(images) @ model.head.weight[target] / 64
  h expected shape (2, 6), got (2, 7): one
14.4: not divided by N
    lambda model, images, target: model.forward_features(images)[:, 1:] @ model.head.weight[target]
  d these are the patches' votes; the mean
14.4: with a ReLU
    def cam(model, images, target):
        t = model.forward_features(images)[:, 1:]
        return (t @ model.head.weight[target] / t.shape[1]).relu()
  d there is no ReLU here: shares may be
14.4: the bias as well
    def cam(model, images, target):
        t = model.forward_features(images)[:, 1:]
        return model.head(t)[..., target] / t.shape[1]
  d the shares add up to the whole logit;
14.5: the absolute value of the mean
    def smooth_grad(model, images, classes, n=8, sigma=0.2):
        total = torch.zeros_like(images)
        for _ in range(n):
            x = (images + sigma * torch.randn_like(images)).requires_grad_()
            y = model(x)[torch.arange(len(x)), classes].sum()
            total += torch.autograd.grad(y, x)[0] / n
        return vl.patchify(total.abs(), model.cfg.patch_size).sum(-1)
  d the mean comes first and the absolute
14.5: the patch's mean
    def smooth_grad(model, images, classes, n=8, sigma=0.2):
        total = 0
        for _ in range(n):
            x = (images + sigma * torch.randn_like(images)).requires_grad_()
            y = model(x)[torch.arange(len(x)), classes].sum()
            total = total + torch.autograd.grad(y, x)[0].abs() / n
        return vl.patchify(total, model.cfg.patch_size).mean(-1)
  d this is the mean over a patch's
14.5: one noise for all copies
    def smooth_grad(model, images, classes, n=8, sigma=0.2):
        noise, total = sigma * torch.randn_like(images), 0
        for _ in range(n):
            x = (images + noise).requires_grad_()
            y = model(x)[torch.arange(len(x)), classes].sum()
            total = total + torch.autograd.grad(y, x)[0].abs() / n
        return vl.patchify(total, model.cfg.patch_size).sum(-1)
  d all copies have the same noise; each
14.5: sigma taken for a variance
    def smooth_grad(model, images, classes, n=8, sigma=0.2):
        total = 0
        for _ in range(n):
            x = (images + sigma**0.5 * torch.randn_like(images)).requires_grad_()
            y = model(x)[torch.arange(len(x)), classes].sum()
            total = total + torch.autograd.grad(y, x)[0].abs() / n
        return vl.patchify(total, model.cfg.patch_size).sum(-1)
  d sigma is the standard deviation, not
14.6: occlusion, looked at once
    def greedy(model, image, target, k=8):
        N, losses = model.cfg.num_patches, []
        with torch.no_grad():
            for n in range(N):
                kept = torch.tensor([[m for m in range(N) if m != n]])
                losses.append(vl.answer_with(model, image, kept)[0, target])
        return torch.stack(losses).argsort()[:k].tolist()
  d all are ranked once, as in occlusion;
14.6: places among those left, not the patches' numbers
    @torch.no_grad()
    def greedy(model, image, target, k=8):
        left, gone = list(range(model.cfg.num_patches)), []
        for _ in range(k):
            y = torch.stack([vl.answer_with(model, image, torch.tensor([left[:i] + left[i + 1:]]))[0, target]
                             for i in range(len(left))])
            gone.append(int(y.argmin()))
            del left[gone[-1]]
        return gone
  d these count among the patches that were
14.6: the patch whose loss leaves the logit highest
    @torch.no_grad()
    def greedy(model, image, target, k=8):
        left, gone = list(range(model.cfg.num_patches)), []
        for _ in range(k):
            y = torch.stack([vl.answer_with(model, image, torch.tensor([[m for m in left if m != n]]))[0, target]
                             for n in left])
            gone.append(left.pop(int(y.argmax())))
        return gone
  d these go whose loss lowers the logit
16.a zero_body: the body thought to move
    True
  d if a feature changed a little, how
16.a zero_head: zero weights thought to stay
    False
  d zero weights need not stay zero: the
16.b: lambda added to every number
    lambda Z, Y, lam: torch.linalg.solve(Z.T @ Z + lam, Z.T @ Y)
  d λ is added to every entry; it stands on
16.b: lambda left out
    lambda Z, Y, lam: torch.linalg.lstsq(Z, Y).solution
  d λ is not used: this is least squares
16.b: lambda times the number of pictures
    lambda Z, Y, lam: torch.linalg.solve(Z.T @ Z + len(Z) * lam * torch.eye(Z.shape[1], dtype=Z.dtype), Z.T @ Y)
  d λ is multiplied by n; the equation has
16.b: added after inverting
    def my_ridge(Z, Y, lam):
        return (torch.linalg.inv(Z.T @ Z) + lam * torch.eye(Z.shape[1], dtype=Z.dtype)) @ Z.T @ Y
  v the shape is right, the numbers are
16.b: lambda squared
    def my_ridge(Z, Y, lam):
        return torch.linalg.inv(Z.T @ Z + lam**2 * torch.eye(Z.shape[1], dtype=Z.dtype)) @ Z.T @ Y
  d λ is squared
16.c: as it was
    def my_momentum(gradients, lr, mu):
        theta, v, path = 0.0, 0.0, []
        for g in gradients:
            v = mu * v + (1 - mu) * g
            theta -= lr * v
            path.append(theta)
        return path
  d a running mean still: look at what the
16.c: Nesterov's
    def my_momentum(gradients, lr, mu):
        theta, v, path = 0.0, 0.0, []
        for g in gradients:
            v = mu * v + g
            theta -= lr * (g + mu * v)
            path.append(theta)
        return path
  d this looks ahead (Nesterov); the
16.c: uphill
    def my_momentum(gradients, lr, mu):
        theta, v, path = 0.0, 0.0, []
        for g in gradients:
            v = mu * v + g
            theta += lr * v
            path.append(theta)
        return path
  d the step goes uphill: against the
16.c: the sum forgets by 1 - mu
    def my_momentum(gradients, lr, mu):
        theta, v, path = 0.0, 0.0, []
        for g in gradients:
            v = (1 - mu) * v + g
            theta = theta - lr * v
            path.append(theta)
        return path
  d μ is the share that stays, not the one
16.1 old: no biases
    768 * 21843
  d a bias for each class is missing
16.1 new: one bias
    768 * 37 + 1
  h close: is something small left out, or
16.1 loss: logarithm to the base of ten
    math.log10(37)
  d the loss takes the natural logarithm
16.1 loss: zero weights, zero loss
    0
  d zero logits are no zero loss: how
16.2 a: the last step before
    43
  d at this step it is just short of 99 %
16.2 b: ten times as many
    440
  v close: is something small left out, or
16.2 rate: multiplied where it should be divided
    0.3
  d a longer memory makes longer steps, so
16.3 share: what has come in
    1 - 0.9999**10000
  d this is what is no longer the start
16.3 beta: one per cent forgotten
    0.99 ** (1 / 32)
  d this leaves 99 per cent; one per cent
16.4 weights: lambda for each picture
    [2 / (2 + 3 * lam) for lam in (0, 2, 98)]
  v the shape is right, the numbers are
16.4 leverages: the mean's share forgotten
    [0.5, 0, 0.5]
  d the first part of H, the mean's, is
16.4 total: one weight
    1
  d the first part of H, the mean's, is
16.5: not transposed
    lambda query, key, value: torch.cat([x.flatten(1) for x in (query, key, value)])
  d inputs come first still: transpose each
16.5: reshaped to outputs first
    lambda query, key, value: torch.cat([x.reshape(-1, x.shape[0]) for x in (query, key, value)])
  d inputs come first still: transpose each
16.5: side by side
    lambda query, key, value: torch.cat([x.flatten(1).T for x in (query, key, value)], dim=1)
  d side by side; the outputs of query, key
16.5: numbers before heads
    lambda query, key, value: torch.cat([x.permute(2, 1, 0).flatten(0, 1) for x in (query, key, value)])
  d a head's numbers are scattered: outputs
16.5: head by head, q, k and v together
    lambda *x: torch.stack([y.permute(1, 2, 0) for y in x], 1).flatten(0, 2)
  d each head's query, key and value stand
16.6: the nearest by distance
    def by_means(Z, labels, test):
        means = torch.stack([Z[labels == k].mean(0) for k in range(10)])
        return torch.cdist(test, means).argmin(1)
  d this is the mean at the shortest
16.6: the products, not the class
    def by_means(Z, labels, test):
        means = torch.stack([Z[labels == k].mean(0) for k in range(10)])
        return test @ means.T
  d these are the scalar products; which
16.6: by the angle
    def by_means(Z, labels, test):
        means = torch.stack([Z[labels == k].mean(0) for k in range(10)])
        return (F.normalize(test, dim=1) @ F.normalize(means, dim=1).T).argmax(1)
  d the means are scaled to length 1; then
16.6: the class of the most alike picture
    lambda Z, labels, test: labels[(test @ Z.T).argmax(1)]
  d this is the nearest single picture;
17.a: as it was
    lambda x, mask, source, token, pos: torch.where(mask[:, None], token, (x + pos)[source])
  d the positions are overwritten by the
17.a: masked places have no position
    lambda x, mask, source, token, pos: torch.where(mask[:, None], token, x[source] + pos)
  d the mask token still has no position:
17.a: the position of the source
    lambda x, mask, source, token, pos: torch.where(mask[:, None], token, x[source]) + pos[source]
  d a swapped patch brings its position
17.a: positions twice
    lambda x, mask, source, token, pos: torch.where(mask[:, None], token, (x + pos)[source]) + pos
  d shown patches have two positions now:
17.a: the mask upside down
    lambda x, mask, source, token, pos: torch.where(mask[:, None], x[source], token) + pos
  d mask token and patches are exchanged
17.b: blue first
    def my_colours(images, P):
        m = vl.patchify(images.float(), P).unflatten(2, (P * P, 3)).mean(2)
        d = (m // 32).long()
        return d[..., 0] + 8 * d[..., 1] + 64 * d[..., 2]
  d the digits stand the other way round:
17.b: channels taken for the slow axis of a patch
    def my_colours(images, P):
        m = vl.patchify(images.float(), P).unflatten(2, (3, P * P)).mean(3)
        d = (m // 32).long()
        return 64 * d[..., 0] + 8 * d[..., 1] + d[..., 2]
  d a patch's numbers go pixel by pixel,
17.b: rounded, not cut off
    def my_colours(images, P):
        d = (F.avg_pool2d(images.float(), P) / 32).round().long().clamp(max=7)
        return (64 * d[:, 0] + 8 * d[:, 1] + d[:, 2]).flatten(1)
  d rounded; the highest bits are what is
17.b: two bits, base of four
    def my_colours(images, P):
        d = (F.avg_pool2d(images.float(), P) // 64).long()
        return (16 * d[:, 0] + 4 * d[:, 1] + d[:, 2]).flatten(1)
  v the shape is right, the numbers are
17.b: a map, not a row of patches
    def my_colours(images, P):
        d = (F.avg_pool2d(images.float(), P) // 32).long()
        return 64 * d[:, 0] + 8 * d[:, 1] + d[:, 2]
  h expected shape (2, 6), got (2, 2, 3):
17.b: three bits first, then the mean
    def my_colours(images, P):
        d = F.avg_pool2d((images // 32).float(), P).long()
        return (64 * d[:, 0] + 8 * d[:, 1] + d[:, 2]).flatten(1)
  d each pixel is cut to three bits before
17.c squared: the middle
    0.5
  d so if both were equally likely
17.c absolute: the mean
    0.25
  d a little darker: worse one time in
17.1 a: all that are asked
    98
  v not this number
17.1 b: a tenth of all patches
    19.6
  d this is of all patches; half of them
17.1 c: those that are not asked
    98
  d a tenth of those asked about are shown
17.1 d: all patches
    196 * 512
  d this is of all patches; half of them
17.3 colour: red last
    6 + 8 * 0 + 64 * 3
  d the digits stand the other way round:
17.3 reds: the first byte of the next digit
    [192, 224]
  d this byte has the next digit already
17.3 classes: two channels
    [16, 256]
  v the shape is right, the numbers are
17.4 shares: in bits
    1.75
  d this is in bits; the natural logarithm
17.4 sure: only where it is right
    -math.log(0.997)
  d this is when the commonest comes; half
17.4 accuracy: guessing by the shares
    0.25 + 0.0625 + 2 * 0.125**2
  d this is for answers drawn by the
17.5: the encoder alone
    4.07
  d the decoder is left out
17.5: a quarter of the tokens
    4
  d the decoder is left out
17.6: the shown ones, not the masked ones
    def both(P, mask, images):
        plain = torch.arange(mask.shape[1]).expand(len(images), -1)
        a = vl.patchify(vl.normalize(vl.guess_patches(images, mask, plain, P)), P)
        b = vl.patchify(vl.normalize(images), P)
        return explained(a.flatten(0, 1), b.flatten(0, 1)), explained(a[~mask], b[~mask])
  d the second is of the patches that are
17.6: masked ones first
    def both(P, mask, images):
        plain = torch.arange(mask.shape[1]).expand(len(images), -1)
        a = vl.patchify(vl.normalize(vl.guess_patches(images, mask, plain, P)), P)
        b = vl.patchify(vl.normalize(images), P)
        return explained(a[mask], b[mask]), explained(a.flatten(0, 1), b.flatten(0, 1))
  d the two numbers are exchanged: all
17.6: squared errors, not R²
    def both(P, mask, images):
        plain = torch.arange(mask.shape[1]).expand(len(images), -1)
        a = vl.patchify(vl.normalize(vl.guess_patches(images, mask, plain, P)), P)
        b = vl.patchify(vl.normalize(images), P)
        return F.mse_loss(a, b), F.mse_loss(a[mask], b[mask])
  d this is the squared error; divide by
18.a: a patch does not read itself
    def on_a_line(rows, cols, axis):
        i = torch.arange(rows * cols)
        line = i // cols if axis == "row" else i % cols
        return (line[:, None] == line).float() - torch.eye(rows * cols)
  d a patch is on its own line, too
18.a: rows and columns change places
    def on_a_line(rows, cols, axis):
        i = torch.arange(rows * cols)
        line = i % cols if axis == "row" else i // cols
        return (line[:, None] == line).float()
  d rows and columns are exchanged: patches
18.a: divided by the number of rows
    def on_a_line(rows, cols, axis):
        i = torch.arange(rows * cols)
        line = i // rows if axis == "row" else i % rows
        return (line[:, None] == line).float()
  d a row has as many patches as there are
18.a: scores, minus infinity elsewhere
    def on_a_line(rows, cols, axis):
        i = torch.arange(rows * cols)
        line = i // cols if axis == "row" else i % cols
        return torch.zeros(rows * cols, rows * cols).masked_fill(line[:, None] != line, -torch.inf)
  h 432 of 576 numbers are nan or inf:
18.b one: along the columns
    100 / 6
  d this is along the columns
18.b paths: both ways round the corner
    2
  d columns come after rows: the other
18.c: as it was
    def my_miou(answers, target, K):
        scores = []
        for k in range(K):
            a, b = answers == k, target == k
            scores.append(((a & b).sum() + 1e-6) / ((a | b).sum() + 1e-6))
        return sum(scores) / K
  d a class that is neither there nor named
18.c: missing classes count as 0
    def my_miou(answers, target, K):
        scores = []
        for k in range(K):
            a, b = answers == k, target == k
            scores.append((a & b).sum() / (a | b).sum() if (a | b).any() else 0.0)
        return sum(scores) / K
  d a class that is neither there nor named
18.c: classes that are only named are left out
    def my_miou(answers, target, K):
        scores = []
        for k in range(K):
            a, b = answers == k, target == k
            if b.any():
                scores.append((a & b).sum() / (a | b).sum())
        return sum(scores) / len(scores)
  d a class that is named and never there
18.c: classes never met are left out
    def my_miou(answers, target, K):
        scores = []
        for k in range(K):
            a, b = answers == k, target == k
            if (a & b).any():
                scores.append((a & b).sum() / (a | b).sum())
        return sum(scores) / len(scores)
  h a class that is named and never there
18.c: 0/0 is let through
    def my_miou(answers, target, K):
        return sum(((answers == k) & (target == k)).sum() / ((answers == k) | (target == k)).sum()
                   for k in range(K)) / K
  h 1 of 1 numbers are nan or inf: print
18.1 squares: without its own
    14
  d its own square counts as well
18.1 shares: squares of one, over all pairs
    [15 / 4096, 16 / 4096]
  h all numbers are 0.0156 times what they
18.1 moves: two layers of windows
    [2, 2]
  d the shifted window ends before the far
18.2: the axial products forgotten
    68
  d products along rows and columns cost
18.2: one MLP
    41
  h the MLPs are left out
18.3 right: only the false ones count
    0.94
  d of those called background, some are
18.3 ious: found among the named
    [8 / 14, 84 / 86, (8 / 14 + 84 / 86) / 2]
  d this is the share of calls that are
18.3 ious: overlap counted twice
    [8 / 24, 84 / 176, (8 / 24 + 84 / 176) / 2]
  d pixels that are both are counted twice
18.3 lazy: the boat left out
    [0, 0.9, 0.9]
  d the boat's IoU belongs to the mean: it
18.4 pvt: shrunk along one side
    4096 * 512
  d keys shrink by ρ along each side, not
18.4 full: tokens, not pairs
    4096
  d each query meets each key
18.4 window: keys, not a side
    64
  d this is how many patches a window has;
18.5 least: perfect but for that
    0
  d with equal rows, can both give all
18.5 least: all four alike
    math.log(4)
  d the other sentences of the batch can be
18.5 tied: the rows are not equal
    torch.eye(4)
  d the first two pictures are the same, so
18.5 tied: nothing stands out
    torch.ones(4, 4)
  d all alike; the other sentences should
18.6: the mean of the weights
    def off(x, weight):
        P = x.shape[-1] // 2
        want = F.conv2d(x, weight, stride=2 * P)
        return (F.conv2d(F.avg_pool2d(x, 2), F.avg_pool2d(weight, 2), stride=P) - want).norm() / want.norm()
  d the weights are shrunk like a picture;
18.6: not relative
    def off(x, weight):
        P = x.shape[-1] // 2
        want = F.conv2d(x, weight, stride=2 * P)
        return (F.conv2d(F.avg_pool2d(x, 2), 4 * F.avg_pool2d(weight, 2), stride=P) - want).norm()
  d this is the error itself; relative
18.6: relative to the new tokens
    def off(x, weight):
        P = x.shape[-1] // 2
        got = F.conv2d(F.avg_pool2d(x, 2), 4 * F.avg_pool2d(weight, 2), stride=P)
        return (got - F.conv2d(x, weight, stride=2 * P)).norm() / got.norm()
  d divided by the length of what came out;
01.a: the rows of the picture
    [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11], [12, 13, 14, 15]]
  d these are the rows of the picture: a
01.a: each patch read column by column
    [[0, 4, 1, 5], [2, 6, 3, 7], [8, 12, 9, 13], [10, 14, 11, 15]]
  d each patch is read column by column;
01.b: the order step left out
    def my_patchify(images, P):
        B, C, H, W = images.shape
        return images.reshape(B, (H // P) * (W // P), P * P * C)
  d right shape, wrong contents: a reshape
01.b: channels outermost in a token
    def my_patchify(images, P):
        B, C, H, W = images.shape
        x = images.reshape(B, C, H // P, P, W // P, P)
        return x.permute(0, 2, 4, 1, 3, 5).reshape(B, -1, P * P * C)
  d within a token the channels come first;
01.b: split the other way round
    def my_patchify(images, P):
        B, C, H, W = images.shape
        x = images.reshape(B, C, P, H // P, P, W // P).permute(0, 3, 5, 2, 4, 1)
        return x.reshape(B, (H // P) * (W // P), -1)
  h the right numbers in another order
01.b: a square picture taken for granted
    def my_patchify(images, P):
        B, C, H, W = images.shape
        n = H // P
        x = images.reshape(B, C, n, P, n, P).permute(0, 2, 4, 3, 5, 1)
        return x.reshape(B, n * n, P * P * C)
  h RuntimeError at `x = images.reshape(B,
01.c: permute thought to move numbers
    "order"
  d `permute` only names the axes in
01.1 b: the shorter side twice
    15 * 15
  v not this number
01.1 c: one channel
    64
  d each pixel has three numbers, its
01.1 d: only the picture grows
    4 * 196
  d two things change, and each of them
01.2 where_15: token and place
    [4, 1]
  d these are its token and its place
01.2 where_15: counted from 1
    [3, 4]
  d rows and columns are counted from 0, too
01.3: rows as wide as the picture
    lambda row, col, c, P, W, C: (row // P * W + col // P, (row % P * P + col % P) * C + c)
  d a row of the grid has W/P patches, not W
01.3: channels outermost
    lambda row, col, c, P, W, C: (row // P * (W // P) + col // P, c * P * P + row % P * P + col % P)
  d channels are outermost here; in the
01.3: row and column exchanged inside the patch
    lambda row, col, c, P, W, C: (row // P * (W // P) + col // P, (col % P * P + row % P) * C + c)
  d k runs column by column: a step down in
01.4 there: the third of the first three
    2
  h places are counted from 0; and the two
01.4 here: behind the reds
    256
  d the two orders are exchanged
01.5: pictures that follow the letters
    "ABC"
  d A and B are exchanged: who mirrors the
01.6: filled on the left and on top
    def patchify_padded(images, P):
        H, W = images.shape[-2:]
        return vl.patchify(F.pad(images, (-W % P, 0, -H % P, 0)), P)
  d the zeros are on the left and on top
01.6: a whole patch more where nothing is missing
    def patchify_padded(images, P):
        H, W = images.shape[-2:]
        return vl.patchify(F.pad(images, (0, P - W % P, 0, P - H % P)), P)
  d a size that divides gets a row of
01.6: height and width exchanged
    def patchify_padded(images, P):
        H, W = images.shape[-2:]
        return vl.patchify(F.pad(images, (0, -H % P, 0, -W % P)), P)
  d height and width are exchanged: F.pad
01.6: the rest cut off
    def patchify_padded(images, P):
        H, W = images.shape[-2:]
        return vl.patchify(images[..., :H // P * P, :W // P * P], P)
  d it cuts off what does not fit; fill up
01.7 tokens: the scores only, not the means
    [12 * D for D in (192, 768, 1280)]
  d attention has 2 N² D multiplications,
01.7 sides: patches along a side
    [math.sqrt(6 * D) for D in (192, 768, 1280)]
  d these are patches along a side; each is
02.a: no bias
    lambda patches, E, b: patches @ E
  d b is missing
02.a: the matrix transposed, as in nn.Linear
    lambda patches, E, b: patches @ E.T + b
  d E is (PPC, D): its columns are the
02.a: the bias taken off
    lambda patches, E, b: patches @ E - b
  d b is added, not subtracted
02.b: as it lies in memory
    [0, 1, 2, 3, 4, 5, 6, 7]
  d this is the kernel's own order,
02.b: channels inside, columns first
    [0, 4, 2, 6, 1, 5, 3, 7]
  d the pixel to the right comes before the
02.c unpadded: steps along both sides, the last too far
    28 * 28
  d the kernel starts in steps of 8, but
02.c padded: one side only
    28
  d these lie along one side
02.d: as it was
    lambda kernel: kernel.permute(3, 2, 0, 1).reshape(kernel.shape[-1], -1)
  d the bug is still there: a row begins
02.d: rows and columns exchanged
    lambda kernel: kernel.permute(3, 1, 0, 2).reshape(kernel.shape[-1], -1)
  d rows and columns of each filter are
02.d: not permuted at all
    lambda kernel: kernel.reshape(kernel.shape[-1], -1)
  d D must be brought to the front by
02.d: outputs last
    lambda kernel: kernel.flatten(0, 2)
  d this is E itself; `nn.Linear` keeps it
02.1 a: no bias
    768 * 768
  d the bias is missing: a number for each
02.1 c: one channel
    (14 * 14 + 1) * 1280
  d a pixel has three colours
02.1 e: a quarter, since there are a quarter of the patches
    196 * 768**2 // 4
  v off by a factor of 4: bytes, or numbers
02.2 E: transposed, a filter a row
    [[0.25, 0.25, 0.25, 0.25], [1, -1, 1, -1]]
  d a filter is a column of E, so E is (4,
02.2 E: the sum, not the mean
    [[1, 1], [1, -1], [1, 1], [1, -1]]
  d this filter takes the sum; a mean is a
02.2 came_back: all of them
    [0, 1, 2, 3]
  d put together what the tokens say of the
02.3: the inverse permutation
    lambda E, perm: E[perm.argsort()]
  d this is the inverse: place k of the
02.3: columns
    lambda E, perm: E[:, perm % E.shape[1]]
  h expected shape (48, 5), got (48, 48)
02.3: nothing to do
    lambda E, perm: E
  d each number meets another weight now: E
02.4: a bare reshape
    lambda weight, P: weight.reshape(len(weight), -1, P, P)
  d reshape(D, C, P, P) alone is the
02.4: rows and columns exchanged
    lambda weight, P: weight.reshape(len(weight), P, P, -1).permute(0, 3, 2, 1)
  d rows and columns of each filter are
02.4: channels left inside
    lambda weight, P: weight.reshape(len(weight), P, P, -1)
  d split, and not ordered: bring the
02.5: channels not flipped
    lambda weight, bias: (weight / 127.5, bias - weight.sum((1, 2, 3)))
  d the weights' channels are still RGB
02.5: by 255 only
    lambda weight, bias: (weight.flip(1) / 255, bias - weight.sum((1, 2, 3)))
  d (x/255 − 0.5)/0.5: is the division by
02.5: the -1 through the scaled weights
    def fold(weight, bias):
        w = weight.flip(1) / 127.5
        return w, bias - w.sum(dim=(1, 2, 3))
  d the shift is that of the normalised
02.5: the bias left alone
    lambda weight, bias: (weight.flip(1) / 127.5, bias)
  d the −1 of x/127.5 − 1 is missing: what
04.a: the ends aligned
    lambda old, new: torch.arange(new) * (old - 1) / (new - 1)
  d these are aligned ends, the other
04.a: the left edge, not the centre
    lambda old, new: torch.arange(new) * old / new
  d the halves are missing, or cancel: it
04.a: old and new exchanged
    lambda old, new: (torch.arange(new) + 0.5) * new / old - 0.5
  d upside down: with more new places each
04.a: the last half forgotten
    lambda old, new: (torch.arange(new) + 0.5) * old / new
  d old place 0 has its centre at ½, too:
04.b: the grid
    "grid"
  d at 48 the column of the grid shows no
04.1 a: the ends aligned
    [0, 4, 8, 12]
  d this is with aligned ends; find the
04.1 a: beyond the edge the line goes on
    [-3, 3, 9, 15]
  d beyond an old centre there is one
04.2 a: width first
    (40, 30)
  d rows first: the height says how many
04.2 b: CLS forgotten
    1200
  d CLS has a row, too
04.2 c: shrunk
    (14 / 30, 14 / 40)
  d upside down: the grid grows
04.2 d: columns first
    (10, 6)
  d rows first: 24 is the height
04.3: CLS alone is looked at
    def keeps_cls(function):
        t = torch.randn(1, 65, 8)
        return torch.equal(function(t, (6, 10), (8, 8))[:, 0], t[:, 0])
  d it looks at CLS alone: does anything of
04.3: only the patches are looked at
    def keeps_cls(function):
        t = torch.zeros(1, 65, 8)
        t[:, 0] = 1
        return not function(t, (6, 10), (8, 8))[:, 1:].any()
  d it looks at the patches alone: is CLS
04.3: only the shape is looked at
    lambda function: function(torch.randn(1, 65, 8), (6, 10), (8, 8)).shape == (1, 61, 8)
  d every resampling passes: look at the
04.4: the numbers of the places, not the places
    lambda rows, cols, D: vl.sincos_2d((len(rows), len(cols)), D)
  d these are the places' numbers, 0, 1, 2
04.4: columns before rows
    def sincos_at(rows, cols, D):
        w = 10000 ** -(torch.arange(D // 4) / (D // 4))
        r, c = torch.meshgrid(rows, cols, indexing="ij")
        a, b = r.reshape(-1, 1) * w, c.reshape(-1, 1) * w
        return torch.cat([b.sin(), b.cos(), a.sin(), a.cos()], 1)
  d rows come first, then columns
04.4: places down the columns
    def sincos_at(rows, cols, D):
        w = 10000 ** -(torch.arange(D // 4) / (D // 4))
        r, c = torch.meshgrid(rows, cols, indexing="xy")
        a, b = r.reshape(-1, 1) * w, c.reshape(-1, 1) * w
        return torch.cat([a.sin(), a.cos(), b.sin(), b.cos()], 1)
  d reading order: the column changes
04.4: speeds of half the width
    def sincos_at(rows, cols, D):
        w = 10000 ** -(torch.arange(D // 4) / (D // 2))
        r, c = torch.meshgrid(rows, cols, indexing="ij")
        a, b = r.reshape(-1, 1) * w, c.reshape(-1, 1) * w
        return torch.cat([a.sin(), a.cos(), b.sin(), b.cos()], 1)
  d each direction has D/4 speeds: k is
04.5: the grid first
    [((6, 6), 3), ((6, 6), 4), ((8, 8), 4)]
  v number 1, number 1 of what is returned:
04.5: only the ends
    [((8, 8), 4), ((6, 6), 4)]
  h expected 3 things, got 2 things
06.a sd: divided by seven
    2.138
  d the squares are divided by D, here 8,
06.a token: not divided
    [-3, -1, -1, -1, 0, 0, 2, 4]
  d the mean is gone; the division is still
06.b: divided by D - 1
    def my_layer_norm(x, gamma, beta, eps=1e-6):
        return gamma * (x - x.mean(-1, keepdim=True)) / (x.var(-1, keepdim=True) + eps).sqrt() + beta
  d `var` divides by D − 1 unless it is
06.b: over the tokens
    def my_layer_norm(x, gamma, beta, eps=1e-6):
        m, v = x.mean(1, keepdim=True), x.var(1, keepdim=True, unbiased=False)
        return gamma * (x - m) / torch.sqrt(v + eps) + beta
  d along the tokens: this lets tokens see
06.b: the last axis gets lost
    def my_layer_norm(x, gamma, beta, eps=1e-6):
        return gamma * (x - x.mean(-1)) / (x.var(-1, unbiased=False) + eps).sqrt() + beta
  d the mean has lost its axis:
06.b: divided by the variance
    def my_layer_norm(x, gamma, beta, eps=1e-6):
        m, v = x.mean(-1, keepdim=True), x.var(-1, keepdim=True, unbiased=False)
        return gamma * (x - m) / (v + eps) + beta
  d divided by the variance, not by its root
06.c: the second norm still overwrites
    def mended(block, x):
        x = x + block.attn(block.norm1(x))
        x = block.norm2(x)
        return x + block.mlp(x)
  d the second half still has it: to what
06.c: post-norm
    def mended(block, x):
        x = block.norm1(x + block.attn(x))
        return block.norm2(x + block.mlp(x))
  d this is post-norm: the norm sits on the
06.c: both branches from the block's input
    lambda block, x: x + block.attn(block.norm1(x)) + block.mlp(block.norm2(x))
  d the MLP must read what attention has
06.c: the norms got lost
    def mended(block, x):
        x = x + block.attn(x)
        return x + block.mlp(x)
  d the MLP's branch has lost its norm; and
06.1 a: divided by the variance
    [-0.75, -0.25, 0, 0.25, 0.75]
  d divided by the variance, not by its root
06.1 b: each token by itself
    [[-1.5, -0.5, 0, 0.5, 1.5], [-1.5, -0.5, 0, 0.5, 1.5]]
  d this is LayerNorm on both; BatchNorm
06.1 c: BatchNorm
    "BatchNorm"
  d only this image's pixels change, and
06.2: the old bias forgotten
    def fold(norm, linear):
        new = nn.Linear(linear.in_features, linear.out_features)
        new.weight.data = linear.weight.data * norm.weight.data
        new.bias.data = linear.weight.data @ norm.bias.data
        return new
  d the old bias is lost
06.2: beta through the scaled weights
    def fold(norm, linear):
        new = copy.deepcopy(linear)
        new.weight.data *= norm.weight.data
        new.bias.data += new.weight.data @ norm.bias.data
        return new
  d β is scaled by γ here; it is added
06.2: beta forgotten
    def fold(norm, linear):
        new = copy.deepcopy(linear)
        new.weight.data *= norm.weight.data
        return new
  d β is missing: W makes something of it,
06.2: the given layer is changed
    @torch.no_grad()
    def fold(norm, linear):
        linear.bias += linear.weight @ norm.bias
        linear.weight *= norm.weight
        return linear
  d it changes its argument number 2: work
06.3: the block before
    def without(model, i):
        new = copy.deepcopy(model)
        del new.blocks[i - 1]
        return new
  d blocks are counted from 0
06.3: all from there on
    def without(model, i):
        new = copy.deepcopy(model)
        new.blocks = new.blocks[:i]
        return new
  d all blocks from i on are gone; leave
06.3: the given model is changed
    def without(model, i):
        del model.blocks[i]
        return model
  d it changes its argument number 1: work
06.4: ordinary blocks, as they are
    def shifted(blocks, x):
        x = x + blocks[0].mlp(blocks[0].norm2(x))
        for b in blocks[1:]:
            x = x + b.attn(b.norm1(x))
            x = x + b.mlp(b.norm2(x))
        return x + blocks[-1].attn(blocks[-1].norm1(x))
  d each ordinary block has attention and
06.4: four ordinary blocks
    def shifted(blocks, x):
        for b in blocks:
            x = x + b.attn(b.norm1(x))
            x = x + b.mlp(b.norm2(x))
        return x
  d these are four ordinary blocks: here an
06.4: the last attention forgotten
    def shifted(blocks, x):
        x = x + blocks[0].mlp(blocks[0].norm2(x))
        for a, b in zip(blocks, blocks[1:]):
            x = x + a.attn(a.norm1(x))
            x = x + b.mlp(b.norm2(x))
        return x
  d the attention at the end is missing
06.5: nothing changed
    lambda model: model
  d the branches are still nearly as long
06.5: the branches made larger
    @torch.no_grad()
    def rescue(model):
        for block in model.blocks:
            block.attn.proj.weight *= 10
            block.mlp.fc2.weight *= 10
        return model
  h the branches are still nearly as long
07.a: in nats
    lambda weights: -(weights * weights.clamp_min(1e-12).log()).sum(-1)
  d these are natural logarithms; bits want
07.a: the minus forgotten
    lambda weights: (weights * weights.clamp_min(1e-12).log2()).sum(-1)
  d the minus is missing: logarithms of
07.a: the mean of the terms
    lambda weights: -(weights * weights.clamp_min(1e-12).log2()).mean(-1)
  d the mean of the terms; the formula has
07.a: all rows added
    lambda weights: -(weights * weights.clamp_min(1e-12).log2()).sum()
  d one number for all rows; each row has
07.b cls_out: all patches
    64
  d what comes after the last block's
07.b gap_in: only CLS
    1
  v too small by a good deal
07.1 cls: the mean
    [2, 2]
  d the weights are for patches 1, 2 and 3,
07.1 votes: first plus second
    [4, 4, 4]
  d the second number is subtracted, not
07.1 reach: what CLS and GAP say
    [0, 1]
  v the shape is right, the numbers are
07.2 query: ones
    [1, 1, 1, 1, 1, 1, 1, 1]
  d with ones each score is a sum of a
07.2 pooled: not divided
    (lambda _, t, q: (((t @ q).softmax(1)[..., None]) * t).sum(1))(
        vl.seed_everything(0), torch.randn(2, 5, 8), torch.randn(8))
  d the scores are not divided by √D
07.3: as it was
    def logits_without_cls(model, images):
        z = model.embed(images)
        for block in model.blocks:
            z = block(z)[:, 1:]
        return model.head(model.norm(z).mean(dim=1))
  d as the colleague has it, a token goes
07.3: CLS left out of the mean only
    def logits_without_cls(model, images):
        z = model.embed(images)
        for block in model.blocks:
            z = block(z)
        return model.head(model.norm(z)[:, 1:].mean(dim=1))
  d these are the usual logits: CLS is not
07.3: left out after the first block
    def logits_without_cls(model, images):
        z = model.embed(images)
        for i, block in enumerate(model.blocks):
            z = block(z)
            if i == 0:
                z = z[:, 1:]
        return model.head(model.norm(z).mean(dim=1))
  d CLS goes after the first block: what
07.3: patch 0 read in CLS's place
    def logits_without_cls(model, images):
        z = model.embed(images)[:, 1:]
        for block in model.blocks:
            z = block(z)
        return model.head(model.norm(z)[:, 0])
  d this reads the first patch alone; GAP
07.4 end: CLS
    "CLS"
  d compare the ends of the two curves:
07.4 cls_top: the end
    "end"
  d look at its last blocks again: does the
07.5: the share that is left
    def frugal(model, images):
        T, D, r = 1 + model.cfg.num_patches, model.cfg.embed_dim, model.cfg.mlp_ratio
        whole = T * 4 * D**2 + 2 * T**2 * D + T * 2 * r * D**2
        now = T * 2 * D**2 + 2 * D**2 + 2 * T * D + 2 * r * D**2
        return model(images), now / whole
  h all tokens go through the last
07.5: keys of CLS alone
    def frugal(model, images):
        z = model.embed(images)
        for block in model.blocks[:-1]:
            z = block(z)
        T, D, r = z.shape[1], z.shape[2], model.cfg.mlp_ratio
        z = model.blocks[-1](z[:, :1])
        whole = T * 4 * D**2 + 2 * T**2 * D + T * 2 * r * D**2
        now = T * 2 * D**2 + 2 * D**2 + 2 * T * D + 2 * r * D**2
        return model.head(model.norm(z)[:, 0]), 1 - now / whole
  d keys and values are of CLS alone, so
07.5: no attention's products in the count
    def frugal(model, images):
        T, D, r = 1 + model.cfg.num_patches, model.cfg.embed_dim, model.cfg.mlp_ratio
        whole = T * 4 * D**2 + T * 2 * r * D**2
        return model(images), 1 - (T * 2 * D**2 + 2 * D**2 + 2 * r * D**2) / whole
  h all tokens go through the last
08.a: as it was
    def my_forward(vit, images):
        x = vit.patch_embed(images)
        cls = vit.cls_token.expand(len(x), -1, -1)
        x = torch.cat([x, cls], dim=1) + vit.pos_embed
        return vit.head(vit.norm(vit.blocks(x))[:, -1])
  d this is the colleague's: whose position
08.a: CLS in front, and the last patch read
    def my_forward(vit, images):
        x = vit.patch_embed(images)
        cls = vit.cls_token.expand(len(x), -1, -1)
        x = torch.cat([cls, x], dim=1) + vit.pos_embed
        return vit.head(vit.norm(vit.blocks(x))[:, -1])
  d the last patch is read; Equation 4
08.a: the last norm got lost
    def my_forward(vit, images):
        x = vit.patch_embed(images)
        cls = vit.cls_token.expand(len(x), -1, -1)
        x = torch.cat([cls, x], dim=1) + vit.pos_embed
        return vit.head(vit.blocks(x)[:, 0])
  d the last norm is missing
08.a: positions before CLS
    def my_forward(vit, images):
        x = vit.patch_embed(images) + vit.pos_embed[:, :-1]
        cls = vit.cls_token.expand(len(x), -1, -1)
        return vit.head(vit.norm(vit.blocks(torch.cat([cls, x], dim=1)))[:, 0])
  d row 0 of the table is CLS's, so that
08.b: the filters as well
    {"pos_embed", "patch_embed.proj.weight"}
  d the patch projection sees one patch at
08.b: CLS
    ["cls_token"]
  h “cls_token” does not belong here
08.1 a: the equation for a ratio of 4
    12 * 128**2 + 13 * 128
  d this is for a ratio of 4
08.1 a: no biases
    8 * 128**2 + 4 * 128
  d the MLP's biases are missing; and
08.1 b: the head forgotten
    193 * 128 + 66 * 128 + 4 * (8 * 128**2 + 11 * 128) + 2 * 128
  h close: is something small left out, or
08.1 c: twice the heads, twice the attention
    4 * (4 * 128**2 + 4 * 128)
  d twice as many heads are each half as
08.2 attention weights: heads forgotten
    (5, 49, 49)
  d each head has a table of its own
08.2 q, k, v in one: one of the three
    (5, 49, 384)
  d queries, keys and values together
08.2 patch embedding: CLS too early
    (5, 49, 384)
  d CLS comes one box later
08.3: queries and keys exchanged
    @torch.no_grad()
    def fuse(q, k, v):
        new = nn.Linear(q.in_features, 3 * q.out_features)
        new.weight.copy_(torch.cat([k.weight, q.weight, v.weight]))
        new.bias.copy_(torch.cat([k.bias, q.bias, v.bias]))
        return new
  d the weights of queries and keys are
08.3: the biases forgotten
    def fuse(q, k, v):
        new = nn.Linear(q.in_features, 3 * q.out_features)
        new.weight.data = torch.cat([q.weight, k.weight, v.weight])
        return new
  d the biases are not copied: they are
08.3: stacked along the inputs
    def fuse(q, k, v):
        new = nn.Linear(q.in_features, 3 * q.out_features)
        new.weight.data = torch.cat([q.weight, k.weight, v.weight], dim=1)
        new.bias.data = torch.cat([q.bias, k.bias, v.bias])
        return new
  h RuntimeError, for (Linear, Linear,
08.3: the weight, not a layer
    lambda q, k, v: torch.cat([q.weight, k.weight, v.weight])
  h TypeError, for (Linear, Linear, Linear,
08.4 depth: the last number
    7
  d blocks are counted from 0
08.4 img_size: patches along a side
    10
  d these are the patches along one side;
08.4 mlp_ratio: the width itself
    960
  d this is the width inside; how many
08.4 untold: the depth
    "depth"
  d the depth is told: the last block's
08.5: copies, not the same block
    def tie(model):
        model.blocks = nn.ModuleList([copy.deepcopy(model.blocks[0]) for _ in model.blocks])
        return model
  d these are copies: alike at first, but
08.5: one block, once
    def tie(model):
        model.blocks = nn.ModuleList([model.blocks[0]])
        return model
  d one block is left, applied once; it
08.5: only attention is tied
    def tie(model):
        for block in model.blocks:
            block.attn = model.blocks[0].attn
        return model
  h more parameters are left than one
11.a: strides of the last layer only
    def my_field(layers):
        side, before = 1, 1
        for k, s in layers:
            side += (k - 1) * before
            before = s
        return side
  d only the stride of the layer before;
11.a: a layer's own stride counted
    def my_field(layers):
        side, jump = 1, 1
        for k, s in layers:
            jump *= s
            side += (k - 1) * jump
        return side
  d a stride counts for the layers after
11.a: begun at nothing
    def my_field(layers):
        side, jump = 0, 1
        for k, s in layers:
            side += (k - 1) * jump
            jump *= s
        return side
  d without any layer a place sees itself:
11.a: whole kernels
    def my_field(layers):
        side, jump = 1, 1
        for k, s in layers:
            side += k * jump
            jump *= s
        return side
  d a kernel of k adds k − 1 places to the
11.b at_1: zeros, too
    ["around", "zeros"]
  d zeros at the border stay where they are
11.b at_8: the stride's own shift forgotten
    ["around"]
  d eight pixels are one whole patch
11.c: as it was
    def my_shuffled_pixels(images, seed=0):
        g = torch.Generator().manual_seed(seed)
        out = torch.empty_like(images)
        for i, picture in enumerate(images):
            order = torch.randperm(picture[0].numel(), generator=g)
            out[i] = picture.flatten(1)[:, order].view_as(picture)
        return out
  d an order for each picture: nothing is
11.c: each channel in its own order
    def my_shuffled_pixels(images, seed=0):
        g = torch.Generator().manual_seed(seed)
        order = torch.randperm(images[0].numel(), generator=g)
        return images.flatten(1)[:, order].view_as(images)
  d numbers change their channel: shuffle
11.c: one order, new in each call
    def my_shuffled_pixels(images, seed=0):
        order = torch.randperm(images[0, 0].numel())
        return images.flatten(2)[..., order].view_as(images)
  d each call draws another order: what is
11.c: pictures shuffled, not pixels
    lambda images, seed=0: images[torch.randperm(len(images), generator=torch.Generator().manual_seed(seed))]
  d the pixels are where they were: the
11.1 a: kernels added
    15
  d a kernel of k adds k − 1; and the
11.1 b: the stride forgotten
    1 + 6 + 4 * 2
  d the strides are left out
11.1 c: strides forgotten
    9
  d the strides are left out
11.1 d: one patch
    16
  d this is one patch; does attention stay
11.2 patches: along one side
    8
  d to the right and down: each number of
11.2 stem: the stem's stride only
    16 * 16
  d behind the stem come patches of 2 on
11.3 conv: one channel in
    9 * 16
  d each channel that comes out has nine
11.3 own: sharing kept
    9 * 16**2
  d the kernel is not shared any more: one
11.3 full: places only
    32**4
  d and the channels?
11.4: the mean difference
    def changes(net, images, by):
        with torch.no_grad():
            return (net(images).mean((2, 3)) - net(images.roll(by, -1)).mean((2, 3))).abs().mean()
  d the mean difference; the largest is
11.4: the maps, before the mean
    def changes(net, images, by):
        with torch.no_grad():
            return (net(images) - net(images.roll(by, -1))).abs().max()
  d these are maps, whose places move
11.4: with its sign
    def changes(net, images, by):
        with torch.no_grad():
            return (net(images).mean((2, 3)) - net(images.roll(by, -1)).mean((2, 3))).max().item()
  d a difference may be negative: the
11.4: shifted down
    def changes(net, images, by):
        with torch.no_grad():
            return (net(images).mean((2, 3)) - net(images.roll(by, -2)).mean((2, 3))).abs().max().item()
  d shifted down; `roll` of the page shifts
11.5 kept: rows kept, their order mixed
    [4, 5, 6, 7, 0, 1, 2, 3, 8, 9, 10, 11, 12, 13, 14, 15]
  d some distances change: do neighbours
11.5 changed: backwards
    list(range(16))[::-1]
  d this one keeps all distances
11.5 count: turns only
    4
  d there are mirrorings and turns: a
12.a width: one for one
    1
  d most matrices are D × D or D × M: both
12.a patch: twice the sides' sides
    4
  d so it is once attention's T² outweighs
12.b: equal ones kept
    def my_frontier(points):
        kept, best = [], -1e9
        for x, y in points:
            if y >= best:
                kept.append((x, y))
                best = y
        return kept
  d one that is only as good as a cheaper
12.b: compared with the one before
    def my_frontier(points):
        return [p for i, p in enumerate(points) if i == 0 or p[1] > points[i - 1][1]]
  d compared with the one before; no
12.b: only the best
    lambda points: [max(points, key=lambda p: p[1])]
  d this is the best alone; the cheaper
12.b: beaten by a dearer one
    lambda points: [p for i, p in enumerate(points) if all(q[1] < p[1] for q in points[i + 1:])]
  d walked from dear to cheap; it goes from
12.c: as it was
    def my_gradient(model, x, y, parts):
        for a, b in zip(x.chunk(parts), y.chunk(parts), strict=True):
            model.zero_grad()
            (F.cross_entropy(model(a), b) / parts).backward()
        return torch.cat([p.grad.flatten() for p in model.parameters()])
  d each part erases what those before it
12.c: no longer divided
    def my_gradient(model, x, y, parts):
        model.zero_grad()
        for a, b in zip(x.chunk(parts), y.chunk(parts), strict=True):
            F.cross_entropy(model(a), b).backward()
        return torch.cat([p.grad.flatten() for p in model.parameters()])
  d the gradients are added up; the mean
12.c: zeroed nowhere
    def my_gradient(model, x, y, parts):
        for a, b in zip(x.chunk(parts), y.chunk(parts), strict=True):
            (F.cross_entropy(model(a), b) / parts).backward()
        return torch.cat([p.grad.flatten() for p in model.parameters()])
  d the gradient of an earlier call is
12.1 share: all of attention
    (4 * 197 * 768**2 + 2 * 197**2 * 768) / (197 * (4 * 768**2 + 2 * 768 * 3072) + 2 * 197**2 * 768)
  v too large by a good deal
12.1 tokens: attention alone
    2 * 768
  d so it is in attention alone; now the
12.2 ring: sums only, not handed on
    [3, 3]
  d by then each sum is complete in one
12.2 busiest: what is taken only
    12
  d the sums must be handed back, too
12.2 eight: the busiest as with four
    [14, 14, 56]
  d the sums must be handed back, too; or the rows of eight students have eight numbers
12.3 kept: the parameters forgotten
    int(80e9 // (24 * 4 * 577 * (8 * 1024 + 2 * 4096 + 20)))
  d the parameters take their room first,
12.3 checkpoints: no block computed again
    int((80e9 - 16 * 304e6) // (24 * 4 * 577 * 1024))
  d while a block is computed again, all
12.4: the mean of means
    def uneven(model, x, y, size):
        model.zero_grad()
        parts = list(zip(x.split(size), y.split(size)))
        for a, b in parts:
            (F.cross_entropy(model(a), b) / len(parts)).backward()
        return torch.cat([p.grad.flatten() for p in model.parameters()])
  d every part counts alike, though the
12.4: sums, never divided
    def uneven(model, x, y, size):
        model.zero_grad()
        for a, b in zip(x.split(size), y.split(size)):
            F.cross_entropy(model(a), b, reduction="sum").backward()
        return torch.cat([p.grad.flatten() for p in model.parameters()])
  d this is the gradient of the sum; the
12.4: the last part left out
    def uneven(model, x, y, size):
        model.zero_grad()
        n = len(x) // size * size
        for a, b in zip(x[:n].split(size), y[:n].split(size)):
            (F.cross_entropy(model(a), b, reduction="sum") / n).backward()
        return torch.cat([p.grad.flatten() for p in model.parameters()])
  v the shape is right, the numbers are
12.5 calculus: the root of L
    math.sqrt(24)
  d so it is where a block keeps as little
12.5 whole: rounded up
    2
  d rounded; try both whole numbers beside
12.6 hours: half the time
    2
  d the ring takes as long as before; only
12.6 dollars: the same bill
    1
  v not this number
12.6 batch: the same
    4096
  d at the same batch each GPU has half as
"""

RIGHT = r"""
03.a: a tuple of floats
    (4.0, 3.0, 1.0, 0.0)
03.b: loops, a list of lists
    def my_similarity(table):
        rows = table.tolist()
        size = [sum(x * x for x in row) ** 0.5 for row in rows]
        return [[sum(x * y for x, y in zip(a, b)) / (m * n) for b, n in zip(rows, size)] for a, m in zip(rows, size)]
03.b: PyTorch's own
    lambda table: F.cosine_similarity(table[:, None], table[None], dim=2)
03.b: NumPy
    def my_similarity(table):
        t = table.numpy()
        t = t / np.linalg.norm(t, axis=1, keepdims=True)
        return t @ t.T
03.1 row_of_4: an array
    np.array([13, 12, 11, 8, 7, 6])
03.2: loops, with an assertion
    def sincos_1d(length, D):
        assert D % 2 == 0, "D must be even"
        K = D // 2
        return [[f(p / 10000 ** (k / K)) for f in (math.sin, math.cos) for k in range(K)] for p in range(length)]
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
03.3: number by number
    def turn(m, D):
        M, K = torch.zeros(D, D), D // 2
        for k in range(K):
            w = 10000 ** (-k / K)
            M[k, k] = M[K + k, K + k] = math.cos(m * w)
            M[k, K + k], M[K + k, k] = math.sin(m * w), -math.sin(m * w)
        return M
03.4: one string, capitals
    "None, SinCos2d, Relative"
03.5: by unique rows
    def finds_the_bug(pos):
        with torch.no_grad():
            rows = [pos(torch.zeros(4, 17, 48))[i] for i in range(4)]
        return any(not torch.allclose(r, rows[0]) for r in rows) or len(rows[0].unique(dim=0)) < 17
03.5: noise in, with a tolerance
    def finds_the_bug(pos):
        x = torch.randn(4, 17, 48)
        p = (pos(x) - x).detach()
        if (p - p[:1]).abs().max() > 1e-5:
            return True
        return any(torch.allclose(p[0, i], p[0, j], atol=1e-5) for i in range(17) for j in range(i))
03.6: the waves themselves
    lambda: vl.sincos_2d((4, 4), 48)
03.6: ramps, an array
    def my_table():
        t = np.zeros((16, 48))
        t[:, 0], t[:, 1] = np.arange(16) // 4, np.arange(16) % 4
        rest = t - t.mean(0)
        w = vl.sincos_2d((4, 4), 48).numpy()
        return t * np.sqrt(((w - w.mean(0)) ** 2).sum(1).mean() / (rest**2).sum(1).mean())
05.b: einops
    def my_attention(q, k, v):
        scores = einsum(q, k, "i d, j d -> i j") / np.sqrt(q.shape[-1])
        return einsum(F.softmax(scores, dim=1), v, "i j, j d -> i d")
05.b: PyTorch's own
    lambda q, k, v: F.scaled_dot_product_attention(q[None], k[None], v[None])[0]
05.b: loops over lists
    def my_attention(q, k, v):
        out = []
        for row in q:
            p = [math.exp(float(row @ key) / len(row) ** 0.5) for key in k]
            out.append(sum(x * value for x, value in zip(p, v)) / sum(p))
        return torch.stack(out)
05.1: two places, tuples
    ((0.67, 0.24, 0.09), (0.21, 0.58, 0.21), (0.09, 0.24, 0.67))
05.2 b: to one place
    15.2
05.2 d: an array
    np.array([2362368.0, 2362368.0])
05.3: einops
    def my_forward(layer, x):
        q, k, v = layer.project(x)
        weights = (einsum(q, k, "b h i d, b h j d -> b h i j") * q.shape[-1] ** -0.5).softmax(-1)
        return layer.proj(rearrange(weights @ v, "b h t d -> b t (h d)"))
05.4: a capital
    "K"
05.5: loops, whole numbers in NumPy
    def left_bias(rows, cols, strength):
        b = np.zeros((1, 1, rows * cols, rows * cols))
        for r in range(rows):
            for c in range(cols):
                b[0, 0, r * cols + c, r * cols + max(c - 1, 0)] = strength
        return b
14.a: einsum, backwards
    def my_rollout(maps):
        R = None
        for A in reversed(list(maps)):
            A = (A.mean(0) + torch.eye(A.shape[-1])) / 2
            R = A if R is None else torch.einsum("ij,jk->ik", R, A)
        return R
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
14.2 worst: to three places
    0.894
14.3: a loop
    lambda scores: torch.stack([torch.cat([scores[:i], scores[i + 1:]]).mean(0) for i in range(len(scores))])
14.4: by autograd
    def cam(model, images, target):
        with torch.enable_grad():
            t = model.forward_features(images).detach().requires_grad_()
            (g,) = torch.autograd.grad(model.head(model.pool(t))[:, target].sum(), t)
        return (t[:, 1:] * g[:, 1:].mean(1, keepdim=True)).sum(-1)
14.5: picture by picture, pooled
    def smooth_grad(model, images, classes, n=8, sigma=0.2):
        out = []
        for image, c in zip(images, classes):
            x = (image + sigma * torch.randn(n, *image.shape)).requires_grad_()
            (g,) = torch.autograd.grad(model(x)[:, c].sum(), x)
            P = model.cfg.patch_size
            out.append(F.avg_pool2d(g.abs().sum(1, keepdim=True), P).mean(0).flatten() * P * P)
        return torch.stack(out)
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
16.b: the inverse, NumPy
    def my_ridge(Z, Y, lam):
        Z, Y = np.asarray(Z), np.asarray(Y)
        return np.linalg.inv(Z.T @ Z + lam * np.eye(Z.shape[1])) @ Z.T @ Y
16.b: rows added below
    def my_ridge(Z, Y, lam):
        D, K = Z.shape[1], Y.shape[1]
        more = torch.cat([Z, math.sqrt(lam) * torch.eye(D, dtype=Z.dtype)])
        return torch.linalg.pinv(more) @ torch.cat([Y, torch.zeros(D, K, dtype=Y.dtype)])
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
16.6: one-hot sums
    def by_means(Z, labels, test):
        hot = F.one_hot(labels, 10).to(Z.dtype)
        means = hot.T @ Z / hot.sum(0)[:, None]
        return [int(row.argmax()) for row in test @ means.T]
17.a: loops
    def my_input(x, mask, source, token, pos):
        return torch.stack([(token if mask[i] else x[source[i]]) + pos[i] for i in range(len(x))])
17.b: pooling
    def my_colours(images, P):
        means = F.avg_pool2d(images.double(), P)
        digits = torch.floor(means / 32)
        return (digits * torch.tensor([64, 8, 1]).view(1, 3, 1, 1)).sum(1).flatten(1)
17.1 c: to one place
    107.8
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
18.a: loops, truth values
    def on_a_line(rows, cols, axis):
        places = [(r, c) for r in range(rows) for c in range(cols)]
        return [[a[axis == "column"] == b[axis == "column"] for b in places] for a in places]
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
18.1 moves: a tuple
    (2, 3)
18.3 ious: to two places
    [0.5, 0.913, 0.707]
18.5 tied: halves, an array
    np.array([[0.5, 0.5, 0, 0], [0.5, 0.5, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]])
18.6: sums of the weights
    def off(x, weight):
        want = torch.einsum("nchw,dchw->nd", x, weight)
        w = F.avg_pool2d(weight, 2) * 4
        got = torch.einsum("nchw,dchw->nd", F.avg_pool2d(x, 2), w)
        return float(torch.linalg.norm(got - want) / torch.linalg.norm(want))
01.a: a tensor of floats
    torch.tensor([[0, 1, 4, 5], [2, 3, 6, 7], [8, 9, 12, 13], [10, 11, 14, 15]]).float()
01.b: einops
    lambda images, P: rearrange(images, "b c (i p) (j q) -> b (i j) (p q c)", p=P, q=P)
01.b: slices, patch by patch
    def my_patchify(images, P):
        H, W = images.shape[2:]
        cut = [images[:, :, r:r + P, c:c + P] for r in range(0, H, P) for c in range(0, W, P)]
        return torch.stack([one.permute(0, 2, 3, 1).flatten(1) for one in cut], 1)
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
02.a: einsum
    lambda patches, E, b: torch.einsum("nk,kd->nd", patches, E) + b[None]
02.a: NumPy
    lambda patches, E, b: np.dot(patches.numpy(), E.numpy()) + b.numpy()
02.d: flattened, then transposed
    lambda kernel: kernel.reshape(-1, kernel.shape[3]).T
02.3: a permutation matrix
    lambda E, perm: torch.eye(len(perm))[perm] @ E
02.4: einops
    lambda weight, P: rearrange(weight, "d (p q c) -> d c p q", p=P, q=P)
02.5: channel by channel, a list
    def fold(weight, bias):
        new = torch.stack([weight[:, 2], weight[:, 1], weight[:, 0]], dim=1)
        return [new / 255 * 2, bias - new.flatten(1).sum(1)]
04.a: a list
    lambda old, new: [(2 * i + 1) * old / (2 * new) - 0.5 for i in range(new)]
04.1 a: an array
    np.array([0.0, 3, 9, 12])
04.2 c: to two places
    (2.14, 2.86)
04.3: two tables that differ in CLS only
    def keeps_cls(function):
        a = torch.randn(1, 65, 8)
        b = a.clone()
        b[:, 0] += 1
        one, other = function(a, (5, 7), (8, 8)), function(b, (5, 7), (8, 8))
        kept = torch.allclose(one[:, 0], a[:, 0]) and torch.allclose(other[:, 0], b[:, 0])
        return kept and torch.allclose(one[:, 1:], other[:, 1:])
04.4: loops in NumPy
    def sincos_at(rows, cols, D):
        K, out = D // 4, []
        for r in rows.tolist():
            for c in cols.tolist():
                w = 10000.0 ** (-np.arange(K) / K)
                out.append(np.concatenate([np.sin(r * w), np.cos(r * w), np.sin(c * w), np.cos(c * w)]))
        return np.array(out)
06.b: PyTorch's own
    lambda x, gamma, beta, eps=1e-6: F.layer_norm(x, x.shape[-1:], gamma, beta, eps)
06.b: NumPy
    def my_layer_norm(x, gamma, beta, eps=1e-6):
        x = x.numpy()
        d = x - x.mean(-1, keepdims=True)
        return gamma.numpy() * d / np.sqrt((d * d).mean(-1, keepdims=True) + eps) + beta.numpy()
06.c: names for every step
    def mended(block, x):
        a = block.attn(block.norm1(x))
        y = torch.add(x, a)
        return y + block.mlp(block.norm2(y))
06.1 c: small letters
    "layernorm"
06.2: a diagonal matrix
    def fold(norm, linear):
        new = nn.Linear(*linear.weight.T.shape)
        new.weight = nn.Parameter(linear.weight @ torch.diag(norm.weight))
        new.bias = nn.Parameter(linear(norm.bias))
        return new
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
06.5: queries, keys and values shrunk, taken for a mistake at first: the model learns
    @torch.no_grad()
    def rescue(model):
        for block in model.blocks:
            block.attn.qkv.weight *= 0.1
        return model
07.a: PyTorch's entr
    lambda weights: torch.special.entr(weights).sum(-1) / np.log(2)
07.a: NumPy, zeros left out
    def my_entropy(weights):
        p = weights.double().numpy()
        return -np.where(p > 0, p * np.log2(np.where(p > 0, p, 1)), 0).sum(axis=-1)
07.2 query: a list of zeros
    [0] * 8
07.3: the library's norm and a weighted sum
    def logits_without_cls(model, images):
        z = model.embed(images)[:, 1:]
        for block in model.blocks:
            z = block(z)
        z = model.norm(z)
        return sum(model.head(z[:, n]) for n in range(z.shape[1])) / z.shape[1]
07.4 end: a capital
    "Patches"
08.a: repeat
    def my_forward(vit, images):
        x = vit.patch_embed(images)
        x = torch.cat((vit.cls_token.repeat(x.shape[0], 1, 1), x), 1)
        x = x + vit.pos_embed
        for block in vit.blocks:
            x = block(x)
        return vit.head(vit.norm(x[:, 0]))
08.b: a word
    "pos_embed"
08.2 logits: a list
    [5, 1000]
08.3: by state dict
    def fuse(q, k, v):
        new = nn.Linear(q.in_features, sum(x.out_features for x in (q, k, v)))
        new.load_state_dict({n: torch.vstack([getattr(x, n)[:, None] if n == "bias" else x.weight for x in (q, k, v)])
                             .reshape(getattr(new, n).shape) for n in ("weight", "bias")})
        return new
08.4 untold: capitals
    "Num_Heads"
08.5: one by one
    def tie(model):
        for i in range(1, len(model.blocks)):
            model.blocks[i] = model.blocks[0]
        return model
11.a: one line
    lambda layers: 1 + sum((k - 1) * math.prod(s for _, s in layers[:i]) for i, (k, _) in enumerate(layers))
11.b at_8: a tuple
    ("Patches", "Around")
11.c: NumPy's order
    def my_shuffled_pixels(images, seed=0):
        B, C, H, W = images.shape
        order = np.random.default_rng(seed).permutation(H * W)
        return images.reshape(B, C, -1)[:, :, order].reshape(B, C, H, W)
11.4: pooled by PyTorch
    def changes(net, images, by):
        pool = lambda x: F.adaptive_avg_pool2d(net(x), 1).flatten()
        moved = torch.cat([images[..., -by:], images[..., :-by]], -1)
        return float(torch.max(torch.abs(pool(images) - pool(moved))))
11.5 kept: transposed
    np.arange(16).reshape(4, 4).T.flatten()
12.b: all that are beaten by none
    lambda points: [p for i, p in enumerate(points) if all(q[1] < p[1] for q in points[:i])]
12.c: by autograd, added up
    def my_gradient(model, x, y, parts):
        total = 0
        for a, b in zip(x.chunk(parts), y.chunk(parts)):
            g = torch.autograd.grad(F.cross_entropy(model(a), b), list(model.parameters()))
            total = total + torch.cat([one.reshape(-1) for one in g])
        return total / parts
12.1 share: to three places
    0.041
12.4: weighted means
    def uneven(model, x, y, size):
        model.zero_grad()
        for i in range(0, len(x), size):
            a, b = x[i:i + size], y[i:i + size]
            (F.cross_entropy(model(a), b) * (len(a) / len(x))).backward()
        return torch.hstack([p.grad.view(-1) for p in model.parameters()])
12.5 calculus: to two places
    1.22
"""
