/* What each tensor of `trace` is, by the last part of its name: in words, as a formula, as the line of vitlib that makes
   it, and where the book explains it (page#anchor). JSON, so that tests can hold it against vitlib and the chapters. */
window.vitSteps = {
  "patches": {
    "called": "pixel", "says": "a pixel of the picture the model sees, from −1 to 1", "formula": "x = (byte / 255 − 0.5) / 0.5",
    "file": "data/dataset.py", "code": "def normalize(", "page": "09-training#equation-eq-normalise"
  },
  "patch_embed": {
    "called": "embedding", "says": "the patch's pixels times a row of E, and a bias", "formula": "E x + b",
    "file": "model/patches.py", "code": "flatten_map(self.proj(images))", "page": "02-patch-embedding#equation-eq-02-sum"
  },
  "embed": {
    "called": "token", "says": "what the patch holds, and where it is", "formula": "z₀ = E x + b + position",
    "file": "model/vit.py", "code": "self.pos_embed(torch.cat([cls, patches], dim=1))",
    "page": "03-position#equation-eq-03-add"
  },
  "norm1": {
    "called": "LayerNorm", "says": "the token with mean 0 and deviation 1, times a weight, and a bias",
    "formula": "γ (z − mean) / deviation + β", "file": "model/encoder.py", "code": "self.attn(self.norm1(x), bias)",
    "page": "06-encoder#sec-06-layernorm"
  },
  "attn.qkv": {
    "called": "query, key, value", "says": "three maps of the token: what it asks, what it offers, what it gives",
    "formula": "[q, k, v] = U z + b", "file": "model/attention.py", "code": "self.qkv(x).chunk(3, dim=-1)",
    "page": "05-attention#equation-eq-05-qkv"
  },
  "attn.scores": {
    "called": "score", "says": "a query times a key, over the root of their length", "formula": "q · k / √d",
    "file": "model/attention.py", "code": "q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5",
    "page": "05-attention#sec-05-sqrt-d"
  },
  "attn.weights": {
    "called": "weight", "says": "e to the score, over the sum of e to all scores of the row", "formula": "A = softmax(q kᵀ / √d)",
    "file": "model/attention.py", "code": ".softmax(dim=-1)", "page": "05-attention#equation-eq-05-attention"
  },
  "attn.mixed": {
    "called": "mixture", "says": "the values of all tokens, each times how much it is read", "formula": "A v",
    "file": "model/attention.py", "code": "mixed = self._mix(q, k, v, bias", "page": "05-attention#sec-05-head"
  },
  "attn.proj": {
    "called": "projection", "says": "the heads' mixtures, side by side, through one more matrix", "formula": "U [A v, …] + b",
    "file": "model/attention.py", "code": "self.proj(mixed.transpose(1, 2).flatten(2))",
    "page": "05-attention#equation-eq-05-msa"
  },
  "mid": {
    "called": "sum", "says": "the token as it was, plus what attention adds", "formula": "z′ = z + MSA(LN(z))",
    "file": "model/encoder.py", "code": "x = x + self.drop_path(self.ls1(self.attn(", "page": "06-encoder#sec-06-residual"
  },
  "norm2": {
    "called": "LayerNorm", "says": "the token with mean 0 and deviation 1, times a weight, and a bias",
    "formula": "γ (z − mean) / deviation + β", "file": "model/encoder.py", "code": "self.mlp(self.norm2(x))",
    "page": "06-encoder#sec-06-layernorm"
  },
  "mlp.fc1": {
    "called": "hidden number", "says": "the token times a row of the first matrix of the MLP", "formula": "W₁ z + b₁",
    "file": "model/encoder.py", "code": "self.act(self.fc1(x))", "page": "06-encoder#equation-eq-06-mlp"
  },
  "mlp.act": {
    "called": "after GELU", "says": "the number times how likely a normal number is below it",
    "formula": "GELU(x) = x Φ(x)", "file": "model/encoder.py", "code": "\"gelu\": nn.GELU",
    "page": "06-encoder#equation-eq-06-gelu"
  },
  "mlp.fc2": {
    "called": "what the MLP adds", "says": "the hidden numbers times a row of the second matrix", "formula": "W₂ GELU(…) + b₂",
    "file": "model/encoder.py", "code": "self.fc2(self.drop(", "page": "06-encoder#equation-eq-06-mlp"
  },
  "block": {
    "called": "token", "says": "the token as it was, plus what the MLP adds", "formula": "z = z′ + MLP(LN(z′))",
    "file": "model/encoder.py", "code": "return x + self.drop_path(self.ls2(self.mlp(", "page": "06-encoder#sec-06-residual"
  },
  "norm": {
    "called": "last LayerNorm", "says": "the token with mean 0 and deviation 1, times a weight, and a bias",
    "formula": "LN(z)", "file": "model/vit.py", "code": "return self.norm(x)", "page": "06-encoder#sec-06-layernorm"
  },
  "pool": {
    "called": "number of the picture's vector", "says": "CLS, or the mean of the patches, by the model's kind",
    "formula": "y = mean of LN(z)", "file": "model/vit.py", "code": "tokens[:, 0] if self.cfg.global_pool == \"token\"",
    "page": "07-cls-or-gap#equation-eq-07-gap"
  },
  "head": {
    "called": "logit", "says": "the picture's vector times a row of the head, and a bias", "formula": "W y + b",
    "file": "model/vit.py", "code": "self.head(self.pool(", "page": "07-cls-or-gap#sec-07-head"
  }
};
