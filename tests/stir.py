"""Models in which every weight matters: nobody would miss the zeros and ones of a fresh one's biases and norms."""

import torch


@torch.no_grad()
def stir(model: torch.nn.Module, by: float) -> torch.nn.Module:
    """Add noise of this deviation to every parameter, in place; the model, in evaluation mode."""
    for p in model.parameters():
        p.add_(torch.randn_like(p), alpha=by)
    return model.eval()
